"""`GraphStore` on SQLite: banks, writing, the outbox and checks; reading and searching below it."""

# ruff: noqa: D102 (the methods are described in `GraphStore`)

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from hindsight_integrations.models import Bank, BankStats, LinkKind, MemoryType
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    PendingVector,
    StoredBank,
    StoreFault,
)
from hindsight_integrations.stores.integrity import decoding_errors
from hindsight_integrations.stores.refusals import bank_exists
from hindsight_integrations.stores.sqlite import check, vectors, writing
from hindsight_integrations.stores.sqlite.copying import Copied, Progress, copy
from hindsight_integrations.stores.sqlite.rows import (
    BANK_COLUMNS,
    IN_KEYS,
    SEQUENCE_BITS,
    STORED_BANK_COLUMNS,
    BankTransaction,
    assignments,
    bank_row,
    insert_sql,
    key_bounds,
    key_list,
    stored_bank,
    time_or_null,
)
from hindsight_integrations.stores.sqlite.searching import SqliteSearcher
from hindsight_integrations.stores.times import micros, timestamp_or_none

_PURGED = {
    **dict.fromkeys(("lexemes", "contents", "vectors", "staged", "waiting"), "unit"),
    "times": "unit, ordinal",
    "sources": "unit, ordinal",
    "mentions": "unit, ordinal",
    "tags": "unit, tag",
    "metadata": "unit, field",
    "cooccurrence": "entity, other",
    "links": "source, kind, target",
    "grams": "name, gram",
    **dict.fromkeys(("names", "entities", "chunks", "documents", "history", "audit"), "key"),
    **dict.fromkeys(("mental_models", "memories"), "key"),
}
"""Table to its primary key, which begins with a key of the bank."""
_PURGED_BY_NUMBER = {"lexeme_counts": "bank, lexeme", "marks": "bank, queue", "banks": "no"}
"""The same, where it begins with the bank's number."""

_STATS = f"""
    SELECT count(invalidated_at), min(said), max(said),
        (SELECT count(*) FROM entities WHERE key BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM documents WHERE key BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM chunks WHERE key BETWEEN ?1 AND ?2),
        (SELECT count(*) FROM outbox WHERE bank_key = ?3)
    FROM (SELECT invalidated_at, {time_or_null("mentioned_at")} AS said
        FROM memories WHERE key BETWEEN ?1 AND ?2)"""


