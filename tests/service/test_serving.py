"""`hindsight-memory serve`, as other processes find it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from hindsight_integrations import Hindsight, StoreLockedError
from hindsight_integrations.remote.connection import Connection
from hindsight_integrations.service.discovery import RunningService, announced, find_service
from hindsight_integrations.stores.folder import Folder
from tests.test_cli import runs_on
from tests.waiting import until

TOKEN = "the-token-of-the-service"


@contextmanager
def serving(
    folder: Path, first: str = "", **settings: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command, after a statement of Python; yield its process and URL, and kill it then."""
    environment = {f"HINDSIGHT_SERVICE_{name.upper()}": value for name, value in settings.items()}
    environment["HINDSIGHT_CONSOLIDATE"] = "false"
    command = f"{first}\nfrom hindsight_integrations.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", command, "serve", "--path", str(folder), "--port", "0", "--json"],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


@pytest.mark.slow
def test_a_service_is_found_and_one_that_is_killed_loses_nothing_acknowledged(
    folder: Path,
) -> None:
    assert find_service(folder) is None
    with serving(folder, token=TOKEN) as (process, url):
        assert find_service(folder) == RunningService(url, process.pid, TOKEN)
        again = runs_on(folder)("serve", "--port", "0")
        assert again.code == 1
        assert f"{folder} is in use by a service (process {process.pid}) at {url}" in again.err
        assert stat.S_IMODE((folder / "service.json").stat().st_mode) == 0o600
        with pytest.raises(StoreLockedError, match=re.escape(f"as Hindsight('{url}')")) as locked:
            Hindsight(folder)
        assert TOKEN not in str(locked.value)
        with Hindsight(url.replace("//", f"//:{TOKEN}@")) as memory:
            acknowledged = memory.retain("alice", "Alice keeps bees in Porto.").ids
        process.kill()
        process.wait(20)
    assert find_service(folder) is None
    with Hindsight(folder) as memory:
        assert [each.id for each in memory.memories.list("alice").items] == list(acknowledged)


KILLED_BEFORE_ITS_ANSWER = """
import os, signal
from hindsight_integrations.runtime import Runtime
Runtime.reflect_later = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_a_retain_whose_answer_was_lost_with_the_service_is_stored_once(folder: Path) -> None:
    items = ["Alice keeps bees in Porto.", {"content": "Alice keeps bees in Porto."}, "Bob rows."]
    body: dict[str, object] = {"bank_id": "alice", "items": items}

    def retain(url: str, operation: str = "op-1", **changed: object) -> httpx.Response:
        header = {"Idempotency-Key": operation}
        url = f"{url}/v1/engine/retain_many"
        return httpx.post(url, json=body | changed, headers=header, timeout=60)

    with serving(folder, KILLED_BEFORE_ITS_ANSWER) as (process, url):
        with pytest.raises(httpx.TransportError):
            retain(url)
        process.wait(20)
    with serving(folder) as (_, url):
        again = retain(url).json()
        assert (again["stored"], len(again["skipped"])) == ([], 3)
        assert retain(url).json() == again
        assert retain(url, items=["Else."]).status_code == 409
    with serving(folder) as (_, url):
        assert retain(url, items=["Else."]).status_code == 409
        with Hindsight(url) as memory:
            assert {each.id for each in memory.documents.list("alice").items} == set(
                again["document_ids"]
            )
            assert memory.banks.stats("alice").memories == 2
        assert retain(url, "op-2").json()["document_ids"] != again["document_ids"]


@pytest.mark.slow
def test_two_hundred_recalls_are_answered_fairly_and_sigterm_lets_requests_finish(
    folder: Path,
) -> None:
    with serving(folder, concurrency="8", queue="64") as (process, url):
        with Hindsight(url) as memory:
            names = [f"Person{each} lives in town {each} and keeps bees." for each in range(50)]
            memory.retain_many("alice", names)
            memory.recall("alice", "Who keeps bees?")
        before = resident(process.pid)
        waits = sorted(asyncio.run(_recall_at_once(url, 200)))
        assert len(waits) == 200
        # In order of arrival: the last waits for all others, and nobody for longer than that.
        assert waits[-1] < 3 * waits[100] + 1.0
        assert resident(process.pid) - before < 300_000_000

        items = [{"content": f"Carol{each} sails to island {each}."} for each in range(60)]
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(
                httpx.post,
                f"{url}/v1/engine/retain_many",
                json={"bank_id": "many", "items": items},
                timeout=60,
            )
            until(lambda: "hindsight_requests_running 1.0" in metrics(url), 20)
            process.send_signal(signal.SIGTERM)
            assert len(running.result().json()["stored"]) == 60
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["ended"] is True
    assert not (folder / "service.json").exists()
    with Hindsight(folder) as memory:
        assert memory.banks.stats("many").memories == 60


async def _recall_at_once(url: str, number: int) -> list[float]:
    """Return the seconds that each of many recalls took."""

    async def ask() -> float:
        started = time.perf_counter()
        result = await memory.arecall("alice", "Who keeps bees in town 7?", max_tokens=200)
        assert result.memories
        return time.perf_counter() - started

    async with Hindsight(url) as memory:
        return list(await asyncio.gather(*(ask() for _ in range(number))))


def resident(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def metrics(url: str) -> str:
    return httpx.get(f"{url}/metrics", timeout=60).text


@pytest.mark.slow
def test_a_connection_without_a_whole_header_is_closed_and_others_are_answered(
    folder: Path,
) -> None:
    with serving(folder, body_timeout="1") as (_, url):
        with ExitStack() as connections:
            address = httpx.URL(url)
            for begun in (b"", b"GET /health/live HTTP/1.1\r\nHost: local"):
                one = connections.enter_context(
                    socket.create_connection((address.host, address.port))
                )
                one.sendall(begun)
                one.settimeout(20)
                started = time.monotonic()
                assert one.recv(100) == b""
                assert time.monotonic() - started > 0.5
        with httpx.Client(
            base_url=url, timeout=60
        ) as client:  # one connection, used for longer than a second
            for _ in range(5):
                assert client.get("/health/live").status_code == 200
                time.sleep(0.4)


A_REQUEST_THAT_DOES_NOT_END = """
import time
from hindsight_integrations.namespaces import pictured
pictured.bank_graph = lambda *_: time.sleep(300)
"""


@pytest.mark.slow
def test_a_request_that_does_not_end_does_not_keep_the_process(folder: Path) -> None:
    with serving(folder, A_REQUEST_THAT_DOES_NOT_END, drain_timeout="1") as (process, url):
        with pytest.raises(httpx.TimeoutException):
            httpx.post(f"{url}/v1/engine/graph", json={"bank_id": "alice"}, timeout=2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 1
    with Hindsight(folder) as memory:
        assert memory.health().ok


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
