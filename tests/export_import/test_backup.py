"""A backup is one state of a memory that is used meanwhile, and is restored whole or not at all."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hindsight_integrations import (
    ConflictError,
    Hindsight,
    HindsightError,
    InvalidInputError,
    NotFoundError,
    SchemaVersionError,
    Settings,
    StoreCorruptError,
    StoreUnavailableError,
)
from hindsight_integrations.cli import app
from hindsight_integrations.export_import import back_up_folder
from hindsight_integrations.stores.base import MEMORY_ID
from hindsight_integrations.stores.sqlite import copying
from tests.service.served import served
from tests.stores.chroma_server import served as chroma_served
from tests.stores.in_memory_graph import InMemoryGraph
from tests.stores.neo4j_server import Address, empty_neo4j, neo4j_address
from tests.waiting import until

__all__ = ["empty_neo4j", "neo4j_address"]

QUIET = Settings(consolidate=False)


def everything(memory: Hindsight) -> dict[str, list[str]]:
    graph = memory.graph_store
    return {bank.id: sorted(graph.scan(bank.id, MEMORY_ID)) for bank in memory.banks.list()}


@pytest.mark.slow
def test_a_backup_is_one_state_while_a_writer_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "STEP", 10)
    steps: list[tuple[int, int | None]] = []

    def write(done: int, total: int | None) -> None:
        steps.append((done, total))
        memory.retain("alice", f"Boat {len(steps)} is blue.")
        memory.retain("bob", f"Boat {len(steps)} is red.")

    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("alice", "The kettle is red.\n\nRuth mends the radio in Porto.")
        gone = memory.retain("alice", "Zanzibar is forgotten.").ids[0]
        memory.forget("alice", [gone])
        before, asked = everything(memory), "Who mends the radio?"
        answer = memory.recall("alice", asked).text
        made = memory.maintenance.backup(tmp_path / "one.backup", progress=write)
        assert len(steps) > 3
        assert steps[-1][0] == steps[-1][1]
        assert len(everything(memory)["bob"]) == len(steps)
        assert (made.banks, made.memories) == (1, len(before["alice"]))
    file = tmp_path / "one.backup"
    assert made.bytes == file.stat().st_size
    assert b"Zanzibar" not in file.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path != folder] == ["one.backup"]
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with Hindsight.restore(file, tmp_path / "new", settings=QUIET) as restored:
        assert restored.recall("alice", asked).text == answer
        assert everything(restored) == before
        assert restored.maintenance.doctor().findings == ()
        restored.retain("alice", "The restored memory learns.")
        with Hindsight(folder, settings=QUIET) as first:
            assert first.graph_store.identity() != restored.graph_store.identity()


@pytest.mark.local
async def test_a_memory_in_ram_is_backed_up_too(memory: Hindsight, tmp_path: Path) -> None:
    memory.retain("b", "The kettle is red.")
    await memory.maintenance.abackup(tmp_path / "ram.backup")
    with Hindsight.restore(tmp_path / "ram.backup", tmp_path / "new", settings=QUIET) as restored:
        assert everything(restored) == everything(memory)


@pytest.mark.local
def test_a_memory_in_another_store_is_backed_up_bank_by_bank(tmp_path: Path) -> None:
    steps: list[tuple[int, int | None]] = []
    with Hindsight.in_memory(graph=InMemoryGraph(), settings=QUIET) as memory:
        for bank in ("alice", "bob"):
            memory.retain(bank, f"{bank} keeps bees in Porto.\n\nRuth mends the radio.")
        made = memory.maintenance.backup(
            tmp_path / "b.backup", progress=lambda *at: steps.append(at)
        )
        assert (made.banks, made.memories, steps) == (2, 4, [(1, 2), (2, 2)])
        with Hindsight.restore(tmp_path / "b.backup", tmp_path / "new", settings=QUIET) as restored:
            assert everything(restored) == everything(memory)
            assert restored.maintenance.doctor().findings == ()
            for bank in ("alice", "bob"):
                for each, name in ((memory, "one"), (restored, "other")):
                    each.banks.export(bank, tmp_path / name)
                assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.slow
def test_the_command_copies_a_memory_on_servers_while_another_client_writes(
    empty_neo4j: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where no folder of a memory is
    with chroma_served(tmp_path / "chroma") as url:

        def opened() -> Hindsight:
            return Hindsight(graph=empty_neo4j.uri, vectors=url, settings=QUIET)

        file, stop = tmp_path / "night.backup", threading.Event()
        acknowledged: list[str] = []
        with opened() as memory, opened() as other:
            first = [memory.retain(bank, "The kettle is red.").ids[0] for bank in "ab"]

            def write() -> None:
                while not stop.wait(0.3):
                    acknowledged.extend(other.retain("b", f"Buoy {len(acknowledged)} is lit.").ids)

            writer = threading.Thread(target=write)
            writer.start()
            try:
                until(lambda: len(acknowledged) >= 3)
                before = set(acknowledged)
                variables = {
                    "HINDSIGHT_GRAPH": empty_neo4j.uri,
                    "HINDSIGHT_VECTORS": url,
                    "HINDSIGHT_CONSOLIDATE": "false",
                }
                ran = CliRunner().invoke(app, ["backup", str(file), "--json"], env=variables)
                asked = ["recall", "What colour is the kettle?", "--bank", "a"]
                assert "red" in CliRunner().invoke(app, asked, env=variables).output
            finally:
                stop.set()
                writer.join()
            assert ran.exit_code == 0, ran.output
            later = everything(memory)
    with Hindsight.restore(file, tmp_path / "new", settings=QUIET) as restored:
        held = everything(restored)
        assert held["a"] == later["a"] == [first[0]]
        assert {first[1], *before} <= set(held["b"]) <= set(later["b"])
        assert restored.maintenance.doctor().findings == ()
        assert "kettle" in restored.recall("b", "What colour is the kettle?").text


def test_the_command_copies_a_folder_that_is_open_and_restores_it(
    folder: Path, tmp_path: Path
) -> None:
    file, new = tmp_path / "night.backup", tmp_path / "new"

    def run(*arguments: str) -> tuple[int, str]:
        ran = CliRunner().invoke(app, arguments, env={"HINDSIGHT_CONSOLIDATE": "false"})
        return ran.exit_code, ran.output

    code, said = run("backup", str(file), "--path", str(folder))
    assert code == 1
    assert "no memory" in said
    stop = threading.Event()
    acknowledged: list[str] = []

    def write() -> None:
        while not stop.is_set():
            acknowledged.extend(memory.retain("b", f"Buoy {len(acknowledged)} is lit.").ids)

    with Hindsight(folder, settings=QUIET) as memory:
        first = memory.retain("b", "The kettle is red.").ids
        writer = threading.Thread(target=write)
        writer.start()
        try:
            until(lambda: len(acknowledged) >= 3)
            before = list(acknowledged)
            code, said = run("backup", str(file), "--path", str(folder), "--json")
        finally:
            stop.set()
            writer.join()
        assert code == 0, said
        assert json.loads(said)["banks"] == 1
    code, said = run("restore", str(file), "--path", str(new))
    assert code == 0, said
    assert "two stores agree" in said
    code, said = run("restore", str(file), "--path", str(new))
    assert code == 1
    assert "already contains a memory" in said
    with Hindsight(new, settings=QUIET) as memory:
        held = everything(memory)["b"]
    assert set(before) <= set(held)
    assert set(held) - set(acknowledged) == set(first)


KILLED = """
import os, sys
from hindsight_integrations.export_import import back_up_folder, restore_folder
from hindsight_integrations.stores.sqlite import copying

