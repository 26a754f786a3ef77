"""Pages on whole banks: their list, one at a glance, and undoing what was done."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.viewer.notices import Notice
from hindsight_integrations.viewer.pages import FormDep, VisitDep

router = APIRouter(default_response_class=HTMLResponse)

GLANCE = 6
"""Entities and observations shown at a glance."""


@router.get("/")
def banks(visit: VisitDep) -> HTMLResponse:
    """List the banks."""
    known = visit.memory.banks.list()
    return visit.page("banks.html", banks=known)


@router.get("/bank")
def bank(visit: VisitDep) -> HTMLResponse:
    """Show a bank at a glance."""
    memory, bank_id = visit.memory, visit.bank_id
    return visit.page(
        "bank.html",
        bank=memory.banks.get(bank_id),
        entities=memory.entities.list(bank_id, limit=GLANCE).items,
        observations=memory.observations.list(bank_id, limit=GLANCE).items,
        models=memory.mental_models.list(bank_id),
    )


@router.get("/bank/figures")
def figures(visit: VisitDep) -> HTMLResponse:
    """Count what a bank holds, which takes a second for 100,000 memories."""
    return visit.page("figures.html", stats=visit.memory.banks.stats(visit.bank_id))


@router.post("/undo")
def undo(visit: VisitDep, form: FormDep) -> RedirectResponse:
    """Take back what a notice says, once."""
    taken = visit.notices.take(form.text("key"))
    if taken is None or taken.undo is None:
        return visit.done(Notice("This can no longer be undone here.", is_problem=True), "banks")
    try:
        notice = Notice(taken.undo())
    except HindsightError as error:
        notice = Notice(f"Not undone: {error}", is_problem=True)
    return visit.done_at(taken.address, notice)
