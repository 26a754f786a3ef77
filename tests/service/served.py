"""A service in a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from hindsight_integrations import Hindsight
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.settings import ServiceSettings


class Present:
    """Stands for the memory of the present test, so that one service serves one after the other."""

    __class__ = Hindsight  # type: ignore[assignment]  # for those that check what they are given

    def __init__(self) -> None:
        self._memory: Hindsight | None = None

    @contextmanager
    def given(self, memory: Hindsight) -> Iterator[None]:
        """Stand for this memory while the block runs."""
        assert self._memory is None, "a test has one memory behind the service at a time"
        self._memory = memory
        try:
            yield
        finally:
            self._memory = None

    def __getattr__(self, name: str) -> object:
        return getattr(self._memory, name)


@contextmanager
def served(memory: Hindsight, **settings: object) -> Iterator[str]:
    """Serve a memory; yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        app = create_app(memory, ServiceSettings(**settings))
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
