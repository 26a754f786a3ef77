"""`GraphStore` on Neo4j: each method runs a transaction made of functions of Cypher."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from hindsight_integrations.errors import BankNotFoundError
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
from hindsight_integrations.storage.neo4j import (
    banks,
    check,
    conclusions,
    documents,
    entities,
    entity_edits,
    export,
    links,
    marks,
    memories,
    mental_models,
    mentions,
    text_search,
    times,
    vectors,
    writes,
)
from hindsight_integrations.storage.neo4j import lexemes as lexeme_counts
from hindsight_integrations.storage.neo4j.connection import Database
from hindsight_integrations.storage.neo4j.keys import BankKey, find_bank, lock_bank
from hindsight_integrations.storage.neo4j.schema import identity, migrate
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
from hindsight_integrations.storage.values import added_up

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

P = TypeVar("P")
T = TypeVar("T")

_KEY_BYTES = 8
_PAGE = 1000
"""Items that an iterator reads at a time."""


class Neo4jGraph:
    """The graph store in a database of the Neo4j server at `uri`, 5.26 or later.

    `uri` has one of the schemes `neo4j`, `neo4j+s`, `neo4j+ssc`, `bolt`, `bolt+s` or `bolt+ssc`;
    without a password, the server is taken to ask for none. Any number of threads and processes
    may use one database. A call waits 15 seconds for a server that is away.

    Raises:
        InvalidInputError: `uri` is none of a Neo4j server.
        MissingExtraError: the driver is not installed.
        SchemaVersionError: the database was written by a newer release.
        StoreUnavailableError: the server cannot be reached or used, or is too old.
    """

    def __init__(
        self,
        uri: str,
        *,
        user: str | None = None,
        password: str | None = None,
        database: str = "neo4j",
    ) -> None:
        self._database = Database(uri, user=user, password=password, name=database)
        try:
            migrate(self._database)
        except BaseException:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"Neo4jGraph({self._database.where!r}, database={self._database.name!r})"

    # Banks

    def create_bank(self, bank: Bank, embedder: EmbedderStamp) -> StoredBank:
        """See `GraphStore`."""
        key = secrets.token_hex(_KEY_BYTES)
        return self._database.write(lambda tx: banks.create(tx, bank, embedder, key=key))

    def get_bank(self, bank_id: str) -> StoredBank | None:
        """See `GraphStore`."""
        return self._database.read(lambda tx: banks.get(tx, bank_id))

    def list_banks(self, *, waiting: bool = False) -> list[StoredBank]:
        """See `GraphStore`."""
        return self._database.read(lambda tx: banks.list_all(tx, waiting=waiting))

    def replace_bank(self, bank: Bank) -> None:
        """See `GraphStore`."""
        self._write(bank.id, lambda tx, key: banks.replace(tx, key, bank))

    def delete_bank(self, bank_id: str) -> None:
        """See `GraphStore`."""
        self._write(bank_id, banks.delete)

    def purge_deleted(self, limit: int = 5000) -> int:
        """See `GraphStore`."""
        return self._database.write(lambda tx: banks.purge(tx, limit))

    def bank_stats(self, bank_id: str) -> BankStats:
        """See `GraphStore`; the memories counted include the invalidated."""
        return self._read(bank_id, banks.stats)

    # Writing

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        """See `GraphStore`, and `writes.apply` for what it raises."""
        return self._database.write(lambda tx: writes.apply(tx, changes))

    def edit_entity(self, bank_id: str, edit: EntityEdit) -> None:
        """See `GraphStore`, and `entity_edits.edit` for what it raises."""
        self._write(bank_id, lambda tx, bank: entity_edits.edit(tx, bank, edit))

    # Reading memories

    def get_memories(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: memories.get_memories(tx, bank, ids))

    def get_records(self, bank_id: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: memories.get_records(tx, bank, ids))

    def candidates(self, bank_id: str, ids: Sequence[str]) -> list[Candidate]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: memories.candidates(tx, bank, ids))

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        """See `GraphStore`."""
        return self._read(
            bank_id,
            lambda tx, bank: memories.list_memories(
                tx, bank, filter, limit=limit, page_cursor=cursor
            ),
        )

    def admitted(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: memories.admitted(tx, bank, ids, filter))

    def matching(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        """See `GraphStore`; in storing order."""
        return self._read(bank_id, lambda tx, bank: memories.matching(tx, bank, filter, limit))

    def find_fingerprints(self, bank_id: str, fingerprints: Sequence[str]) -> dict[str, list[str]]:
        """See `GraphStore`."""
        return self._read(
            bank_id, lambda tx, bank: memories.find_fingerprints(tx, bank, fingerprints)
        )

    def history(self, bank_id: str, memory_id: str) -> list[Change]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: memories.history(tx, bank, memory_id))

    # Conclusions

    def unreflected(self, bank_id: str, limit: int) -> list[str]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: conclusions.unreflected(tx, bank, limit))

    def resting_on(self, bank_id: str, memory_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: conclusions.resting_on(tx, bank, memory_ids))

    def mental_models(self, bank_id: str) -> list[MentalModel]:
        """See `GraphStore`."""
        return self._read(bank_id, mental_models.read)

    def mark(self, bank_id: str, queue: str) -> int:
        """See `GraphStore`."""
        # As a write: a member of a cluster that lags behind would let a retain be sent twice.
        return self._write(bank_id, lambda tx, bank: marks.read(tx, bank, queue))

    # Documents

    def get_document(self, bank_id: str, document_id: str) -> Document | None:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: documents.get_document(tx, bank, document_id))

    def get_chunks(self, bank_id: str, document_id: str) -> list[Chunk]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: documents.get_chunks(tx, bank, document_id))

    def chunks_by_id(self, bank_id: str, ids: Sequence[str]) -> dict[str, Chunk]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: documents.chunks_by_id(tx, bank, ids))

    def neighbours(self, bank_id: str, ids: Sequence[str], distance: int) -> list[Neighbour]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: documents.neighbours(tx, bank, ids, distance))

    # Entities

    def lookup_entities(self, bank_id: str, names: Sequence[str]) -> dict[str, Entity]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: entities.lookup(tx, bank, names))

    def similar_entities(self, bank_id: str, name: str, limit: int) -> list[Entity]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: entities.similar(tx, bank, name, limit))

    def get_entities(self, bank_id: str, ids: Sequence[str]) -> dict[str, Entity]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: entities.get_entities(tx, bank, ids))

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        """See `GraphStore`."""
        return self._read(
            bank_id,
            lambda tx, bank: entities.list_entities(tx, bank, limit=limit, page_cursor=cursor),
        )

    def cooccurring(self, bank_id: str, entity_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: mentions.cooccurring(tx, bank, entity_ids))

    # Searching

    def text_search(
        self, bank_id: str, lexemes: Sequence[str], filter: MemoryFilter, limit: int
    ) -> list[TextHit]:
        """See `GraphStore`."""
        return self._read(
            bank_id, lambda tx, bank: text_search.text_search(tx, bank, lexemes, filter, limit)
        )

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> LexemeStats:
        """See `GraphStore`; memories that are not invalidated count."""
        return self._read(bank_id, lambda tx, bank: lexeme_counts.stats(tx, bank, lexemes))

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[TimeHit]:
        """See `GraphStore`."""
        return self._read(
            bank_id, lambda tx, bank: times.time_search(tx, bank, window, filter, limit)
        )

    def mentions(self, bank_id: str, memory_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: memories.mentions(tx, bank, memory_ids))

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        """See `GraphStore`."""
        return self._read(
            bank_id, lambda tx, bank: mentions.postings(tx, bank, entity_ids, per_entity, filter)
        )

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        """See `GraphStore`."""
        return self._read(
            bank_id, lambda tx, bank: links.heaviest(tx, bank, memory_ids, per_memory, filter)
        )

    # Vectors

    def vectors(self, bank_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        """See `GraphStore`."""
        return self._read(bank_id, lambda tx, bank: vectors.read(tx, bank, ids))

    def pending_vectors(self, limit: int) -> list[PendingVector]:
        """See `GraphStore`."""
        return self._database.read(lambda tx: vectors.pending(tx, limit))

    def settle(self, tickets: Iterable[int]) -> None:
        """See `GraphStore`."""
        struck = list(tickets)
        self._database.write(lambda tx: vectors.settle(tx, struck))

    def requeue_vectors(self, bank_id: str, ids: Sequence[str] | None = None) -> int:
        """See `GraphStore`."""
        return self._write(bank_id, lambda tx, bank: vectors.requeue(tx, bank, ids))

    def memory_ids(self, bank_id: str) -> Iterator[str]:
        """See `GraphStore`; read in pages, so what is stored meanwhile may be among them."""
        return self._pages(vectors.ids_after, self._bank(bank_id), 0)

    def stage_vectors(
        self, bank_id: str, rows: Sequence[tuple[str, Vector, bytes | None]], stamp: EmbedderStamp
    ) -> None:
        """See `GraphStore`."""
        self._write(bank_id, lambda tx, bank: vectors.stage(tx, bank, rows, stamp))

    def adopt_staged(self, bank_id: str, stamp: EmbedderStamp) -> StoredBank:
        """See `GraphStore`."""
        return self._write(bank_id, lambda tx, bank: banks.adopt_staged(tx, bank, stamp))

    # Moving; read in pages, as `memory_ids` is

    def rename_bank(self, bank_id: str, new_id: str) -> None:
        """See `GraphStore`."""
        self._write(bank_id, lambda tx, bank: export.rename(tx, bank, new_id))

    def documents(self, bank_id: str) -> Iterator[Document]:
        """See `GraphStore`."""
        return self._pages(export.documents_after, self._bank(bank_id), "")

    def chunks(self, bank_id: str) -> Iterator[Chunk]:
        """See `GraphStore`."""
        return self._pages(export.chunks_after, self._bank(bank_id), "")

    def edited_entities(self, bank_id: str) -> Iterator[EntityNames]:
        """See `GraphStore`."""
        return self._pages(export.edited_after, self._bank(bank_id), "")

    def changes(self, bank_id: str) -> Iterator[Change]:
        """See `GraphStore`."""
        return self._pages(export.changes_after, self._bank(bank_id), ("", 0))

    # The store itself

    def identity(self) -> str:
        """See `GraphStore`."""
        return self._database.read(identity)

    def check(self, *, repair: bool) -> list[StoreFault]:
        """See `GraphStore`; one bank after the other."""
        faults: list[StoreFault] = []
        for stored in self.list_banks():
            with suppress(BankNotFoundError):  # deleted meanwhile
                faults += self._write(
                    stored.bank.id, lambda tx, bank: check.check(tx, bank, repair=repair)
                )
        return added_up(faults)

    def close(self) -> None:
        """See `GraphStore`."""
        self._database.close()

    def _read(self, bank_id: str, work: Callable[[ManagedTransaction, BankKey], T]) -> T:
        return self._database.read(lambda tx: work(tx, find_bank(tx, bank_id)))

    def _write(self, bank_id: str, work: Callable[[ManagedTransaction, BankKey], T]) -> T:
        return self._database.write(lambda tx: work(tx, lock_bank(tx, bank_id)))

    def _bank(self, bank_id: str) -> BankKey:
        return self._database.read(lambda tx: find_bank(tx, bank_id))

    def _pages(
        self,
        read: Callable[[ManagedTransaction, BankKey, P, int], Sequence[tuple[P, T]]],
        bank: BankKey,
        after: P,
    ) -> Iterator[T]:
        """All that `read` gives, page by page: each page goes on after the last place."""

        def page() -> Sequence[tuple[P, T]]:
            return self._database.read(lambda tx: read(tx, bank, after, _PAGE))

        while found := page():
            after, _ = found[-1]
            yield from (item for _, item in found)
