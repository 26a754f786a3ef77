"""`hindsight-memory serve`, as other processes find it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hindsight_integrations.remote.connection import Connection
from hindsight_integrations.service.discovery import RunningService, announced, find_service
from hindsight_integrations.stores.folder import Folder

TOKEN = "the-token-of-the-service"


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command; yield its process and URL, and kill it at the end if it still runs."""
    environment = {f"HINDSIGHT_SERVICE_{name.upper()}": value for name, value in settings.items()}
    command = "from hindsight_integrations.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", command, "serve", "--path", str(folder), "--port", "0", "--json"],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


@pytest.mark.slow
def test_a_service_is_found_in_its_folder_and_ends_on_sigterm(folder: Path) -> None:
    assert find_service(folder) is None
    with serving(folder, token=TOKEN) as (process, url):
        assert find_service(folder) == RunningService(url, process.pid, TOKEN)
        assert stat.S_IMODE((folder / "service.json").stat().st_mode) == 0o600
        assert httpx.get(f"{url}/openapi.json").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["ended"] is True
    assert not (folder / "service.json").exists()
    assert find_service(folder) is None


def test_a_file_that_a_killed_service_left_is_recognised(folder: Path) -> None:
    folder.mkdir()
    mine = RunningService("http://127.0.0.1:1", os.getpid(), TOKEN)
    with announced(folder, mine):
        assert find_service(folder) is None, "the folder is not open here, so nothing is announced"
    with Folder.open(folder), announced(folder, mine):
        assert find_service(folder) == mine
        left = (folder / "service.json").read_bytes()
        owner = (folder / "owner.json").read_bytes()
    assert TOKEN not in repr(mine)
    assert Connection(RunningService("http://h:1", 1, "a/b @").address).token == "a/b @"
    (folder / "service.json").write_bytes(left)
    (folder / "owner.json").write_bytes(owner)
    assert find_service(folder) is None
