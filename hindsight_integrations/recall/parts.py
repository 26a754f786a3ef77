"""What every recall works with, and its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from hindsight_integrations.language.encode import TextEncoder
from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Memory
from hindsight_integrations.recall.kept import Kept, KeptCandidates
from hindsight_integrations.recall.ports import Reranker
from hindsight_integrations.recall.rank import DEFAULT_WEIGHTS, Weights
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecallParts:
    """What a recall works with.

    `reranker` takes the place of the built-in order for the head; `reranking` off leaves the
    order of the fusion.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    tokenizer: Tokenizer
    executor: Executor
    settings: Settings
    reranker: Reranker | None = None
    reranking: bool = True
    weights: Weights = DEFAULT_WEIGHTS
    candidates: KeptCandidates = field(default_factory=KeptCandidates)
    memories: Kept[Memory] = field(default_factory=Kept)

    def started(self, work: Callable[[], T]) -> Future[T]:
        """Work that runs beside this thread; or has run, once the main thread has ended.

        A thread that outlives the main one may go on, but executors take nothing more from it.
        """
        try:
            return self.executor.submit(work)
        except RuntimeError:
            done: Future[T] = Future()
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                done.set_exception(error)
            return done


@dataclass(slots=True)
class Clock:
    """Seconds spent by stage; a stage that runs once a bank adds up."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time until the block ends to the stage's."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
