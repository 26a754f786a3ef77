"""Domain types: banks, memories, entities, documents, links. Frozen values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Generic, Literal, TypeAlias, TypeVar, get_args, overload

from hindsight_integrations import display
from hindsight_integrations.display import NotebookTable
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.timespan import Precision, TimeSpan, as_utc

__all__ = [
    "Arm",
    "Bank",
    "BankStats",
    "Chunk",
    "Directive",
    "Disposition",
    "Document",
    "Entity",
    "Expiry",
    "Link",
    "LinkKind",
    "Memory",
    "MemoryState",
    "MemoryType",
    "MentalModel",
    "Message",
    "Metadata",
    "MetadataValue",
    "ModelUsage",
    "ObservationKind",
    "Page",
    "Precision",
    "Source",
    "TimeSpan",
    "TurnKind",
    "as_datetime",
    "utc_now",
]

MetadataValue: TypeAlias = str | int | float | bool
Metadata: TypeAlias = Mapping[str, MetadataValue]

MemoryState: TypeAlias = Literal["valid", "invalidated", "expired", "any"]
"""States accepted by filters. A memory can be both invalidated and expired; "valid" is neither."""

T = TypeVar("T")


def utc_now() -> datetime:
    """Return the current time in UTC, timezone-aware."""
    return datetime.now(UTC)


class MemoryType(StrEnum):
    """Kind of statement a memory is; `"bank"` is accepted as another name of `EXPERIENCE`."""

    WORLD = "world"
    """An objective fact."""
    EXPERIENCE = "experience"
    """Something the bank's own agent did or said."""
    OPINION = "opinion"
    """A belief, with a confidence."""
    OBSERVATION = "observation"
    """A conclusion drawn from other memories."""

    @classmethod
    def _missing_(cls, value: object) -> MemoryType | None:
        return cls.EXPERIENCE if value == "bank" else None


class TurnKind(StrEnum):
    """Kind of a turn that is no evidence. All but quotations and signatures state nothing."""

    QUESTION = "question"
    """A question that states nothing itself."""
    COURTESY = "courtesy"
    """A greeting, thanks, an acknowledgement, an offer of help."""
    NON_ANSWER = "non-answer"
    """The speaker says that they do not know, or cannot help."""
    QUOTATION = "quotation"
    """Lines that a mail quotes ("> ..."): another's words."""
    SIGNATURE = "signature"
    """Lines after the signature separator of a mail ("--"), which all mails of a sender have."""


_NO_EVIDENCE = frozenset(TurnKind)
_STATES_NOTHING = _NO_EVIDENCE - {TurnKind.QUOTATION, TurnKind.SIGNATURE}


def states_nothing(kind: str | None) -> bool:
    """Return True if a memory of this kind is only context for neighbouring turns."""
    return kind in _STATES_NOTHING


def proves(type: MemoryType, speaker: str | None, kind: str | None) -> bool:
    """Return True if such a memory is evidence: it supports conclusions, and repeating it counts.

    A turn of the agent repeats what it was told, or is made up; neither is evidence, nor is what a
    mail quotes.
    """
    own_words = type is MemoryType.EXPERIENCE and speaker is not None
    return not own_words and kind not in _NO_EVIDENCE


TRUST = "trust"
"""Metadata field that says how far the source of a memory is trusted."""

LOW_TRUST = "low"
"""Value of that field for a source that is not trusted."""


