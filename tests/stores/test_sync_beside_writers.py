"""The doctor compares and repairs while others write, and harms nothing of what they wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_integrations.models import Bank
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import MEMORY_ID, ChangeSet, Vector
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.testing.vector_index import names, unit_vectors

from .test_sync import EMBEDDER, fill, records

TURNS = 100
"""Times that a `Writer` writes, at most."""


class BusyIndex:
    """An index beside which somebody writes: before and after each look at it."""

    def __init__(self, index: ChromaVectors, write: Callable[[], None]) -> None:
        self._index = index
        self._write = write
        self._writing = False

    def _beside(self) -> None:
        if not self._writing:
            self._writing = True
            self._write()
            self._writing = False

    def ids(self, bank_key: str) -> set[str]:
        self._beside()
        held = self._index.ids(bank_key)
        self._beside()
        return held

    def keys(self) -> set[str]:
        self._beside()
        held = self._index.keys()
        self._beside()
        return held

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        return self.query_many(bank_key, vector[np.newaxis, :], limit)[0]

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        self._beside()
        found = self._index.query_many(bank_key, vectors, limit)
        self._beside()
        return found

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self._index.upsert(bank_key, ids, vectors)

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        self._index.delete(bank_key, ids)

    def drop(self, bank_key: str) -> None:
        self._index.drop(bank_key)

    def close(self) -> None:
        self._index.close()


class Writer:
    """Retains, forgets and corrects a memory, creates, deletes and reindexes a bank, each time."""

    def __init__(self, graph: SqliteGraph, index: ChromaVectors, *, late: bool = False) -> None:
        self.graph, self.index = graph, index
        self.late = late
        self.turn = 0

    def __call__(self) -> None:
        if self.turn == TURNS:
            return
        self.turn += 1
        n, graph = self.turn, self.graph
        (corrected,) = records("b", 1, start=300 + n)
        graph.apply(
            ChangeSet(
                "b",
                remove_memories=(f"m{n}",),
                memories=records("b", 1, start=1000 + n),
                replaced=(replace(corrected, vector=unit_vectors(1, seed=n)[0]),),
            )
        )
        if n % 5 == 0:
            fill(graph, f"new-{n}", 2)
            graph.delete_bank(f"old-{n}")
        if not self.late or n % 2:
            sync.flush(graph, self.index)


def prepared(graph: SqliteGraph, index: ChromaVectors) -> None:
    fill(graph, "b", 600)
    for n in range(0, TURNS, 5):
        fill(graph, f"old-{n + 5}", 2)
    sync.flush(graph, index)


def in_step(graph: SqliteGraph, index: ChromaVectors) -> None:
    """Check that the index has the vector of every memory and no other."""
    sync.flush(graph, index)
    banks = graph.list_banks()
    for bank in banks:
        assert index.ids(bank.key) == set(graph.scan(bank.bank.id, MEMORY_ID)), bank.bank.id
    assert index.keys() == {bank.key for bank in banks}


@pytest.mark.slow
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("repair", [False, True])
def test_what_others_write_meanwhile_is_no_fault_and_keeps_its_vector(
    graph: SqliteGraph, index: ChromaVectors, repair: bool, late: bool
) -> None:
    prepared(graph, index)
    writer = Writer(graph, index, late=late)
    assert sync.examine(graph, BusyIndex(index, writer), repair=repair) == []
    assert writer.turn > 2
    in_step(graph, index)


@pytest.mark.slow
def test_faults_are_found_and_repaired_beside_writers(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    prepared(graph, index)
    key = next(bank.key for bank in graph.list_banks() if bank.bank.id == "b")
    index.delete(key, names(3, start=250))
    index.upsert(key, ["ghost"], unit_vectors(1, seed=9))
    index.upsert("nobody's", ["x"], unit_vectors(1))
    busy = BusyIndex(index, Writer(graph, index))
    assert [fault.count for fault in sync.examine(graph, busy, repair=False)] == [3, 1, 1]
    repaired = sync.examine(graph, busy, repair=True)
    assert [(fault.count, fault.repaired) for fault in repaired] == [
        (3, True),
        (1, True),
        (1, True),
    ]
    in_step(graph, index)


def test_an_id_given_again_before_the_repair_keeps_its_vector(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    key = fill(graph, "b", 20)
    sync.flush(graph, index)
    ghost = records("b", 1, start=50)
    index.upsert(key, [ghost[0].memory.id], unit_vectors(1, seed=9))

    class Meanwhile(SqliteGraph):
        """Stores a memory of the id in the moment before the repair of its vector."""

        def apply(self, changes: ChangeSet) -> tuple[str, ...]:
            if changes.requeue:
                graph.apply(ChangeSet("b", memories=ghost))
                sync.flush(graph, index)
            return graph.apply(changes)

    seen = Meanwhile.__new__(Meanwhile)
    seen._connections = graph._connections
    sync.examine(seen, index, repair=True)
    sync.flush(graph, index)
    assert index.query(key, ghost[0].vector, 1) == [(ghost[0].memory.id, pytest.approx(1.0))]


@pytest.mark.slow
def test_the_doctor_and_threads_that_write_leave_every_vector_in_its_place(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    graph.create_bank(Bank("b"), EMBEDDER)
    flushing, stop = threading.Lock(), threading.Event()

    def flush() -> None:
        with flushing:
            sync.flush(graph, index)

    def write(start: int) -> None:
        n = start
        while not stop.is_set() and n < start + 5000:
            graph.apply(ChangeSet("b", memories=records("b", 1, start=n)))
            flush()
            if n % 3 == 0:
                graph.apply(ChangeSet("b", remove_memories=(f"m{n}",)))
                flush()
            n += 1

    threads = [threading.Thread(target=write, args=(n * 10_000,)) for n in range(3)]
    for thread in threads:
        thread.start()
    found = [
        fault
        for turn in range(30)
        for fault in sync.examine(graph, index, repair=turn % 2 == 0, catch_up=flush)
    ]
    stop.set()
    for thread in threads:
        thread.join()
    assert found == []
    in_step(graph, index)
