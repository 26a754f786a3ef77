"""Six processes that do everything to one memory on servers at once; what has to hold after it.

Twenty seconds by default, and longer as the environment says: `SOAK_SECONDS=600`.
"""

from __future__ import annotations

import os
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path

import pytest

from hindsight_integrations import ChromaVectors, Hindsight, Settings
from hindsight_integrations.errors import (
    BankNotFoundError,
    ConflictError,
    HindsightError,
    NotFoundError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Memory

from .embedders import Letters
from .priority import yield_to_other_tests
from .processes import starting
from .stores.chroma_server import served
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

PROCESSES = 6
SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
SHARED, PASSING = "shared", "passing"
"""A bank that stays, and one that is deleted again and again."""

EXPECTED = (NotFoundError, ConflictError, StoreError)
"""Answers to one who comes too late: what is named is gone, or is changed all the time."""


@dataclass
class Account:
    """Record of one process.

    Attributes:
        kept: texts that it stored and did not forget.
        forgotten: texts that it stored and forgot.
        calls: number of calls by verb.
        wrong: what no call may raise or report.
    """

    kept: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def opened(address: Address, url: str) -> Hindsight:
    with ExitStack() as stack:
        graph = address.graph()
        stack.callback(graph.close)
        vectors = ChromaVectors.at_server(url, namespace=f"memory-{graph.identity()}")
        stack.callback(vectors.close)
        settings = Settings(consolidate=False)
        memory = Hindsight(graph=graph, vectors=vectors, embedder=Letters(), settings=settings)
        stack.pop_all()
        return memory


class Worker:
    """Calls of one process, chosen by chance."""

    def __init__(self, memory: Hindsight, number: int) -> None:
        self.memory, self.number = memory, number
        self.chance = random.Random(number)
        self.account = Account()
        self.mine: dict[str, str] = {}
        self.said = 0

    def text(self) -> str:
        self.said += 1
        return f"Kestrel{self.number}x{self.said} met Osprey{self.said % 7} at pier {self.said}."

    def retain(self) -> None:
        text = self.text()
        result = self.memory.retain(SHARED, text, entities=["Ruth Castellane"])
        self.account.kept.add(text)
        self.mine |= {memory.id: text for memory in result.stored}

    def converse(self) -> None:
        text = self.text()
        message = {"speaker": f"Puffin{self.number}", "text": text, "id": text}
        result = self.memory.retain_messages(SHARED, [message], session="chat")
        self.account.kept.add(text)
        self.mine |= {memory.id: text for memory in result.stored}

    def forget(self) -> None:
        if self.mine:
            id = self.chance.choice(list(self.mine))
            text = self.mine.pop(id)
            self.account.kept.discard(text)
            self.memory.forget(SHARED, id)
            self.account.forgotten.add(text)

    def correct(self) -> None:
        if self.mine:
            id = self.chance.choice(list(self.mine))
            self.memory.memories.update(SHARED, id, tags=[f"t{self.said}"])

    def withdraw(self) -> None:
        if self.mine:
            id = self.chance.choice(list(self.mine))
            self.memory.memories.invalidate(SHARED, id)
            self.memory.memories.restore(SHARED, id)

    def recall(self) -> None:
        result = self.memory.recall(SHARED, f"Who met Osprey{self.said % 7}?", fill=True)
        gone = self.account.forgotten.intersection(item.memory.text for item in result.memories)
        self.account.wrong += [f"recalled after it was forgotten: {text}" for text in gone]
        for failure in result.failures:
            if not isinstance(failure.error, HindsightError):
                self.account.wrong.append(f"{failure.part}: {failure.error!r}")

    def reflect(self) -> None:
        self.memory.reflect(SHARED, "What do we know about Ruth Castellane?")
        self.memory.context(SHARED, "Ruth Castellane")

    def consolidate(self) -> None:
        self.memory.consolidate(SHARED)

    def look(self) -> None:
        self.memory.banks.list()
        self.memory.banks.stats(SHARED)
        self.memory.entities.list(SHARED)
        self.memory.memories.list(SHARED, limit=50)

    def come_and_go(self) -> None:
        self.memory.retain(PASSING, self.text())
        self.memory.recall(PASSING, "Who met Osprey1?")
        self.memory.banks.delete(PASSING)

    def run(self, until: float) -> Account:
        verbs: list[Callable[[], None]] = [
            *(self.retain, self.retain, self.converse, self.recall, self.recall, self.forget),
            *(self.correct, self.withdraw, self.reflect, self.consolidate, self.look),
            self.come_and_go,
        ]
        while time.monotonic() < until:
            verb = self.chance.choice(verbs)
            self.account.calls[verb.__name__] += 1
            try:
                verb()
            except StoreUnavailableError as error:
                self.account.wrong.append(f"{verb.__name__}: {error}")
            except EXPECTED:
                continue
            except Exception:  # noqa: BLE001 - that it has none is what is tested
                self.account.wrong.append(f"{verb.__name__}: {traceback.format_exc()}")
        return self.account


def _work(address: Address, url: str, number: int, done: Queue[Account]) -> None:
    with opened(address, url) as memory:
        worker = Worker(memory, number)
        with suppress(BankNotFoundError):
            memory.recall(SHARED, "Osprey")  # what is loaded once is loaded before the clock runs
        yield_to_other_tests()
        done.put(worker.run(time.monotonic() + SECONDS))


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path / "server") as url:
        yield url


@pytest.mark.slow
@pytest.mark.timeout(600 + 2 * SECONDS)
def test_six_processes_that_do_everything_at_once_lose_and_mix_up_nothing(
    empty_neo4j: Address, chroma: str
) -> None:
    context = starting()
    done: Queue[Account] = context.Queue()
    processes = [
        context.Process(target=_work, args=(empty_neo4j, chroma, number, done), daemon=True)
        for number in range(PROCESSES)
    ]
    with opened(empty_neo4j, chroma) as memory:
        memory.retain(SHARED, "The pier is open.")
        for process in processes:
            process.start()
        accounts = [done.get(timeout=300 + 2 * SECONDS) for _ in processes]
        for process in processes:
            process.join(120)
        assert [wrong for account in accounts for wrong in account.wrong] == []
        calls = sum((account.calls for account in accounts), Counter())
        assert {"retain", "recall", "forget", "come_and_go"} <= calls.keys()
        memory.maintenance.doctor()  # what two flushes at once left in the index
        assert memory.maintenance.doctor().findings == ()
        stored = Counter(each.text for each in _everything(memory))
        kept = set().union(*(account.kept for account in accounts))
        forgotten = set().union(*(account.forgotten for account in accounts))
        assert kept - stored.keys() == set()
        assert forgotten & stored.keys() == set()
        assert {stored[text] for text in kept} == {1}
        assert memory.banks.stats(SHARED).pending_vectors == 0


def _everything(memory: Hindsight) -> Iterator[Memory]:
    cursor = None
    while True:
        page = memory.memories.list(SHARED, limit=500, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return
