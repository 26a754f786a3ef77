"""The application of the viewer, to be mounted in any ASGI application."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from hindsight_integrations.errors import HindsightError, http_status
from hindsight_integrations.viewer import (
    banks,
    conclusions,
    entities,
    memories,
    pictures,
    recalls,
)
from hindsight_integrations.viewer.notices import Notices
from hindsight_integrations.viewer.pages import PageRequest, environment
from hindsight_integrations.viewer.protection import FormTokens, Protection

if TYPE_CHECKING:
    from hindsight_integrations.client import Hindsight

STATIC = Path(__file__).parent / "static"


def viewer_app(memory: Hindsight) -> FastAPI:
    """Return the viewer of a memory as an ASGI application, to be mounted at a path.

    It reads and changes all banks of the memory and asks for no password: whoever reaches it may
    do so. It refuses forms that another site sends, but not an unknown `Host`: the application
    that it is mounted in does that.

    Args:
        memory: the memory; it stays the caller's to close.
    """
    app = FastAPI(title="Hindsight memory", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.memory = memory
    app.state.environment = environment()
    app.state.notices = Notices()
    app.state.tokens = FormTokens()
    app.add_middleware(Protection)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    for module in (banks, memories, entities, pictures, conclusions, recalls):
        app.include_router(module.router)
    app.add_exception_handler(HindsightError, _failed)
    app.add_exception_handler(HTTPException, _refused)
    return app


async def _failed(request: Request, error: Exception) -> HTMLResponse:
    return PageRequest(request).page("error.html", http_status(error), problem=str(error))


async def _refused(request: Request, error: Exception) -> HTMLResponse:
    assert isinstance(error, HTTPException)
    problem = "There is no such page." if error.status_code == 404 else error.detail
    return PageRequest(request).page("error.html", error.status_code, problem=problem)
