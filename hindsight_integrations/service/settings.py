"""Every setting of the service, with its default, unit and source.

`ServiceSettings.from_env()` reads the same names from the environment as
`HINDSIGHT_SERVICE_<NAME>`, for instance `HINDSIGHT_SERVICE_PORT=8890`.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_type_hints

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.errors import InvalidInputError

LogFormat = Literal["json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]

LEAST_TOKEN_CHARS = 16
"""Shortest token: 16 random characters of base64 are 96 bits, which nobody guesses."""


def is_loopback(host: str) -> bool:
    """Return True for an address that only programs of this machine reach."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of the service: each with what it does and its unit; all values are choices.

    Raises:
        InvalidInputError: a value has the wrong type or range, or the service would be open to
            others without a token.
    """

    # Where
    host: str = "127.0.0.1"
    """Listen on this address. One that is not of the loopback needs a token."""
    port: int = 8888
    """Listen on this port, that of Hindsight 1.1; 0 for any that is free."""

    # Who
    token: str = field(default="", repr=False)
    """Demand this token for every write, and off loopback for every request, as
    `Authorization: Bearer ...`; "" for none."""
    bank_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Tokens by bank id: each gives access to its bank alone, and nobody without it or `token`
    reads that bank. Needs `token`."""
    allowed_hosts: tuple[str, ...] = ()
    """Names that clients call this machine by, beside those of the loopback. Off loopback, () is
    any: each request carries a token there."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of web pages, beside the service's own, that may send requests, such as
    "http://localhost:3000"."""

    # How much
    max_body_bytes: int = 33_554_432
    """Refuse larger requests, in bytes."""
    max_import_bytes: int = 2_000_000_000
    """Refuse larger files of a bank to import, in bytes; they go to disk, not into memory."""
    body_timeout: float = 30.0
    """Refuse a request whose body has not arrived after so many seconds; close a connection on
    which no whole header has."""
    request_timeout: float = 300.0
    """Answer 504 to a request that takes longer, in seconds; its work runs on to its end."""
    concurrency: int = 16
    """Work on at most so many requests at a time, each in a thread."""
    queue: int = 512
    """Let at most so many more wait for their turn; the next gets 503."""
    drain_timeout: float = 30.0
    """Let requests that run finish for so many seconds after SIGTERM."""
    idle_exit: float = 0.0
    """End after so many seconds without a request; 0 to stay."""

    # What operators see
    log_format: LogFormat = "json"
    """Write the log to stderr as one JSON object a line, or as text: "json" or "text"."""
    log_level: LogLevel = "info"
    """Leave out lesser lines of the log; requests are "info", those that failed "warning"."""
    audit_log: str = ""
    """Append a line of JSON for each write to this file; "" for none."""
    telemetry: bool = False
    """Send traces and metrics to the OpenTelemetry collector that the variables `OTEL_*` name."""

    def __post_init__(self) -> None:
        for each in fields(self):
            self._check(each.name)
        for name, low, high in _RANGES:
            if not low <= (value := getattr(self, name)) <= high:
                raise InvalidInputError(
                    f"service setting {name} is {value!r}; give a number from {low} to {high}"
                )
        if any(len(token) < LEAST_TOKEN_CHARS for token in self._tokens()):
            raise InvalidInputError(
                f"a token has fewer than {LEAST_TOKEN_CHARS} characters; give a random one, for "
                "example from: python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        if not self.token and (self.bank_tokens or not is_loopback(self.host)):
            why = "bank_tokens were given" if self.bank_tokens else f"the host is {self.host!r}"
            raise InvalidInputError(
                f"{why}, but the service itself has no token; set HINDSIGHT_SERVICE_TOKEN, or "
                "listen on 127.0.0.1 without bank tokens"
            )

    def _check(self, name: str) -> None:
        """Convert one value to its type, from the text of an environment variable too."""
        kind = get_type_hints(type(self))[name]
        try:
            value = TypeAdapter(kind).validate_python(getattr(self, name))
        except ValidationError as error:
            # Its own text would show the value, which may be a token.
            reason = error.errors(include_input=False, include_url=False)[0]["msg"]
            raise InvalidInputError(f"service setting {name}: {reason}") from None
        object.__setattr__(self, name, value)

    def _tokens(self) -> list[str]:
        return [*([self.token] if self.token else []), *self.bank_tokens.values()]

    @classmethod
    def from_env(
        cls, environ: Mapping[str, str] | None = None, **options: object
    ) -> ServiceSettings:
        """Return the defaults, overridden by `HINDSIGHT_SERVICE_*` variables, then by `options`.

        `BANK_TOKENS` is a JSON object; `ALLOWED_HOSTS` and `ALLOWED_ORIGINS` are separated by
        commas.

        Raises:
            InvalidInputError: a variable cannot be read as its setting's type.
        """
        env = os.environ if environ is None else environ
        given: dict[str, object] = {
            each.name: _read(each.name, env[key])
            for each in fields(cls)
            if (key := f"HINDSIGHT_SERVICE_{each.name.upper()}") in env
        }
        return cls(**(given | options))  # type: ignore[arg-type]


def _read(name: str, text: str) -> object:
    if name in ("allowed_hosts", "allowed_origins"):
        return tuple(part for each in text.split(",") if (part := each.strip()))
    if name == "bank_tokens":
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            raise InvalidInputError(
                'HINDSIGHT_SERVICE_BANK_TOKENS is not JSON; give {"bank id": "token"}'
            ) from None
    return text.strip()


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("port", 0, 65_535),
    ("max_body_bytes", 1_000, 10_000_000_000),
    ("max_import_bytes", 1_000, 1_000_000_000_000),
    ("body_timeout", 0.01, 3600),
    ("request_timeout", 0.01, 86_400),
    ("concurrency", 1, 1000),
    ("queue", 0, 100_000),
    ("drain_timeout", 0, 3600),
    ("idle_exit", 0, 1_000_000),
)
