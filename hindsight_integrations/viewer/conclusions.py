"""Pages on observations and opinions, with their evidence and history."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hindsight_integrations.conclusions import Observation, Opinion
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, ObservationKind, Page
from hindsight_integrations.stores.base import MEMORY
from hindsight_integrations.viewer.pages import Visit, VisitDep, number_given

router = APIRouter(default_response_class=HTMLResponse)

PER_PAGE = 20
"""Conclusions of a page: each shows its evidence."""


@router.get("/observations")
def observations(visit: VisitDep) -> HTMLResponse:
    """List observations."""
    problem: str | None = None
    found: Page[Observation] = Page((), 0)
    try:
        found = visit.memory.observations.list(
            visit.bank_id,
            types=visit.every("kind") or None,
            min_confidence=number_given("confidence", visit.query.get("least"), float) or 0.0,
            limit=PER_PAGE,
            cursor=visit.query.get("cursor"),
        )
    except InvalidInputError as error:
        problem = str(error)
    return visit.page(
        "observations.html",
        400 if problem else 200,
        found=found,
        problem=problem,
        kinds=list(ObservationKind),
        quoted=_quoted(visit, found.items),
    )


@router.get("/opinions")
def opinions(visit: VisitDep) -> HTMLResponse:
    """List opinions."""
    found = visit.memory.opinions.list(
        visit.bank_id, limit=PER_PAGE, cursor=visit.query.get("cursor")
    )
    return visit.page("opinions.html", found=found, quoted=_quoted(visit, found.items))


def _quoted(visit: Visit, conclusions: Sequence[Observation | Opinion]) -> dict[str, Memory]:
    """Return the memories that the conclusions rest on, by id."""
    ids = dict.fromkeys(id for conclusion in conclusions for id in conclusion.sources)
    return visit.memory.runtime.graph.read(visit.bank_id, MEMORY, list(ids))
