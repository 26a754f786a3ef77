"""Pages on whole banks: their list, one at a glance, and undoing what was done."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.viewer.notices import Notice
from hindsight_integrations.viewer.pages import FormDep, PageRequestDep

router = APIRouter(default_response_class=HTMLResponse)

GLANCE = 6
"""Entities and observations shown at a glance."""


@router.get("/")
def banks(request: PageRequestDep) -> HTMLResponse:
    """List the banks."""
    known = request.memory.banks.list()
    return request.page("banks.html", banks=known)


@router.get("/bank")
def bank(request: PageRequestDep) -> HTMLResponse:
    """Show a bank at a glance."""
    memory, bank_id = request.memory, request.bank_id
    return request.page(
        "bank.html",
        bank=memory.banks.get(bank_id),
        entities=memory.entities.list(bank_id, limit=GLANCE).items,
        observations=memory.observations.list(bank_id, limit=GLANCE).items,
        models=memory.mental_models.list(bank_id),
    )


@router.get("/bank/figures")
def figures(request: PageRequestDep) -> HTMLResponse:
    """Count what a bank holds, which takes a second for 100,000 memories."""
    return request.page("figures.html", stats=request.memory.banks.stats(request.bank_id))


@router.post("/undo")
def undo(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Take back what a notice says, once."""
    taken = request.notices.take(form.text("key"))
    if taken is None or taken.undo is None:
        return request.done(Notice("This can no longer be undone here.", is_problem=True), "banks")
    try:
        notice = Notice(taken.undo())
    except HindsightError as error:
        notice = Notice(f"Not undone: {error}", is_problem=True)
    return request.done_at(taken.address, notice)
