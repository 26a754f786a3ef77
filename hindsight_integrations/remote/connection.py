"""Requests to a service: sent again where that is safe, in threads and in event loops.

A call that reads is sent again when its answer is lost. So is one that writes: it carries an id,
and the service does the work of an id once, and answers all that ask for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import weakref
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlsplit

import httpx

from hindsight_integrations.acting import Acting, acting
from hindsight_integrations.errors import (
    AccessDeniedError,
    ClosedError,
    ContentTooLargeError,
    InvalidInputError,
    StoreUnavailableError,
    error_of,
)
from hindsight_integrations.settings import variable

OPERATION = "Idempotency-Key"
"""Header with the id of a call that writes."""

ACTOR, REASON = "Hindsight-Actor", "Hindsight-Reason"
"""Headers with what `acting_as` was given, in the form of a URL's parts."""

SERVED_PORT = 8888
"""Port that `hindsight-memory serve` listens on unless it is given another."""

CONNECT_SECONDS = 5.0
"""Time to reach the service."""

ANSWER_SECONDS = 600.0
"""Time to answer a request; the service itself gives up earlier, and says so."""

KEPT = 32
"""Connections that threads keep for their next calls."""

ATTEMPTS = 5
"""Times that a call is sent while the service is away."""

FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
"""Seconds before the second attempt, doubled for each further one; and most of them."""

PATIENCE = 60.0
"""Seconds that a call goes on asking a service that has too much to do."""


