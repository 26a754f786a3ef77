"""The MCP server over streamable HTTP: an ASGI application, to be mounted at `/mcp`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations import common
from hindsight_integrations.mcp_server.server import Request, pinned_to, server_of
from hindsight_integrations.mcp_server.tools import TOOL_SETS, Tools

LOCAL = tuple(
    f"{host}{port}" for host in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*")
)
"""Allowed values of the header Host, unless a proxy or middleware in front checks it."""

_BANK = "hindsight_integrations.mcp_bank"
"""Key of a request's scope: the bank in its path."""


class McpApp:
    """An ASGI application: `/` gives access to all banks, `/{bank}/` to one.

    It offers the core tools, and with `?tools=all` all of them. It is stateless, so that any of
    several processes can answer a request. `run` has to be entered while it serves. A bank whose
    id has a slash can only be used at `/`.

    Args:
        memory: the open memory.
        guarded: True if a proxy or middleware in front checks the headers Host and Origin; else
            requests of web pages, and for hosts other than the loopback, are refused.
    """

    def __init__(self, memory: Hindsight, *, guarded: bool = False) -> None:
        self._memory = common.checked_memory(memory)
        self._security = TransportSecuritySettings(
            enable_dns_rebinding_protection=not guarded,
            allowed_hosts=list(LOCAL),
            allowed_origins=[f"http://{host}" for host in LOCAL],
        )
        self._managers: dict[tuple[Tools, bool], StreamableHTTPSessionManager] = {}

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the block runs; it may be entered again."""
        async with AsyncExitStack() as running:
            for tools in TOOL_SETS:
                for bank_of in (None, _bank_in_path):
                    manager = self._manager(server_of(self._use, tools=tools, bank_of=bank_of))
                    await running.enter_async_context(manager.run())
                    self._managers[tools, bank_of is None] = manager
            yield
        self._managers.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            RuntimeError: `run` was not entered.
        """
        if scope["method"] != "POST":  # there are no streams to open, and no sessions to end
            allowed = {"Allow": "POST"}
            await PlainTextResponse("send requests by POST", 405, allowed)(scope, receive, send)
            return
        bank = scope["path"].removeprefix(scope.get("root_path", "")).strip("/")
        tools = QueryParams(scope["query_string"]).get("tools", "core")
        if "/" in bank or tools not in TOOL_SETS:  # the service reads one segment as the bank
            reason = "give /mcp/ or /mcp/{bank}/, and tools=core or tools=all"
            await PlainTextResponse(reason, 404)(scope, receive, send)
            return
        if not self._managers:
            raise RuntimeError(
                "McpApp.run() is not running; enter it in the application's lifespan"
            )
        manager = self._managers[tools, not bank]
        # A tool that writes sets this to True; see `server_of`.
        scope.setdefault("state", {})["write"] = False
        await manager.handle_request({**scope, _BANK: bank}, receive, send)

    def _use(self, action: Callable[[Hindsight], str]) -> str:
        return action(self._memory)

    def _manager(self, server: MCPServer[Any]) -> StreamableHTTPSessionManager:
        server.streamable_http_app(
            stateless_http=True, json_response=True, transport_security=self._security
        )
        return server.session_manager


def _bank_in_path(request: Request | None, named: str | None) -> str:
    """Return the bank in the path of a request."""
    http: Any = request and request.request_context.request
    bank: str = http.scope[_BANK]
    return pinned_to(bank)(request, named)
