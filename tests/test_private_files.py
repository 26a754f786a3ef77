"""Files are their user's alone, and what killed processes leave behind is removed."""

from __future__ import annotations

import logging
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.durable import DurableRetain
from hindsight_integrations.export_import import atomic_file
from hindsight_integrations.models import Bank

QUIET = Settings(consolidate=False)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX file permissions")


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_memory_a_queue_and_an_export_are_closed_to_others(folder: Path, tmp_path: Path) -> None:
    queue = tmp_path / "retains.queue"
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The kettle is red.")
        memory.banks.export("b", tmp_path / "b.jsonl")
        memory.banks.export("b", tmp_path / "b.jsonl.gz")
        with DurableRetain(memory, queue=queue) as durable:
            durable.retain("b", "The kettle is blue.")
            durable.drain()
            files = [*folder.iterdir(), *tmp_path.glob("*.jsonl*"), *tmp_path.glob("retains*")]
            assert {"memory.sqlite3-wal", "retains.queue-wal"} <= {file.name for file in files}
            for path in (folder, *files):
                assert rights(path) == (0o700 if path.is_dir() else 0o600), path.name


def test_what_chroma_makes_is_closed_to_others(folder: Path) -> None:
    for _ in range(2):
        with Hindsight(folder, settings=QUIET) as memory:
            memory.retain("b", "The kettle is red.")
            assert rights(folder / "chroma") == 0o700
            assert rights(folder / "chroma" / "chroma.sqlite3") == 0o600
        made = list((folder / "chroma").rglob("*"))
        assert any(path.suffix == ".bin" for path in made)
        for path in made:
            assert rights(path) == (0o700 if path.is_dir() else 0o600), path.name


def test_pictures_and_audits_are_closed_to_others(memory: Hindsight, tmp_path: Path) -> None:
    memory.retain("b", "Anna met Mira in Porto on 3 May 2024.")
    memory.graph("b").save(tmp_path / "graph.html")
    memory.graph("b").save(tmp_path / "graph.json")
    memory.timeline("b").save(tmp_path / "timeline.svg")
    memory.audit.export("b", tmp_path / "audit.jsonl")
    memory.graph("b").save(tmp_path / "graph.html")  # once more
    assert {path.name: rights(path) for path in tmp_path.iterdir()} == dict.fromkeys(
        ("graph.html", "graph.json", "timeline.svg", "audit.jsonl"), 0o600
    )


def test_rights_that_somebody_gave_stay(folder: Path) -> None:
    Hindsight(folder, settings=QUIET).close()
    folder.chmod(0o750)
    (folder / "memory.sqlite3").chmod(0o640)
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The kettle is red.")
    assert rights(folder) == 0o750
    assert rights(folder / "memory.sqlite3") == 0o640


KILLED = """
import os, sys
from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.export_import import atomic_file

if sys.argv[3] == "named":
    atomic_file._open_unnamed = lambda folder: None
with Hindsight(sys.argv[1], settings=Settings(consolidate=False)) as memory:
    memory.retain("b", "The kettle is red.")
    memory.banks.export("b", sys.argv[2])
    def die(done, total):
        os.kill(os.getpid(), 9)
    memory.banks.export("b", sys.argv[2], progress=die)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["unnamed", "named"])
def test_a_killed_export_leaves_no_text(folder: Path, tmp_path: Path, how: str) -> None:
    target = tmp_path / "out" / "b.jsonl"
    target.parent.mkdir()
    command = [sys.executable, "-c", KILLED, str(folder), str(target), how]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    left = [file.name for file in target.parent.iterdir() if file != target]
    assert len(left) == (how == "named")
    with Hindsight(folder, settings=QUIET) as memory:
        memory.banks.export("b", target)
    assert [file.name for file in target.parent.iterdir()] == ["b.jsonl"]


def test_an_export_leaves_those_of_others_alone(
    memory: Hindsight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_file, "_open_unnamed", lambda folder: None)
    memory.retain("b", "The kettle is red.")
    target = tmp_path / "b.jsonl"
    others = [tmp_path / name for name in (".b.jsonl.bak", ".c.jsonl.0123abcd", ".b.jsonl.d")]
    for other in others:
        other.touch()
    with atomic_file.writing(target) as out:
        out.write(b"half")
        memory.banks.export("b", target)
        assert len([path for path in tmp_path.iterdir() if path not in others]) == 2
    assert target.read_bytes() == b"half"
    assert all(other.exists() for other in others)


def test_where_no_file_can_be_without_a_name_a_hidden_one_is_written(
    memory: Hindsight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.retain("b", "The kettle is red.")
    memory.banks.export("b", tmp_path / "one.jsonl")
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    memory.banks.export("b", tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert rights(tmp_path / "two.jsonl") == 0o600
    assert len(list(tmp_path.iterdir())) == 2


def test_what_a_killed_import_stored_is_removed_at_the_next_opening(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Hindsight(folder, settings=QUIET) as memory:
        graph = memory.runtime.graph
        graph.create_bank(Bank("import-x"), memory.runtime.embedder_identity, importing="alice")
        memory.retain("b", "The kettle is red.")
    with caplog.at_level(logging.WARNING), Hindsight(folder, settings=QUIET) as memory:
        assert memory.runtime.graph.list_banks(importing=True) == []
        assert [bank.id for bank in memory.banks.list()] == ["b"]
        assert memory.maintenance.doctor().findings == ()
    assert "interrupted import of bank 'alice'" in caplog.text