@dataclass(frozen=True, slots=True)
class Disposition:
    """Traits of a bank's agent, each from 1 (low) to 5 (high).

    They affect the wording of reflection, never the order of recall.

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
class Expiry:
    """Times to live of a bank's memories, counted from when a memory was first stored.

    The most specific rule applies: the rule of its tags (the shortest, if there are several),
    otherwise the rule of its type, otherwise the default. None means that a memory never expires.

    Attributes:
        default: time to live of memories without another rule; None keeps them forever.
        types: times to live by memory type.
        tags: times to live by tag.

    Raises:
        InvalidInputError: a type is unknown, or a time is not a timedelta above zero.
    """

    default: timedelta | None = None
    types: Mapping[str, timedelta | None] = field(default_factory=dict, hash=False)
    tags: Mapping[str, timedelta | None] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.types, Mapping) or not isinstance(self.tags, Mapping):
            raise InvalidInputError("expiry types and tags must map names to timedeltas")
        for name in self.types:
            if str(name) not in {kind.value for kind in MemoryType}:
                kinds = ", ".join(kind.value for kind in MemoryType)
                raise InvalidInputError(f"unknown type {name!r} in expiry; the types are {kinds}")
        for after in (self.default, *self.types.values(), *self.tags.values()):
            if after is not None and not (isinstance(after, timedelta) and after > timedelta(0)):
                raise InvalidInputError(
                    f"an expiry time is {after!r}; give a timedelta above zero, or None"
                )
        object.__setattr__(self, "types", {str(name): t for name, t in self.types.items()})
        object.__setattr__(self, "tags", {str(name): t for name, t in self.tags.items()})

    def end_of(self, memory: Memory) -> datetime | None:
        """Return the time at which a memory expires by these rules; None if it does not."""
        after = self.types.get(memory.type.value, self.default)
        if ruled := [self.tags[tag] for tag in memory.tags if tag in self.tags]:
            after = min((time for time in ruled if time is not None), default=None)
        if after is None or memory.pinned or after > _LATEST - memory.created_at:
            return None
        return memory.created_at + after

    def applied_to(self, memory: Memory) -> Memory:
        """Return a memory with the expiry these rules give it, unless it has its own."""
        if memory.pinned or memory.expires_at is None:
            return replace(memory, expires_at=self.end_of(memory))
        return memory


_LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Directive(JsonForm):
    """A hard rule for reflection, with a name.

    It is in force while its text is among the `directives` of its bank.

    Attributes:
        priority: directives are listed from the highest priority to the lowest.
    """

    id: str
    name: str
    text: str
    priority: int = 0
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)


@dataclass(frozen=True, slots=True)
class Bank(NotebookTable):
    """An isolated memory space of one agent or user.

    Attributes:
        mission: what the bank is for.
        background: what its agent should always know about itself.
        directives: hard rules for reflection that are in force.
        named_directives: directives that were given a name, in force or not.
        expiry: times to live of its memories.
        kept_apart: name pairs that must not be merged, hashed so that forgotten names do not
            survive here.
    """

    id: str
    name: str = ""
    mission: str = ""
    background: str = ""
    disposition: Disposition = Disposition()
    directives: tuple[str, ...] = ()
    expiry: Expiry = field(default_factory=Expiry)
    kept_apart: tuple[str, ...] = ()
    named_directives: tuple[Directive, ...] = ()
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)

    def __repr__(self) -> str:
        name = f", {display.short(self.name)}" if self.name else ""
        return f"Bank({self.id!r}{name}, created {display.moment(self.created_at)})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "name": self.name,
            "mission": self.mission,
            "background": self.background,
            "directives": "\n".join(self.directives),
            "created": display.moment(self.created_at),
        }


@dataclass(frozen=True, slots=True)
class BankStats(NotebookTable):
    """Counts of a bank's contents."""

    bank_id: str
    memories: int
    by_type: Mapping[MemoryType, int] = field(hash=False)
    invalidated: int
    entities: int
    documents: int
    chunks: int
    links: Mapping[LinkKind, int] = field(hash=False)
    pending_vectors: int
    first_mentioned_at: datetime | None
    last_mentioned_at: datetime | None

    def __repr__(self) -> str:
        counts = {"memory": self.memories, "entity": self.entities, "document": self.documents}
        shown = ", ".join(display.counted(number, noun) for noun, number in counts.items())
        return f"BankStats({self.bank_id!r}: {shown})"

    def _table_fields(self) -> Mapping[str, object]:
        times = (self.first_mentioned_at, self.last_mentioned_at)
        return {
            "memories": self.memories,
            **{f"{kind} memories": count for kind, count in self.by_type.items() if count},
            "invalidated": self.invalidated,
            "entities": self.entities,
            "documents": self.documents,
            **{f"{kind} links": count for kind, count in self.links.items() if count},
            "waiting vectors": self.pending_vectors,
            "said": " to ".join(dict.fromkeys(filter(None, map(display.moment, times)))),
        }


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    `speaker` is a name or a role ("user", "assistant"); `timestamp` is when it was said, now
    if not given, and in `Settings.timezone` if it carries no timezone; `id` is the caller's own id
    of the turn.
    """

    speaker: str
    text: str
    timestamp: datetime | None = None
    id: str | None = None
    metadata: Metadata = field(default_factory=dict, hash=False)


RecordPart: TypeAlias = Literal["messages", "remarks", "chat"]
"""Part of a session that is stored in a record named `<session>#<part>`, and deleted with it.

