"""Speed of recall on a filled bank, beside Chroma and BM25 alone on the same texts.

Runs in a process of its own, so that its memory is that of recall.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from benchmarks.speed.corpus import START, lines, questions, sessions
from benchmarks.speed.machine import peak_memory
from benchmarks.speed.prepared import mixed_vectors
from benchmarks.speed.retaining import BANK, FilledBank
from benchmarks.speed.timing import Latency, timed
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.systems import BM25Search, ChromaSearch
from hindsight_integrations.models import Arm
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.recall.base import Budget

WARM_UP = 5
"""Questions asked before timing starts: models and indexes load at first use."""

ASKED_AT = START.replace(year=START.year + 2)
"""Query time of the questions: inside the time of the larger banks."""

PLAIN_LIMIT = 100
"""Texts that the plain searches return: about what fits 4,096 tokens."""


@dataclass(frozen=True, slots=True)
class RecallFigures:
    """Cost of recalls from one bank.

    Attributes:
        latencies: by kind of recall.
        plain: latencies of the plain searches, by name; empty on servers.
        first_answer: seconds from a new process's `Hindsight(...)` to its first answer.
        memory: peak memory of the process that recalls, in bytes.
        disk: size of the bank's folder in bytes, if it has one.
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
    searches = _plain(bank) if bank.place.folder else ()
    plain = {name: _latency(search, asked) for name, search in searches}
    return RecallFigures(memories, latencies, plain, first_answer, used, bank.place.disk())


def _latency(work: Callable[[str], object], asked: Sequence[str]) -> Latency:
    timed(work, asked[:WARM_UP])
    return timed(work, asked)


def _recalling(
    memory: Hindsight, *, budget: Budget = "mid", arms: Sequence[Arm] | None = None
) -> Callable[[str], None]:
    """Return a function that recalls, and raises if any part failed."""

    def recall(question: str) -> None:
        result = memory.recall(BANK, question, budget=budget, arms=arms, query_time=ASKED_AT)
        for failure in result.failures:
            raise failure.error

    return recall


def _plain(bank: FilledBank) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Yield each plain search over the bank's texts; it is closed when the next is asked for."""
    said = lines(sessions(bank.turns))
    embedder = bundled()
    vectors = mixed_vectors(len(said)) if bank.prepared else embedder.embed(said)
    with closing(ChromaSearch(said, embedder, vectors)) as chroma:
        yield "plain Chroma", partial(chroma.search, limit=PLAIN_LIMIT)
    with closing(BM25Search(said)) as bm25:
        yield "BM25 (bm25s)", partial(bm25.search, limit=PLAIN_LIMIT)
