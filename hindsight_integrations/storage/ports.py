"""What the engine asks of its stores.

Two ports. The graph store is the source of truth: banks, documents, memories, entities, links,
history, and the vectors themselves. The vector index is derived from it and can be rebuilt at
any time. No query text crosses a port, and no implementation is named here.

A store's ids are unique within a bank. Everything a store returns is in a defined order, with
ties broken by id, so that two stores give equal answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.model import (
    Bank,
    BankStats,
    Change,
    Chunk,
    Document,
    Entity,
    Link,
    Memory,
    MentalModel,
    Page,
    TimeSpan,
)
from hindsight_integrations.storage.requests import (
    Candidate,
    ChangeSet,
    EmbedderStamp,
    EntityEdit,
    EntityNames,
    LexemeStats,
    MemoryFilter,
    MemoryRecord,
    Neighbour,
    PendingVector,
    Posting,
    StoredBank,
    StoreFault,
    TextHit,
    TimeHit,
    Vector,
)


class GraphStore(Protocol):
    """The source of truth.

    Every method is safe to call from several threads. A method that names a bank which does not
    exist raises `BankNotFoundError`. What the database raises comes out as `StoreError`.
    """

    # Banks

    def create_bank(self, bank: Bank, embedder: EmbedderStamp) -> StoredBank:
        """Store a new bank. Raises `BankExistsError`."""
        ...

    def get_bank(self, bank_id: str) -> StoredBank | None:
        """The bank, or None."""
        ...

    def list_banks(self, *, waiting: bool = False) -> list[StoredBank]:
        """All banks, by id; or only those where memories wait to be reflected on."""
        ...

    def replace_bank(self, bank: Bank) -> None:
        """Overwrite the bank of this id."""
        ...

    def delete_bank(self, bank_id: str) -> None:
        """Make the bank invisible at once, and queue the dropping of its vectors."""
        ...

    def purge_deleted(self, limit: int = 5000) -> int:
        """Remove up to `limit` rows of deleted banks; returns how many, 0 when none are left."""
        ...

    def bank_stats(self, bank_id: str) -> BankStats:
        """Counts of what the bank holds."""
        ...

    # Writing

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        """Apply a change set in one transaction, and queue the vector work it makes.

        A memory that is removed takes along the history that it has until then, and that of all
        conclusions and mental models which rest on it, or did (`RESTED`): they may quote it.

        Returns:
            The ids of the memories that went, named or for want of a source.

        Raises:
            OvertakenError: what the change set was made from has changed; nothing was stored.
        """
        ...

    def edit_entity(self, bank_id: str, edit: EntityEdit) -> None:
        """Merge, split or rename, in one transaction. Raises `EntityNotFoundError`."""
        ...

    # Reading memories

    def get_memories(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Those of the ids that exist, valid or not, in the order asked for."""
        ...

    def get_records(self, bank_id: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """The same, with vectors and lexemes."""
        ...

    def candidates(self, bank_id: str, ids: Sequence[str]) -> list[Candidate]:
        """What ranking needs of those of the ids that exist, in the order asked for."""
        ...

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        """A page in the order the memories were stored.

        Raises `InvalidInputError` on a cursor that is none of this store's.
        """
        ...

    def admitted(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        """Those of the ids that exist and pass the filter."""
        ...

    def matching(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        """All ids that pass the filter; None if there are more than `limit`."""
        ...

    def find_fingerprints(self, bank_id: str, fingerprints: Sequence[str]) -> dict[str, list[str]]:
        """Fingerprint to the ids of the valid memories that have it."""
        ...

    def history(self, bank_id: str, memory_id: str) -> list[Change]:
        """What was changed of a memory or mental model, oldest first."""
        ...

    # Conclusions: observations and opinions, which rest on other memories

    def unreflected(self, bank_id: str, limit: int) -> list[str]:
        """Ids of memories that wait to be reflected on, in storing order; see `ChangeSet`."""
        ...

    def resting_on(self, bank_id: str, memory_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Id of each memory that exists to those of the conclusions on it, in storing order."""
        ...

    def mental_models(self, bank_id: str) -> list[MentalModel]:
        """All of the bank, by id."""
        ...

    def mark(self, bank_id: str, queue: str) -> int:
        """Number of the last operation of the queue that was applied to the bank; 0 if none."""
        ...

    # Documents

    def get_document(self, bank_id: str, document_id: str) -> Document | None:
        """The document, or None."""
        ...

    def get_chunks(self, bank_id: str, document_id: str) -> list[Chunk]:
        """Its chunks, by position. Empty for an unknown document."""
        ...

    def chunks_by_id(self, bank_id: str, ids: Sequence[str]) -> dict[str, Chunk]:
        """Those of the chunks that exist."""
        ...

    def neighbours(self, bank_id: str, ids: Sequence[str], distance: int) -> list[Neighbour]:
        """Valid memories up to `distance` places from each of `ids`, by first source.

        Places count the memories of a document in the order of position, then of storing.
        """
        ...

    # Entities

    def lookup_entities(self, bank_id: str, names: Sequence[str]) -> dict[str, Entity]:
        """Normalised name (see `entity_norm`) to the entity that has it as name or alias."""
        ...

    def similar_entities(self, bank_id: str, name: str, limit: int) -> list[Entity]:
        """Entities whose normalised names share trigrams or words with `name`, likeliest first."""
        ...

    def get_entities(self, bank_id: str, ids: Sequence[str]) -> dict[str, Entity]:
        """Those of the entities that exist."""
        ...

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        """A page, most mentioned first."""
        ...

    def cooccurring(self, bank_id: str, entity_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """For each entity, the entities mentioned beside it and in how many memories."""
        ...

    # Searching

    def text_search(
        self, bank_id: str, lexemes: Sequence[str], filter: MemoryFilter, limit: int
    ) -> list[TextHit]:
        """Memories that hold any of the lexemes, at most `limit`, for the caller to score.

        Those with the greatest sum of inverse document frequencies, latest stored first where
        that is equal.
        """
        ...

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> LexemeStats:
        """Statistics over the bank's own memories."""
        ...

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[TimeHit]:
        """Memories with a time that overlaps the window, nearest to its middle first."""
        ...

    def mentions(self, bank_id: str, memory_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Memory id to the ids of the entities it mentions."""
        ...

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        """Memories that mention the entities, the latest `per_entity` of each."""
        ...

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        """Links from and to the memories, the heaviest `per_memory` of each.

        Both ends are admitted by the filter.
        """
        ...

    # Vectors

    def vectors(self, bank_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        """Those of the vectors that exist."""
        ...

    def pending_vectors(self, limit: int) -> list[PendingVector]:
        """What the vector index still has to do, oldest first, vectors included."""
        ...

    def settle(self, tickets: Iterable[int]) -> None:
        """Strike what the vector index has done."""
        ...

    def requeue_vectors(self, bank_id: str, ids: Sequence[str] | None = None) -> int:
        """Queue vectors of the bank (all, or these) for the index again; returns how many."""
        ...

    def memory_ids(self, bank_id: str) -> Iterator[str]:
        """All memory ids that have a vector, in storing order."""
        ...

    def stage_vectors(
        self, bank_id: str, rows: Sequence[tuple[str, Vector, bytes | None]], stamp: EmbedderStamp
    ) -> None:
        """Put aside vectors of another embedder (memory id, vector, interaction)."""
        ...

    def adopt_staged(self, bank_id: str, stamp: EmbedderStamp) -> StoredBank:
        """Exchange the bank's vectors for the staged ones, in one transaction.

        The bank gets a new key; the old one is queued to be dropped and all vectors are queued
        for the index. Raises `StoreError` if a memory has no staged vector.
        """
        ...

    # Moving

    def rename_bank(self, bank_id: str, new_id: str) -> None:
        """Give the bank another id, at once; all it holds stays. Raises `BankExistsError`."""
        ...

    def documents(self, bank_id: str) -> Iterator[Document]:
        """All documents, by id."""
        ...

    def chunks(self, bank_id: str) -> Iterator[Chunk]:
        """All chunks, by id."""
        ...

    def edited_entities(self, bank_id: str) -> Iterator[EntityNames]:
        """The entities that stay even if nothing mentions them, by id: a user gave them aliases."""
        ...

    def changes(self, bank_id: str) -> Iterator[Change]:
        """All histories, also of mental models that are gone: by id, oldest first."""
        ...

    # The store itself

    def identity(self) -> str:
        """A name of 16 letters and digits that no other store has, and that it keeps."""
        ...

    def check(self, *, repair: bool) -> list[StoreFault]:
        """Look for rows that contradict each other, and put them right if asked to."""
        ...

    def close(self) -> None:
        """Let go of files and connections; calling it twice is harmless."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours by cosine, one space a bank key.

    Every method is safe to call from several threads. A key nothing was written to is an empty
    space. What the database raises comes out as `StoreError`.
    """

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension)."""
        ...

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        """Remove; unknown ids are passed over."""
        ...

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """The nearest `limit` ids with their cosine, nearest first."""
        ...

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """`query` for each row."""
        ...

    def ids(self, bank_key: str) -> set[str]:
        """All ids of a space."""
        ...

    def keys(self) -> set[str]:
        """All bank keys that have a space."""
        ...

    def drop(self, bank_key: str) -> None:
        """Remove a space and all in it."""
        ...

    def close(self) -> None:
        """Let go of files and connections; calling it twice is harmless."""
        ...
