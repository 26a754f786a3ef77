"""Values that the searches of a graph store return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from hindsight_integrations.models import Link, TimeSpan


class TimeKind(StrEnum):
    """Origin of a time: named in the memory's text, or when the memory was said."""

    OCCURRED = "occurred"
    MENTIONED = "mentioned"


@dataclass(frozen=True, slots=True)
class TimeHit:
    """A memory with the one of its times that lies nearest the middle of the window."""

    memory_id: str
    span: TimeSpan
    kind: TimeKind


class TextHit(NamedTuple):
    """A memory that holds at least one of the terms searched, with all its lexemes."""

    memory_id: str
    lexemes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexemeStats:
    """Term statistics of a bank, for BM25.

    Attributes:
        documents: number of memories.
        mean_length: mean number of lexemes in a memory.
        frequency: lexeme to the number of memories that hold it.
    """

    documents: int
    mean_length: float
    frequency: Mapping[str, int]


class Posting(NamedTuple):
    """`memory_id` mentions `entity_id`, which `degree` memories of the bank mention in all."""

    entity_id: str
    memory_id: str
    degree: int


class Surroundings(NamedTuple):
    """Mentions and links of some entities and memories; ids that do not exist are left out.

    Attributes:
        postings: from each entity, the latest stored first.
        mentions: from each memory: id and canonical name of each entity, in the order of the text.
        links: from and to each memory that has any, the heaviest first.
    """

    postings: Mapping[str, Sequence[Posting]]
    mentions: Mapping[str, Sequence[tuple[str, str]]]
    links: Mapping[str, Sequence[Link]]


class Place(NamedTuple):
    """Where a valid memory stands in its bank and in its first document, and until when.

    Attributes:
        number: rises in storing order; never used again in the bank.
        document_id: the document it was first stated in, if any.
        position: there; see `Source.position`.
    """

    number: int
    memory_id: str
    document_id: str | None
    position: int
    expires_at: datetime | None


class Neighbour(NamedTuple):
    """A memory `offset` positions after (before, if negative) another in the same document."""

    memory_id: str
    neighbour_id: str
    offset: int


def by_cosine(hits: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return (id, cosine) by cosine, ties by id; rounding takes some cosines out of -1 to 1."""
    within = ((id, min(1.0, max(-1.0, cosine))) for id, cosine in hits)
    return sorted(within, key=lambda hit: (-hit[1], hit[0]))
