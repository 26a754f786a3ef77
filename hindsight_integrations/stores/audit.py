"""Entries that a change set adds to the audit of a bank: the same for all stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import utc_now
from hindsight_integrations.stores.base import (
    CITED,
    CITED_MODEL,
    ChangeSet,
    EntityEdit,
    EntityMerge,
    EntityRemoval,
    EntitySplit,
)

MEMORY, DOCUMENT, ENTITY, MODEL = "memory", "document", "entity", "mental model"
"""Kinds of audited objects."""

REASONED = frozenset(("update", "invalidate", "restore", "delete"))
"""Actions whose reasons are given by users. Reasons of rewritten conclusions may quote memories, so
they are not audited."""


def audit_of(changes: ChangeSet, removed_ids: Iterable[str]) -> tuple[AuditEntry, ...]:
    """Return the audit entries of an applied change set: those it carries, or derived ones."""
    if changes.audit is not None:
        return changes.audit
    return (*_removals(changes, removed_ids), *_writings(changes), *_corrections(changes))


def _entry(changes: ChangeSet, action: str, kind: str, id: str, other: str = "") -> AuditEntry:
    actor, reason = changes.acting
    return AuditEntry(utc_now(), action, kind, id, actor, reason, other=other or None)


def _removals(changes: ChangeSet, removed_ids: Iterable[str]) -> Iterator[AuditEntry]:
    stored_again = {document.id for document in changes.documents}
    for id in changes.remove_documents:
        if id not in stored_again:
            yield _entry(changes, "delete", DOCUMENT, id)
    for id in removed_ids:
        yield _entry(changes, "delete", MEMORY, id)


def _writings(changes: ChangeSet) -> Iterator[AuditEntry]:
    for document in changes.documents:
        action = "create" if document.created_at == document.updated_at else "update"
        # Without the reason: the document stays when what it names is forgotten.
        yield replace(_entry(changes, action, DOCUMENT, document.id), reason=None)
    for record in changes.memories:
        yield _entry(changes, "create", MEMORY, record.memory.id)
    model_ids_with_history = {change.memory_id for change in changes.history if change.of_model}
    removes = changes.remove_memories or changes.remove_documents
    for model in changes.mental_models:
        if model.id not in model_ids_with_history:
            # One stored along with a removal was composed again: it quoted what is removed.
            yield _entry(changes, "rewrite" if removes else "create", MODEL, model.id)


def _corrections(changes: ChangeSet) -> Iterator[AuditEntry]:
    for edit in changes.entity_edits:
        yield _edited(changes, edit)
    content_changes = (
        change for change in changes.history if change.field not in (CITED, CITED_MODEL)
    )
    for (id, of_model, action, reason), group in groupby(content_changes, _occasion):
        fields = tuple(dict.fromkeys(change.field for change in group))
        yield AuditEntry(
            at=utc_now(),
            action=action,
            kind=MODEL if of_model else MEMORY,
            id=id,
            actor=changes.acting.actor,
            reason=(reason if action in REASONED else None) or changes.acting.reason,
            fields=fields,
        )


def _occasion(change: Change) -> tuple[str, bool, str, str | None]:
    return change.memory_id, change.of_model, change.action, change.reason


def _edited(changes: ChangeSet, edit: EntityEdit) -> AuditEntry:
    match edit:
        case EntityMerge(source_id, target_id):
            return _entry(changes, "merge", ENTITY, source_id, target_id)
        case EntitySplit(entity_id, entity, _):
            return _entry(changes, "split", ENTITY, entity_id, entity.id)
        case EntityRemoval(entity_id):
            return _entry(changes, "delete", ENTITY, entity_id)
    return _entry(changes, "update", ENTITY, edit.entity_id)
