"""ASGI applications called without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest
from starlette.types import ASGIApp

from hindsight_integrations import Hindsight, Settings

from .served import served

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


@dataclass(frozen=True)
class Service:
    """A memory, and the address of its service."""

    memory: Hindsight
    url: str


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """An empty memory behind a service; it draws observations only when asked."""
    settings = Settings(consolidate=False)
    with Hindsight.in_memory(settings=settings) as memory, served(memory) as url:
        yield Service(memory, url)
