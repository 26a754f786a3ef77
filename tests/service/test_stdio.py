"""`hindsight-memory mcp`: processes on stdio that share a folder through its service."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from hindsight_integrations import Hindsight, InvalidInputError, StoreLockedError
from hindsight_integrations.cli.screen import INTERRUPTED
from hindsight_integrations.service import starting
from hindsight_integrations.service.discovery import find_service
from hindsight_integrations.service.starting import find_or_start
from tests.stores.chroma_server import served
from tests.test_cli import runs_on

COMMAND = [sys.executable, "-c", "from hindsight_integrations.cli import main; main()", "mcp"]
BRIEFLY = os.environ | {"HINDSIGHT_SERVICE_IDLE_EXIT": "3", "HINDSIGHT_CONSOLIDATE": "false"}


class Raw:
    """A host that speaks JSON-RPC to a process of its own, and sees all it writes to stdout."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._id = 0
        about = {"name": "raw", "version": "1"}
        session = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}
        self.ask("initialize", **session)
        self._send({"method": "notifications/initialized"})

    def ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self.process.stdout
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._id
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> str:
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return str(result["content"][0]["text"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()


@contextmanager
def host(folder: Path, *options: str, **variables: str) -> Iterator[Raw]:
    with subprocess.Popen(
        [*COMMAND, "--path", str(folder), *options],
        env=BRIEFLY | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Raw(process)
        finally:
            process.kill()


@asynccontextmanager
async def editor(folder: Path, *options: str) -> AsyncIterator[Client]:
    arguments = [*COMMAND[1:], "--path", str(folder), *options]
    process = StdioServerParameters(command=COMMAND[0], args=arguments, env=dict(BRIEFLY))
    async with Client(process) as client:
        yield client


async def ended(folder: Path) -> bool:
    """Wait until the folder has no service."""
    for _ in range(600):
        if find_service(folder) is None:
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.slow
async def test_two_editors_share_a_folder_though_one_and_the_service_are_killed(
    folder: Path,
) -> None:
    with host(folder, "--bank", "alice") as first:
        tools = first.ask("tools/list")["tools"]
        assert len(tools) == 7
        assert first.call("retain", content="Alice moved to Bergen.").startswith("Remembered")
        async with editor(folder, "--bank", "alice", "--tools", "all") as second:
            first.process.send_signal(signal.SIGKILL)
            first.process.wait()
            asked = {"query": "Where is Alice?"}
            told = await second.call_tool("recall", asked)
            assert "Bergen" in told.content[0].text
            running = find_service(folder)
            assert running is not None
            assert running.token, "other users of this machine have no access"
            shell = runs_on(folder)  # commands speak to the service, too
            assert "Bergen" in shell("recall", "Where is Alice?", "--bank", "alice").out
            assert shell("retain", "Bob plays the oboe.", "--bank", "bob").code == 0
            os.kill(running.pid, signal.SIGKILL)
            told = await second.call_tool("recall", asked)
            assert "Bergen" in told.content[0].text
            other = find_service(folder)
            assert other is not None
            assert other.pid != running.pid
            await asyncio.sleep(4)
            assert find_service(folder) == other, "it stays while an editor runs"
        assert await ended(folder), "it ends when nobody uses it"


@pytest.mark.slow
def test_stdout_carries_the_protocol_alone_and_the_end_of_stdin_ends_it(folder: Path) -> None:
    with host(folder) as one:
        assert "Remembered" in one.call("retain", content="Bob plays the oboe.", bank="bob")
        assert "oboe" in one.call("recall", query="Who plays the oboe?", bank="bob")
        assert one.process.stdin
        one.process.stdin.close()
        assert one.process.wait(30) == 0
        assert one.process.stdout
        assert one.process.stdout.read() == ""
        assert one.process.stderr
        assert one.process.stderr.read() == ""


@pytest.mark.slow
def test_a_memory_on_servers_needs_no_service(folder: Path, tmp_path: Path) -> None:
    with served(tmp_path / "chroma") as url, host(folder, HINDSIGHT_VECTORS=url) as one:
        assert "Remembered" in one.call("retain", content="Bob plays the oboe.", bank="bob")
        assert "oboe" in one.call("recall", query="Who plays the oboe?", bank="bob")
        assert find_service(folder) is None
        one.process.send_signal(signal.SIGINT)
        assert one.process.wait(30) == INTERRUPTED


@pytest.mark.slow
def test_in_a_terminal_it_says_what_it_waits_for_until_ctrl_c(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "--path", str(tmp_path / "nowhere" / "below")],  # no service is started
        stdin=theirs, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr
        assert "Waiting for an MCP host" in process.stderr.readline()
        time.sleep(2)  # until it reads
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == INTERRUPTED
        assert process.stderr.read() == ""
    os.close(ours)
    os.close(theirs)


@pytest.mark.slow
def test_an_owner_that_is_no_service_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "LOCKED_SECONDS", 0)
    with Hindsight(folder), pytest.raises(StoreLockedError, match=f"process {os.getpid()} on"):
        find_or_start(folder)
    with pytest.raises(InvalidInputError, match="does not exist"):
        find_or_start(folder / "nowhere" / "below")
