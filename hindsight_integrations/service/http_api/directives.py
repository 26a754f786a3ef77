"""Directives: hard rules for reflection."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from hindsight_integrations.client import Hindsight
from hindsight_integrations.models import Directive
from hindsight_integrations.service.http_api import answers, requests
from hindsight_integrations.service.http_api.routing import (
    BANK,
    Limit,
    Memory,
    Offset,
    part_of,
    refuse,
    router,
)

routes = router("Directives")


def check_tags(tags: list[str] | None) -> None:
    """Refuse tags: a directive counts for the whole bank."""
    if tags:
        raise refuse("directives apply to the whole bank here; leave out their tags")


def _answer(memory: Hindsight, bank_id: str, directive: Directive) -> answers.DirectiveItem:
    return answers.DirectiveItem(
        id=directive.id,
        bank_id=bank_id,
        name=directive.name,
        content=directive.text,
        priority=directive.priority,
        is_active=directive.text in memory.banks.get(bank_id).directives,
        tags=[],
        created_at=directive.created_at.isoformat(),
        updated_at=directive.updated_at.isoformat(),
    )


@routes.get(f"{BANK}/directives", operation_id="list_directives")
def list_directives(
    memory: Memory,
    bank_id: str,
    tags: Annotated[list[str] | None, Query()] = None,
    tags_match: Literal["any", "all", "exact"] = "any",
    active_only: bool = True,
    limit: Limit = 100,
    offset: Offset = 0,
) -> answers.DirectiveList:
    """List directives, the highest priority first. None has tags, so each passes any."""
    known = memory.directives.list(bank_id, active=True if active_only else None)
    return answers.DirectiveList(
        items=[_answer(memory, bank_id, each) for each in part_of(known, limit, offset)],
        total=len(known),
        limit=limit,
        offset=offset,
    )


@routes.post(f"{BANK}/directives", operation_id="create_directive")
def create_directive(
    memory: Memory, bank_id: str, body: requests.DirectiveGiven
) -> answers.DirectiveItem:
    """Add a directive to a bank."""
    check_tags(body.tags)
    made = memory.directives.create(
        bank_id, body.name, body.content, priority=body.priority, active=body.is_active
    )
    return _answer(memory, bank_id, made)


@routes.get(f"{BANK}/directives/{{directive_id}}", operation_id="get_directive")
def get_directive(memory: Memory, bank_id: str, directive_id: str) -> answers.DirectiveItem:
    """Return a directive."""
    return _answer(memory, bank_id, memory.directives.get(bank_id, directive_id))


@routes.patch(f"{BANK}/directives/{{directive_id}}", operation_id="update_directive")
def update_directive(
    memory: Memory, bank_id: str, directive_id: str, body: requests.DirectiveChanges
) -> answers.DirectiveItem:
    """Change the given fields of a directive."""
    check_tags(body.tags)
    changed = memory.directives.update(
        bank_id,
        directive_id,
        name=body.name,
        text=body.content,
        priority=body.priority,
        active=body.is_active,
    )
    return _answer(memory, bank_id, changed)


@routes.delete(f"{BANK}/directives/{{directive_id}}", operation_id="delete_directive")
def delete_directive(memory: Memory, bank_id: str, directive_id: str) -> answers.Deleted:
    """Delete a directive."""
    memory.directives.delete(bank_id, directive_id)
    return answers.Deleted(message=f"Directive {directive_id!r} was deleted")
