"""A folder of notes as memory: kept in step with a bank, searched by line, and watched."""

from hindsight_integrations.prompts import GUIDANCE
from hindsight_integrations.workspace.config import WorkspaceConfig
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
from hindsight_integrations.workspace.shadow import ShadowEntry, ShadowReport
from hindsight_integrations.workspace.tools import WorkspaceTool, workspace_tools
from hindsight_integrations.workspace.workspace import Workspace

__all__ = [
    "GUIDANCE",
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
    "ShadowEntry",
    "ShadowReport",
    "Stage",
    "SyncEvent",
    "SyncResult",
    "Workspace",
    "WorkspaceConfig",
    "WorkspaceTool",
    "workspace_tools",
]
