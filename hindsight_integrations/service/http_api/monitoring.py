"""Health and version."""

from __future__ import annotations

import time
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse

from hindsight_integrations._version import __version__
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import ClosedError
from hindsight_integrations.service.http_api import answers
from hindsight_integrations.service.http_api.routing import Memory, router

routes = router("Monitoring")

API_VERSION = "1.1.0"
"""Version of Hindsight's interface that this server speaks."""

_STARTED = time.monotonic()


def _health(memory: Hindsight) -> JSONResponse:
    try:
        health = memory.health()
    except ClosedError as error:
        return JSONResponse({"status": "unhealthy", "parts": {"memory": str(error)}}, 503)
    parts = {part.part: part.detail for part in health.parts}
    state = "healthy" if health.ok else "unhealthy"
    return JSONResponse({"status": state, "parts": parts}, 200 if health.ok else 503)


_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": answers.Health},
    503: {"model": answers.Health, "description": "A part of the memory does not answer."},
}


@routes.get("/health", operation_id="health_endpoint_health_get", responses=_ANSWERS)
def health(memory: Memory) -> JSONResponse:
    """Return 200 if each part of the memory answers, else 503."""
    return _health(memory)


@routes.get("/health/ready", operation_id="get_readiness", responses=_ANSWERS)
def ready(memory: Memory) -> JSONResponse:
    """Return 200 if each part of the memory answers, else 503."""
    return _health(memory)


@routes.get("/health/live", operation_id="get_liveness")
def live() -> answers.Alive:
    """Return 200 as long as the process answers."""
    return answers.Alive(
        status="alive", version=__version__, uptime_seconds=time.monotonic() - _STARTED
    )


@routes.get("/version", operation_id="get_version")
def version(memory: Memory, request: Request) -> answers.Version:
    """Return the version of the interface, and what this server has of it."""
    paths = (getattr(route, "path", "") for route in request.app.routes)
    features = answers.Features(
        observations=memory.settings.consolidate,
        mcp=any(path.startswith("/mcp") for path in paths),
        worker=True,
        bank_config_api=True,
        bank_llm_health=False,
        file_upload_api=True,
        document_export_api=False,
        document_import_api=False,
        audit_log=False,
        llm_trace=False,
        store_document_text=True,
    )
    return answers.Version(api_version=API_VERSION, features=features)
