"""Reasons to refuse a folder, and damage of its vector index."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings, StoreCorruptError, StoreUnavailableError
from hindsight_integrations.stores import folder_index, sync
from hindsight_integrations.stores.chroma import probe
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.folder import Folder
from hindsight_integrations.stores.sqlite import SqliteGraph

from .test_sync import chroma_files, fill, garbage, names, put_aside

QUIET = Settings(consolidate=False)


def made(folder: Path) -> Path:
    with Folder.open(folder) as owned:
        graph = SqliteGraph(owned.graph_path)
        index = folder_index.open_index(owned, graph)
        fill(graph, "b", 20)
        sync.flush(graph, index)
        index.close()
        graph.close()
    return folder


def contents(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("how", ["removed", "emptied", "replaced by a memory without banks"])
def test_a_lost_graph_beside_a_full_index_is_refused_and_the_index_kept(
    folder: Path, how: str
) -> None:
    graph = made(folder) / "memory.sqlite3"
    backup = graph.read_bytes()
    graph.unlink()
    if how == "emptied":
        graph.touch()
    elif how != "removed":
        SqliteGraph(graph).close()
    before = contents(folder) - {"chroma/closed-cleanly.json"}
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match=r"Restore a backup .*; to start with an empty"):
            Hindsight(folder, settings=QUIET)
        assert contents(folder) - {"chroma/closed-cleanly.json"} == before
    graph.write_bytes(backup)
    with Hindsight(folder, settings=QUIET) as memory:
        assert memory.runtime.index.ids(memory.runtime.graph.list_banks()[0].key) == set(names(20))


@pytest.mark.parametrize("state", ["missing", "empty"])
@pytest.mark.parametrize("index", ["kept", "deleted"])
def test_the_log_of_a_lost_graph_is_refused_and_kept(folder: Path, state: str, index: str) -> None:
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The kettle is red.")
        log = (folder / "memory.sqlite3-wal").read_bytes()
        graph = (folder / "memory.sqlite3").read_bytes()
    (folder / "memory.sqlite3").unlink()
    (folder / "memory.sqlite3-wal").write_bytes(log)  # as a killed process leaves it
    if state == "empty":
        (folder / "memory.sqlite3").touch()
    if index == "deleted":
        shutil.rmtree(folder / "chroma")
    for _ in range(2):
        with pytest.raises(StoreCorruptError, match=rf"sqlite3-wal, a part .* is {state}"):
            Hindsight(folder, settings=QUIET)
        assert (folder / "memory.sqlite3-wal").read_bytes() == log
    (folder / "memory.sqlite3").write_bytes(graph)
    with Hindsight(folder, settings=QUIET) as memory:
        assert [each.text for each in memory.memories.list("b").items] == ["The kettle is red."]


def test_an_empty_memory_is_begun_once_the_index_of_the_lost_one_is_deleted(folder: Path) -> None:
    (made(folder) / "memory.sqlite3").unlink()
    shutil.rmtree(folder / "chroma")
    with Hindsight(folder, settings=QUIET) as memory:
        assert memory.banks.list() == []


def test_a_memory_whose_banks_were_all_deleted_opens(folder: Path) -> None:
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The kettle is red.")
        memory.banks.delete("b")
    with Hindsight(folder, settings=QUIET) as memory:
        assert memory.banks.list() == []
        assert memory.maintenance.doctor().findings == ()


def test_the_doctor_keeps_vectors_that_a_graph_without_any_bank_does_not_know() -> None:
    graph, lost, index = SqliteGraph(None), SqliteGraph(None), ChromaVectors.in_memory()
    key = fill(lost, "b", 20)
    sync.flush(lost, index)
    (found,) = sync.examine(graph, index, repair=True)
    assert not found.repaired
    assert "kept" in found.problem
    assert index.ids(key) == set(names(20))
    for store in (graph, lost, index):
        store.close()


Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 9_000, 9_000))


@pytest.mark.slow
def test_an_index_that_does_not_load_is_left_alone_while_the_disk_has_no_room(
    folder: Path, nearly_full: None
) -> None:
    made(folder)
    garbage("chroma.sqlite3")(folder)
    before = contents(folder)
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match=r"free some space\. Nothing was changed"):
            Hindsight(folder, settings=QUIET)
    assert contents(folder) == before


@pytest.mark.slow
def test_a_trial_that_finds_the_disk_full_says_nothing_about_the_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(folder)
    for file in chroma_files(folder, "*"):
        file.touch()

    def full(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
        error = "the vector index failed: database or disk is full; check its disk"
        return subprocess.CompletedProcess([], probe.UNAVAILABLE, "", f"warning\n{error}\n")

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "run", full)
        with pytest.raises(StoreUnavailableError, match="disk is full"):
            Hindsight(folder, settings=QUIET)
    assert put_aside(folder) == []
    Hindsight(folder, settings=QUIET).close()
    assert put_aside(folder) == []


@pytest.mark.parametrize(
    ("text", "status"),
    [("database or disk is full", probe.UNAVAILABLE), ("file is not a database", None)],
)
def test_only_faults_of_the_machine_end_a_trial_without_a_verdict(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, status: int | None
) -> None:
    def failing(folder: Path) -> None:
        raise StoreUnavailableError(f"the vector index failed: {text}")

    monkeypatch.setattr(probe, "probe", failing)
    if status is None:
        with pytest.raises(StoreUnavailableError):
            probe._main(folder)
    else:
        assert probe._main(folder) == status


@pytest.mark.slow
def test_a_damaged_index_is_deleted_once_the_new_one_is_sound(folder: Path) -> None:
    made(folder)
    garbage("chroma.sqlite3")(folder)
    with Hindsight(folder, settings=QUIET):
        assert len(put_aside(folder)) == 1
    with Hindsight(folder, settings=QUIET) as memory:
        assert put_aside(folder) == []
        assert memory.runtime.index.keys()


def test_an_owner_that_cannot_be_written_leaves_no_file_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(StoreUnavailableError, match="No space left"):
            Folder.open(folder)
    assert f"owner.json.{os.getpid()}" not in os.listdir(folder)
    Folder.open(folder).close()
