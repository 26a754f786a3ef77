"""Records of requests for operators: a log of JSON lines, an audit log of writes, and metrics.

None of them holds a token, a body or a query. Requests are labelled by route and not by path, so
that the number of series does not grow with that of banks.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError, StoreUnavailableError
from hindsight_integrations.private import create_private
from hindsight_integrations.remote.connection import ACTOR, OPERATION
from hindsight_integrations.service.limits import Load
from hindsight_integrations.service.security import Access, bank_of
from hindsight_integrations.service.settings import ServiceSettings
from hindsight_integrations.service.telemetry import Telemetry

log = logging.getLogger("hindsight_integrations.service.requests")

LOGGERS = ("hindsight_integrations", "uvicorn")
"""Loggers whose lines the service writes."""

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "color_message",
    "message",
}

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Bounds of the histogram of durations."""


class JsonLines(logging.Formatter):
    """Formats each line of a log as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


@contextmanager
def logging_to_stderr(settings: ServiceSettings) -> Iterator[None]:
    """Write the service's log to stderr while the block runs."""
    handler = logging.StreamHandler()
    text = "%(asctime)s %(levelname)s %(name)s %(message)s"
    is_json = settings.log_format == "json"
    handler.setFormatter(JsonLines() if is_json else logging.Formatter(text))
    with ExitStack() as after:
        for name in LOGGERS:
            logger = logging.getLogger(name)
            after.callback(logger.setLevel, logger.level)
            for attribute in ("handlers", "propagate"):
                after.callback(setattr, logger, attribute, getattr(logger, attribute))
            logger.handlers, logger.propagate = [handler], False
            logger.setLevel(settings.log_level.upper())
        yield


class Audit:
    """A file that gets a line of JSON for each write.

    Args:
        path: the file, made for its user alone if there is none; "" for none.

    Raises:
        StoreUnavailableError: it cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._guard = threading.Lock()
        self._file: IO[str] | None = None
        if path:
            try:
                create_private(Path(path).expanduser())
                self._file = Path(path).expanduser().open("a", encoding="utf-8", buffering=1)
            except OSError as error:
                raise StoreUnavailableError(
                    f"the audit log {path!r} cannot be written: {error}; give another file in "
                    "HINDSIGHT_SERVICE_AUDIT_LOG"
                ) from error

    def add(self, entry: Mapping[str, object]) -> None:
        """Append an entry; it has reached the operating system when this returns."""
        if self._file is not None:
            with self._guard:
                self._file.write(f"{json.dumps(entry, default=str)}\n")

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._file is not None:
            self._file.close()


class Metrics:
    """Metrics for Prometheus: requests, those that run and wait, and the memory's health."""

    def __init__(self, memory: Hindsight, load: Load) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter(
            "hindsight_requests", "Requests answered.", labels, registry=self._registry
        )
        self._seconds = Histogram(
            "hindsight_request_seconds",
            "Seconds from a request to its answer, waiting included.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(_State(memory, load))

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _State(Collector):
    """Gauges whose values are read at each scrape."""

    def __init__(self, memory: Hindsight, load: Load) -> None:
        self._memory = memory
        self._load = load

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "hindsight_requests_running", "Requests worked on.", value=self._load.running
        )
        yield GaugeMetricFamily(
            "hindsight_requests_waiting", "Requests that wait.", value=self._load.waiting
        )
        healthy = GaugeMetricFamily(
            "hindsight_part_healthy", "1 for a part that answers, 0 for another.", labels=["part"]
        )
        try:
            for part in self._memory.health().parts:
                healthy.add_metric([part.part], float(part.ok))
        except HindsightError:
            healthy.add_metric(["memory"], 0.0)
        yield healthy


class Observer:
    """ASGI middleware that logs, audits, counts and traces each request."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, audit: Audit, telemetry: Telemetry | None = None
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._audit = audit
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note how it ended."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._telemetry is None:
            await self._observed(scope, receive, send)
            return
        with self._telemetry.request(scope) as ended:
            ended(*await self._observed(scope, receive, send))

    async def _observed(self, scope: Scope, receive: Receive, send: Send) -> tuple[str, int, float]:
        """Return the route, the status and the seconds of a request."""
        started, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - started
            route = route_of(scope)
            self._note(scope, route, status, seconds)
        return route, status, seconds

    def _note(self, scope: Scope, route: str, status: int, seconds: float) -> None:
        state = scope.get("state", {})
        access: Access = state.get("access", Access())
        client = scope.get("client")
        entry = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "seconds": round(seconds, 4),
            "who": access.who,
            "banks": state.get("banks") or [bank for bank in [bank_of(scope["path"])] if bank],
            "client": client[0] if client else None,
        }
        self._metrics.count(scope["method"], route, status, seconds)
        level = logging.WARNING if status >= 500 and status != 501 else logging.INFO
        log.log(level, "%s %s %d", scope["method"], route, status, extra=entry)
        if state.get("write"):
            headers, now = Headers(scope=scope), datetime.now(UTC).isoformat()
            entry["actor"] = unquote(headers.get(ACTOR, ""))[:256] or None
            entry["operation"] = headers.get(OPERATION, "")[:256] or None
            self._audit.add({"time": now, **entry, "pid": os.getpid()})


def route_of(scope: Scope) -> str:
    """Return the route of a request, without the values in its path."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return f"{scope.get('root_path', '')}{path}"  # of a part, that of the part before it
    first = scope["path"].strip("/").partition("/")[0]
    return f"/{first}" if first in ("mcp", "ui") else "unknown"
