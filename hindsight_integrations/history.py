"""Records of what was done to a bank: the history of a memory's text, and the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations import display
from hindsight_integrations.display import Shown


@dataclass(frozen=True, slots=True)
class Change(Shown):
    """One entry of a history: which field changed, from what to what, when and why.

    Attributes:
        memory_id: the memory, or with `of_model` the mental model, that was changed.
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

    def _shown(self) -> Mapping[str, object]:
        return {
            "at": display.moment(self.at),
            "what": f"{self.action} {self.field}",
            "before": self.old or "",
            "after": self.new or "",
            "because": self.reason or "",
        }


@dataclass(frozen=True, slots=True)
class AuditEntry(Shown):
    """One entry of a bank's audit. It names what was changed, and quotes nothing of it.

    Attributes:
        action: "create", "update", "invalidate", "restore", "merge", "split", "delete", or the
            action of the engine that changed it, such as "consolidate".
        kind: "memory", "document", "entity" or "mental model".
        id: of what was changed.
        actor: who was named by `acting_as`, or "hindsight" for work in the background.
        reason: why; taken out of the entries of a memory when that is deleted, but for the last.
        fields: names of the fields that an update changed.
        other: the entity that one was merged into, or that was split off.
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

    def _shown(self) -> Mapping[str, object]:
        return {
            "at": display.moment(self.at),
            "what": " ".join((self.action, self.kind, *self.fields)),
            "id": self.id if self.other is None else f"{self.id}, {self.other}",
            "by": self.actor or "",
            "because": self.reason or "",
        }
