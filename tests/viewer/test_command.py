"""`hindsight-memory view`."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from hindsight_integrations import Hindsight
from hindsight_integrations.cli import app
from hindsight_integrations.errors import MissingExtraError


def test_a_folder_without_a_memory_is_said_and_not_made(folder: Path) -> None:
    run = CliRunner().invoke(app, ["view", "--path", str(folder), "--no-browser", "--json"])
    assert run.exit_code == 1
    assert "there is no memory at" in run.output
    assert not folder.exists()


def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith("hindsight_integrations.viewer")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"needs jinja2.*hindsight-integrations\[service\]"):
        importlib.import_module("hindsight_integrations.viewer")


@pytest.mark.slow
def test_view_serves_on_loopback_and_finds_what_runs_already(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hindsight(folder) as memory:
        memory.retain("alice", "Alice moved to Bergen.")
    environment = os.environ | {"HINDSIGHT_SERVICE_HOST": "0.0.0.0"}  # which needs a token
    command = "from hindsight_integrations.cli import main; main()"
    arguments = ["view", "--path", str(folder), "--no-browser", "--json"]
    with subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            assert url.startswith("http://127.0.0.1:")
            assert "alice" in httpx.get(url, timeout=60).text
            assert httpx.get(url, headers={"Host": "evil.example"}, timeout=60).status_code == 421
            opened: list[str] = []
            monkeypatch.setattr(webbrowser, "open", opened.append)
            again = CliRunner().invoke(app, ["view", "--path", str(folder), "--json"])
            assert json.loads(again.output) == {"url": url, "pid": process.pid}
            assert opened == [url]
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()
