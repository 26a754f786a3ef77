"""The index is kept in step with the graph, and made again from it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hindsight_integrations.errors import StoreError, StoreUnavailableError
from hindsight_integrations.models import Bank, Memory
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.stores import folder_index, sync
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    GraphStore,
    MemoryRecord,
    PendingVector,
    VectorOperation,
)
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.folder import Folder
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.sync import DivergenceKind
from hindsight_integrations.stores.testing.vector_index import DIMENSION, names, unit_vectors

from .chroma_server import free_port, serve

EMBEDDER = EmbedderIdentity("test/1", DIMENSION)


def records(bank: str, count: int, start: int = 0, seed: int = 0) -> tuple[MemoryRecord, ...]:
    vectors = unit_vectors(start + count, seed)[start:]
    return tuple(
        MemoryRecord(
            Memory(name, bank, f"statement {name} {seed}"),
            ("statement", name),
            vector,
            text_fingerprint(f"statement {name} {seed}"),
        )
        for name, vector in zip(names(count, start), vectors, strict=True)
    )


def fill(graph: GraphStore, bank: str, count: int) -> str:
    key = graph.create_bank(Bank(bank), EMBEDDER).key
    graph.apply(ChangeSet(bank, memories=records(bank, count)))
    return key


# Flushing


def test_what_the_graph_queued_is_in_the_index_after_a_flush(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    key = fill(graph, "b", 30)
    report = sync.flush(graph, index, batch=7)
    assert str(report) == "30 vectors written, 0 removed, 0 spaces dropped"
    assert index.ids(key) == set(names(30))
    assert graph.pending_vectors(1) == []
    assert str(sync.flush(graph, index)) == "0 vectors written, 0 removed, 0 spaces dropped"


def test_changes_and_removals_follow(graph: SqliteGraph, index: ChromaVectors) -> None:
    key = fill(graph, "b", 10)
    sync.flush(graph, index)
    changed = records("b", 1, seed=5)
    graph.apply(ChangeSet("b", remove_memories=("m3", "m4"), replaced=changed))
    sync.flush(graph, index)
    assert index.ids(key) == set(names(10)) - {"m3", "m4"}
    assert index.query(key, changed[0].vector, 1) == [("m0", pytest.approx(1.0))]


def test_a_deleted_bank_takes_its_space_along(graph: SqliteGraph, index: ChromaVectors) -> None:
    old = fill(graph, "b", 5)
    sync.flush(graph, index)
    graph.apply(ChangeSet("b", memories=records("b", 5, start=5)))
    graph.delete_bank("b")
    new = fill(graph, "b", 2)
    assert sync.flush(graph, index).dropped == 1
    assert index.keys() == {new}
    assert old != new


@pytest.mark.slow
def test_an_index_out_of_reach_leaves_everything_queued(graph: SqliteGraph, tmp_path: Path) -> None:
    key = fill(graph, "b", 5)
    port = free_port()
    server = serve(tmp_path, port)
    away = ChromaVectors.at_server(f"http://127.0.0.1:{port}")
    server.kill()
    server.wait()
    with pytest.raises(StoreUnavailableError):
        sync.flush(graph, away)
    assert len(graph.pending_vectors(100)) == 5
    away.close()
    index = ChromaVectors.in_memory()
    sync.flush(graph, index)
    assert index.ids(key) == set(names(5))
    index.close()


def test_a_bank_the_index_refuses_does_not_hold_up_the_others(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    bad = fill(graph, "bad", 25)
    good = fill(graph, "good", 25)
    index.upsert(bad, ["x"], unit_vectors(1, dimension=7))
    with pytest.raises(StoreError, match="dimension"):
        sync.flush(graph, index, batch=10)
    assert index.ids(good) == set(names(25))
    assert [item.bank_key for item in graph.pending_vectors(100)] == [bad] * 25


class Queue:
    """The three methods of a graph that a flush calls, over any queue at all."""

    def __init__(self, items: list[PendingVector]) -> None:
        self.items = items

    def pending_vectors(self, limit: int, bank_key: str | None = None) -> list[PendingVector]:
        return self.items[:limit]

    def acknowledge(self, tickets: Sequence[int]) -> set[int]:
        self.items = [item for item in self.items if item.ticket not in set(tickets)]
        return set(tickets)


class Recorded:
    """An index that keeps what it is told in dictionaries."""

    def __init__(self) -> None:
        self.spaces: dict[str, dict[str, float]] = {}

    def upsert(self, key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self.spaces.setdefault(key, {}).update(zip(ids, vectors[:, 0].tolist(), strict=True))

    def delete(self, key: str, ids: Sequence[str]) -> None:
        for name in ids:
            self.spaces.get(key, {}).pop(name, None)

    def drop(self, key: str) -> None:
        self.spaces.pop(key, None)


operations = st.lists(
    st.tuples(st.sampled_from(VectorOperation), st.sampled_from("xy"), st.sampled_from("abc"))
)


@given(operations, st.integers(1, 9))
def test_a_flush_ends_where_doing_each_operation_in_turn_would(
    steps: list[tuple[VectorOperation, str, str]], batch: int
) -> None:
    queue = [
        PendingVector(ticket, key, operation, name, np.array([ticket], dtype=np.float32))
        for ticket, (operation, key, name) in enumerate(steps)
    ]
    in_turn, flushed = Recorded(), Recorded()
    for item in queue:
        match item.operation:
            case VectorOperation.UPSERT:
                in_turn.upsert(item.bank_key, [item.memory_id], np.array([[item.ticket]]))
            case VectorOperation.DELETE:
                in_turn.delete(item.bank_key, [item.memory_id])
            case VectorOperation.DROP:
                in_turn.drop(item.bank_key)
    graph = Queue(queue)
    sync.flush(graph, flushed, batch=batch)  # type: ignore[arg-type]
    assert graph.items == []
    held = {key: space for key, space in flushed.spaces.items() if space}
    assert held == {key: space for key, space in in_turn.spaces.items() if space}


# Comparing and mending


def test_two_stores_in_step_show_no_difference(graph: SqliteGraph, index: ChromaVectors) -> None:
    fill(graph, "one", 30)
    fill(graph, "two", 1)
    graph.create_bank(Bank("empty"), EMBEDDER)
    sync.flush(graph, index)
    assert sync.compare(graph, index) == []
    assert sync.examine(graph, index, repair=True) == []


def test_each_kind_of_difference_is_told_and_mended(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    key = fill(graph, "b", 20)
    sync.flush(graph, index)
    index.delete(key, names(3))
    index.upsert(key, ["ghost"], unit_vectors(1, seed=9))
    index.upsert("nobody's", ["x"], unit_vectors(1))
    found = sync.compare(graph, index)
    assert [(one.kind, one.count) for one in found] == [
        (DivergenceKind.MISSING, 3),
        (DivergenceKind.ORPHAN, 1),
        (DivergenceKind.STRAY, 1),
    ]
    assert str(found[0]) == "3 memories without a vector in the index (bank 'b')"

    looked = sync.examine(graph, index, repair=False)
    assert not any(fault.repaired for fault in looked)
    assert sync.compare(graph, index) == found

    mended = sync.examine(graph, index, repair=True)
    assert [fault.count for fault in mended] == [3, 1, 1]
    assert all(fault.repaired for fault in mended)
    assert sync.compare(graph, index) == []
    assert index.ids(key) == set(names(20))
    assert index.keys() == {key}


def test_vectors_the_index_holds_and_does_not_find_are_written_again(
    graph: SqliteGraph, index: ChromaVectors
) -> None:
    key = fill(graph, "b", 40)
    sync.flush(graph, index)
    index.upsert(key, names(40), unit_vectors(40, seed=3))
    (found,) = sync.compare(graph, index)
    assert found.kind is DivergenceKind.UNFOUND
    assert sync.examine(graph, index, repair=True)[0].repaired
    assert sync.compare(graph, index) == []


# Opening


COUNT = 1_300


def make(path: Path) -> str:
    """A folder with a bank big enough for an index of its own on the disk, and a small one."""
    with Folder.open(path) as folder:
        graph = SqliteGraph(folder.graph_path)
        index = folder_index.open_index(folder, graph)
        key = fill(graph, "b", COUNT)
        fill(graph, "small", 20)
        sync.flush(graph, index)
        index.close()
        graph.close()
    return key


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("made") / "memories"
    return path, make(path)


@pytest.fixture
def copy(made: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "memories"))


def reopened(path: Path) -> tuple[int, list[sync.Divergence]]:
    """Vectors that had to be written again at opening, and what is wrong after it."""
    with Folder.open(path) as folder:
        graph = SqliteGraph(folder.graph_path)
        index = folder_index.open_index(folder, graph)
        written = sync.flush(graph, index).upserted
        differences = sync.compare(graph, index)
        index.close()
        graph.close()
    return written, differences


def put_aside(path: Path) -> list[Path]:
    return list(path.glob("chroma.damaged-*"))


def chroma_files(path: Path, pattern: str) -> list[Path]:
    found = [file for file in (path / "chroma").glob(pattern) if file.is_file()]
    assert found
    return found


def garbage(pattern: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        for file in chroma_files(path, pattern):
            file.write_bytes(random.Random(3).randbytes(file.stat().st_size))

    return damage


def truncated(pattern: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        for file in chroma_files(path, pattern):
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    return damage


def removed(pattern: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        for file in chroma_files(path, pattern):
            file.unlink()

    return damage


DAMAGES = {
    "header": garbage("*/header.bin"),
    "vectors": garbage("*/data_level0.bin"),
    "labels": garbage("*/index_metadata.pickle"),
    "tables": garbage("chroma.sqlite3"),
    "half the vectors": truncated("*/data_level0.bin"),
    "half the header": truncated("*/header.bin"),
    "half the tables": truncated("chroma.sqlite3"),
    "no vectors": removed("*/data_level0.bin"),
    "no labels": removed("*/index_metadata.pickle"),
    "no index": removed("*/*"),
    "no tables": removed("chroma.sqlite3"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_index_is_put_aside_and_made_again(
    copy: Path, damage: Callable[[Path], None]
) -> None:
    damage(copy)
    assert reopened(copy) == (COUNT + 20, [])
    assert len(put_aside(copy)) == 1
    assert reopened(copy) == (0, [])
    assert put_aside(copy) == []  # the new one was found sound


@pytest.mark.slow
def test_a_lost_index_is_made_again(copy: Path) -> None:
    shutil.rmtree(copy / "chroma")
    assert reopened(copy) == (COUNT + 20, [])
    assert put_aside(copy) == []


@pytest.mark.slow
def test_an_index_copied_elsewhere_is_kept(copy: Path) -> None:
    """A copy has other times than the mark tells: it is tried, found good, and used."""
    for file in chroma_files(copy, "**/*"):
        file.touch()
    assert reopened(copy) == (0, [])
    assert put_aside(copy) == []


@pytest.mark.slow
def test_a_clean_start_does_not_try_the_files_first(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reopened(copy)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert reopened(copy) == (0, [])
    assert put_aside(copy) == []


@pytest.mark.slow
def test_files_that_cannot_be_tried_count_as_damaged(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in chroma_files(copy, "**/*"):
        file.touch()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert reopened(copy) == (COUNT + 20, [])


KILLED = """
import os, sys
from hindsight_integrations.stores import folder_index, sync
from hindsight_integrations.stores.folder import Folder
from hindsight_integrations.stores.base import ChangeSet
from hindsight_integrations.stores.sqlite import SqliteGraph
from tests.stores.test_sync import records

folder = Folder.open(sys.argv[1])
graph = SqliteGraph(folder.graph_path)
index = folder_index.open_index(folder, graph)
for start in range(2000, 2100, 20):
    graph.apply(ChangeSet("b", memories=records("b", 20, start=start)))
    if start != 2080:
        sync.flush(graph, index)
os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
def test_nothing_is_lost_with_a_killed_process(copy: Path) -> None:
    run = subprocess.run([sys.executable, "-c", KILLED, str(copy)])
    assert run.returncode == -9
    assert reopened(copy) == (20, [])
    assert put_aside(copy) == []


@pytest.mark.slow
def test_a_rebuild_cut_short_before_the_first_flush_is_done_at_the_next_start(copy: Path) -> None:
    garbage("chroma.sqlite3")(copy)
    code = (
        "import os, sys\n"
        "from hindsight_integrations.stores import folder_index\n"
        "from hindsight_integrations.stores.folder import Folder\n"
        "from hindsight_integrations.stores.sqlite import SqliteGraph\n"
        "folder = Folder.open(sys.argv[1])\n"
        "folder_index.open_index(folder, SqliteGraph(folder.graph_path))\n"
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(copy)]).returncode == 9
    assert reopened(copy) == (COUNT + 20, [])
