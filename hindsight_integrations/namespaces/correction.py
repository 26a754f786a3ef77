"""Correction of a memory by a user: the arguments of `memories.update`, checked and applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, MemoryType, TimeSpan, TurnKind, as_datetime
from hindsight_integrations.runtime import UNCHANGED
from hindsight_integrations.settings import Settings
from hindsight_integrations.timespan import with_offset


@dataclass(frozen=True, slots=True)
class Correction:
    """New values for a memory, as a user corrects it.

    Attributes:
        fields: the new values of those of its fields that were given.
        occurred: the times it happened; None to leave them to its text.
        entities: names of the entities it mentions; None to leave them to its text.
        zone: the time zone of a new `mentioned_at`.
    """

    fields: Mapping[str, Any]
    occurred: Sequence[TimeSpan] | None
    entities: Sequence[str] | None
    zone: tzinfo | None

    @classmethod
    def checked(
        cls,
        settings: Settings,
        *,
        text: str | None,
        type: MemoryType | str | None,
        tags: Sequence[str] | None,
        metadata: Mapping[str, object] | None,
        confidence: float | None,
        occurred: Sequence[TimeSpan | tuple[datetime, datetime]] | None,
        mentioned_at: datetime | None,
        entities: Sequence[str] | None,
        speaker: str | None,
        expires_at: datetime | None,
        pinned: bool | None,
    ) -> Correction:
        """Check the arguments of `memories.update`, which says what each of them does.

        Raises:
            InvalidInputError: one of them cannot be used.
        """
        fields: dict[str, Any] = {}
        if text is not None:
            fields["text"] = validation.content(text, settings.max_content_chars)
        if type is not None:
            fields["type"] = validation.memory_type(type)
        if tags is not None:
            fields["tags"] = validation.tags(tags)
        if metadata is not None:
            fields["metadata"] = validation.metadata(metadata)
        if confidence is not UNCHANGED:
            fields["confidence"] = validation.confidence(confidence)
        if mentioned_at is not None:
            said_at = validation.timestamp("mentioned_at", mentioned_at, settings.zone)
            fields["mentioned_at"] = with_offset(said_at)
        if speaker is not None:
            fields["speaker"] = None if speaker == "" else validation.label("speaker", speaker)
        if expires_at is not UNCHANGED:
            ends_at = validation.timestamp("expires_at", expires_at, settings.zone)
            fields["expires_at"] = None if ends_at is None else as_datetime(ends_at)
        if pinned is not None:
            fields["pinned"] = validation.flag("pinned", pinned)
        return cls(
            fields,
            None if occurred is None else validation.spans("occurred", occurred, settings.zone),
            None if entities is None else validation.entities(entities),
            None if mentioned_at is None else said_at.tzinfo,
        )

    @property
    def brings_content(self) -> bool:
        """Return True if it brings text or metadata, which `before_retain` has to see."""
        return not self.fields.keys().isdisjoint(("text", "metadata"))

    def applied_to(self, old: Memory) -> Memory:
        """Return a memory with the new values of its fields.

        Raises:
            InvalidInputError: it is pinned, and was given a time at which it expires.
        """
        new = replace(old, **self.fields)
        if new.pinned and self.fields.get("expires_at") is not None:
            raise InvalidInputError(
                "a pinned memory never expires; give either pinned or expires_at, or "
                "pinned=False to unpin it"
            )
        if "text" in self.fields and old.kind in frozenset(TurnKind):
            new = replace(new, kind=None)
        return new
