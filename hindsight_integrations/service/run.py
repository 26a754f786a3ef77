"""Run the service until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import ceil
from os import PathLike, getpid
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.service.app import create_app
from hindsight_integrations.service.discovery import RunningService, announced
from hindsight_integrations.service.idle import IdleShutdown
from hindsight_integrations.service.observing import logging_to_stderr
from hindsight_integrations.service.settings import ServiceSettings

log = logging.getLogger("hindsight_integrations.service")

ENDING_SECONDS = 3.0
"""Time to close everything, after that which running requests have to finish."""

BACKLOG = 2048
"""Connections that the operating system keeps while none is accepted, as uvicorn has it."""


class HeaderTimeoutServer(uvicorn.Server):
    """Server that closes a connection on which no request begins in time.

    Args:
        config: of the server.
        seconds: time for all headers of a request, from the connection or the answer before.
        ended_after: seconds from the start of the shutdown after which the process ends, whatever
            still runs in it; None to leave the process alone.
    """

    def __init__(
        self, config: uvicorn.Config, seconds: float, ended_after: float | None = None
    ) -> None:
        super().__init__(config)
        self._seconds = seconds
        self._ended_after = ended_after
        self._since: dict[tuple[object, object], float] = {}

    async def on_tick(self, counter: int) -> bool:
        """Close connections that have waited too long; called ten times a second."""
        now = time.monotonic()
        silent = [
            (connection, cycle)
            for connection in self.server_state.connections
            if (cycle := getattr(connection, "cycle", None)) is None or cycle.response_complete
        ]
        self._since = {pair: self._since.get(pair, now) for pair in silent}
        for connection, cycle in silent:
            if now - self._since[connection, cycle] > self._seconds:
                connection.transport.close()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the requests that run finish."""
        if self._ended_after is not None:  # threads cannot be stopped
            timer = threading.Timer(self._ended_after, _end_process)
            timer.daemon = True
            timer.start()
        await super().shutdown(sockets)


def _end_process() -> None:
    log.error("requests still run after the time to finish them; ending without them")
    logging.shutdown()
    os._exit(1)


def serve(
    memory: Hindsight,
    settings: ServiceSettings,
    folder: str | PathLike[str] | None = None,
    *,
    started: Callable[[str], None] | None = None,
    ends_process: bool = False,
) -> None:
    """Serve a memory until SIGTERM, SIGINT or `idle_exit`; requests that run then finish.

    They have `drain_timeout` seconds, or as long as they take if that is 0.

    Args:
        memory: an open memory, which the caller closes afterwards.
        settings: of the service.
        folder: of the memory, where other programs look for the service; None if it has none.
        started: called with the service's URL once connections are accepted.
        ends_process: end the process soon after `drain_timeout`, with code 1, if requests still run
            then. Without it they keep the process from ending.

    Raises:
        StoreUnavailableError: the address cannot be listened on.
    """
    bound = _listen(settings)
    url = _url(settings.host, bound.getsockname()[1])
    app: ASGIApp = create_app(memory, settings)
    if settings.idle_exit:
        app = IdleShutdown(app, settings.idle_exit, lambda: setattr(server, "should_exit", True))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=ceil(settings.drain_timeout) or None,
        ws="none",
    )
    is_bounded = ends_process and settings.drain_timeout
    ended_after = settings.drain_timeout + ENDING_SECONDS if is_bounded else None
    server = HeaderTimeoutServer(config, settings.body_timeout, ended_after)
    service = RunningService(url, getpid(), settings.token)
    with bound, announced(folder, service), _signals(), logging_to_stderr(settings):
        if started is not None:
            started(url)
        server.run(sockets=[bound])


def _listen(settings: ServiceSettings) -> socket.socket:
    """Return a socket that already listens, so that a client that knows it can connect."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((settings.host.strip("[]"), settings.port))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise StoreUnavailableError(
            f"cannot listen on {settings.host}, port {settings.port}: {error}; give another port, "
            "or 0 for any that is free"
        ) from error
    return bound


def _url(host: str, port: int) -> str:
    """Return the address that programs of this machine reach the service at."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host.strip("[]"), host)
    return (
        f"http://[{reached}]:{port}" if ":" in reached.strip("[]") else f"http://{reached}:{port}"
    )


@contextmanager
def _signals() -> Iterator[None]:
    """Ignore the signals that end the server: it raises them again once it has shut down."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ignore(number: int, frame: FrameType | None) -> None:
        """Do nothing: the server has handled it."""

    before = {each: signal.signal(each, ignore) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
