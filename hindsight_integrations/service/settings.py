"""Every setting of the service, with its default, unit and source.

`ServiceSettings.from_env()` reads the same names from the environment as
`HINDSIGHT_SERVICE_<NAME>`, for instance `HINDSIGHT_SERVICE_PORT=8890`.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_type_hints

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.settings import PREFIX, variable, warn_of_misspelled

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
    """Settings of the service, each with its purpose and unit.

    Raises:
        InvalidInputError: a value has the wrong type or is out of range, or the service would be
            reachable by others without a token.
    """

    # Where
    host: str = "127.0.0.1"
    """Address to listen on. Any except a loopback address needs a token."""
    port: int = 8888
    """Port to listen on; the default is that of Hindsight 1.1; 0 for any free port."""

    # Who
    token: str = field(default="", repr=False)
    """Token required for every write, and for every request if not on loopback, as
    `Authorization: Bearer ...`; at least 16 characters, "" for none."""
    bank_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Tokens by bank id. Each gives access to its bank only; reading that bank needs it or `token`.
    Requires `token`, and as many characters."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names of this machine that clients may use, in addition to loopback names. If not on
    loopback, () allows any, because each request needs a token there."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of other web pages that may send requests, such as "http://localhost:3000"."""

    # How much
    max_body_bytes: int = 33_554_432
    """Maximum size of a request, in bytes."""
    max_import_bytes: int = 2_000_000_000
    """Maximum size of a bank file to import, in bytes; it is written to disk, not held in RAM."""
    body_timeout: float = 30.0
    """Seconds for the body of a request to arrive, or for a complete header; then the request is
    refused, or the connection closed."""
    request_timeout: float = 300.0
    """Seconds after which a request is answered with 504; its work continues in the background."""
    concurrency: int = 16
    """Maximum number of requests processed at a time, each in a thread."""
    queue: int = 512
    """Maximum number of waiting requests; further ones get 503."""
    drain_timeout: float = 30.0
    """Seconds that running requests have to finish after SIGTERM."""
    idle_exit: float = 0.0
    """Seconds without a request after which the service ends; 0 for never."""

    # What operators see
    log_format: LogFormat = "json"
    """Format of the log on stderr: "json" (one object per line) or "text"."""
    log_level: LogLevel = "info"
    """Lowest level that is logged; requests are "info", failed ones "warning"."""
    audit_log: str = ""
    """File to which a line of JSON is appended for each write; "" for none."""
    telemetry: bool = False
    """True to send traces and metrics to the OpenTelemetry collector set by the `OTEL_*`
    variables."""

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

        A blank variable counts as unset; one whose name is nearly right is reported in the log.

        `BANK_TOKENS` is a JSON object; `ALLOWED_HOSTS` and `ALLOWED_ORIGINS` are separated by
        commas.

        Raises:
            InvalidInputError: a variable cannot be read as its setting's type.
        """
        variables = {each.name: f"{PREFIX}SERVICE_{each.name.upper()}" for each in fields(cls)}
        warn_of_misspelled(variables.values(), environ)
        given: dict[str, object] = {
            name: _read(name, text)
            for name, its_variable in variables.items()
            if (text := variable(its_variable, environ)) is not None
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
