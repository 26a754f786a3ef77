"""Describe in the history the memories hidden by `forget` with `after`, until they are deleted."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory
from hindsight_integrations.stores.base import HISTORY, GraphStore, MemoryFilter
from hindsight_integrations.stores.reads import every_memory

FORGET, RESTORE = "forget", "restore"
"""Actions of the history of a memory that was hidden, and of one that was restored."""

WITH_DOCUMENT = "document"
"""Field of the history of a hidden memory: the document that goes when the time is over."""


def changes_that_hid(
    graph: GraphStore, bank_id: str, ids: Sequence[str]
) -> dict[str, list[Change]]:
    """Return the changes that hid each of the memories that are hidden, oldest first."""
    found: dict[str, list[Change]] = {}
    for id, changes in graph.read(bank_id, HISTORY, ids).items():
        hidden: list[Change] = []
        for change in changes:
            if change.action == RESTORE:
                hidden.clear()
            elif change.action == FORGET:
                hidden.append(change)
        if hidden:
            found[id] = hidden
    return found


def hidden_with(graph: GraphStore, bank_id: str, document_id: str) -> list[Memory]:
    """Return the memories that were hidden together with this document."""
    filter = MemoryFilter(
        now=None, document_id=document_id, include_invalid=True, only_invalid=True
    )
    invalid = {memory.id: memory for memory in every_memory(graph, bank_id, filter)}
    return [
        invalid[id]
        for id, changes in changes_that_hid(graph, bank_id, list(invalid)).items()
        if any(each.field == WITH_DOCUMENT and each.old == document_id for each in changes)
    ]
