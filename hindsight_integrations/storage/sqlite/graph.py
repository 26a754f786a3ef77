"""`GraphStore` on SQLite: each method opens a transaction and hands on to a function of SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

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
from hindsight_integrations.storage.sqlite import (
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
from hindsight_integrations.storage.sqlite import lexemes as lexeme_index
from hindsight_integrations.storage.sqlite.connection import Connections
from hindsight_integrations.storage.sqlite.keys import BankRange, find_bank

P = TypeVar("P")
T = TypeVar("T")

_PAGE = 1000
"""Items that an iterator reads at a time."""


class SqliteGraph:
    """The embedded graph store, in the file at `path`, or in memory if that is None.

    Any number of threads may use one object, and several processes one file. With `durable`,
    every commit waits for the disk.

    Raises:
        SchemaVersionError: the file was written by a newer release.
        StoreError: the file cannot be opened, read or written.
    """

    def __init__(self, path: Path | None, *, durable: bool = False) -> None:
        self._connections = Connections(path, durable=durable)

    # Banks

    def create_bank(self, bank: Bank, embedder: EmbedderStamp) -> StoredBank:
        """See `GraphStore`."""
        with self._connections.write() as cursor:
            return banks.create(cursor, bank, embedder)

    def get_bank(self, bank_id: str) -> StoredBank | None:
        """See `GraphStore`."""
        with self._connections.read() as cursor:
            return banks.get(cursor, bank_id)

    def list_banks(self, *, waiting: bool = False) -> list[StoredBank]:
        """See `GraphStore`."""
        with self._connections.read() as cursor:
            return banks.list_all(cursor, waiting=waiting)

    def replace_bank(self, bank: Bank) -> None:
        """See `GraphStore`."""
        with self._connections.write() as cursor:
            banks.replace(cursor, bank)

    def delete_bank(self, bank_id: str) -> None:
        """See `GraphStore`."""
        with self._writing(bank_id) as (cursor, bank):
            banks.delete(cursor, bank)

    def purge_deleted(self, limit: int = 5000) -> int:
        """See `GraphStore`."""
        with self._connections.write() as cursor:
            return banks.purge(cursor, limit)

    def bank_stats(self, bank_id: str) -> BankStats:
        """See `GraphStore`; the memories counted include the invalidated."""
        with self._reading(bank_id) as (cursor, bank):
            return banks.stats(cursor, bank)

    # Writing

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        """See `GraphStore`, and `writes.apply` for what it raises."""
        with self._connections.write() as cursor:
            return writes.apply(cursor, changes)

    def edit_entity(self, bank_id: str, edit: EntityEdit) -> None:
        """See `GraphStore`, and `entity_edits.edit` for what it raises."""
        with self._writing(bank_id) as (cursor, bank):
            entity_edits.edit(cursor, bank, edit)

    # Reading memories

    def get_memories(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.get_memories(cursor, bank, ids)

    def get_records(self, bank_id: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.get_records(cursor, bank, ids)

    def candidates(self, bank_id: str, ids: Sequence[str]) -> list[Candidate]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.candidates(cursor, bank, ids)

    def list_memories(
        self, bank_id: str, filter: MemoryFilter, *, limit: int, cursor: str | None = None
    ) -> Page[Memory]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (sql, bank):
            return memories.list_memories(sql, bank, filter, limit=limit, page_cursor=cursor)

    def admitted(self, bank_id: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.admitted(cursor, bank, ids, filter)

    def matching(self, bank_id: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        """See `GraphStore`; in storing order."""
        with self._reading(bank_id) as (cursor, bank):
            found = memories.matching_keys(cursor, bank, filter, limit)
            return None if found is None else list(found.values())

    def find_fingerprints(self, bank_id: str, fingerprints: Sequence[str]) -> dict[str, list[str]]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.find_fingerprints(cursor, bank, fingerprints)

    def history(self, bank_id: str, memory_id: str) -> list[Change]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.history(cursor, bank, memory_id)

    # Conclusions

    def unreflected(self, bank_id: str, limit: int) -> list[str]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return conclusions.unreflected(cursor, bank, limit)

    def resting_on(self, bank_id: str, memory_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return conclusions.resting_on(cursor, bank, memory_ids)

    def mental_models(self, bank_id: str) -> list[MentalModel]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return mental_models.read(cursor, bank)

    def mark(self, bank_id: str, queue: str) -> int:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return marks.read(cursor, bank, queue)

    # Documents

    def get_document(self, bank_id: str, document_id: str) -> Document | None:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return documents.get_document(cursor, bank, document_id)

    def get_chunks(self, bank_id: str, document_id: str) -> list[Chunk]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return documents.get_chunks(cursor, bank, document_id)

    def chunks_by_id(self, bank_id: str, ids: Sequence[str]) -> dict[str, Chunk]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return documents.chunks_by_id(cursor, bank, ids)

    def neighbours(self, bank_id: str, ids: Sequence[str], distance: int) -> list[Neighbour]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return documents.neighbours(cursor, bank, ids, distance)

    # Entities

    def lookup_entities(self, bank_id: str, names: Sequence[str]) -> dict[str, Entity]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return entities.lookup(cursor, bank, names)

    def similar_entities(self, bank_id: str, name: str, limit: int) -> list[Entity]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return entities.similar(cursor, bank, name, limit)

    def get_entities(self, bank_id: str, ids: Sequence[str]) -> dict[str, Entity]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return entities.get_entities(cursor, bank, ids)

    def list_entities(self, bank_id: str, *, limit: int, cursor: str | None = None) -> Page[Entity]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (sql, bank):
            return entities.list_entities(sql, bank, limit=limit, page_cursor=cursor)

    def cooccurring(self, bank_id: str, entity_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return mentions.cooccurring(cursor, bank, entity_ids)

    # Searching

    def text_search(
        self, bank_id: str, lexemes: Sequence[str], filter: MemoryFilter, limit: int
    ) -> list[TextHit]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return text_search.text_search(cursor, bank, lexemes, filter, limit)

    def lexeme_stats(self, bank_id: str, lexemes: Sequence[str]) -> LexemeStats:
        """See `GraphStore`; memories that are not invalidated count."""
        with self._reading(bank_id) as (cursor, bank):
            return lexeme_index.stats(cursor, bank, lexemes)

    def time_search(
        self, bank_id: str, window: TimeSpan, filter: MemoryFilter, limit: int
    ) -> list[TimeHit]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return times.time_search(cursor, bank, window, filter, limit)

    def mentions(self, bank_id: str, memory_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return memories.mentions(cursor, bank, memory_ids)

    def postings(
        self, bank_id: str, entity_ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return mentions.postings(cursor, bank, entity_ids, per_entity, filter)

    def links(
        self, bank_id: str, memory_ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return links.heaviest(cursor, bank, memory_ids, per_memory, filter)

    # Vectors

    def vectors(self, bank_id: str, ids: Sequence[str]) -> dict[str, Vector]:
        """See `GraphStore`."""
        with self._reading(bank_id) as (cursor, bank):
            return vectors.read(cursor, bank, ids)

    def pending_vectors(self, limit: int) -> list[PendingVector]:
        """See `GraphStore`."""
        with self._connections.read() as cursor:
            return vectors.pending(cursor, limit)

    def settle(self, tickets: Iterable[int]) -> None:
        """See `GraphStore`."""
        with self._connections.write() as cursor:
            vectors.settle(cursor, tickets)

    def requeue_vectors(self, bank_id: str, ids: Sequence[str] | None = None) -> int:
        """See `GraphStore`."""
        with self._writing(bank_id) as (cursor, bank):
            return vectors.requeue(cursor, bank, ids)

    def memory_ids(self, bank_id: str) -> Iterator[str]:
        """See `GraphStore`; read in pages, so what is stored meanwhile may be among them."""
        bank = self._bank(bank_id)
        return self._pages(vectors.ids_after, bank, bank.bounds[0])

    def stage_vectors(
        self, bank_id: str, rows: Sequence[tuple[str, Vector, bytes | None]], stamp: EmbedderStamp
    ) -> None:
        """See `GraphStore`."""
        with self._writing(bank_id) as (cursor, bank):
            vectors.stage(cursor, bank, rows, stamp)

    def adopt_staged(self, bank_id: str, stamp: EmbedderStamp) -> StoredBank:
        """See `GraphStore`."""
        with self._writing(bank_id) as (cursor, bank):
            return banks.adopt_staged(cursor, bank, stamp)

    # Moving; read in pages, as `memory_ids` is

    def rename_bank(self, bank_id: str, new_id: str) -> None:
        """See `GraphStore`."""
        with self._writing(bank_id) as (cursor, bank):
            export.rename(cursor, bank, new_id)

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
        with self._connections.read() as cursor:
            (identity,) = cursor.execute("SELECT identity FROM store").fetchone()
            return str(identity)

    def check(self, *, repair: bool) -> list[StoreFault]:
        """See `GraphStore`; of a broken file, only that is reported."""
        with self._connections.read() as cursor:
            broken = check.check_file(cursor)
        if broken:
            return broken
        with self._connections.write() as cursor:
            return check.check_rows(cursor, repair=repair)

    def close(self) -> None:
        """See `GraphStore`."""
        self._connections.close()

    @contextmanager
    def _reading(self, bank_id: str) -> Iterator[tuple[sqlite3.Cursor, BankRange]]:
        with self._connections.read() as cursor:
            yield cursor, find_bank(cursor, bank_id)

    @contextmanager
    def _writing(self, bank_id: str) -> Iterator[tuple[sqlite3.Cursor, BankRange]]:
        with self._connections.write() as cursor:
            yield cursor, find_bank(cursor, bank_id)

    def _bank(self, bank_id: str) -> BankRange:
        with self._reading(bank_id) as (_, bank):
            return bank

    def _pages(
        self,
        read: Callable[[sqlite3.Cursor, BankRange, P, int], Sequence[tuple[P, T]]],
        bank: BankRange,
        after: P,
    ) -> Iterator[T]:
        """All that `read` gives, page by page: each page goes on after the last place."""
        while True:
            with self._connections.read() as cursor:
                page = read(cursor, bank, after, _PAGE)
            if not page:
                return
            after, _ = page[-1]
            yield from (item for _, item in page)
