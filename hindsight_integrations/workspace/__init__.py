"""A folder of notes as memory: kept in step with a bank, searched by line, and watched."""

from hindsight_integrations.workspace.migration import (
    Comparison,
    Migration,
    MigrationPlan,
    Review,
    Stage,
)
from hindsight_integrations.workspace.notes import NoteKind, NoteRules
from hindsight_integrations.workspace.report import MigrationReport
from hindsight_integrations.workspace.results import (
    Action,
    Excerpt,
    SearchHit,
    SyncEvent,
    SyncResult,
)
from hindsight_integrations.workspace.workspace import Workspace

__all__ = [
    "Action",
    "Comparison",
    "Excerpt",
    "Migration",
    "MigrationPlan",
    "MigrationReport",
    "NoteKind",
    "NoteRules",
    "Review",
    "SearchHit",
    "Stage",
    "SyncEvent",
    "SyncResult",
    "Workspace",
]
