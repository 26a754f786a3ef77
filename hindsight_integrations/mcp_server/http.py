"""The MCP server over streamable HTTP: an ASGI application, to be mounted at `/mcp`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from hindsight_integrations.client import Hindsight
from hindsight_integrations.integrations import common
from hindsight_integrations.mcp_server.server import Request, pinned_to, server_of
from hindsight_integrations.mcp_server.tools import Tools

LOCAL = ("127.0.0.1:*", "localhost:*", "[::1]:*")
"""Values of the header Host that are answered, unless something in front checks them."""

_BANK = "hindsight_integrations.mcp_bank"
"""Key of a request's scope: the bank in its path."""


class McpApp:
    """An ASGI application: `/` gives access to all banks, `/{bank}/` to one.

    It keeps no sessions, so that any of several processes can answer a request. `run` has to be
    entered while it serves. A bank whose id has a slash is reached at `/` alone.

    Args:
        memory: an open engine.
        tools: "core" or "all".
        guarded: True if something in front checks the headers Host and Origin; else requests of
            web pages and for other names than those of the loopback are refused.
    """

    def __init__(self, memory: Hindsight, *, tools: Tools = "all", guarded: bool = False) -> None:
        self._memory = common.checked_memory(memory)
        self._tools = tools
        self._security = TransportSecuritySettings(
            enable_dns_rebinding_protection=not guarded,
            allowed_hosts=list(LOCAL),
            allowed_origins=[f"http://{host}" for host in LOCAL],
        )
        self._for_any: StreamableHTTPSessionManager | None = None
        self._for_one: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serve while the block runs; it may be entered again."""

        def use(action: Any) -> str:
            return str(action(self._memory))

        self._for_any = self._manager(server_of(use, tools=self._tools))
        self._for_one = self._manager(server_of(use, tools=self._tools, bank_of=_in_path))
        async with self._for_any.run(), self._for_one.run():
            yield
        self._for_any = self._for_one = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            RuntimeError: `run` was not entered.
        """
        bank = scope["path"].removeprefix(scope.get("root_path", "")).strip("/")
        if "/" in bank:  # what is in front reads one segment as the bank
            await PlainTextResponse("no such path", 404)(scope, receive, send)
            return
        manager = self._for_one if bank else self._for_any
        if manager is None:
            raise RuntimeError("McpApp.run() was not entered; enter it in the lifespan")
        await manager.handle_request({**scope, _BANK: bank}, receive, send)

    def _manager(self, server: Any) -> StreamableHTTPSessionManager:
        server.streamable_http_app(
            stateless_http=True, json_response=True, transport_security=self._security
        )
        manager: StreamableHTTPSessionManager = server.session_manager
        return manager


def _in_path(request: Request | None, asked: str | None) -> str:
    """Return the bank in the path of a request."""
    http: Any = request and request.request_context.request
    bank: str = http.scope[_BANK]
    return pinned_to(bank)(request, asked)
