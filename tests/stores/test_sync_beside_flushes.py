"""Two processes write the same index: a slow write of one never undoes what the other did later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_integrations import Hindsight
from hindsight_integrations.stores.base import VECTOR
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.testing.vector_index import unit_vectors

from ..waiting import until
from .chroma_server import free_port, serve

TEXT = "Anna keeps the red kettle in Porto."


class Slow:
    """An index whose next write waits until it is let go."""

    def __init__(self, index: ChromaVectors) -> None:
        self._index = index
        self.begun, self.go_on = threading.Event(), threading.Event()

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self.begun.set()
        assert self.go_on.wait(60)
        self._index.upsert(bank_key, ids, vectors)

    def __getattr__(self, name: str) -> object:
        return getattr(self._index, name)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Callable[[], SqliteGraph]]:
    opened: list[SqliteGraph] = []

    def open_graph() -> SqliteGraph:
        opened.append(SqliteGraph(tmp_path / "graph.sqlite3"))
        return opened[-1]

    yield open_graph
    for graph in opened:
        graph.close()


def forget(memory: Hindsight) -> None:
    memory.forget("b", memory.memories.list("b").items[0].id)


def correct(memory: Hindsight) -> None:
    id = memory.memories.list("b").items[0].id
    memory.memories.update("b", id, text="Bruno sails a ferry to Madeira.")


def delete(memory: Hindsight) -> None:
    memory.banks.delete("b")


@pytest.mark.parametrize("change", [forget, correct, delete])
def test_a_slow_write_does_not_undo_what_another_process_did_later(
    stores: Callable[[], SqliteGraph], index: ChromaVectors, change: Callable[[Hindsight], None]
) -> None:
    slow = Slow(index)
    with (
        Hindsight.in_memory(graph=stores(), vectors=slow) as one,  # type: ignore[arg-type]
        Hindsight.in_memory(graph=stores(), vectors=index) as two,
    ):
        thread = threading.Thread(target=one.retain, args=("b", TEXT))
        thread.start()
        assert slow.begun.wait(60)
        change(two)
        slow.go_on.set()
        thread.join(60)
        banks = two.runtime.graph.list_banks()
        assert index.keys() <= {bank.key for bank in banks}
        for bank in banks:
            stored = two.runtime.graph.read("b", VECTOR, list(index.ids(bank.key)))
            ids = [memory.id for memory in two.memories.list("b").items]
            assert sorted(stored) == sorted(ids) == sorted(index.ids(bank.key))
            for id, vector in stored.items():
                assert index.query(bank.key, vector, 1) == [(id, pytest.approx(1.0))]
        assert two.maintenance.health().ok


@pytest.mark.slow
def test_an_opening_repairs_what_a_killed_process_left_on_a_server(tmp_path: Path) -> None:
    port = free_port()
    server = serve(tmp_path / "server", port)
    url = f"http://127.0.0.1:{port}"
    try:
        with Hindsight(tmp_path / "memory", vectors=url) as memory:
            memory.retain("b", TEXT)
            index = memory.runtime.index
            key = memory.runtime.bank("b").key
            held = index.ids(key)
            index.upsert(key, ["forgotten"], unit_vectors(1, dimension=384))
        with Hindsight(tmp_path / "memory", vectors=url) as memory:
            until(lambda: memory.runtime.index.ids(key) == held)
    finally:
        server.kill()
        server.wait()
