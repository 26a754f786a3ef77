"""How fast a filled bank answers, beside Chroma and BM25 alone on the same texts.

Runs in a process of its own, so that the memory it takes is that of recall.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from hindsight_integrations.benchmark.corpus import START, lines, questions, sessions
from hindsight_integrations.benchmark.machine import peak_memory
from hindsight_integrations.benchmark.prepared import mixed_vectors
from hindsight_integrations.benchmark.retaining import BANK, FilledBank
from hindsight_integrations.benchmark.timing import Latency, timed
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.evaluate.baselines import BM25Search, ChromaSearch
from hindsight_integrations.language.minilm import bundled
from hindsight_integrations.results import Arm

WARM_UP = 5
"""Questions asked before the clock starts: models and indexes load at first use."""

ASKED_AT = START.replace(year=START.year + 2)
"""The moment of the questions: inside the time of the bigger banks."""

PLAIN_LIMIT = 100
"""Texts that the plain searches return: about what fits 4,096 tokens."""


@dataclass(frozen=True, slots=True)
class RecallFigures:
    """What one bank's recalls cost.

    Attributes:
        latencies: by what was asked of it.
        plain: of the plain searches, by name; of none beside servers.
        first_answer: seconds from a new process's `Hindsight(...)` to its first answer.
        memory: peak of the process that recalls, in bytes.
        disk: bytes of the bank's folder, if it has one.
    """

    memories: int
    latencies: dict[str, Latency]
    plain: dict[str, Latency]
    first_answer: float
    memory: int
    disk: int | None


RERANKED = "all arms, reranked"
"""The recall of all defaults."""

FUSED = "all arms, no reranking"


def measure_recall(bank: FilledBank, count: int) -> RecallFigures:
    """Ask a bank `count` questions in each way, in a new process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measure, bank, count).result()


def _measure(bank: FilledBank, count: int) -> RecallFigures:
    asked = questions(count) + questions(count // 4, dated=True)
    dated = questions(count, dated=True)
    started = time.perf_counter()
    with bank.place.open() as memory:
        _recalling(memory)(asked[0])
        first_answer = time.perf_counter() - started
        latencies = {
            RERANKED: _latency(_recalling(memory), asked),
            "budget low": _latency(_recalling(memory, budget="low"), asked),
            "budget high": _latency(_recalling(memory, budget="high"), asked),
        }
        used = peak_memory()
        memories = memory.banks.stats(BANK).memories
    with bank.place.open(reranker=None) as memory:
        latencies[FUSED] = _latency(_recalling(memory), asked)
        for arm in Arm:
            chosen = dated if arm is Arm.TEMPORAL else asked
            latencies[f"{arm} alone"] = _latency(_recalling(memory, arms=(arm,)), chosen)
    beside = _plain(bank) if bank.place.folder else ()
    plain = {name: _latency(search, asked) for name, search in beside}
    return RecallFigures(memories, latencies, plain, first_answer, used, bank.place.disk())


def _latency(work: Callable[[str], object], asked: Sequence[str]) -> Latency:
    timed(work, asked[:WARM_UP])
    return timed(work, asked)


def _recalling(
    memory: Hindsight, *, budget: str = "mid", arms: Sequence[Arm] | None = None
) -> Callable[[str], None]:
    """A recall; one that fails in part is no measurement, and raises."""

    def recall(question: str) -> None:
        result = memory.recall(BANK, question, budget=budget, arms=arms, query_time=ASKED_AT)
        for failure in result.failures:
            raise failure.error

    return recall


def _plain(bank: FilledBank) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Each plain search over the bank's texts; gone when the next is asked for."""
    said = lines(sessions(bank.turns))
    embedder = bundled()
    vectors = mixed_vectors(len(said)) if bank.prepared else embedder.embed(said)
    with closing(ChromaSearch(said, embedder, vectors)) as chroma:
        yield "plain Chroma", partial(chroma.search, limit=PLAIN_LIMIT)
    with closing(BM25Search(said)) as bm25:
        yield "BM25 (bm25s)", partial(bm25.search, limit=PLAIN_LIMIT)
