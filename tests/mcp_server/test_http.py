"""The MCP server over streamable HTTP, alone and in the service, called by the SDK's client."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from hindsight_integrations import Hindsight, MissingExtraError
from hindsight_integrations.mcp_server import McpApp
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.settings import ServiceSettings

TOKEN = "the-token-of-the-service"
ALICE = "the-token-of-the-bank-alice"


def http(app: Any, host: str = "localhost:8888", token: str = "") -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx2.ASGITransport(app)
    return httpx2.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers)


@asynccontextmanager
async def connected(
    app: Any, path: str, token: str = "", mode: str = "auto"
) -> AsyncIterator[Client]:
    async with http(app, token=token) as web:
        transport = streamable_http_client(f"http://localhost:8888{path}", http_client=web)
        async with Client(transport, mode=mode) as client:
            yield client


async def text_of(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    return str(result.content[0].text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_path_names_the_bank_or_the_calls_do(memory: Hindsight, mode: str) -> None:
    app = McpApp(memory)
    async with app.run():
        async with connected(app, "/alice%20b/", mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert "bank" not in tools[0].input_schema["properties"]
            await client.call_tool("retain", {"content": "Alice moved to Bergen."})
            profile = await client.read_resource("memory://alice%20b/profile")
            assert profile.contents[0].text.startswith("1 memory")
        async with connected(app, "/?tools=all", mode=mode) as client:
            assert "alice b" in await text_of(client, "list_banks")
            told = await text_of(client, "recall", query="Where is Alice?", bank="alice b")
            assert "Bergen" in told


async def test_the_app_alone_refuses_other_sites_and_other_paths(memory: Hindsight) -> None:
    app = McpApp(memory)
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with app.run(), http(app) as web:
        assert (await web.post("/", json=ask, headers=accept)).status_code == 200
        foreign = await web.post("/", json=ask, headers=accept | {"Origin": "http://evil.example"})
        assert foreign.status_code == 403
        assert (await web.get("/", headers=accept)).status_code == 405, "no stream stays open"
        assert (await web.post("/a/b", json=ask, headers=accept)).status_code == 404
        assert (await web.post("/?tools=some", json=ask, headers=accept)).status_code == 404
        async with http(app, "evil.example") as other:
            assert (await other.post("/", json=ask, headers=accept)).status_code == 421


async def test_the_service_gives_the_token_of_a_bank_that_bank_alone(memory: Hindsight) -> None:
    settings = ServiceSettings(token=TOKEN, bank_tokens={"alice": ALICE})
    app = create_app(memory, settings)
    async with app.router.lifespan_context(app):
        async with connected(app, "/mcp/alice/", ALICE) as client:
            await client.call_tool("retain", {"content": "Alice moved to Bergen."})
            assert "Bergen" in await text_of(client, "recall", query="Where is Alice?")
        async with connected(app, "/mcp/?tools=all", TOKEN) as client:
            assert "alice" in await text_of(client, "list_banks")
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for path, token, status in (
            ("/mcp/alice/", "", 401),
            ("/mcp/", "", 401),
            ("/mcp/", ALICE, 403),
            ("/mcp/bob/", ALICE, 403),
            ("/mcp/alice%2Fbob/", ALICE, 404),
            ("/mcp//bob/", ALICE, 403),
        ):
            async with http(app, token=token) as web:
                assert (await web.post(path, json=ask)).status_code == status, path


async def test_the_audit_log_tells_of_tools_that_write_and_of_no_others(
    memory: Hindsight, tmp_path: Path
) -> None:
    audited = tmp_path / "audit.jsonl"
    app = create_app(memory, ServiceSettings(token=TOKEN, audit_log=str(audited)))
    async with app.router.lifespan_context(app):
        async with connected(app, "/mcp/", TOKEN) as client:
            await client.list_tools()
            await client.call_tool("retain", {"content": "Alice rows.", "bank": "b"})
            assert "rows" in await text_of(client, "recall", query="What does Alice do?", bank="b")
            await client.read_resource("memory://b/recent")
        async with connected(app, "/mcp/alice/", TOKEN) as client:
            assert "nothing to change" in await text_of(client, "forget", ids=["m-1"])
        async with http(app) as web:  # refused before it is known which tool it names
            assert (await web.post("/mcp/alice/", json={})).status_code == 401
    entries = [json.loads(line) for line in audited.read_text(encoding="utf-8").splitlines()]
    assert [(each["route"], each["banks"], each["who"]) for each in entries] == [
        ("/mcp", ["b"], "service"),
        ("/mcp", ["alice"], "service"),
        ("/mcp", ["alice"], "none"),
    ]


async def test_without_the_sdk_it_is_said_what_to_install(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("hindsight_integrations.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(MissingExtraError, match=r"hindsight-integrations\[mcp\]"):
        importlib.import_module("hindsight_integrations.mcp_server")
    async with http(create_app(memory)) as web:
        answer = await web.post("/mcp/me/", json={})
        assert answer.status_code == 501
        assert "hindsight-integrations[mcp]" in answer.json()["detail"]
