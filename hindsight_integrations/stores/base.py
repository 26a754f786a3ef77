"""The two ports behind the engine, and the typed values that cross them.

`GraphStore` is the source of truth: banks, documents, memories, entities, links, history, and the
vectors themselves. `VectorIndex` is derived from it and can be rebuilt at any time. No query text
crosses a port, and no implementation is named here. A new store is proved by the contract suites
in `hindsight_integrations.stores.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.acting import Acting, acting
from hindsight_integrations.errors import ConflictError, StoreError
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
    BankStats,
    Chunk,
    Document,
    Entity,
    Link,
    Memory,
    MemoryType,
    MentalModel,
    Page,
    Source,
    TimeSpan,
)
from hindsight_integrations.stores.conditions import EVERYTHING as EVERYTHING
from hindsight_integrations.stores.conditions import NO_LIMIT as NO_LIMIT
from hindsight_integrations.stores.conditions import Condition as Condition
from hindsight_integrations.stores.conditions import MemoryFilter as MemoryFilter
from hindsight_integrations.stores.conditions import TagsMatch as TagsMatch
from hindsight_integrations.stores.hits import LexemeStats as LexemeStats
from hindsight_integrations.stores.hits import Neighbour as Neighbour
from hindsight_integrations.stores.hits import Place as Place
from hindsight_integrations.stores.hits import Posting as Posting
from hindsight_integrations.stores.hits import Surroundings as Surroundings
from hindsight_integrations.stores.hits import TextHit as TextHit
from hindsight_integrations.stores.hits import TimeHit as TimeHit
from hindsight_integrations.stores.hits import TimeKind as TimeKind

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Vector: TypeAlias = NDArray[np.float32]
"""Shape (dimension,), unit length."""


class OvertakenError(ConflictError):
    """Another writer was quicker: the state a change set was built from has changed. Rebuild it."""


class UnstagedError(StoreError):
    """A change of embedder lacks vectors: embed and stage the memories `memory_ids`, and repeat."""

    def __init__(self, *args: object, memory_ids: Sequence[str] = ()) -> None:
        super().__init__(*args)
        self.memory_ids = tuple(memory_ids)


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Identity of the embedder that made a bank's vectors."""

    id: str
    dimension: int


