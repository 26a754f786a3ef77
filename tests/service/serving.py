"""A real server on a free port of the loopback, for clients that need one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.service.app import create_app


@dataclass(frozen=True)
class Served:
    """A memory, and the address of its service."""

    memory: Hindsight
    url: str


@contextmanager
def served() -> Iterator[Served]:
    """Serve an empty memory, which draws observations only when asked."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        config = uvicorn.Config(create_app(memory), port=0, log_level="warning", lifespan="on")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield Served(memory, f"http://127.0.0.1:{port}")
        finally:
            server.should_exit = True
            thread.join()
