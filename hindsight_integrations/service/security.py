"""Admission of requests: the service's own pages and programs, with the token it asks for.

A service on loopback is reached by every web page that its user opens, too. A page of another site
is recognised by its `Origin`, and one that made its own name point to this machine (DNS rebinding)
by its `Host`.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hindsight_integrations.service.settings import ServiceSettings, is_loopback

PUBLIC = frozenset({"/health", "/health/live", "/health/ready", "/version"})
"""Paths that answer without a token: they disclose nothing of what is stored."""

ENGINE = "/v1/engine/"
"""Beginning of the paths of the engine API, which checks the banks of each call itself."""

_BANK = re.compile(r"/(?:v1/[^/]+/banks|mcp)/([^/]+)")
_READING = re.compile(r"/v1/[^/]+/banks/[^/]+/(?:memories/recall|reflect)")
"""Paths whose POST changes nothing."""

_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Access:
    """The banks that a request may use.

    Attributes:
        only: the one bank of a bank's own token; None for any.
        closed: banks that it may not use.
        whole: True if it may do what concerns no single bank.
        who: name of the token for the audit log: "service", "bank" or "none".
    """

    only: str | None = None
    closed: frozenset[str] = frozenset()
    whole: bool = True
    who: str = "none"

    def allows(self, bank_id: str | None) -> bool:
        """Return True if the request may use this bank; None for what concerns no single one."""
        if bank_id is None:
            return self.whole
        return bank_id not in self.closed and self.only in (None, bank_id)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that is refused."""

    status: int
    reason: str
    headers: Mapping[str, str] = field(default_factory=dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        answer = JSONResponse({"detail": self.reason}, self.status, dict(self.headers))
        await answer(scope, receive, send)


def bank_of(path: str) -> str | None:
    """Return the bank that a path names, if it names one."""
    found = _BANK.match(path)
    return found[1] if found else None


def is_write(method: str, path: str, reading_verbs: frozenset[str]) -> bool:
    """Return True for a request that may change a memory.

    `reading_verbs` are those of the engine API that change nothing.
    """
    if method in _READ_METHODS:
        return False
    if method != "POST":  # a memory may have the id "recall", which PATCH and DELETE change
        return True
    if path.startswith(ENGINE):
        return path.removeprefix(ENGINE) not in reading_verbs
    return not _READING.fullmatch(path)


class Guard:
    """ASGI middleware that refuses requests of other sites and those without the token.

    What it lets pass finds its `Access` in the request's state, as `access`, and `write`.
    """

    def __init__(
        self, app: ASGIApp, settings: ServiceSettings, reading_verbs: frozenset[str] = frozenset()
    ) -> None:
        self._app = app
        self._settings = settings
        self._reading_verbs = reading_verbs
        self._hosts = {"localhost", "127.0.0.1", "[::1]", *map(str.lower, settings.allowed_hosts)}
        if is_loopback(settings.host):  # such as 127.0.0.2
            self._hosts.add(settings.host.lower())
        self._any_host = not is_loopback(settings.host) and not settings.allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            answer = self._foreign(scope) or self._unauthorised(scope) or self._app
            await answer(scope, receive, send)

    def _foreign(self, scope: Scope) -> Refusal | None:
        """Return the refusal of a request from another site, or for another name."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if not self._any_host and _without_port(host) not in self._hosts:
            return Refusal(
                421,
                "this service does not answer to the name in Host; call it as localhost, or list "
                "the name in HINDSIGHT_SERVICE_ALLOWED_HOSTS",
            )
        origin = headers.get("origin")
        if origin is None:
            cross = headers.get("sec-fetch-site") == "cross-site"
            visit = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
            allowed = visit or not cross
        else:
            allowed = origin in self._settings.allowed_origins or urlsplit(origin).netloc == host
        if allowed:
            return None
        return Refusal(
            403,
            "a page of another site sent this; list its origin in "
            "HINDSIGHT_SERVICE_ALLOWED_ORIGINS if it may",
        )

    def _unauthorised(self, scope: Scope) -> Refusal | None:
        """Return the refusal of a request without the token it needs; set its access if it may."""
        path, settings = scope["path"], self._settings
        token = _token(Headers(scope=scope))
        access = self._access(token)
        if access is None:
            return _needs_token("the token is not one of this service")
        write = is_write(scope["method"], path, self._reading_verbs)
        scope.setdefault("state", {}).update(access=access, write=write)
        if path in PUBLIC:
            return None
        if access.who == "none" and (self._is_far(scope) or (write and settings.token)):
            return _needs_token("this request needs the service's token")
        if not path.startswith(ENGINE) and not access.allows(bank_of(path)):
            if access.who == "none":
                return _needs_token("this request needs the token of its bank")
            return Refusal(403, "the token is for another bank")
        return None

    def _is_far(self, scope: Scope) -> bool:
        """Return True if others than programs of this machine can send such a request."""
        client = scope.get("client")
        return not is_loopback(self._settings.host) or bool(client and not is_loopback(client[0]))

    def _access(self, token: str | None) -> Access | None:
        """Return what a token gives access to; None for a wrong one."""
        settings = self._settings
        if token is None or not settings.token:
            closed = frozenset(settings.bank_tokens)
            return Access(closed=closed, whole=not closed)
        if _same(token, settings.token):
            return Access(who="service")
        for bank_id, expected in settings.bank_tokens.items():
            if _same(token, expected):
                return Access(only=bank_id, whole=False, who="bank")
        return None


def _needs_token(reason: str) -> Refusal:
    return Refusal(
        401,
        f"{reason}; send it as Authorization: Bearer ...",
        {"WWW-Authenticate": 'Basic realm="hindsight-memory, password is the token"'},
    )


def _token(headers: Headers) -> str | None:
    """Return the token of a program, or the password that a person gave to the browser."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value).decode("utf-8").partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return None


def _same(given: str, expected: str) -> bool:
    """Compare in constant time, so that the time taken discloses nothing of the token."""
    return secrets.compare_digest(given.encode(), expected.encode())


def _without_port(host: str) -> str:
    return re.sub(r":\d+$", "", host)
