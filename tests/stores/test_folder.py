"""The folder of an embedded memory has one owner, and says who."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hindsight_integrations.errors import InvalidInputError, StoreLockedError, StoreUnavailableError
from hindsight_integrations.stores import folder
from hindsight_integrations.stores.folder import Folder

OWNER = """
import sys, time
from hindsight_integrations.stores.folder import Folder
folder = Folder.open(sys.argv[1])
print("mine", flush=True)
time.sleep(60)
"""


def start_owner(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mes mémoires"


def test_it_is_made_with_its_places_inside(path: Path) -> None:
    with Folder.open(path) as folder:
        assert folder.path == path
        assert folder.graph_path == path / "memory.sqlite3"
        assert folder.vectors_path == path / "chroma"
        assert str(path) in repr(folder)


def test_other_files_in_it_are_left_alone(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    with Folder.open(path):
        pass
    assert (path / "notes.txt").read_text() == "mine"


def test_a_second_process_learns_who_has_it_and_what_to_do(path: Path) -> None:
    process = start_owner(path)
    try:
        with pytest.raises(StoreLockedError) as caught:
            Folder.open(path)
        said = str(caught.value)
        assert f"process {process.pid} on " in said
        assert "since 20" in said
        assert "hindsight-memory serve --path" in said
        assert 'Hindsight("http' in said
    finally:
        end(process)


def test_a_killed_owner_leaves_it_free(path: Path) -> None:
    process = start_owner(path)
    end(process)
    assert (path / "owner.json").exists()
    with Folder.open(path):
        owner = json.loads((path / "owner.json").read_text())
        assert owner["pid"] == os.getpid()


def test_the_same_process_cannot_have_it_twice(path: Path) -> None:
    with Folder.open(path), pytest.raises(StoreLockedError, match="this process"):
        Folder.open(path)
    Folder.open(path).close()


@pytest.mark.parametrize(("after", "named"), [(0, True), (1, False)])
def test_a_service_that_has_it_is_named_and_one_that_was_killed_is_not(
    path: Path, after: int, named: bool
) -> None:
    with Folder.open(path):
        service = {"url": "http://127.0.0.1:9999", "pid": os.getpid() + after, "token": "secret"}
        (path / "service.json").write_text(json.dumps(service))
        with pytest.raises(StoreLockedError) as locked:
            Folder.open(path)
    assert ("as Hindsight('http://127.0.0.1:9999')" in str(locked.value)) is named
    assert "secret" not in str(locked.value)


def test_another_thread_may_close_it(path: Path) -> None:
    folder = Folder.open(path)
    closer = threading.Thread(target=folder.close)
    closer.start()
    closer.join()
    folder.close()
    Folder.open(path).close()


def test_processes_that_share_it_wait_for_each_other(path: Path) -> None:
    looking = Folder.open(path)
    timer = threading.Timer(0.3, looking.close)
    timer.start()
    shared = Folder.shared(path)
    timer.join()
    assert [file.name for file in shared.path.iterdir()] == ["owner.lock"]
    with Folder.open(path):
        pass


def test_one_that_has_its_vectors_inside_is_not_shared(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "SHARING_SECONDS", 0.1)
    with Folder.open(path), pytest.raises(StoreLockedError, match="this process has had it open"):
        Folder.shared(path)


@pytest.mark.parametrize("left", [None, "", "{", "[]", '{"pid": "x"}'])
def test_an_owner_that_cannot_be_read_is_another_process(path: Path, left: str | None) -> None:
    with Folder.open(path):
        (path / "owner.json").unlink()
        if left is not None:
            (path / "owner.json").write_text(left)
        with pytest.raises(StoreLockedError, match="another process"):
            Folder.open(path)


@pytest.mark.parametrize("given", ["", "a\0b"])
def test_what_is_no_path_is_refused(given: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a path"):
        Folder.open(given)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidInputError, match="is a file"):
        Folder.open(tmp_path / "file")


def test_a_missing_parent_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="does not exist"):
        Folder.open(tmp_path / "tpyo" / "memories")
    assert not (tmp_path / "tpyo").exists()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc, closed even to root")
def test_a_folder_that_cannot_be_written_is_unavailable() -> None:
    with pytest.raises(StoreUnavailableError, match="local disk"):
        Folder.open("/proc/memories")


def test_the_home_folder_may_be_written_as_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Folder.open("~/memories") as folder:
        assert folder.path == tmp_path / "memories"
