"""Work that waits for the vector index: whose is done when, and who does it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_integrations import Hindsight, Settings, runtime
from hindsight_integrations.models import Bank, Memory
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import ChangeSet, MemoryRecord
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.testing.vector_index import unit_vectors

from .waiting import until

WAITING = 1200
"""More than two pages of the queue."""


class Graph(SqliteGraph):
    """A graph that several memories use one after the other."""

    def close(self) -> None:
        """Stay open for the next memory."""


class Index:
    """A real index that notes what is written to it, as slowly as it is told."""

    def __init__(self) -> None:
        self._index = ChromaVectors.in_memory()
        self.written: Counter[tuple[str, str]] = Counter()
        self.seconds = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(self._index, name)

    def close(self) -> None:
        """Stay open for the next memory."""

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        time.sleep(self.seconds)
        self._index.upsert(bank_key, ids, vectors)
        self.written.update((bank_key, id) for id in ids)

    def count(self, bank_key: str) -> int:
        return sum(key == bank_key for key, _ in self.written)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[SqliteGraph]:
    graph = Graph(tmp_path / "graph.db")
    yield graph
    SqliteGraph.close(graph)


@pytest.fixture
def index(graph: SqliteGraph) -> Iterator[Index]:
    index = Index()
    yield index
    index._index.close()


@contextmanager
def opened(graph: SqliteGraph, index: Index, **settings: object) -> Iterator[Hindsight]:
    chosen = Settings(**{"consolidate": False, "purge_interval": 0} | settings)  # type: ignore[arg-type]
    with Hindsight(graph=graph, vectors=index, settings=chosen) as memory:  # type: ignore[arg-type]
        yield memory


def store(graph: SqliteGraph, memory: Hindsight, bank: str, count: int = WAITING) -> str:
    """Store memories as another process does that has no index; return the bank's key."""
    key = graph.create_bank(Bank(bank), memory.runtime.embedder_identity).key
    vectors = unit_vectors(count, 0, dimension=memory.runtime.embedder_identity.dimension)
    records = tuple(
        MemoryRecord(
            Memory(f"m{n}", bank, f"The crane lifts crate {n}."),
            ("crane", "crate", str(n)),
            vector,
            text_fingerprint(f"crate {n}"),
        )
        for n, vector in enumerate(vectors)
    )
    graph.apply(ChangeSet(bank, memories=records))
    return key


def test_a_retain_writes_the_vectors_of_its_own_bank_alone(
    graph: SqliteGraph, index: Index
) -> None:
    with opened(graph, index) as memory:
        others = store(graph, memory, "others")
        memory.retain("mine", "Alice sings in Bergen.")
        mine = memory.runtime.bank("mine").key
        assert {key for key, _ in index.written} == {mine}
        assert memory.recall("mine", "Who sings?", arms=["semantic"]).memories
        assert not memory.health()  # what others left is told
        memory.runtime.flush(others)
        assert memory.health()


@pytest.mark.slow
def test_an_opening_writes_some_pages_and_the_background_the_rest_once(
    graph: SqliteGraph, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PAGES", 1)
    monkeypatch.setattr(runtime, "CLAIM_SECONDS", 0.5)
    monkeypatch.setattr(sync, "REQUEUED_AT_ONCE", 500)
    requeued: list[int] = []
    apply = graph.apply
    with opened(graph, index) as memory:
        key = store(graph, memory, "others")
        while queue := graph.pending_vectors(9999):
            graph.acknowledge([item.ticket for item in queue])  # and the index was lost
    monkeypatch.setattr(
        graph, "apply", lambda c: (requeued.append(len(c.requeue or ())), apply(c))[1]
    )
    assert graph.claim_outbox("another process", 60)
    with opened(graph, index) as memory:
        assert requeued == [500, 500, 200]
        assert index.count(key) == 500
        assert not memory.health()
        time.sleep(0.2)
        assert index.count(key) == 500
        assert graph.claim_outbox("another process", 0)
        until(lambda: index.count(key) == WAITING)
        until(lambda: not memory.runtime.behind)
        assert memory.health()
        assert set(index.written.values()) == {1}


@pytest.mark.slow
def test_closing_leaves_a_long_queue_to_the_next_opening(
    graph: SqliteGraph, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PAGES", 1)
    with opened(graph, index) as memory:
        key = store(graph, memory, "others", 2 * WAITING)
        index.seconds = 0.3
        memory.runtime.flush(key)
        until(lambda: index.count(key) > 500)
        started = time.monotonic()
    assert time.monotonic() - started < 3
    left = len(graph.pending_vectors(9999))
    assert 0 < left < 2 * WAITING
    index.seconds = 0.0
    with opened(graph, index):
        until(lambda: not graph.pending_vectors(1))
    assert set(index.written.values()) == {1}


def test_closing_consolidates_what_it_retained_and_not_what_others_left(
    graph: SqliteGraph, index: Index
) -> None:
    with opened(graph, index) as memory:
        for bank in ("left", "left too", "taken up"):
            memory.retain(bank, "Alice sings in Bergen.")
    with opened(graph, index, consolidate=True, consolidation_delay=600.0) as memory:
        memory.retain("mine", "Bo paints in Oslo.")
        memory.retain("taken up", "Alice sings in Oslo too.")
    waiting = graph.list_banks(pending_consolidation=True)
    assert [stored.bank.id for stored in waiting] == ["left", "left too"]
    with opened(graph, index, consolidate=True) as memory:
        assert memory.wait_idle(60)
        assert not graph.list_banks(pending_consolidation=True)
