"""The blocks of docs/mcp.md that configure hosts: each is valid, and what it starts works."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.examples import blocks
from tests.service.test_stdio import COMMAND, host

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
READ = {"json": json.loads, "toml": tomllib.loads}
ROOTS = {"mcpServers", "servers", "context_servers", "mcp_servers"}


def entries() -> list[dict[str, Any]]:
    """Return the entry of each block that configures a host."""
    read = [READ[one.language](one.text) for one in blocks(PAGE) if one.language in READ]
    found = []
    for root, servers in (pair for block in read for pair in block.items()):
        assert root in ROOTS
        assert list(servers) == ["memory"]
        found.append(servers["memory"])
    return found


def command_lines() -> set[tuple[str, ...]]:
    """Return what the blocks start, in files of hosts and behind `--` on command lines."""
    written = {(one["command"], *one["args"]) for one in entries() if "command" in one}
    lines = [
        line for one in blocks(PAGE) if one.language == "bash" for line in one.text.splitlines()
    ]
    called = [shlex.split(line.partition(" -- ")[2]) for line in lines if " -- " in line]
    assert len(called) == 2
    return written | {tuple(one) for one in called}


def test_the_blocks_configure_as_many_hosts_as_the_page_names() -> None:
    assert len(entries()) == 5
    assert [one["url"] for one in entries() if "url" in one] == ["http://localhost:8888/mcp/me/"]


@pytest.mark.slow
def test_the_command_line_of_all_blocks_starts_a_server(folder: Path) -> None:
    ((name, verb, *options),) = command_lines()
    assert (name, verb) == ("hindsight-memory", COMMAND[-1])
    options[options.index("~/memory")] = str(folder)
    with host(folder, *options) as one:
        assert len(one.ask("tools/list")["tools"]) == 7
        assert one.call("retain", content="Alice moved to Bergen.").startswith("Remembered")
        assert "Bergen" in one.call("recall", query="Where is Alice?")
