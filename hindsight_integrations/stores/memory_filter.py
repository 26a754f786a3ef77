"""The memories of a bank that a search may return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from hindsight_integrations.models import MemoryType, TimeSpan
from hindsight_integrations.stores.conditions import Test

TagsMatch: TypeAlias = Literal["any", "all"]


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """The memories of a bank that a search may return; every part must hold.

    Attributes:
        now: memories whose `expires_at` is at or before it are left out; with None, none are.
        types: any of these.
        tags: with `tags_match` "any", at least one; with "all", each.
        where: tests on fields, of metadata or the memory's own.
        scope: exactly this scope.
        document_id: stated in this document, first or again.
        entity_ids: mentions any of these entities.
        window: a time the memory names overlaps the window; for a memory that names none, the
            time it was first said lies inside.
        as_of: known then: said at or before, and not invalidated by then.
        include_invalid: also those invalidated (`as_of` is then not checked for them).
        derived: only those that the engine drew, or with False only those that were given.
        text: its text holds this, whatever the case.
        only_invalid: only those invalidated; for use with `include_invalid`.
        expired_by: only those that expired at or before it; for use without `now`.
        updated_since: stored or changed at or after it.
        pinned: only those pinned, or with False only the others.
    """

    now: datetime | None
    types: frozenset[MemoryType] | None = None
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = "any"
    where: tuple[Test, ...] = ()
    scope: str | None = None
    document_id: str | None = None
    entity_ids: tuple[str, ...] = ()
    window: TimeSpan | None = None
    as_of: datetime | None = None
    include_invalid: bool = False
    derived: bool | None = None
    text: str | None = None
    only_invalid: bool = False
    expired_by: datetime | None = None
    updated_since: datetime | None = None
    pinned: bool | None = None

    @property
    def is_selective(self) -> bool:
        """Return True if it asks for more than valid memories of some types."""
        exact = (self.scope, self.document_id, self.derived, self.text, self.pinned)
        times = (self.window, self.as_of, self.expired_by, self.updated_since)
        some = bool(self.tags or self.where or self.entity_ids or self.only_invalid)
        return some or any(value is not None for value in (*exact, *times))


EVERYTHING = MemoryFilter(now=None, include_invalid=True)
"""Admits every memory of a bank, expired and invalidated ones too."""
