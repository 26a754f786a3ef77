"""Everything a recall works with, and the clock of one recall."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import TIMEOUT_MAX, Semaphore
from typing import TypeVar

from hindsight_integrations.asynchronous import in_own_thread
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.models import Memory, TurnKind
from hindsight_integrations.nlp.chatter import turn_kind
from hindsight_integrations.nlp.spacy_pipeline import Annotation
from hindsight_integrations.nlp.text_encoder import TextEncoder
from hindsight_integrations.nlp.tokens import Tokenizer
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.recall.cache import CandidateCache, VersionedCache
from hindsight_integrations.recall.layout import LayoutCache
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import GraphStore, VectorIndex

T = TypeVar("T")

COMPUTE_SLOTS = 2
"""Recalls that compute at the same time; further ones wait. The interpreter lock passes to another
thread every 5 ms, so an event loop that competes with a dozen such threads is late by a tenth of a
second and more. Two are enough to use the time that one spends in SQLite, the vector index or a
matrix product."""

SERVED_SLOTS = 16
"""The same for stores on servers, where a recall mostly waits for answers."""


@dataclass(frozen=True, slots=True)
class RecallDependencies:
    """Stores, models, settings and caches of recall.

    Attributes:
        reranker: orders the head in place of the built-in ranking.
        reranking: if False, the order of the rank fusion is final.
        turns: limits the recalls that compute at the same time; None sets no limit.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    tokenizer: Tokenizer
    executor: Executor
    settings: Settings
    reranker: Reranker | None = None
    reranking: bool = True
    candidates: CandidateCache = field(default_factory=CandidateCache)
    layouts: LayoutCache = field(default_factory=LayoutCache)
    memories: VersionedCache[Memory] = field(default_factory=VersionedCache)
    turns: Semaphore | None = None

    def is_courtesy(self, query: str) -> bool:
        """Return True if a query is a courtesy that asks for nothing: "Thanks!", "ok"."""
        words = any(map(str.isalpha, query))  # a query of signs alone may be a search for them
        return words and turn_kind(Annotation(query)) == TurnKind.COURTESY

    def alongside(self, work: Callable[[], T]) -> Callable[[], T]:
        """Submit to the executor; return a function that waits for the result.

        If no thread has started the work by then, the caller runs it: so it never waits for queued
        work of other calls.
        """
        future = self.started(work)
        return lambda: work() if future.cancel() else future.result()

    def started(self, work: Callable[[], T]) -> Future[T]:
        """Submit to the executor; run inline once it accepts no more (interpreter shutdown)."""
        try:
            return self.executor.submit(copy_context().run, work)
        except RuntimeError:
            done: Future[T] = Future()
            try:
                done.set_result(work())
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                done.set_exception(error)
            return done


@dataclass(slots=True)
class Clock:
    """Time limit and timings of one recall.

    Attributes:
        seconds: seconds spent by stage, added up over the banks.
        limit: seconds for the whole recall.
        started: start of the recall by `time.perf_counter`, moved forward by the time it waited
            for a slot.
        turns: semaphore of the recalls that compute at the same time; see `working`.
        has_slot: True while this recall holds a slot of `turns`.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    limit: float = math.inf
    started: float = field(default_factory=time.perf_counter)
    turns: Semaphore | None = None
    has_slot: bool = False

    @property
    def elapsed(self) -> float:
        """Seconds since the recall began, without the wait for a slot."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds left, 0 or more."""
        return max(0.0, self.limit - self.elapsed)

    @property
    def share(self) -> float:
        """Seconds that one part may take: half of those left, so that later parts have time too."""
        return self.left / 2

    def begin(self, work: Callable[[], T], *, foreign: bool = False) -> Callable[[], T]:
        """Start work; return a function that waits for its result with a time limit.

        Args:
            work: the work.
            foreign: the slot is released while the result is waited for, because the work does
                not compute here: a remote embedder, a reranker.

        Returns:
            A function that raises `StoreUnavailableError` after it has waited for `share`.
        """
        result = work if self.limit == math.inf else self._awaited(in_own_thread(work))
        return (lambda: self._without_slot(result)) if foreign else result

    def outside(self, work: Callable[[], T]) -> T:
        """Run foreign work with a time limit and the slot released; return its result.

        Raises:
            StoreUnavailableError: it took longer than `share`.
        """
        return self.begin(work, foreign=True)()

    def _awaited(self, running: Future[T]) -> Callable[[], T]:
        def result() -> T:
            try:
                return running.result(timeout=self.share)
            except TimeoutError as error:
                raise self.late() from error

        return result

    def _without_slot(self, work: Callable[[], T]) -> T:
        paused = self.has_slot
        self._release_slot()
        try:
            return work()
        finally:
            if paused:
                self._acquire_slot()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run the block in a slot of `turns`, or without one after waiting half of the time left.

        While foreign work runs in `outside`, another recall may use the slot.
        """
        self._acquire_slot()
        try:
            yield
        finally:
            self._release_slot()

    def _acquire_slot(self) -> None:
        if self.turns is not None:
            asked = time.perf_counter()
            self.has_slot = self.turns.acquire(timeout=min(self.share, TIMEOUT_MAX))
            waited = time.perf_counter() - asked
            self.started += waited
            self.seconds["turn"] = self.seconds.get("turn", 0.0) + waited

    def _release_slot(self) -> None:
        if self.turns is not None and self.has_slot:
            self.has_slot = False
            self.turns.release()

    def late(self) -> StoreUnavailableError:
        """Return the error for a part that is skipped because the recall's time is up."""
        return StoreUnavailableError(
            f"recall_timeout ({self.limit:g} s) exceeded; raise it, or see `result.timings`"
        )

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Add the time until the block ends to the stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
