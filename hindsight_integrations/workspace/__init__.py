"""A folder of notes as memory: kept in step with a bank, searched by line, and watched."""

from hindsight_integrations.workspace.notes import NoteKind, NoteRules
from hindsight_integrations.workspace.workspace import (
    Action,
    Excerpt,
    SearchHit,
    SyncEvent,
    SyncResult,
    Workspace,
)

__all__ = [
    "Action",
    "Excerpt",
    "NoteKind",
    "NoteRules",
    "SearchHit",
    "SyncEvent",
    "SyncResult",
    "Workspace",
]
