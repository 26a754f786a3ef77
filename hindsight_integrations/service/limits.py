"""Bounds of requests: their size, their time, and how many run or wait at once.

A thread works on each request that runs. Those beyond `concurrency` wait in order of arrival, with
their bodies unread, and those beyond `queue` are answered with 503, so memory is bounded.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hindsight_integrations.remote.wire import IMPORT
from hindsight_integrations.service.security import ENGINE, Refusal
from hindsight_integrations.service.settings import ServiceSettings

IMPORT_PATH = f"{ENGINE}{IMPORT}"
"""Path whose body is the file of a bank, and is kept on disk."""

UNLIMITED = ("/health", "/version", "/metrics")
"""Beginnings of the paths whose GET does not wait: what observes the service."""

RETRY_SECONDS = 1
"""Seconds after which a client that found the queue full may try again, as `Retry-After`."""


class BodyRefusedError(Exception):
    """The body of a request exceeds its bounds; the refusal replaces the application's answer."""


@dataclass(slots=True)
class Load:
    """Numbers of the requests that are worked on, and of those that wait for their turn."""

    running: int = 0
    waiting: int = 0


class Limits:
    """ASGI middleware that bounds requests, and counts them in `load`."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, load: Load | None = None) -> None:
        self._app = app
        self._settings = settings
        self._turns = asyncio.Semaphore(settings.concurrency)  # it serves in order of arrival
        self.load = load or Load()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on within its bounds, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        most, _ = self._bounds(scope)
        if length.isdigit() and int(length) > most:
            await _too_large(most)(scope, receive, send)
        elif scope["method"] == "GET" and scope["path"].startswith(UNLIMITED):
            await self._bounded(scope, receive, send, None)
        elif self._turns.locked() and self.load.waiting >= self._settings.queue:
            await _BUSY(scope, receive, send)
        else:
            await self._in_turn(scope, receive, send)

    async def _in_turn(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.load.waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self.load.waiting -= 1
        self.load.running += 1
        try:
            await self._bounded(scope, receive, send, self._settings.request_timeout)
        finally:
            self.load.running -= 1
            self._turns.release()

    async def _bounded(
        self, scope: Scope, receive: Receive, send: Send, seconds: float | None
    ) -> None:
        """Run the request; answer 504 if it takes too long, and keep its turn until it ends."""
        answer = _Answer(send)
        body = _Body(receive, answer, *self._bounds(scope))
        work = asyncio.ensure_future(self._app(scope, body.receive, answer.send))
        try:
            await asyncio.wait({work}, timeout=seconds)
            if not work.done() and not answer.started:
                answer.given_up = True
                late = Refusal(504, f"not done after {seconds:g} seconds; it runs on to its end")
                await late(scope, receive, send)
            with suppress(BodyRefusedError):
                await work
            if body.refusal is not None and not answer.started:
                await body.refusal(scope, receive, send)
        finally:
            work.cancel()

    def _bounds(self, scope: Scope) -> tuple[int, float]:
        """Return the bytes that the body may have, and the seconds that it may take."""
        settings = self._settings
        if scope["path"] == IMPORT_PATH:
            return settings.max_import_bytes, settings.request_timeout
        return settings.max_body_bytes, settings.body_timeout


def _too_large(most: int) -> Refusal:
    reason = f"the body has more than {most} bytes; send less at a time"
    return Refusal(413, reason, {"Connection": "close"})


_BUSY = Refusal(
    503, "too many requests are waiting; try again", {"Retry-After": str(RETRY_SECONDS)}
)


@dataclass(slots=True)
class _Body:
    """The body of a request, as it arrives."""

    source: Receive
    answer: _Answer
    most: int
    seconds: float
    size: int = 0
    whole: bool = False
    refusal: Refusal | None = None
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = asyncio.get_running_loop().time() + self.seconds

    async def receive(self) -> Message:
        if self.whole:
            return await self.source()
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self.source()
        except TimeoutError:
            late = Refusal(408, "the body did not arrive in time", {"Connection": "close"})
            raise self._refused(late) from None
        self.size += len(message.get("body", b""))
        if self.size > self.most:
            raise self._refused(_too_large(self.most))
        self.whole = not message.get("more_body", False)
        return message

    def _refused(self, refusal: Refusal) -> BodyRefusedError:
        """Return the error for an incomplete body; the application's answer to it is dropped."""
        self.refusal = refusal
        self.answer.given_up = True
        return BodyRefusedError(refusal.reason)


@dataclass(slots=True)
class _Answer:
    """The answer to a request, which is dropped once the client has got a 504 or a refusal."""

    target: Send
    started: bool = False
    given_up: bool = False

    async def send(self, message: Message) -> None:
        if not self.given_up:
            self.started = True
            await self.target(message)
