"""The typed requests that the engine asks its stores with, and what they answer.

Frozen values; no query text, and nothing of any particular store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.model import (
    Bank,
    Change,
    Chunk,
    Document,
    Entity,
    Link,
    Memory,
    MemoryType,
    MentalModel,
    MetadataValue,
    Source,
    TimeSpan,
)

Vector: TypeAlias = NDArray[np.float32]
"""Shape (dimension,), unit length."""

TagsMatch: TypeAlias = Literal["any", "all"]
Operator: TypeAlias = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on a metadata field.

    A missing field passes `$ne` and `$nin` and fails all others. Numbers compare with numbers,
    text with text, booleans only for equality; values of different kinds are never equal.
    """

    field: str
    operator: Operator
    value: MetadataValue | tuple[MetadataValue, ...]


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories of a bank a search may return; every part must hold.

    Attributes:
        now: memories whose `expires_at` is at or before it are left out.
        types: any of these.
        tags: with `tags_match` "any", at least one; with "all", each.
        where: metadata conditions.
        scope: exactly this scope.
        document_id: stated in this document, first or again.
        entity_id: mentions this entity.
        window: a time it names overlaps the window; for a memory that names none, the moment
            it was first said lies inside.
        as_of: known then: said at or before, and not invalidated by then.
        include_invalid: also those invalidated (`as_of` is then not looked at for them).
    """

    now: datetime
    types: frozenset[MemoryType] | None = None
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = "any"
    where: tuple[Condition, ...] = ()
    scope: str | None = None
    document_id: str | None = None
    entity_id: str | None = None
    window: TimeSpan | None = None
    as_of: datetime | None = None
    include_invalid: bool = False

    @property
    def is_selective(self) -> bool:
        """Whether it asks for more than valid memories of some types."""
        return bool(
            self.tags
            or self.where
            or self.scope is not None
            or self.document_id is not None
            or self.entity_id is not None
            or self.window
            or self.as_of
        )


@dataclass(frozen=True, slots=True)
class EmbedderStamp:
    """Which embedder made a bank's vectors."""

    id: str
    dimension: int