def is_url(path: object) -> bool:
    """Return True for the address of a service."""
    return isinstance(path, str) and path.lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the service.

    Attributes:
        verb: see `wire.Verb`.
        body: arguments as JSON, or the content of a file.
        operation: id of a call that writes; "" for one that reads.
        query: arguments beside the content of a file.
        acting: who acts, and why.
    """

    verb: str
    body: bytes
    operation: str = ""
    query: dict[str, str] = field(default_factory=dict)
    acting: Acting = field(default_factory=acting)


Reply: TypeAlias = "httpx.Response | httpx.TransportError"


class Connection:
    """A service's address and connections, which threads and event loops share.

    Args:
        url: such as "http://localhost:8888"; a token may stand in it as the password.

    Raises:
        InvalidInputError: it is not the address of a service, or the token cannot be sent.
    """

    def __init__(self, url: str) -> None:
        self.url, given = _parts(url)
        self.token = _token(given or variable("HINDSIGHT_SERVICE_TOKEN") or "")
        self.is_closed = False
        self._process = os.getpid()
        self._threads = self._client(httpx.Client, KEPT)
        self._loops: weakref.WeakKeyDictionary[Any, httpx.AsyncClient] = weakref.WeakKeyDictionary()

    def _client(self, kind: Any, keep: int) -> Any:
        return kind(
            base_url=f"{self.url}/v1/engine/",
            headers={"Authorization": f"Bearer {self.token}"} if self.token else {},
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=keep),
            trust_env=False,
            verify=self.url.startswith("https:"),  # certificates take long to read, for nothing
        )

    def _check_open(self) -> None:
        """Take new connections after a fork: the parent's belong to it."""
        if self.is_closed:
            raise ClosedError("this Hindsight is closed; open a new one on the same folder or URLs")
        if self._process != os.getpid():
            self._process = os.getpid()
            self._threads = self._client(httpx.Client, KEPT)
            self._loops = weakref.WeakKeyDictionary()

    def send(self, request: Request) -> httpx.Response:
        """Return the answer to a request.

        Raises:
            HindsightError: the one that the service's memory raised.
            StoreUnavailableError: the service cannot be reached, or is no such service.
            AccessDeniedError: it asks for a token.
        """
        self._check_open()
        attempts = _attempts(self.url)
        wait = next(attempts)
        while True:
            time.sleep(wait)
            reply: Reply
            try:
                reply = self._threads.send(self._made(self._threads, request))
            except httpx.TransportError as error:
                reply = error
            try:
                wait = attempts.send(reply)
            except StopIteration as done:
                answer: httpx.Response = done.value
                return answer

    async def asend(self, request: Request) -> httpx.Response:
        """Return the answer to a request, without blocking the event loop; see `send`."""
        self._check_open()
        client = self._loops.get(asyncio.get_running_loop())
        if client is None:
            # An event loop ends without a word: a connection that it kept would be left open.
            client = self._client(httpx.AsyncClient, 0)
            self._loops[asyncio.get_running_loop()] = client
        attempts = _attempts(self.url)
        wait = next(attempts)
        while True:
            await asyncio.sleep(wait)
            reply: Reply
            try:
                reply = await client.send(self._made(client, request))
            except httpx.TransportError as error:
                reply = error
            try:
                wait = attempts.send(reply)
            except StopIteration as done:
                answer: httpx.Response = done.value
                return answer

    @staticmethod
    def _made(client: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request:
        headers = {"Content-Type": "application/json"}
        if request.operation:
            headers[OPERATION] = request.operation
        for name, value in zip((ACTOR, REASON), request.acting, strict=True):
            if value is not None:
                headers[name] = quote(value)
        return client.build_request(
            "POST", request.verb, content=request.body, headers=headers, params=request.query
        )

    def close(self) -> None:
        """Close the connections of threads; those of an event loop end with it."""
        self.is_closed = True
        if self._process == os.getpid():
            self._threads.close()

    async def aclose(self) -> None:
        """Close the connections, those of this event loop too."""
        self.close()
        client = self._loops.pop(asyncio.get_running_loop(), None)
        if client is not None and self._process == os.getpid():
            await client.aclose()


def _parts(url: str) -> tuple[str, str]:
    """Return an address without its token, and the token; neither is shown in the error."""
    address = ""
    try:
        parts = urlsplit(url)
        if parts.hostname and not parts.query and not parts.fragment:
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            port = f":{parts.port}" if parts.port else ""
            address = f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
            httpx.URL(address)
    except (ValueError, httpx.InvalidURL):
        address = ""
    if not address:
        raise InvalidInputError(
            "this is not the URL of a service; give one such as http://localhost:8888"
        )
    return address, unquote(parts.password or "")


def _token(given: str) -> str:
    """Return a token without white space around it, as files of secrets have it."""
    token = given.strip()
    if not (token.isascii() and token.isprintable()):
        raise InvalidInputError(
            "the token of the service contains characters that cannot be sent; give printable "
            "ASCII, in HINDSIGHT_SERVICE_TOKEN or as the password in the URL"
        )
    return token


def _port(url: str) -> str:
    """Return the option that makes the service listen on the port of the URL, if it needs one."""
    port = urlsplit(url).port
    return "" if port in (None, SERVED_PORT) else f" --port {port}"


def _attempts(url: str) -> Generator[float, Reply, httpx.Response]:
    """Yield the seconds to wait before each attempt; return the answer of the last."""
    deadline = time.monotonic() + PATIENCE
    failed, wait = 0, 0.0
    while True:
        reply = yield wait
        if isinstance(reply, httpx.TransportError):
            failed += 1
            if failed == ATTEMPTS:
                raise StoreUnavailableError(
                    f"the service at {url} does not answer ({reply or type(reply).__name__}); "
                    f"start it with: hindsight-memory serve{_port(url)}"
                ) from reply
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failed - 1))
        elif reply.status_code == 504 and _detail(reply):
            wait = 0.0  # the work goes on: ask for its result
        elif reply.status_code == 503 and "Retry-After" in reply.headers:
            if time.monotonic() > deadline:
                raise _refused(url, reply)
            wait = _wanted_wait(reply.headers["Retry-After"])
        elif reply.is_success:
            return reply
        else:
            raise _refused(url, reply)


def _wanted_wait(text: str) -> float:
    """Return the seconds to wait that a service or a proxy asks for, as a number or as a date."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            seconds = LONGEST_WAIT
    return max(FIRST_WAIT, min(LONGEST_WAIT, seconds))


def _detail(reply: httpx.Response) -> str:
    """Return the reason that the service gave before its memory was asked."""
    content = _content(reply)
    return str(content.get("detail", ""))


def _content(reply: httpx.Response) -> dict[str, Any]:
    try:
        content = reply.json()
    except (json.JSONDecodeError, UnicodeDecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _refused(url: str, reply: httpx.Response) -> Exception:
    """Return the error that an answer reports."""
    content = _content(reply)
    if "error" in content:
        with suppress(ValueError, TypeError):  # a proxy's own report of an error
            return error_of(content["error"])
    said = _detail(reply) or reply.text[:200]
    reason = f"the service at {url} answered {reply.status_code}: {said}"
    match reply.status_code:
        case 401:
            return AccessDeniedError(
                f"{reason}; set HINDSIGHT_SERVICE_TOKEN, or include the token in the URL, as in "
                "http://:TOKEN@localhost:8888"
            )
        case 403 | 421:
            return AccessDeniedError(reason)
        case 413:
            return ContentTooLargeError(reason)
        case 404:
            return StoreUnavailableError(f"{reason}; give the URL of hindsight-memory serve")
    return StoreUnavailableError(reason)
