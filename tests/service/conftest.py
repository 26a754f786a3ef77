"""ASGI applications called without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import pytest
from starlette.types import ASGIApp

Connect = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def connect() -> Connect:
    """Return a function that connects a client to an ASGI application."""

    @asynccontextmanager
    async def connected(
        app: ASGIApp, peer: str = "127.0.0.1", **options: object
    ) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(app, client=(peer, 50_000))
        address = {"base_url": "http://localhost:8888"} | options
        async with httpx.AsyncClient(transport=transport, **address) as client:
            yield client

    return connected
