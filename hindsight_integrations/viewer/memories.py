"""Pages on memories: search, one with all that is known of it, and corrections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from hindsight_integrations import validation
from hindsight_integrations.conclusions import quotations
from hindsight_integrations.errors import (
    ConflictError,
    EntityNotFoundError,
    InvalidInputError,
)
from hindsight_integrations.models import Memory, MemoryType, Page, utc_now
from hindsight_integrations.rendering import as_json
from hindsight_integrations.stores.base import CHUNK, CONCLUSIONS_CITING, EVERYTHING, MEMORY
from hindsight_integrations.stores.reads import read_one
from hindsight_integrations.viewer.notices import Notice
from hindsight_integrations.viewer.pages import (
    PER_PAGE,
    Form,
    FormDep,
    PageRequest,
    PageRequestDep,
    as_shown,
    number_given,
    time_given,
)

router = APIRouter(default_response_class=HTMLResponse)

STATES = ("valid", "invalidated", "expired", "any")
LINKS = 12
"""Links of a memory that its page shows, the heaviest first."""
SOURCES = 25
"""Sources and conclusions of a memory that its page shows."""
GRACE = timedelta(days=30)
"""Time in which a forgotten memory can be restored, unless it is deleted at once."""


# Search


@router.get("/memories")
def memories(request: PageRequestDep) -> HTMLResponse:
    """Search and filter the memories of a bank."""
    problem: str | None = None
    found: Page[Memory] = Page((), 0)
    try:
        found = request.memory.memories.list(
            request.bank_id, **chosen(request), limit=PER_PAGE, cursor=request.query.get("cursor")
        )
    except (InvalidInputError, EntityNotFoundError) as error:
        problem = str(error)
    return request.page(
        "memories.html",
        400 if problem else 200,
        found=found,
        problem=problem,
        types=list(MemoryType),
        states=STATES,
    )


def chosen(request: PageRequest) -> dict[str, Any]:
    """Return the options of `memories.list` that the address names."""
    query = request.query
    start, end = time_given("from", query.get("from")), time_given("until", query.get("until"))
    given = {
        "text": query.get("text"),
        "speaker": query.get("speaker"),
        "entity": query.get("entity"),
        "document_id": query.get("document"),
        "scope": query.get("scope"),
        "types": request.every("type"),
        "tags": request.every("tag"),
        "state": query.get("state"),
        "changed_since": time_given("changed since", query.get("since")),
        "window": (start, end) if start or end else None,
    }
    return {name: value for name, value in given.items() if value}


# One memory


@router.get("/memory")
def memory(request: PageRequestDep) -> HTMLResponse:
    """Show a memory, what it rests on, what rests on it, and its history."""
    found = _found(request)
    graph, bank_id = request.memory.runtime.graph, request.bank_id
    links = graph.links(bank_id, [found.id], LINKS, EVERYTHING)
    evidence = quotations(found)[:SOURCES]
    citing = read_one(graph, bank_id, CONCLUSIONS_CITING, found.id, ())[:SOURCES]
    others = [*(link.source_id for link in links), *(link.target_id for link in links), *citing]
    others += [quotation.memory_id for quotation in evidence]
    sources = [source for source in found.sources if source.memory_id is None][:SOURCES]
    chunk_ids = [source.chunk_id for source in sources if source.chunk_id]
    return request.page(
        "memory.html",
        memory=found,
        is_hidden=_is_hidden(found),
        history=request.memory.memories.history(bank_id, found.id),
        sources=sources,
        chunks=graph.read(bank_id, CHUNK, chunk_ids),
        evidence=evidence,
        citing=citing,
        links=links,
        others=graph.read(bank_id, MEMORY, list(dict.fromkeys(others))),
    )


def _found(request: PageRequest) -> Memory:
    return request.memory.memories.get(request.bank_id, request.required("id"))


def _is_hidden(memory: Memory) -> bool:
    """Return True for a memory that was forgotten, and can be restored until it is deleted."""
    return memory.expires_at is not None and memory.invalidated_at == memory.mentioned_at


# Corrections


@router.get("/memory/edit")
def edit_memory(request: PageRequestDep) -> HTMLResponse:
    """Show the form that corrects a memory."""
    found = _found(request)
    return request.page(
        "memory_edit.html",
        memory=found,
        metadata=as_json(dict(found.metadata), indent=2) if found.metadata else "",
        types=list(MemoryType),
    )


@router.post("/memory/edit")
def save_memory(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Correct the fields of a memory that differ from what it has."""
    old = _found(request)
    _check_unchanged(old, form)
    given = _edited(form)
    changed = {name: new for name, new in given.items() if new != _EDITED[name](old)}
    if not changed:
        return request.done(Notice("Nothing was changed."), "memory", id=old.id)
    request.memory.memories.update(request.bank_id, old.id, **changed, reason=form.given("reason"))
    notice = Notice(f"Corrected: {', '.join(changed)}.", _undoing_edit(request, old, changed))
    return request.done(notice, "memory", id=old.id)


def _check_unchanged(old: Memory, form: Form) -> None:
    """Raise ConflictError if the memory was changed since the form was shown."""
    if form.text("updated_at") != old.updated_at.isoformat():
        raise ConflictError(
            f"memory {old.id!r} was changed after this form was opened; open the form again"
        )


