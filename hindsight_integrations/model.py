"""The nouns: banks, memories, entities, documents, links. Frozen values, no behaviour of stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.timespan import Precision, TimeSpan, as_utc

__all__ = [
    "Bank",
    "BankStats",
    "Change",
    "Chunk",
    "Disposition",
    "Document",
    "Entity",
    "Link",
    "LinkKind",
    "Memory",
    "MemoryType",
    "MentalModel",
    "Message",
    "Metadata",
    "MetadataValue",
    "ObservationKind",
    "Page",
    "Precision",
    "Source",
    "TimeSpan",
    "as_moment",
    "utc_now",
]

MetadataValue: TypeAlias = str | int | float | bool
Metadata: TypeAlias = Mapping[str, MetadataValue]

T = TypeVar("T")


def utc_now() -> datetime:
    """The present moment, timezone-aware."""
    return datetime.now(UTC)


class MemoryType(StrEnum):
    """What kind of statement a memory is; `"bank"` is read as `EXPERIENCE`."""

    WORLD = "world"
    """An objective fact."""
    EXPERIENCE = "experience"
    """Something the bank's own agent did or said."""
    OPINION = "opinion"
    """A belief, with a confidence."""
    OBSERVATION = "observation"
    """Consolidated from other memories."""

    @classmethod
    def _missing_(cls, value: object) -> MemoryType | None:
        return cls.EXPERIENCE if value == "bank" else None


@dataclass(frozen=True, slots=True)
class Disposition:
    """How a bank's agent weighs what it remembers, each trait from 1 (low) to 5 (high).

    It shapes the wording of reflection and never the order of recall.

    Raises:
        InvalidInputError: a trait is not a whole number from 1 to 5.
    """

    skepticism: int = 3
    literalism: int = 3
    empathy: int = 3

    def __post_init__(self) -> None:
        for trait in ("skepticism", "literalism", "empathy"):
            value = getattr(self, trait)
            if type(value) is not int or not 1 <= value <= 5:
                raise InvalidInputError(
                    f"disposition {trait} is {value!r}; give a whole number from 1 to 5"
                )


@dataclass(frozen=True, slots=True)
class Bank:
    """An isolated memory space of one agent or user."""

    id: str
    name: str = ""
    mission: str = ""
    background: str = ""
    disposition: Disposition = Disposition()
    directives: tuple[str, ...] = ()
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)


@dataclass(frozen=True, slots=True)
class BankStats:
    """How much a bank holds."""

    bank_id: str
    memories: int
    by_type: Mapping[MemoryType, int]
    invalidated: int
    entities: int
    documents: int
    chunks: int
    links: Mapping[LinkKind, int]
    pending_vectors: int
    first_mentioned_at: datetime | None
    last_mentioned_at: datetime | None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    `speaker` is a name or a role ("user", "assistant"); `timestamp` is when it was said, now
    if not given, and UTC if it carries no timezone; `id` is the caller's own id of the turn.
    """

    speaker: str
    text: str
    timestamp: datetime | None = None
    id: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """The text that memories came from. `fingerprint` is a hash of all it was made of."""

    id: str
    bank_id: str
    fingerprint: str
    created_at: datetime
    updated_at: datetime
    chunk_count: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: a paragraph or so of text, or one message of a conversation.

    `position` orders the chunks of a document; it may have gaps.
    """

    id: str
    document_id: str
    position: int
    text: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Source:
    """One place where a memory was stated; or, for a conclusion, one memory it rests on.

    Attributes:
        reference: the caller's own id of the message or record, if it gave one.
        memory_id: the memory it rests on; its place and moment are then that memory's.
        quote: the words of that memory it rests on, exactly as they stand there.
        supports: False for evidence against an opinion.
    """

    document_id: str | None = None
    chunk_id: str | None = None
    position: int = 0
    mentioned_at: datetime = field(default_factory=utc_now)
    reference: str | None = None
    memory_id: str | None = None
    quote: str | None = None
    supports: bool = True