class SqliteGraph(SqliteSearcher):
    """The embedded graph store, in the file at `path`, or in memory if that is None.

    Any number of threads may use one object, and several processes one file. With `durable`,
    every commit waits for the disk.

    Raises:
        SchemaVersionError: the file was written by a newer release.
        StoreError: the file cannot be opened, read or written.
    """

    # Banks

    def create_bank(
        self, bank: Bank, embedder: EmbedderIdentity, *, importing: str | None = None
    ) -> StoredBank:
        with self._connections.write() as cursor:
            _check_free(cursor, bank.id)
            row = cursor.execute(
                f"{insert_sql('banks', f'{BANK_COLUMNS}, embedder, dimension, importing')} "
                f"RETURNING {STORED_BANK_COLUMNS}",
                (*bank_row(bank), embedder.id, embedder.dimension, importing),
            ).fetchone()
            return stored_bank(row)

    def get_bank(self, bank_id: str) -> StoredBank | None:
        with self._connections.read() as cursor:
            row = cursor.execute(
                f"SELECT {STORED_BANK_COLUMNS} FROM banks "
                "WHERE id = ? AND deleted = 0 AND importing IS NULL",
                (bank_id,),
            ).fetchone()
            return None if row is None else stored_bank(row)

    def list_banks(
        self,
        *,
        pending_consolidation: bool = False,
        importing: bool = False,
        leaving: bool = False,
        expired_by: datetime | None = None,
    ) -> list[StoredBank]:
        which, params = "", [int(importing)]
        if pending_consolidation:
            which += f" AND no IN (SELECT unit >> {SEQUENCE_BITS} FROM waiting)"
        if leaving:
            which += " AND leaving IS NOT NULL"
        if expired_by is not None:
            expired = "SELECT 1 FROM memories WHERE bank = no AND expires_at <= ?"
            which, params = f"{which} AND EXISTS ({expired})", [*params, micros(expired_by)]
        with self._connections.read() as cursor:
            rows = cursor.execute(
                f"SELECT {STORED_BANK_COLUMNS} FROM banks WHERE deleted = 0 "
                f"AND (importing IS NOT NULL) = ?{which} ORDER BY id",
                params,
            )
            return [stored_bank(row) for row in rows]

    def update_bank(
        self,
        bank_id: str,
        bank: Bank | Callable[[Bank], Bank] | None = None,
        *,
        embedder: EmbedderIdentity | None = None,
        leaving: bool = False,
    ) -> StoredBank:
        with self._writing(bank_id) as tx:
            if callable(bank):
                bank = bank(_stored(tx).bank)
            if bank is not None:
                if bank.id != bank_id:
                    _check_free(tx, bank.id)
                    tx.execute("UPDATE banks SET importing = NULL WHERE no = ?", (tx.no,))
                tx.execute(
                    f"UPDATE banks SET {assignments(BANK_COLUMNS)} WHERE no = ?",
                    (*bank_row(bank), tx.no),
                )
            if leaving:
                tx.execute("UPDATE banks SET leaving = ? WHERE no = ?", (bank_id, tx.no))
            if embedder is not None:
                vectors.adopt(tx, embedder)
            return _stored(tx)

    def delete_bank(self, bank_id: str) -> None:
        with self._writing(bank_id) as tx:
            tx.execute("UPDATE banks SET deleted = 1 WHERE no = ?", (tx.no,))
            vectors.drop(tx)

    def purge_deleted(self, limit: int = 5000) -> int:
        removed = 0
        with self._connections.write() as cursor:
            banks = cursor.execute("SELECT no FROM banks WHERE deleted = 1 ORDER BY no").fetchall()
            for (no,) in banks:
                for tables, bounds in ((_PURGED, key_bounds(no)), (_PURGED_BY_NUMBER, (no, no))):
                    for table, key in tables.items():
                        column = key.split(", ")[0]
                        cursor.execute(
                            f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} "
                            f"WHERE {column} BETWEEN ? AND ? LIMIT ?)",
                            (*bounds, max(limit - removed, 0)),
                        )
                        removed += cursor.rowcount
            left = cursor.execute("SELECT 1 FROM banks WHERE deleted = 1").fetchone()
            is_done = bool(banks) and left is None
            if is_done:
                writing.forget_terms(cursor)
        if is_done:
            self._connections.empty_log()
        return removed

    def bank_stats(self, bank_id: str) -> BankStats:
        with self._reading(bank_id) as tx:
            types = _counts(tx, "memories", "key", "type")
            kinds = _counts(tx, "links", "source", "kind")
            counted = tx.execute(_STATS, (*tx.bounds, tx.vector_key)).fetchone()
        invalidated, first, last, entities, documents, chunks, pending = counted
        return BankStats(
            bank_id=tx.id,
            memories=sum(types.values()),
            by_type={kind: types.get(kind.value, 0) for kind in MemoryType},
            invalidated=invalidated,
            entities=entities,
            documents=documents,
            chunks=chunks,
            links={kind: kinds.get(kind.value, 0) for kind in LinkKind},
            pending_vectors=pending,
            first_mentioned_at=timestamp_or_none(first),
            last_mentioned_at=timestamp_or_none(last),
        )

    # Writing, and the outbox

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        with decoding_errors(changes.bank_id), self._connections.write() as cursor:
            forgets = writing.forgets(cursor, changes)
            gone = writing.apply(cursor, changes)
            if gone or (forgets and changes.replaced):  # only memories have terms
                writing.forget_terms(cursor)
        if forgets:
            self._connections.empty_log()
        return gone

    def pending_vectors(self, limit: int, bank_key: str | None = None) -> list[PendingVector]:
        with self._connections.read() as cursor:
            return vectors.pending(cursor, limit, bank_key)

    def acknowledge(self, tickets: Iterable[int]) -> set[int]:
        with self._connections.write() as cursor:
            removed = cursor.execute(
                f"DELETE FROM outbox WHERE ticket {IN_KEYS} RETURNING ticket", (key_list(tickets),)
            )
            return {ticket for (ticket,) in removed}

    def claim_outbox(self, holder: str, seconds: float) -> bool:
        with self._connections.write() as cursor:
            return vectors.claim(cursor, holder, seconds)

    # The store itself

    def note_index(self, change: Callable[[str, float], str]) -> None:
        with self._connections.write() as cursor:
            (note,) = cursor.execute("SELECT index_note FROM store").fetchone()
            changed = change(note, time.time())
            if changed != note:
                cursor.execute("UPDATE store SET index_note = ?", (changed,))

    def identity(self) -> str:
        with self._connections.read() as cursor:
            (identity,) = cursor.execute("SELECT identity FROM store").fetchone()
            return str(identity)

    def check(self, *, repair: bool) -> list[StoreFault]:
        """See `GraphStore`; of a damaged file, only that is reported."""
        with self._connections.read() as cursor:
            damage = check.check_file(cursor)
        if damage:
            return damage
        return check.check_rows(self._connections.write, repair=repair)

    def copy_to(self, target: Path, progress: Progress | None = None) -> Copied:
        """Copy one committed state into an empty file, while others write; see `copying.copy`."""
        with self._connections.read() as cursor:
            return copy(cursor.connection, target, progress)

    def close(self) -> None:
        """See `GraphStore`; reads in progress end first."""
        self._connections.close()


def _counts(tx: BankTransaction, table: str, key: str, column: str) -> dict[str, int]:
    """Return the numbers of the bank's rows by a column; the column `key` has its keys."""
    of_bank = f"{table} WHERE {key} BETWEEN ? AND ?"
    sql = f"SELECT {column}, count(*) FROM {of_bank} GROUP BY {column}"
    return dict(tx.execute(sql, tx.bounds))


def _stored(tx: BankTransaction) -> StoredBank:
    return stored_bank(
        tx.execute(f"SELECT {STORED_BANK_COLUMNS} FROM banks WHERE no = ?", (tx.no,)).fetchone()
    )


def _check_free(cursor: sqlite3.Cursor | BankTransaction, bank_id: str) -> None:
    sql = "SELECT 1 FROM banks WHERE id = ? AND deleted = 0"
    if cursor.execute(sql, (bank_id,)).fetchone() is not None:
        raise bank_exists(bank_id)
