"""Records of the changes of a bank: the history of each memory, and the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations import display
from hindsight_integrations.display import NotebookTable


@dataclass(frozen=True, slots=True)
class Change(NotebookTable):
    """One entry of a history: the field, its old and new value, the time and the reason.

    Attributes:
        memory_id: id of the changed memory, or mental model if `of_model` is True.
    """

    memory_id: str
    action: str
    field: str
    old: str | None
    new: str | None
    at: datetime
    reason: str | None = None
    of_model: bool = False

    def __repr__(self) -> str:
        values = " to ".join(display.short(value) for value in (self.old, self.new) if value)
        because = f", because {self.reason!r}" if self.reason else ""
        what = " ".join(filter(None, (self.action, self.field, values)))
        return f"Change({display.moment(self.at)}: {what}{because})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "at": display.moment(self.at),
            "what": f"{self.action} {self.field}",
            "before": self.old or "",
            "after": self.new or "",
            "because": self.reason or "",
        }


@dataclass(frozen=True, slots=True)
class AuditEntry(NotebookTable):
    """One entry of a bank's audit log. It names what was changed, without its content.

    Attributes:
        action: "create", "update", "invalidate", "restore", "merge", "split", "delete", or the
            action of the engine that changed it, such as "consolidate".
        kind: "memory", "document", "entity" or "mental model".
        id: id of what was changed.
        actor: the actor given to `acting_as`, or "hindsight" for background work.
        reason: the reason given. When a memory is deleted, it is removed from all its entries
            except the last.
        fields: names of the fields that an update changed.
        other: the entity merged into, or the entity split off.
    """

    at: datetime
    action: str
    kind: str
    id: str
    actor: str | None = None
    reason: str | None = None
    fields: tuple[str, ...] = ()
    other: str | None = None

    def __repr__(self) -> str:
        by = f", by {self.actor!r}" if self.actor else ""
        because = f", because {self.reason!r}" if self.reason else ""
        what = f"{self.action} {self.kind} {self.id!r}"
        return f"AuditEntry({display.moment(self.at)}: {what}{by}{because})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "at": display.moment(self.at),
            "what": " ".join((self.action, self.kind, *self.fields)),
            "id": self.id if self.other is None else f"{self.id}, {self.other}",
            "by": self.actor or "",
            "because": self.reason or "",
        }