@dataclass(frozen=True, slots=True)
class Memory:
    """One retained statement.

    Attributes:
        text: what was said, in the user's words.
        occurred: when it happened, at the precision the text had; empty if it named no time.
        mentioned_at: when it was said, first.
        speaker: who said it, in a conversation.
        context: the caller's remark on where the text comes from, or its title.
        entities: canonical names of the people, places and things it mentions.
        confidence: 0 to 1, for opinions and for facts of uncertain extraction.
        scope: a partition within the bank that recall can be limited to.
        sources: every place it was stated, or every memory it rests on; the number of those
            that support it is its proof count.
        kind: of an observation, one of `ObservationKind`.
        reasoning: of a conclusion, how it was drawn.
        expires_at: from then on recall passes it over.
        invalidated_at: since then it is held to be wrong; kept for history, never recalled.
    """

    id: str
    bank_id: str
    text: str
    type: MemoryType = MemoryType.WORLD
    occurred: tuple[TimeSpan, ...] = ()
    mentioned_at: datetime = field(default_factory=utc_now)
    speaker: str | None = None
    context: str | None = None
    entities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    confidence: float | None = None
    scope: str | None = None
    sources: tuple[Source, ...] = ()
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)
    expires_at: datetime | None = None
    invalidated_at: datetime | None = None
    invalidated_because: str | None = None
    kind: str | None = None
    reasoning: str | None = None

    @property
    def occurred_start(self) -> datetime | None:
        """Start of the earliest time the text names."""
        return min((span.start for span in self.occurred), default=None)

    @property
    def occurred_end(self) -> datetime | None:
        """End of the latest time the text names."""
        return max((span.end for span in self.occurred), default=None)

    @property
    def proof_count(self) -> int:
        """In how many places it was stated, at least one."""
        return max(1, sum(source.supports for source in self.sources))

    @property
    def document_id(self) -> str | None:
        """The document it was first stated in."""
        return self.sources[0].document_id if self.sources else None


@dataclass(frozen=True, slots=True)
class Entity:
    """A resolved person, place, organisation or thing, with the other names it goes by."""

    id: str
    bank_id: str
    name: str
    kind: str = "concept"
    aliases: tuple[str, ...] = ()
    mention_count: int = 0
    first_seen: datetime | None = None
    last_seen: datetime | None = None


class ObservationKind(StrEnum):
    """What an observation says of its subject."""

    PATTERN = "pattern"
    """What happens again and again."""
    CAUSAL = "causal"
    """What leads to what."""
    GENERALIZATION = "generalization"
    """What holds of the subject, from several statements."""
    PREFERENCE = "preference"
    """What somebody likes, avoids or chooses."""
    RISK = "risk"
    """What may go wrong."""
    STRATEGY = "strategy"
    """What works, or is planned, towards an end."""


@dataclass(frozen=True, slots=True)
class MentalModel:
    """A summary that the user curates; reflection reads it first.

    Attributes:
        text: the summary.
        source_query: the question whose answer it is, if it can be refreshed.
        max_tokens: of a refreshed text, at most.
        sources: ids of the memories it was last made from; empty for a text of the user's own.
        refreshed_at: when the text was last written.
        auto_refresh: whether consolidation refreshes it when it has become stale.
    """

    id: str
    bank_id: str
    name: str
    text: str
    source_query: str | None = None
    max_tokens: int = 1024
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    auto_refresh: bool = False
    created_at: datetime = field(default_factory=utc_now)
    refreshed_at: datetime = field(default_factory=utc_now)


class LinkKind(StrEnum):
    """Why two memories are linked. Links through entities are computed, never stored."""

    SEMANTIC = "semantic"
    TEMPORAL = "temporal"
    CAUSAL = "causal"


@dataclass(frozen=True, slots=True)
class Link:
    """A directed link between two memories of a bank; `weight` is in (0, 1].

    A causal link points from the effect to its cause.
    """

    source_id: str
    target_id: str
    kind: LinkKind
    weight: float


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of a memory's history: which field changed, from what to what, when and why."""

    memory_id: str
    action: str
    field: str
    old: str | None
    new: str | None
    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of a longer list. `next_cursor` asks for the following slice; None at the end."""

    items: Sequence[T]
    total: int
    next_cursor: str | None = None


def as_moment(value: datetime | None) -> datetime:
    """`value` in UTC, or now."""
    return utc_now() if value is None else as_utc(value)
