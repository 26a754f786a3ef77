"""End a service that nobody uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class IdleShutdown:
    """ASGI middleware that ends the server once no request has run for a while.

    Args:
        app: the application.
        seconds: how long without a request.
        end: ends the server.
    """

    def __init__(self, app: ASGIApp, seconds: float, end: Callable[[], None]) -> None:
        self._app = app
        self._seconds = seconds
        self._end = end
        self._running = 0
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; the time counts from the start, and from the last that ended."""
        if self._timer is not None:
            self._timer.cancel()
        if scope["type"] == "lifespan":
            self._wait()
            await self._app(scope, receive, send)
            return
        self._running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._running -= 1
            if not self._running:
                self._wait()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)
