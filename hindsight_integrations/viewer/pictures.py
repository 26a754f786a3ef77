"""Pages with a bank's graph and timeline, drawn by the package's pictures in a frame of their own.

The picture is a whole page with its own script. Its frame is a sandbox without an origin: what runs
there reaches neither the viewer's pages nor its forms.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.models import MemoryType
from hindsight_integrations.viewer.pages import (
    PageRequest,
    PageRequestDep,
    number_given,
    time_given,
)

router = APIRouter(default_response_class=HTMLResponse)

HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'unsafe-inline'",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "form-action 'none'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
            "sandbox allow-scripts allow-downloads",
        )
    ),
    "X-Frame-Options": "SAMEORIGIN",
}
"""Headers of a picture: it loads and sends nothing, and only the viewer frames it."""


@router.get("/graph")
def graph(request: PageRequestDep) -> HTMLResponse:
    """Show the entities of a bank and what connects them."""
    return _page(request, "graph.html")


@router.get("/timeline")
def timeline(request: PageRequestDep) -> HTMLResponse:
    """Show the memories of a bank at their times."""
    return _page(request, "timeline.html")


def _page(request: PageRequest, template: str) -> HTMLResponse:
    request.memory.banks.get(request.bank_id)
    return request.page(template, types=list(MemoryType))


@router.get("/graph/picture")
def graph_picture(request: PageRequestDep) -> HTMLResponse:
    """Return the picture of the graph."""
    try:
        given = {
            "center": request.query.get("center"),
            "hops": number_given("hops", request.query.get("hops"), int),
            "limit": number_given("limit", request.query.get("limit"), int),
            **_chosen(request),
        }
        made = request.memory.graph(request.bank_id, **_given(given)).html()
    except HindsightError as error:
        return _problem(request, error)
    return HTMLResponse(made, headers=HEADERS)


@router.get("/timeline/picture")
def timeline_picture(request: PageRequestDep) -> HTMLResponse:
    """Return the picture of the timeline."""
    try:
        given = {
            "limit": number_given("limit", request.query.get("limit"), int),
            **_chosen(request),
        }
        made = request.memory.timeline(request.bank_id, **_given(given)).html()
    except HindsightError as error:
        return _problem(request, error)
    return HTMLResponse(made, headers=HEADERS)


def _chosen(request: PageRequest) -> dict[str, Any]:
    """Return the memories that the address chooses."""
    query = request.query
    start, end = time_given("from", query.get("from")), time_given("until", query.get("until"))
    return {
        "entities": request.every("entity"),
        "types": request.every("type"),
        "tags": request.every("tag"),
        "window": (start, end) if start or end else None,
    }


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, [])}


def _problem(request: PageRequest, error: HindsightError) -> HTMLResponse:
    """Return a page for the frame that says why there is no picture."""
    page = request.page("picture_problem.html", 400, problem=str(error))
    page.headers.update({"X-Frame-Options": "SAMEORIGIN"})
    page.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; frame-ancestors 'self'; sandbox"
    )
    return page
