"""Observations and opinions as returned to the caller, with the memories they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hindsight_integrations import display
from hindsight_integrations.display import NotebookTable
from hindsight_integrations.history import Change
from hindsight_integrations.models import Memory, ObservationKind


class Trend(StrEnum):
    """Trend of the evidence of a conclusion."""

    NEW = "new"
    """All evidence is recent."""
    STRENGTHENING = "strengthening"
    """Evidence arrives at least as often as before."""
    WEAKENING = "weakening"
    """Evidence arrives less often than before."""
    STALE = "stale"
    """No evidence has arrived for a long time."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """A memory that a conclusion rests on, and the words in it that support the conclusion.

    `quote` is a verbatim part of that memory's text; None stands for the whole text.
    `supports` is False for evidence against an opinion.
    """

    memory_id: str
    quote: str | None
    said_at: datetime
    supports: bool = True


@dataclass(frozen=True, slots=True)
class Observation(NotebookTable):
    """A statement that several memories support together.

    Attributes:
        confidence: 0.1 to 1, depending on how many memories support it.
        evidence: the memories it rests on, in order of time.
        proof_count: number of memories that support it.
        first_seen: time of its first evidence.
        last_seen: time of its last evidence.
        reasoning: how it was drawn.
        history: its changes, oldest first, with the earlier texts.
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
            f"Observation({self.text!r}, {self.kind}, from "
            f"{display.counted(self.proof_count, 'memory')}, "
            f"confidence {self.confidence:.2f}, {self.trend})"
        )

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "observation": self.text,
            "confidence": display.Share(self.confidence),
            "from": display.counted(self.proof_count, "memory"),
            "first seen": display.moment(self.first_seen),
            "last seen": display.moment(self.last_seen),
            "trend": self.trend,
        }


@dataclass(frozen=True, slots=True)
class Opinion(NotebookTable):
    """A belief of the bank's agent about a topic; see `Observation` for the common attributes.

    Attributes:
        topic: its subject.
        confidence: 0 to 1; raised by support and lowered by contradiction.
        evidence: the memories for and against it, in order of time.
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

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "topic": self.topic,
            "opinion": self.text,
            "confidence": display.Share(self.confidence),
            "from": display.counted(self.proof_count, "memory"),
            "trend": self.trend,
        }


def quotations(memory: Memory) -> tuple[Quotation, ...]:
    """Return the memories that a conclusion rests on, in order of time."""
    found = (
        Quotation(source.memory_id, source.quote, source.mentioned_at, source.supports)
        for source in memory.sources
        if source.memory_id is not None
    )
    return tuple(sorted(found, key=lambda piece: (piece.said_at, piece.memory_id)))


def evidence_times(memory: Memory) -> Sequence[datetime]:
    """Return when its evidence was said, in order; without evidence, when it was said itself."""
    return [piece.said_at for piece in quotations(memory)] or [memory.mentioned_at]