copying.STEP = 10
doing = {"backup": back_up_folder, "restore": restore_folder}[sys.argv[1]]
doing(sys.argv[2], sys.argv[3], lambda done, total: os.kill(os.getpid(), 9))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_one_that_is_killed_leaves_the_older_file_and_no_folder(
    folder: Path, tmp_path: Path
) -> None:
    def killed(what: str, source: Path, target: Path) -> None:
        command = [sys.executable, "-c", KILLED, what, str(source), str(target)]
        assert subprocess.run(command).returncode == -signal.SIGKILL

    files, new = tmp_path / "backups", tmp_path / "new"
    files.mkdir()
    file = files / "night.backup"
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The kettle is red.")
        memory.maintenance.backup(file)
        older = file.read_bytes()
        memory.retain("b", "The kettle is blue.")
        killed("backup", folder, file)
        assert file.read_bytes() == older
        assert len(list(files.iterdir())) == 2
        memory.maintenance.backup(file)
        assert [path.name for path in files.iterdir()] == ["night.backup"]
        held = everything(memory)
    killed("restore", file, new)
    assert not (new / "memory.sqlite3").exists()
    with Hindsight.restore(file, new, settings=QUIET) as restored:
        assert everything(restored) == held
    assert [path.name for path in new.iterdir() if path.name.startswith(".")] == []