"remarks" is the name under which the entries of a reflection memory are stored.
"""

RECORD_PARTS: tuple[RecordPart, ...] = get_args(RecordPart)
"""The parts of a session that are stored in records."""


@dataclass(frozen=True, slots=True)
class Document(NotebookTable):
    """The text that memories came from.

    Attributes:
        fingerprint: hash of all its content.
        is_record: True if it holds data of a conversation (messages, entries); `retain` cannot
            write to it.
        is_conversation: True if it holds the messages of a conversation, False if it holds a text;
            None if an earlier version stored it, which did not say.
    """

    id: str
    bank_id: str
    fingerprint: str
    created_at: datetime
    updated_at: datetime
    chunk_count: int = 0
    is_record: bool = False
    is_conversation: bool | None = None

    def __repr__(self) -> str:
        changed = display.moment(self.updated_at)
        chunks = display.counted(self.chunk_count, "chunk")
        return f"Document({self.id!r}, {chunks}, changed {changed})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "chunks": self.chunk_count,
            "created": display.moment(self.created_at),
            "changed": display.moment(self.updated_at),
        }


@dataclass(frozen=True, slots=True)
class Chunk(JsonForm):
    """A part of a document: about a paragraph of text, or one message of a conversation.

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
        reference: the caller's own id of the message or record, if one was given.
        memory_id: the memory a conclusion rests on; position and time are those of that memory.
        quote: the words of that memory that support the conclusion, verbatim.
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
class Memory(NotebookTable):
    """One retained statement.

    Attributes:
        text: the statement, in the user's words.
        occurred: times it happened, at the precision of the text; empty if the text names none.
        mentioned_at: time it was first said, with the offset from UTC given with it.
        speaker: name of the speaker, in a conversation.
        context: the caller's note about the origin of the text, or its title.
        entities: canonical names of the people, places and things it mentions.
        confidence: 0 to 1, for opinions and for facts of uncertain extraction.
        scope: a partition within the bank that recall can be limited to.
        sources: every place it was stated, or every memory it rests on. For evidence, the proof
            count is the number of sources that support it.
        kind: an `ObservationKind` for an observation; a `TurnKind` for a turn that states nothing.
        reasoning: for a conclusion, how it was drawn.
        expires_at: time from which recall ignores it.
        invalidated_at: time since which it counts as wrong; it is kept for history, but never
            recalled.
        derived: True if the engine drew it from other memories, and may rewrite, merge or remove
            it; False for everything a caller gave.
        pinned: True if it never expires, and no observation is returned in its place.
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
    metadata: Metadata = field(default_factory=dict, hash=False)
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
    derived: bool = False
    pinned: bool = False

    @property
    def occurred_start(self) -> datetime | None:
        """Start of the earliest time that the text names; None if it names none."""
        return min((span.start for span in self.occurred), default=None)

    @property
    def occurred_end(self) -> datetime | None:
        """End of the latest time that the text names; None if it names none."""
        return max((span.end for span in self.occurred), default=None)

    @property
    def is_context(self) -> bool:
        """True for a turn that states nothing, and is only context for neighbouring turns."""
        return states_nothing(self.kind)

    @property
    def is_evidence(self) -> bool:
        """True if it states something and was not said by the agent; see `proves`."""
        return proves(self.type, self.speaker, self.kind)

    @property
    def is_trusted(self) -> bool:
        """False if its metadata marks its source as low trust; it then supports no conclusion."""
        return self.metadata.get(TRUST) != LOW_TRUST

    @property
    def proof_count(self) -> int:
        """Number of sources that support it, at least 1; always 1 if it is not evidence."""
        return max(1, sum(source.supports for source in self.sources)) if self.is_evidence else 1

    @property
    def document_id(self) -> str | None:
        """The document it was first stated in."""
        return self.sources[0].document_id if self.sources else None

    def __repr__(self) -> str:
        by = f", by {self.speaker}" if self.speaker else ""
        state = ", invalidated" if self.invalidated_at else ""
        said = display.moment(self.mentioned_at)
        return f"Memory({self.id!r}: {display.short(self.text)}, {self.type}{by}, {said}{state})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "text": self.text,
            "type": self.type,
            "speaker": self.speaker or "",
            "said": display.moment(self.mentioned_at),
            "happened": ", ".join(map(str, self.occurred)),
            "entities": ", ".join(self.entities),
            "tags": ", ".join(self.tags),
            "invalidated": display.moment(self.invalidated_at),
            "expires": display.moment(self.expires_at),
            "id": self.id,
        }


def is_conclusion(memory: Memory) -> bool:
    """Return True if the memory cites other memories as its evidence."""
    return any(source.memory_id is not None for source in memory.sources)


@dataclass(frozen=True, slots=True)
class Entity(NotebookTable):
    """A person, place, organisation or thing, with its other names."""

    id: str
    bank_id: str
    name: str
    kind: str = "concept"
    aliases: tuple[str, ...] = ()
    mention_count: int = 0
    first_seen: datetime | None = None
    last_seen: datetime | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and the others that it is known by."""
        return (self.name, *self.aliases)

    def __repr__(self) -> str:
        mentions = display.counted(self.mention_count, "mention")
        also = f", also {', '.join(map(repr, self.aliases))}" if self.aliases else ""
        return f"Entity({self.name!r}, {self.kind}, {mentions}{also})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "name": self.name,
            "kind": self.kind,
            "mentions": self.mention_count,
            "also called": ", ".join(self.aliases),
            "first seen": display.moment(self.first_seen),
            "last seen": display.moment(self.last_seen),
            "id": self.id,
        }