@dataclass(frozen=True, slots=True)
class StoredBank:
    """A bank as stored.

    Attributes:
        key: names this incarnation; never used again after a deletion.
        edition: rises with every change to what is stored of a memory or its entities' names.
            Memories that are added change nothing: what was read of the others stays true.
    """

    bank: Bank
    key: str
    embedder: EmbedderStamp
    edition: int = 0


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory with what the searches need of it.

    Attributes:
        lexemes: terms for BM25, of the enriched text.
        vector: embedding of the enriched text.
        interaction: compressed token vectors for late interaction, if the encoder gives any.
        fingerprint: hash of the normalised text, for finding duplicates.
        entity_ids: entities mentioned, aligned with `memory.entities`.
    """

    memory: Memory
    lexemes: tuple[str, ...]
    vector: Vector
    fingerprint: str
    interaction: bytes | None = None
    entity_ids: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A memory as recall weighs it: what ranking reads, and no more, since it reads hundreds.

    Attributes:
        document_id: the document it was first stated in.
        proof_count: in how many places it was stated, at least one.
        fingerprint: hash of the normalised text.
        lexemes: terms for BM25, of the enriched text.
        vector: embedding of the enriched text.
        interaction: compressed token vectors; empty if the encoder gave none.
        entities: id and canonical name of each entity mentioned, in the order of the text.
    """

    id: str
    bank_id: str
    text: str
    speaker: str | None
    document_id: str | None
    mentioned_at: datetime
    occurred: tuple[TimeSpan, ...]
    proof_count: int
    fingerprint: str
    lexemes: tuple[str, ...]
    vector: Vector
    interaction: bytes
    entities: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EntityNames:
    """Set the canonical name and the aliases of `entity_id`."""

    entity_id: str
    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a queue outside the store has come: operation `number` of `queue` is applied.

    Stored in the same transaction as what the operation changed, so that a sender who saw no
    answer can tell whether it was applied.
    """

    queue: str
    number: int


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One transaction on one bank: all of it is stored, or nothing.

    Applied in this order: removals, documents, chunks, new entities, new names of known ones,
    new memories, replaced memories, added sources, links, history, mental models, settled
    memories, mark. An entity whose normalised name (or alias) the bank already has is taken for
    that one: its id is an alias for the stored id throughout the change set. Links to memories
    that do not exist (any more) are passed over.

    Evidence stays true. A source goes with the document, chunk or memory it names, and a memory
    with the last source that supported it; the conclusions that rested on that one follow suit.
    A source that names a memory which does not exist (any more) is passed over; a conclusion
    (new, or replaced) that no source supports then is refused with `ConflictError`.

    A memory takes its history along, and that of what rests on it; see `GraphStore.apply`.

    A valid memory waits to be reflected on, until it is named in `reflected`, once it was stored
    (unless it is a conclusion itself), replaced or named in `unreflected`, and a conclusion also
    once it lost a source or a memory it rests on was replaced.

    `expected` and `edition` are what the change set was made from: ids of documents with the
    fingerprint each had, None for one that was not there; and the edition that the bank had, if
    any counts. If one is another by now, whoever changed it, all is refused with `OvertakenError`.
    """

    bank_id: str
    expected: tuple[tuple[str, str | None], ...] = ()
    edition: int | None = None
    remove_documents: tuple[str, ...] = ()
    remove_chunks: tuple[str, ...] = ()
    remove_memories: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    entities: tuple[Entity, ...] = ()
    names: tuple[EntityNames, ...] = ()
    memories: tuple[MemoryRecord, ...] = ()
    replaced: tuple[MemoryRecord, ...] = ()
    sources: tuple[tuple[str, Source], ...] = ()
    links: tuple[Link, ...] = ()
    history: tuple[Change, ...] = ()
    mental_models: tuple[MentalModel, ...] = ()
    remove_mental_models: tuple[str, ...] = ()
    reflected: tuple[str, ...] = ()
    unreflected: tuple[str, ...] = ()
    mark: Mark | None = None

    @property
    def alters(self) -> bool:
        """Whether it may change what is stored of memories already: it raises the edition."""
        return bool(
            self.remove_documents
            or self.remove_chunks
            or self.remove_memories
            or self.names
            or self.replaced
            or self.sources
        )


class TimeKind(StrEnum):
    """Whether a time was named in a memory's text, or is when the memory was said."""

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
    """What BM25 needs to know of a bank: memories, mean lexemes a memory, memories a lexeme."""

    documents: int
    mean_length: float
    frequency: Mapping[str, int]


class Posting(NamedTuple):
    """`memory_id` mentions `entity_id`, which `degree` memories of the bank mention in all."""

    entity_id: str
    memory_id: str
    degree: int


class Neighbour(NamedTuple):
    """A memory `offset` places after (before, if negative) another in the same document."""

    memory_id: str
    neighbour_id: str
    offset: int


class VectorOperation(StrEnum):
    """What the vector index still has to do."""

    UPSERT = "upsert"
    DELETE = "delete"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class PendingVector:
    """A vector index entry that lags behind the graph. `DROP` is of a whole bank key."""

    ticket: int
    bank_key: str
    operation: VectorOperation
    memory_id: str = ""
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class EntityMerge:
    """Make `source_id` an alias of `target_id`, with all its names and mentions."""

    source_id: str
    target_id: str


@dataclass(frozen=True, slots=True)
class EntitySplit:
    """Give `memory_ids` of `entity_id` to the new `entity`, with the aliases it carries."""

    entity_id: str
    entity: Entity
    memory_ids: tuple[str, ...]


EntityEdit: TypeAlias = EntityMerge | EntitySplit | EntityNames


@dataclass(frozen=True, slots=True)
class StoreFault:
    """Something `GraphStore.check` found wrong, and whether and how it was put right."""

    table: str
    problem: str
    count: int
    repaired: bool
