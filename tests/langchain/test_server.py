"""The page's `langgraph.json`, run by LangGraph's own server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.examples import blocks

pytest.importorskip("langgraph_api", reason="langgraph-cli[inmem] is not installed")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = blocks((ROOT / "docs" / "langchain.md").read_text(encoding="utf-8"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of `langgraph dev`, run on the files that the page prints."""
    (configuration,) = [block.text for block in PAGE if block.language == "json"]
    (agent,) = [block.text for block in PAGE if "shared_store =" in block.text]
    (tmp_path / "langgraph.json").write_text(configuration, encoding="utf-8")
    (tmp_path / "agent.py").write_text(agent, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [*command, "--port", str(port)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "LANGSMITH_TRACING": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
                _wait(client, process)
                yield client
        finally:
            process.terminate()
            process.wait(60)


def _wait(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            client.get("/ok").raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"langgraph dev does not answer; exit code {process.poll()}")


def test_a_server_keeps_its_items_in_the_store_and_its_graphs_search_them(
    server: httpx.Client,
) -> None:
    for key, text in [("1", "In March 2023 we sailed to Skye."), ("2", "The Rhine was too hot.")]:
        item = {"namespace": ["team", "trips"], "key": key, "value": {"text": text}}
        server.put("/store/items", json=item).raise_for_status()
    asked = {"namespace_prefix": ["team"], "query": "Where did we sail?"}
    found = server.post("/store/items/search", json=asked).json()["items"]
    assert [item["key"] for item in found] == ["1", "2"]
    assert found[0]["score"] > 0.5
    question = {"role": "user", "content": "Where were we in spring 2023?"}
    run = {"assistant_id": "agent", "input": {"messages": [question]}}
    state = server.post("/runs/wait", json=run).json()
    assert json.dumps(state).count("In March 2023 we sailed to Skye.") == 1
