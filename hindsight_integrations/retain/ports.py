"""What an extractor is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model import Entity, MemoryType, TimeSpan


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of text with what is known of where it stands.

    Attributes:
        mentioned_at: when it was said; relative times are resolved against it.
        speaker: who says it, in a conversation; "I" is this person.
        addressees: whom it is said to; "you" is this person if there is just one.
        preceding: the turn before it in the conversation, which a short reply may answer; only
            its last chunk if it was retained earlier.
        preceding_speaker: who said that one, if it is known.
        title: what the whole text is about, from the caller's `context`.
        type: the type the caller asked for, if any; an extractor leaves it as it is.
    """

    text: str
    mentioned_at: datetime
    speaker: str | None = None
    addressees: tuple[str, ...] = ()
    preceding: str | None = None
    preceding_speaker: str | None = None
    title: str | None = None
    type: MemoryType | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a text.

    `kind` is "person", "organization", "place", "event", "product", "work", "group" or "concept".
    """

    name: str
    kind: str = "concept"


@dataclass(frozen=True, slots=True)
class Fact:
    """A self-contained statement drawn from a passage.

    `causes` are the positions, within the same passage's facts, of those that led to this one.
    """

    text: str
    type: MemoryType = MemoryType.WORLD
    occurred: tuple[TimeSpan, ...] = ()
    mentions: tuple[Mention, ...] = ()
    confidence: float | None = None
    causes: tuple[int, ...] = ()


class Extractor(Protocol):
    """Draws facts from passages. Plug in any object with these two members."""

    @property
    def id(self) -> str:
        """Name and version; documents are read anew when it changes."""
        ...

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        """Facts of each passage, in order.

        Args:
            passages: successive chunks of one document or conversation, or of several.
            known: entities of the bank whose normalised names or aliases occur in the
                passages, by that normalised name.

        Raises:
            ExtractionError: it failed. It never reports a failure as no facts.
        """
        ...
