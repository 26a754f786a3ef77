"""The service as an ASGI application: all its interfaces behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext

import anyio.to_thread
from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp

from hindsight_integrations._version import __version__
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import MissingExtraError
from hindsight_integrations.service.api_page import add_api_page
from hindsight_integrations.service.engine_api import engine_api, reading_verbs
from hindsight_integrations.service.http_api import hindsight_api
from hindsight_integrations.service.limits import Limits, Load
from hindsight_integrations.service.observing import Audit, Metrics, Observer
from hindsight_integrations.service.openapi import DescribedApi
from hindsight_integrations.service.security import Guard, Refusal
from hindsight_integrations.service.settings import ServiceSettings
from hindsight_integrations.service.telemetry import Telemetry
from hindsight_integrations.viewer import viewer_app

SPARE_THREADS = 16
"""Threads in addition to those of the limited requests, for requests that need not wait."""


def create_app(memory: Hindsight, settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application that serves a memory, which the caller closes afterwards.

    Args:
        memory: an open memory.
        settings: of the service; the defaults if None.

    Raises:
        MissingExtraError: the settings ask for telemetry, which is not installed.
        StoreUnavailableError: the audit log cannot be written.
    """
    chosen = settings or ServiceSettings()
    load, audit = Load(), Audit(chosen.audit_log)
    metrics = Metrics(memory, load)
    telemetry = Telemetry.from_env() if chosen.telemetry else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = (
            chosen.concurrency + SPARE_THREADS
        )
        async with AsyncExitStack() as parts:  # those with a lifespan of their own enter it here
            parts.callback(audit.close)
            if telemetry is not None:
                parts.callback(telemetry.close)
            await parts.enter_async_context(serving_mcp())
            yield

    app = DescribedApi(
        title="hindsight-memory",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's pages load scripts from another site
        redoc_url=None,
    )
    mcp, serving_mcp = _mcp(memory)
    app.mount("/mcp", mcp)
    app.include_router(engine_api(memory))
    app.include_router(hindsight_api(memory))
    app.mount("/ui", viewer_app(memory))

    add_api_page(app)

    @app.get("/", include_in_schema=False)
    def first_page() -> RedirectResponse:
        """Lead whoever opens the address in a browser to the viewer."""
        return RedirectResponse("ui/")

    @app.get(
        "/metrics",
        tags=["Monitoring"],
        operation_id="metrics_endpoint_metrics_get",
        response_class=PlainTextResponse,
    )
    def prometheus() -> PlainTextResponse:
        """Return metrics in the text format of Prometheus."""
        return PlainTextResponse(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    # The last that is added is the first to be asked.
    app.add_middleware(Limits, settings=chosen, load=load)
    app.add_middleware(Guard, settings=chosen, reading_verbs=reading_verbs())
    if chosen.allowed_origins:  # browsers ask, without a token, before they send one
        app.add_middleware(
            CORSMiddleware,
            allow_origins=chosen.allowed_origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["Retry-After"],
        )
    app.add_middleware(Observer, metrics=metrics, audit=audit, telemetry=telemetry)
    return app


def _mcp(memory: Hindsight) -> tuple[ASGIApp, Callable[[], AbstractAsyncContextManager[None]]]:
    """Return the MCP server, and what has to be entered while it serves."""
    try:
        from hindsight_integrations.mcp_server import McpApp
    except MissingExtraError as error:
        return Refusal(501, str(error)), nullcontext
    server = McpApp(memory, guarded=True)
    return server, server.run
