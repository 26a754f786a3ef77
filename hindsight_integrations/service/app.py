"""The service as an ASGI application: all its interfaces behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio.to_thread
from fastapi import FastAPI

from hindsight_integrations._version import __version__
from hindsight_integrations.client import Hindsight
from hindsight_integrations.service.limits import Limits
from hindsight_integrations.service.security import Guard
from hindsight_integrations.service.settings import ServiceSettings

SPARE_THREADS = 16
"""Threads beside those of the requests in turn, for what does not wait."""


def create_app(memory: Hindsight, settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application that serves a memory, which the caller closes afterwards.

    Args:
        memory: an open memory.
        settings: of the service; the defaults if None.
    """
    chosen = settings or ServiceSettings()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = (
            chosen.concurrency + SPARE_THREADS
        )
        async with AsyncExitStack():  # parts with a lifespan of their own enter it here
            yield

    app = FastAPI(title="hindsight-memory", version=__version__, lifespan=lifespan)
    app.state.memory = memory
    app.add_middleware(Limits, settings=chosen)  # the last that is added is the first to be asked
    app.add_middleware(Guard, settings=chosen)
    return app