@dataclass(frozen=True, slots=True)
class StoredBank:
    """A bank as stored.

    Attributes:
        key: names this incarnation of the bank; never used again after a deletion.
        version: rises with every change to what is stored of a memory or of its entities' names.
            Adding memories does not raise it: what was read of the others stays true.
        importing: the id the bank gets once its import is complete; None once it is.
        leaving: the id that it had before it began to move to another store, and gets there; None
            for a bank that stays.
    """

    bank: Bank
    key: str
    embedder: EmbedderIdentity
    version: int = 0
    importing: str | None = None
    leaving: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory with the derived values that the searches need.

    Attributes:
        lexemes, vector: terms for BM25, and embedding, of the enriched text.
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
    """A memory as ranking reads it, and no more, since recall reads hundreds.

    Attributes:
        document_id: the document it was first stated in.
        proof_count: number of places it was stated in, at least one.
        fingerprint: hash of the normalised text.
        lexemes, vector: terms for BM25, and embedding, of the enriched text.
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
    type: MemoryType = MemoryType.WORLD
    kind: str | None = None


class StagedVector(NamedTuple):
    """A vector of another embedder, kept aside until the whole bank has one."""

    memory_id: str
    vector: Vector
    interaction: bytes | None
    embedder: EmbedderIdentity


@dataclass(frozen=True, slots=True)
class EntityNames:
    """The canonical name and the aliases of `entity_id`."""

    entity_id: str
    name: str
    aliases: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class EntityRemoval:
    """Remove `entity_id` with its names; the memories that mention it mention it no more."""

    entity_id: str


EntityEdit: TypeAlias = EntityMerge | EntitySplit | EntityNames | EntityRemoval


# Writing


@dataclass(frozen=True, slots=True)
class QueueCheckpoint:
    """Progress of a queue outside the store: operation `number` of `queue` is applied.

    Stored together with the changes of that operation, so that a sender who saw no answer can tell
    whether it was applied.

    Attributes:
        digest: hash of the operation, so that another one under the same name is noticed.
        expires_at: after then it is removed with the next checkpoint that has such a time; None for
            that of a queue, which is kept.
    """

    queue: str
    number: int
    digest: str | None = None
    expires_at: datetime | None = None


CITED = "conclusion"
"""Field of a `Change` of a memory that a conclusion, named in `old`, cited and no longer cites.
When the memory is removed, the history of the conclusion goes too: it may quote it."""

CITED_MODEL = "mental model"
"""The same, where `old` names a mental model."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One transaction on one bank: all of it is stored, or nothing.

    Applied in the order of the fields, removals first. An entity whose normalised name (or alias)
    the bank already has is taken for that one: its id is an alias for the stored id throughout
    the change set. Links and staged vectors of memories that do not exist are ignored.

    Evidence stays true. A source is removed with the document, chunk or memory it names, and a
    memory with the last source that supported it; the conclusions that cited it follow. A source
    that names a memory which does not exist is ignored; a conclusion (new or replaced) that no
    source supports then is refused with `ConflictError`. So is a document that would replace a
    conversation's record, and the other way round.

    Forgotten words stand nowhere else. A chunk in which a removed memory was stated keeps its id,
    position and fingerprint, and of its text only that of the memories still stated in it
    (`common.text_left`).

    A removed memory takes along its history, and that of all conclusions and mental models that
    cite it or did (`CITED`): they may quote it. A `derived` one says no more than what it was drawn
    from, and takes only its own. Entries of `history` are added after that. With a history, the
    reasons in the audit of that memory or mental model go.

    A valid memory is pending consolidation once it is stored (unless it is a conclusion itself),
    replaced, or named in `mark_pending`; a conclusion also once it lost a source or a memory it
    cites was replaced. It stops being pending once it is named in `mark_consolidated`, or
    invalidated.

    Attributes:
        expected: ids of documents with the fingerprint that each must have, None for one that
            must not exist.
        version: the version that the bank must have, if any; see `StoredBank`.
        remove_documents: with their chunks.
        documents: stored, or overwritten by id; so are `chunks` and `mental_models`.
        entities: new entities, and names that known ones gain.
        names: new names of entities, instead of those they have.
        kinds: ids of entities with their new kinds.
        entity_edits: corrections by a user; one that gets aliases is kept even if unmentioned.
        memories: new memories; `replaced` are ones that exist, with new content.
        sources: (memory id, source) to append; one the memory has already is ignored.
        links: stored, or given a new weight.
        staged: vectors for a change of embedder; see `GraphStore.update_bank`. Replacing a memory
            discards its staged vector.
        requeue: ids of memories whose vectors are queued for the index again; for an id that has
            no vector, the removal from the index is queued.
        acting: who makes the changes, and why, for the audit.
        audit: entries of the audit in place of those that follow (`audit.audit_of`).
    """

    bank_id: str
    expected: tuple[tuple[str, str | None], ...] = ()
    version: int | None = None
    remove_documents: tuple[str, ...] = ()
    remove_chunks: tuple[str, ...] = ()
    remove_memories: tuple[str, ...] = ()
    remove_mental_models: tuple[str, ...] = ()
    documents: tuple[Document, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    entities: tuple[Entity, ...] = ()
    names: tuple[EntityNames, ...] = ()
    kinds: tuple[tuple[str, str], ...] = ()
    entity_edits: tuple[EntityEdit, ...] = ()
    memories: tuple[MemoryRecord, ...] = ()
    replaced: tuple[MemoryRecord, ...] = ()
    sources: tuple[tuple[str, Source], ...] = ()
    links: tuple[Link, ...] = ()
    history: tuple[Change, ...] = ()
    mental_models: tuple[MentalModel, ...] = ()
    mark_consolidated: tuple[str, ...] = ()
    mark_pending: tuple[str, ...] = ()
    checkpoint: QueueCheckpoint | None = None
    staged: tuple[StagedVector, ...] = ()
    requeue: tuple[str, ...] = ()
    acting: Acting = field(default_factory=acting)
    audit: tuple[AuditEntry, ...] | None = None

    @property
    def raises_version(self) -> bool:
        """Return True if it may change what is already stored of memories or entity names."""
        removed = self.remove_documents or self.remove_chunks or self.remove_memories
        renamed = self.names or self.entity_edits
        return bool(removed or renamed or self.replaced or self.sources)


# The outbox: pending work of the vector index


class VectorOperation(StrEnum):
    """Operation that the vector index still has to apply."""

    UPSERT = "upsert"
    DELETE = "delete"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class PendingVector:
    """A vector index entry that lags behind the graph. `DROP` concerns a whole bank key."""

    ticket: int
    bank_key: str
    operation: VectorOperation
    memory_id: str = ""
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class StoreFault:
    """An inconsistency that `GraphStore.check` found, and whether it was repaired."""

    table: str
    problem: str
    count: int
    repaired: bool


# Kinds of values that `GraphStore.read` and `GraphStore.scan` return


@dataclass(frozen=True, slots=True)
class Kind(Generic[T_co]):
    """A typed selector: the kind of value to read."""

    name: str


MEMORY: Kind[Memory] = Kind("memory")
"""Read by memory id; valid or not."""
RECORD: Kind[MemoryRecord] = Kind("record")
"""Read by memory id: the memory with vector and lexemes."""
CANDIDATE: Kind[Candidate] = Kind("candidate")
"""Read by memory id: the memory as ranking needs it."""
VECTOR: Kind[Vector] = Kind("vector")
"""Read by memory id."""
MENTIONS: Kind[tuple[str, ...]] = Kind("mentions")
"""Read by memory id: ids of the entities that the memory mentions, in the order of its text."""
CONCLUSIONS_CITING: Kind[tuple[str, ...]] = Kind("conclusions citing")
"""Read by memory id: ids of the conclusions that cite the memory, in storing order."""
DUPLICATES: Kind[tuple[str, ...]] = Kind("duplicates")
"""Read by fingerprint: ids of the valid memories that have it, in storing order."""
HISTORY: Kind[tuple[Change, ...]] = Kind("history")
"""Read by memory id: its changes, oldest first; also if it is gone."""
MODEL_HISTORY: Kind[tuple[Change, ...]] = Kind("model history")
"""Read by id of a mental model: its changes, oldest first; also if it is gone."""
DOCUMENT: Kind[Document] = Kind("document")
"""Read by id; scanned by id."""
SAME_DOCUMENTS: Kind[tuple[str, ...]] = Kind("documents of a fingerprint")
"""Read by fingerprint: ids of the documents that have it, by id."""
CHUNK: Kind[Chunk] = Kind("chunk")
"""Read by id; scanned by id."""
DOCUMENT_CHUNKS: Kind[tuple[Chunk, ...]] = Kind("chunks of a document")
"""Read by document id: its chunks, by position, then id. Absent if it has none."""
ENTITY: Kind[Entity] = Kind("entity")
"""Read by id."""
ENTITY_NAMED: Kind[Entity] = Kind("entity of a name")
"""Read by name or alias in any spelling; returned under the normalised name (`entity_norm`)."""
COOCCURRENCES: Kind[Mapping[str, int]] = Kind("cooccurrences")
"""Read by entity id: id of each entity mentioned beside it to the number of memories, most often
first, ties by id."""
COMPANIONS: Kind[tuple[str, ...]] = Kind("companions")
"""Read by entity id: names of the `MOST_COMPANIONS` entities most often mentioned beside it, most
often first, ties by id."""
MOST_COMPANIONS = 3
CHECKPOINT: Kind[QueueCheckpoint] = Kind("checkpoint")
"""Read by queue: the checkpoint stored last, expired or not."""

MEMORY_ID: Kind[str] = Kind("memory id")
"""Scanned in storing order: ids of the memories that have a vector."""
EDITED_NAMES: Kind[EntityNames] = Kind("edited names")
"""Scanned by id: names of the entities that are kept even if nothing mentions them."""
CHANGE: Kind[Change] = Kind("change")
"""Scanned by id of what was changed, oldest first; also of memories and models that are gone."""
AUDIT: Kind[AuditEntry] = Kind("audit entry")
"""Scanned in storing order: the audit of the bank."""
MENTAL_MODEL: Kind[MentalModel] = Kind("mental model")
"""Scanned by id."""


class GraphStore(Protocol):
    """The source of truth.

    Every method is safe to call from several threads, and reads one committed state. A method
    that names a bank which does not exist raises `BankNotFoundError`; a closed store raises
    `ClosedError`; errors of the database are raised as `StoreError`. Ids are unique within a bank.
    Everything returned is in a defined order, ties broken by id, so that two stores give equal
    answers. "Storing order" is the order in which memories were first stored.
    """

    # Banks

    def create_bank(
        self, bank: Bank, embedder: EmbedderIdentity, *, importing: str | None = None
    ) -> StoredBank:
        """Store a new, empty bank under a key never used before.

        With `importing`, neither `get_bank` nor `list_banks` return it until `update_bank` gives
        it that id; all other methods find it under the id of `bank`.

        Raises:
            BankExistsError: a bank has this id.
        """

    def get_bank(self, bank_id: str) -> StoredBank | None:
        """Return the bank, or None; also None while it is imported."""

    def list_banks(
        self,
        *,
        pending_consolidation: bool = False,
        importing: bool = False,
        leaving: bool = False,
        expired_by: datetime | None = None,
    ) -> list[StoredBank]:
        """Return all banks by id, or those with memories that wait or expired by then.

        With `importing`, those whose import is not complete instead; with `leaving`, only those
        that move to another store.
        """

    def update_bank(
        self,
        bank_id: str,
        bank: Bank | Callable[[Bank], Bank] | None = None,
        *,
        embedder: EmbedderIdentity | None = None,
        leaving: bool = False,
    ) -> StoredBank:
        """Change a bank in one transaction and return it as stored then.

        Args:
            bank_id: the bank to change.
            bank: replaces its properties; or a function of the bank as stored then that returns
                it, and may be called more than once. With another id than `bank_id`, the bank
                is found under that id only, and its import, if any, is complete; its key and all
                it holds stay.
            embedder: replaces all vectors by those staged with this embedder. The bank gets a new
                key; dropping the old one and writing all vectors are queued for the index.
            leaving: note that the bank moves to another store, where it gets the id `bank_id`.

        Raises:
            BankExistsError: another bank has the new id.
            UnstagedError: a memory has no vector staged with `embedder`.
        """

    def delete_bank(self, bank_id: str) -> None:
        """Hide the bank from all methods, free its id, and queue the dropping of its vectors."""

    def purge_deleted(self, limit: int = 5000) -> int:
        """Remove up to `limit` rows of deleted banks; return their number, 0 when none are left."""

    def bank_stats(self, bank_id: str) -> BankStats:
        """Count what the bank holds; invalidated memories count among the memories."""

    # Writing

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        """Apply a change set in one transaction, and queue the vector work that follows from it.

        Returns: the ids of the memories removed, named or for want of a source.

        Raises:
            OvertakenError: `expected` or `version` does not hold.
            ConflictError: a new memory's id or a new name is taken, or nothing supports a
                conclusion.
            MemoryNotFoundError: a memory to replace or to add a source to does not exist.
            EntityNotFoundError: an entity that is mentioned, named or edited does not exist.
            EmbedderMismatchError: a vector has another dimension than the bank's.
            InvalidInputError: a value cannot be stored, or an entity is merged with itself.
        """

    # Reading by key

    def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        """Return the value of each key that has one, in the order asked for.

        Args:
            bank_id: the bank.
            kind: a kind that is read; it says what the keys and values are.
            keys: duplicates are read once.
        """

    def scan(self, bank_id: str, kind: Kind[T]) -> Iterator[T]:
        """Iterate over all values of a kind that is scanned, in the order it states.

        `BankNotFoundError` is raised by the call itself. The values are read in pages, so ones
        stored meanwhile may be among them.
        """

    # Reading memories by filter

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        """Return a page of memories in storing order.

        Raises:
            InvalidInputError: the cursor is not one of this list.
        """

    def filter_ids(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        """Return those of the ids that exist and pass the filter."""

    def find_ids(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        """Return all ids that pass the filter, in storing order; None if more than `limit`."""

    def places(self, bank_id: str, after: int, limit: int) -> list[Place]:
        """Return the first `limit` valid memories with a number above `after`, in storing order.

        Expired ones too. In a version of the bank none of them moves or leaves; see `StoredBank`.
        """

    def pending_consolidation(self, bank_id: str, limit: int) -> list[str]:
        """Return the first `limit` memory ids pending consolidation, in storing order."""

    # Entities

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        """Return a page of entities, most mentioned first.

        Raises:
            InvalidInputError: the cursor is not one of this list.
        """

    def similar_entities(
        self, bank_id: str, names: Sequence[str], limit: int
    ) -> dict[str, list[Entity]]:
        """Return, for each of the names, entities whose normalised names share trigrams or words.

        At most `limit` of each, ordered by `common.name_similarity`, greatest first.
        """

    def mentioned_together(
        self, bank_id: str, entity_ids: Sequence[str], among: Sequence[str]
    ) -> dict[str, set[str]]:
        """Return, for each of the entities that exists, those of `among` mentioned beside it."""

    # Searching

    def text_search(
        self,
        bank_id: str,
        lexemes: Sequence[str],
        filter: MemoryFilter,
        limit: int,
        stats: LexemeStats | None = None,
    ) -> list[TextHit]:
        """Return at most `limit` memories that hold any of the lexemes, for the caller to score.

        Those with the greatest sum of inverse document frequencies, latest stored first where
        that is equal. The frequencies are those of `stats`, read if they are not given.
        """

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> LexemeStats:
        """Return statistics over the bank's valid memories; an unknown lexeme has frequency 0."""

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[TimeHit]:
        """Return memories with a time that overlaps the window, nearest to its middle first."""

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        """Return memories that mention the entities, the latest stored `per_entity` of each.

        In the order of the entities asked for, the latest stored first.
        """

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        """Return links from and to the memories, the heaviest `per_memory` of each; each once.

        Both ends pass the filter. In the order of the memories asked for, then by weight, the
        other end's id, kind, and inward before outward.
        """

    def surroundings(
        self,
        bank_id: str,
        entity_ids: Sequence[str],
        memory_ids: Sequence[str],
        per_entity: int,
        per_memory: int,
        filter: MemoryFilter,
        ahead: int = 0,
    ) -> Surroundings:
        """Return `postings` of the entities, mentions and `links` of the memories, together.

        Each by the id asked for. A store behind a network reads them in one round trip, and may,
        if it is far away, add the surroundings of up to `ahead` of the entities, and as many of
        the memories, that they lead to: whoever asks for those next is spared a further one.
        """

    def neighbours(
        self, bank_id: str, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[Neighbour]:
        """Return memories up to `distance` positions from each of `ids`, by first source.

        Positions count the valid memories of a document in the order of `Source.position`, then
        of storing; those that pass the filter are returned. In the order asked for, then by offset.
        """

    # The outbox of the vector index

    def pending_vectors(self, limit: int, bank_key: str | None = None) -> list[PendingVector]:
        """Return the oldest `limit` operations, all or of one bank, that are not acknowledged.

        At most one per memory: later work replaces earlier. Upserts carry the vector as stored now.
        """

    def acknowledge(self, tickets: Iterable[int]) -> set[int]:
        """Remove operations that the vector index has applied; return those that were queued.

        The others were replaced by later work, or acknowledged by another process.
        """

    def claim_outbox(self, holder: str, seconds: float) -> bool:
        """Let one holder at a time apply the operations of all banks; return True if it may.

        The claim ends after so many seconds by the store's clock, 0 for at once, unless its holder
        claims again. It keeps nobody from applying operations.
        """

    # The store itself

    def note_index(self, change: Callable[[str, float], str]) -> None:
        """Replace the note about the vector index in one transaction; see `stores/index_lease.py`.

        `change` gets the note, empty at first, and the seconds of the store's clock, and returns
        the new note. It may be called more than once; what it raises leaves the note as it is.
        """

    def identity(self) -> str:
        """Return a name of 16 letters and digits that no other store has and that never changes."""

    def check(self, *, repair: bool) -> list[StoreFault]:
        """Find rows that contradict each other; with `repair`, rebuild what can be computed.

        A sound store has none. After a repair, only faults that lost data are left.
        """

    def close(self) -> None:
        """Release files and connections; calling it twice is harmless."""


class VectorIndex(Protocol):
    """Nearest neighbours by cosine, one collection per bank key.

    Every method is safe to call from several threads. An unknown key is an empty collection. A
    closed index raises `ClosedError`; errors of the database are raised as `StoreError`.
    """

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension)."""

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """Return the nearest `limit` ids with their cosine, nearest first, ties by id."""

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """Return the result of `query` for each row."""

    def ids(self, bank_key: str) -> set[str]:
        """Return all ids of a collection."""

    def keys(self) -> set[str]:
        """Return all bank keys that have a collection."""

    def drop(self, bank_key: str) -> None:
        """Remove a collection and all in it."""

    def close(self) -> None:
        """Release files and connections; calling it twice is harmless."""