class ObservationKind(StrEnum):
    """Kind of statement an observation makes about its subject."""

    PATTERN = "pattern"
    """An event that recurs."""
    CAUSAL = "causal"
    """A cause and its effect."""
    GENERALIZATION = "generalization"
    """A property of the subject, from several statements."""
    PREFERENCE = "preference"
    """Something that a person likes, avoids or chooses."""
    RISK = "risk"
    """Something that may go wrong."""
    STRATEGY = "strategy"
    """A way to reach a goal, planned or known to work."""


@dataclass(frozen=True, slots=True)
class MentalModel(NotebookTable):
    """A summary that the user curates and that reflection reads first.

    Attributes:
        text: the summary; empty if the bank held nothing to write it from.
        source_query: the question it answers; needed to refresh it.
        max_tokens: maximum tokens of a refreshed text.
        sources: ids of the memories it was last written from; empty if the user wrote the text.
        refreshed_at: time the text was last written.
        auto_refresh: True if consolidation refreshes it when it is stale.
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

    def __repr__(self) -> str:
        written = display.moment(self.refreshed_at)
        return f"MentalModel({self.name!r}: {display.short(self.text)}, written {written})"

    def _table_fields(self) -> Mapping[str, object]:
        return {
            "name": self.name,
            "text": self.text,
            "question": self.source_query or "",
            "written": display.moment(self.refreshed_at),
            "id": self.id,
        }


class Arm(StrEnum):
    """One of the four searches of a recall.

    `MEANING` and `PATHWAY`, and the texts "meaning" and "pathway", are older names of `SEMANTIC`
    and `KEYWORD`.
    """

    TEMPORAL = "temporal"
    ENTITY = "entity"
    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    MEANING = "semantic"
    PATHWAY = "keyword"

    @classmethod
    def _missing_(cls, value: object) -> Arm | None:
        return {"meaning": cls.SEMANTIC, "pathway": cls.KEYWORD}.get(str(value))


class LinkKind(StrEnum):
    """Kind of a stored link between two memories. Links through entities are computed instead."""

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
class Page(JsonForm, Generic[T]):
    """One page of a longer list; iterating over it gives its items.

    Attributes:
        items: the items of this page.
        total: number of items on all pages.
        next_cursor: pass it to get the next page; None on the last.
    """

    items: Sequence[T]
    total: int
    next_cursor: str | None = None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self.items[index]

    def __repr__(self) -> str:
        return display.lines(f"Page({len(self.items)} of {self.total})", self.items)

    def _repr_html_(self) -> str:
        rows = [item._table_fields() for item in self.items if isinstance(item, NotebookTable)]
        return display.table(rows, f"{len(self.items)} of {self.total}")


def every_item(page_after: Callable[[str | None], Page[T]]) -> Iterator[T]:
    """Iterate over the items of all pages; `page_after` returns the page after a cursor."""
    cursor: str | None = None
    while True:
        page = page_after(cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls of a language model and their tokens, estimated if the model does not report them."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


def as_datetime(value: datetime | None) -> datetime:
    """Return `value` in UTC, or the current time for None."""
    return utc_now() if value is None else as_utc(value)