_EDITED: Mapping[str, Callable[[Memory], object]] = {
    "text": lambda old: as_shown(old.text),
    "type": lambda old: old.type.value,
    "speaker": lambda old: as_shown(old.speaker or ""),
    "mentioned_at": lambda old: old.mentioned_at,
    "entities": lambda old: list(map(as_shown, old.entities)),
    "tags": lambda old: list(map(as_shown, old.tags)),
    "metadata": lambda old: dict(old.metadata),
    "confidence": lambda old: old.confidence,
    "expires_at": lambda old: old.expires_at,
    "pinned": lambda old: old.pinned,
}
"""Values of a memory in the fields of its form; one that is sent back as shown was not changed."""


def _edited(form: Form) -> dict[str, Any]:
    """Return what the form has in each field.

    Raises:
        InvalidInputError: a field cannot be read.
    """
    given = {
        "text": form.text("text"),
        "type": form.text("type"),
        "speaker": form.text("speaker").strip(),
        "mentioned_at": time_given("said", form.given("mentioned_at")),
        "entities": form.lines("entities"),
        "tags": form.lines("tags"),
        "metadata": _metadata(form.text("metadata")),
        "confidence": number_given("confidence", form.given("confidence"), float),
        "expires_at": time_given("expires", form.given("expires_at")),
        "pinned": form.given("pinned") is not None,
    }
    # These can be given but not taken away.
    kept = ("mentioned_at", "confidence", "expires_at")
    return {name: value for name, value in given.items() if name not in kept or value is not None}


def _metadata(text: str) -> dict[str, object]:
    given = validation.from_json(text, "the metadata") if text.strip() else {}
    if not isinstance(given, dict):
        raise InvalidInputError(
            'the metadata is not a JSON object; give one such as {"source": "mail"}'
        )
    return given


def _undoing_edit(
    request: PageRequest, old: Memory, changed: Mapping[str, object]
) -> Callable[[], str] | None:
    """Return what gives the changed fields their old values; None if one cannot be taken away."""
    before: dict[str, Any] = {name: getattr(old, name) for name in changed}
    if any(value is None for name, value in before.items() if name != "speaker"):
        return None
    if "speaker" in before:
        before["speaker"] = old.speaker or ""
    if "text" in before or "speaker" in before or "mentioned_at" in before:
        before |= {"entities": old.entities, "occurred": old.occurred}
    update, bank_id = request.memory.memories.update, request.bank_id

    def undo() -> str:
        update(bank_id, old.id, **before, reason="undone in the viewer")
        return "The correction was undone."

    return undo


@router.get("/memory/invalidate")
def ask_invalidate(request: PageRequestDep) -> HTMLResponse:
    """Ask before a memory is invalidated."""
    return request.page("memory_invalidate.html", memory=_found(request))


@router.post("/memory/invalidate")
def invalidate(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Mark a memory as wrong."""
    bank_id, id, memories = request.bank_id, request.required("id"), request.memory.memories
    memories.invalidate(bank_id, id, form.given("reason"))

    def undo() -> str:
        memories.restore(bank_id, id, "undone in the viewer")
        return "The memory is valid again."

    return request.done(
        Notice("Invalidated: it is kept, and no longer recalled.", undo), "memory", id=id
    )


@router.get("/memory/restore")
def ask_restore(request: PageRequestDep) -> HTMLResponse:
    """Ask before a memory is restored."""
    return request.page("memory_restore.html", memory=_found(request))


@router.post("/memory/restore")
def restore(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Take back that a memory was invalidated, or forgotten for a time."""
    bank_id, old, memories = request.bank_id, _found(request), request.memory.memories
    memories.restore(bank_id, old.id, form.given("reason"))

    def undo() -> str:
        if old.expires_at is not None and _is_hidden(old):
            request.memory.forget(bank_id, old.id, after=old.expires_at - utc_now())
            return "The memory is forgotten again."
        memories.invalidate(bank_id, old.id, old.invalidated_because)
        return "The memory is invalidated again."

    return request.done(Notice("Restored: it is recalled again.", undo), "memory", id=old.id)


@router.get("/memory/forget")
def ask_forget(request: PageRequestDep) -> HTMLResponse:
    """Show what forgetting a memory deletes, and ask."""
    found = _found(request)
    would = request.memory.forget(request.bank_id, found.id, dry_run=True)
    return request.page("memory_forget.html", memory=found, would=would, days=GRACE.days)


@router.post("/memory/forget")
def forget(request: PageRequestDep, form: FormDep) -> RedirectResponse:
    """Delete a memory for good, or after a time in which it can be restored."""
    bank_id, id = request.bank_id, request.required("id")
    if form.given("when") == "now":
        gone = request.memory.forget(bank_id, id)
        others = f", with {len(gone) - 1} conclusions from it" if len(gone) > 1 else ""
        return request.done(Notice(f"Forgotten for good{others}."), "memories")
    request.memory.forget(bank_id, id, after=GRACE)

    def undo() -> str:
        request.memory.memories.restore(bank_id, id, "undone in the viewer")
        return "The memory is recalled again."

    told = f"Forgotten: it is in no answer, and can be restored for {GRACE.days} days."
    return request.done(Notice(told, undo), "memory", id=id)
