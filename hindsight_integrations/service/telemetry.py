"""Traces and metrics of requests for an OpenTelemetry collector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from starlette.datastructures import Headers
from starlette.types import Scope

from hindsight_integrations._version import __version__
from hindsight_integrations.errors import MissingExtraError

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

NAME = "hindsight-memory"
"""Name of the service, unless `OTEL_SERVICE_NAME` gives another."""

Ended: TypeAlias = Callable[[str, int, float], None]
"""Called with the route, the status and the seconds of a request."""


class Telemetry:
    """Sends a span and a duration for each request.

    Args:
        tracing: where spans go.
        measuring: where durations go.
    """

    def __init__(self, tracing: TracerProvider, measuring: MeterProvider) -> None:
        self._tracing = tracing
        self._measuring = measuring
        self._tracer = tracing.get_tracer("hindsight_integrations", __version__)
        # Names and units are those of OpenTelemetry's conventions for HTTP servers.
        self._seconds = measuring.get_meter("hindsight_integrations", __version__).create_histogram(
            "http.server.request.duration", "s", "Duration of requests."
        )

    @classmethod
    def from_env(cls) -> Telemetry:
        """Return one that sends to the collector that the variables `OTEL_*` name.

        Raises:
            MissingExtraError: the extra `telemetry` is not installed.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.metrics import MeterProvider
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
            from opentelemetry.sdk.resources import OTELResourceDetector, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                f"telemetry needs {error.name}, which is not installed; run: "
                'pip install "hindsight-integrations[telemetry]"'
            ) from error
        own = Resource.create({"service.name": NAME, "service.version": __version__})
        resource = own.merge(OTELResourceDetector().detect())
        tracing = TracerProvider(resource=resource)
        tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        return cls(tracing, MeterProvider([reader], resource=resource))

    @contextmanager
    def request(self, scope: Scope) -> Iterator[Ended]:
        """Trace a request within the trace of its client, if it has one."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind, StatusCode

        method = scope["method"]
        with self._tracer.start_as_current_span(
            method, extract(dict(Headers(scope=scope))), kind=SpanKind.SERVER
        ) as span:

            def ended(route: str, status: int, seconds: float) -> None:
                attributes = {
                    "http.request.method": method,
                    "http.route": route,
                    "http.response.status_code": status,
                }
                span.update_name(f"{method} {route}")
                span.set_attributes(attributes)
                if status >= 500:
                    span.set_status(StatusCode.ERROR)
                self._seconds.record(seconds, attributes)

            yield ended

    def close(self) -> None:
        """Send what waits. Idempotent."""
        self._tracing.shutdown()
        self._measuring.shutdown()
