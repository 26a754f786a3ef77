"""Pages on conclusions: observations, opinions and mental models; corrections of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from hindsight_integrations.conclusions import Observation, Opinion
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, MentalModel, ObservationKind, Page
from hindsight_integrations.stores.base import MEMORY
from hindsight_integrations.viewer.notices import Notice
from hindsight_integrations.viewer.pages import (
    FormDep,
    PageRequest,
    PageRequestDep,
    as_shown,
    number_given,
)

router = APIRouter(default_response_class=HTMLResponse)

PER_PAGE = 20
"""Conclusions of a page: each shows its evidence."""


@router.get("/observations")
def observations(request: PageRequestDep) -> HTMLResponse:
    """List observations."""
    problem: str | None = None
    found: Page[Observation] = Page((), 0)
    try:
        found = request.memory.observations.list(
            request.bank_id,
            types=request.every("kind") or None,
            min_confidence=number_given("confidence", request.query.get("least"), float) or 0.0,
            limit=PER_PAGE,
            cursor=request.query.get("cursor"),
        )
    except InvalidInputError as error:
        problem = str(error)
    return request.page(
        "observations.html",
        400 if problem else 200,
        found=found,
        problem=problem,
        kinds=list(ObservationKind),
        quoted=_quoted(request, found.items),
    )


@router.get("/opinions")
def opinions(request: PageRequestDep) -> HTMLResponse:
    """List opinions."""
    found = request.memory.opinions.list(
        request.bank_id, limit=PER_PAGE, cursor=request.query.get("cursor")
    )
    return request.page("opinions.html", found=found, quoted=_quoted(request, found.items))


def _quoted(
    request: PageRequest, conclusions: Sequence[Observation | Opinion]
) -> dict[str, Memory]:
    """Return the memories that the conclusions rest on, by id."""
    ids = dict.fromkeys(id for conclusion in conclusions for id in conclusion.sources)
    return request.memory.runtime.graph.read(request.bank_id, MEMORY, list(ids))


@router.get("/models")
def mental_models(request: PageRequestDep) -> HTMLResponse:
    """List the mental models of a bank."""
    return request.page("models.html", models=request.memory.mental_models.list(request.bank_id))


@router.get("/model")
def mental_model(request: PageRequestDep) -> HTMLResponse:
    """Show a mental model, what changed since it was written, and its history."""
    found, of = _found(request), request.memory.mental_models
    staleness = of.staleness(request.bank_id, found.id)
    ids = [*found.sources, *staleness.newer, *staleness.changed, *staleness.contradicted]
    return request.page(
        "model.html",
        model=found,
        staleness=staleness,
        history=of.history(request.bank_id, found.id),
        others=request.memory.runtime.graph.read(request.bank_id, MEMORY, list(dict.fromkeys(ids))),
    )


def _found(request: PageRequest) -> MentalModel:
    return request.memory.mental_models.get(request.bank_id, request.required("id"))


@router.get("/model/edit")
def edit_model(request: PageRequestDep) -> HTMLResponse:
    """Show the form that corrects a mental model."""
    return request.page("model_edit.html", model=_found(request))


@router.post("/model/edit")
def save_model(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Correct a mental model."""
    old, of, bank_id = _found(request), request.memory.mental_models, request.bank_id
    given: dict[str, Any] = {
        "name": form.text("name").strip(),
        "text": form.text("text").strip(),
        "tags": form.lines("tags"),
    }
    shown = {
        "name": as_shown(old.name),
        "text": as_shown(old.text).strip(),
        "tags": list(map(as_shown, old.tags)),
    }
    changed = {name: value for name, value in given.items() if value != shown[name]}
    if not changed:
        return request.done(Notice("Nothing was changed."), "mental_model", id=old.id)
    of.update(bank_id, old.id, **changed, reason=form.given("reason"))

    def undo() -> str:
        before = {name: getattr(old, name) for name in changed}
        of.update(bank_id, old.id, **before, reason="undone in the viewer")
        return "The correction was undone."

    return request.done(
        Notice(f"Corrected: {', '.join(changed)}.", undo), "mental_model", id=old.id
    )


@router.get("/model/refresh")
def ask_refresh(request: PageRequestDep) -> HTMLResponse:
    """Ask before a mental model is rewritten."""
    return request.page("model_refresh.html", model=_found(request))


@router.post("/model/refresh")
def refresh(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Rewrite a mental model from what the bank knows now."""
    old, of, bank_id = _found(request), request.memory.mental_models, request.bank_id
    new = of.refresh(bank_id, old.id)
    text = "Refreshed." if new.text != old.text else "Refreshed: it says the same as before."
    return request.done(Notice(text), "mental_model", id=old.id)