@pytest.mark.local
def test_what_is_no_whole_backup_is_refused(memory: Hindsight, tmp_path: Path) -> None:
    memory.retain("b", "The kettle is red.")
    file, new = tmp_path / "whole.backup", tmp_path / "new"
    memory.maintenance.backup(file)
    content = file.read_bytes()
    newer = bytearray(content)
    newer[60:64] = (9999).to_bytes(4, "big")  # SQLite's place of `user_version`
    torn = bytearray(content)
    torn[8192:12288] = bytes(4096)
    bad: dict[bytes, type[HindsightError]] = {
        b"": InvalidInputError,
        b"no memory at all" * 1000: InvalidInputError,
        content[: len(content) // 2]: StoreCorruptError,
        bytes(torn): StoreCorruptError,
        bytes(newer): SchemaVersionError,
    }
    for number, (given, error) in enumerate(bad.items()):
        damaged = tmp_path / f"bad-{number}"
        damaged.write_bytes(given)
        with pytest.raises(error):
            Hindsight.restore(damaged, new)
        assert [path.name for path in new.iterdir()] == ["owner.lock"]
    with pytest.raises(NotFoundError, match="no backup"):
        Hindsight.restore(tmp_path / "nowhere", new)
    with Hindsight(new, settings=QUIET), pytest.raises(HindsightError, match="in use"):
        Hindsight.restore(file, new)
    with pytest.raises(ConflictError, match="which is never overwritten"):
        Hindsight.restore(file, new)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_folder_with_a_part_of_an_earlier_memory_is_refused(
    folder: Path, tmp_path: Path, ending: str
) -> None:
    file, new = tmp_path / "night.backup", tmp_path / "new"
    with Hindsight(folder, settings=QUIET) as memory:
        kept = memory.retain("b", "The kettle is red.").ids
        memory.maintenance.backup(file)
        memory.retain("b", "Later the kettle is blue.")
        new.mkdir()
        left = new / f"memory.sqlite3{ending}"  # as a killed process leaves it
        left.write_bytes((folder / "memory.sqlite3-wal").read_bytes())
    for _ in range(2):
        with pytest.raises(ConflictError, match=f"still has {left.name} of an earlier.*move these"):
            Hindsight.restore(file, new)
    assert {path.name for path in new.iterdir()} == {"owner.lock", left.name}
    left.unlink()
    with Hindsight.restore(file, new, settings=QUIET) as restored:
        assert everything(restored) == {"b": [*kept]}


def test_an_empty_file_is_no_memory_to_back_up_and_its_log_stays(
    folder: Path, tmp_path: Path
) -> None:
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The kettle is red.")
        log = (folder / "memory.sqlite3-wal").read_bytes()
    (folder / "memory.sqlite3").write_bytes(b"")
    (folder / "memory.sqlite3-wal").write_bytes(log)
    with pytest.raises(NotFoundError, match="no memory"):
        back_up_folder(folder, tmp_path / "night.backup")
    assert (folder / "memory.sqlite3-wal").read_bytes() == log


@pytest.mark.local
@pytest.mark.slow
def test_where_no_backup_can_be_written_the_error_says_what_to_do(
    memory: Hindsight, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match="is not a file"):
        memory.maintenance.backup(tmp_path)
    with pytest.raises(StoreUnavailableError, match="cannot be written"):
        memory.maintenance.backup(tmp_path / "nowhere" / "b.backup")
    with pytest.raises(InvalidInputError, match="give its path"):
        memory.maintenance.backup("-")
    with (
        served(memory) as url,
        Hindsight(url) as remote,
        pytest.raises(InvalidInputError, match="hindsight-memory backup"),
    ):
        remote.maintenance.backup(tmp_path / "b.backup")
    assert list(tmp_path.iterdir()) == []
