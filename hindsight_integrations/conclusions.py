"""Conclusions as a reader sees them: observations and opinions, with the evidence behind them.

They are stored as ordinary memories, so that recall finds them; these views say what of such a
memory is evidence, since when it holds, and how it is going.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hindsight_integrations.model import Change, Memory, ObservationKind

__all__ = ["Observation", "Opinion", "Quotation", "Trend"]


class Trend(StrEnum):
    """How the evidence of a conclusion comes in."""

    NEW = "new"
    """All of it is recent."""
    STRENGTHENING = "strengthening"
    """It comes in at least as often as before."""
    WEAKENING = "weakening"
    """It comes in less often than before."""
    STALE = "stale"
    """None has come in for long."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A memory that a conclusion rests on, and the words of it that count.

    `quote` is a part of that memory's text, to the letter; None if the whole memory is meant.
    `supports` is False for evidence against an opinion.
    """

    memory_id: str
    quote: str | None
    said_at: datetime
    supports: bool = True


@dataclass(frozen=True, slots=True)
class Observation:
    """What several memories say together.

    Attributes:
        confidence: 0.1 to 1, by how many memories support it.
        evidence: what it rests on, in order of time.
        proof_count: memories that support it.
        first_seen: when the first of its evidence was said.
        last_seen: when the last was.
        reasoning: how it was drawn.
        history: what was changed of it, oldest first; the text it had before is in there.
    """

    id: str
    bank_id: str
    text: str
    kind: ObservationKind
    confidence: float
    evidence: tuple[Quotation, ...]
    proof_count: int
    first_seen: datetime
    last_seen: datetime
    trend: Trend
    reasoning: str
    tags: tuple[str, ...] = ()
    history: tuple[Change, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories it rests on."""
        return tuple(piece.memory_id for piece in self.evidence)

    def __repr__(self) -> str:
        return (
            f"Observation({self.text!r}, {self.kind}, from {self.proof_count} memories, "
            f"confidence {self.confidence:.2f}, {self.trend})"
        )


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the bank's agent believes of a topic; see `Observation` for what both have.

    Attributes:
        topic: what it is about.
        confidence: 0 to 1; moved by what supports and by what contradicts it.
        evidence: for and against, in order of time.
    """

    id: str
    bank_id: str
    topic: str
    text: str
    confidence: float
    evidence: tuple[Quotation, ...]
    proof_count: int
    first_seen: datetime
    last_seen: datetime
    trend: Trend
    reasoning: str
    history: tuple[Change, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories it rests on."""
        return tuple(piece.memory_id for piece in self.evidence)

    def __repr__(self) -> str:
        return f"Opinion({self.topic!r}: {self.text!r}, confidence {self.confidence:.2f})"


def quotations(memory: Memory) -> tuple[Quotation, ...]:
    """The memories that a conclusion rests on, in order of time."""
    found = (
        Quotation(source.memory_id, source.quote, source.mentioned_at, source.supports)
        for source in memory.sources
        if source.memory_id is not None
    )
    return tuple(sorted(found, key=lambda piece: (piece.said_at, piece.memory_id)))


def moments(memory: Memory) -> Sequence[datetime]:
    """When its evidence was said, in order; when it was said itself, if it rests on nothing."""
    return [piece.said_at for piece in quotations(memory)] or [memory.mentioned_at]
