"""Banks: making, changing, counting, and taking them away."""

from __future__ import annotations

import sqlite3

from hindsight_integrations.errors import BankExistsError
from hindsight_integrations.model import Bank, BankStats, LinkKind, MemoryType
from hindsight_integrations.storage.requests import (
    EmbedderStamp,
    StoredBank,
)
from hindsight_integrations.storage.sqlite import vectors
from hindsight_integrations.storage.sqlite.codec import (
    BANK_COLUMNS,
    STORED_BANK_COLUMNS,
    bank_row,
    stored_bank,
)
from hindsight_integrations.storage.sqlite.keys import (
    SEQUENCE_BITS,
    BankRange,
    find_bank,
    key_bounds,
)
from hindsight_integrations.storage.values import moment_or_none

_PURGED = (
    # table, its primary key, the column that carries the bank's range of keys
    ("lexemes", "unit", "unit"),
    ("contents", "unit", "unit"),
    ("times", "unit, ordinal", "unit"),
    ("tags", "unit, tag", "unit"),
    ("metadata", "unit, field", "unit"),
    ("sources", "unit, ordinal", "unit"),
    ("mentions", "unit, ordinal", "unit"),
    ("cooccurrence", "entity, other", "entity"),
    ("links", "source, kind, target", "source"),
    ("vectors", "unit", "unit"),
    ("staged", "unit", "unit"),
    ("waiting", "unit", "unit"),
    ("grams", "name, gram", "name"),
    ("names", "key", "key"),
    ("entities", "key", "key"),
    ("chunks", "key", "key"),
    ("documents", "key", "key"),
    ("history", "key", "key"),
    ("mental_models", "key", "key"),
    ("memories", "key", "key"),
)
_PURGED_BY_NUMBER = (
    # the same, where the column carries the bank's number
    ("lexeme_counts", "bank, lexeme", "bank"),
    ("marks", "bank, queue", "bank"),
    ("banks", "no", "no"),
)


def create(cursor: sqlite3.Cursor, bank: Bank, embedder: EmbedderStamp) -> StoredBank:
    """Store a new bank. Raises `BankExistsError`."""
    if get(cursor, bank.id) is not None:
        raise BankExistsError(f"bank {bank.id!r} exists already; open it, or choose another id")
    values = (*bank_row(bank), embedder.id, embedder.dimension)
    row = cursor.execute(
        f"INSERT INTO banks ({BANK_COLUMNS}) VALUES ({', '.join('?' * len(values))}) "
        f"RETURNING {STORED_BANK_COLUMNS}",
        values,
    ).fetchone()
    return stored_bank(row)


def get(cursor: sqlite3.Cursor, bank_id: str) -> StoredBank | None:
    """The bank, or None."""
    row = cursor.execute(
        f"SELECT {STORED_BANK_COLUMNS} FROM banks WHERE id = ? AND deleted = 0", (bank_id,)
    ).fetchone()
    return None if row is None else stored_bank(row)


def list_all(cursor: sqlite3.Cursor, *, waiting: bool) -> list[StoredBank]:
    """All banks, by id; or only those where memories wait to be reflected on."""
    which = f"AND no IN (SELECT unit >> {SEQUENCE_BITS} FROM waiting)" if waiting else ""
    rows = cursor.execute(
        f"SELECT {STORED_BANK_COLUMNS} FROM banks WHERE deleted = 0 {which} ORDER BY id"
    )
    return [stored_bank(row) for row in rows]


def replace(cursor: sqlite3.Cursor, bank: Bank) -> None:
    """Overwrite the bank of this id; its embedder stays."""
    values = bank_row(bank)
    columns = BANK_COLUMNS.split(", ")[: len(values)]
    cursor.execute(
        f"UPDATE banks SET {', '.join(f'{column} = ?' for column in columns)} WHERE no = ?",
        (*values, find_bank(cursor, bank.id).no),
    )


def edition(cursor: sqlite3.Cursor, bank: BankRange) -> int:
    """How often what is stored of its memories was changed."""
    ((found,),) = cursor.execute("SELECT edition FROM banks WHERE no = ?", (bank.no,))
    return int(found)


def alter(cursor: sqlite3.Cursor, bank: BankRange) -> None:
    """Raise the bank's edition: what was read of its memories may be true no more."""
    cursor.execute("UPDATE banks SET edition = edition + 1 WHERE no = ?", (bank.no,))


def adopt_staged(cursor: sqlite3.Cursor, bank: BankRange, embedder: EmbedderStamp) -> StoredBank:
    """Exchange the bank's vectors for the staged ones, under a new vector key.

    Raises:
        StoreError: a memory has no staged vector of this embedder.
    """
    vectors.adopt(cursor, bank, embedder)
    row = cursor.execute(
        "UPDATE banks SET revision = revision + 1, embedder = ?, dimension = ? WHERE no = ? "
        f"RETURNING {STORED_BANK_COLUMNS}",
        (embedder.id, embedder.dimension, bank.no),
    ).fetchone()
    vectors.requeue(cursor, find_bank(cursor, bank.id), None)
    return stored_bank(row)


def delete(cursor: sqlite3.Cursor, bank: BankRange) -> None:
    """Hide the bank and queue the dropping of its vectors; `purge` removes its rows."""
    cursor.execute("UPDATE banks SET deleted = 1 WHERE no = ?", (bank.no,))
    vectors.drop(cursor, bank)


def purge(cursor: sqlite3.Cursor, limit: int) -> int:
    """Remove up to `limit` rows of deleted banks; returns how many."""
    removed = 0
    for (no,) in cursor.execute("SELECT no FROM banks WHERE deleted ORDER BY no").fetchall():
        for table, key, column in _PURGED:
            removed += _delete_some(cursor, table, key, (column, *key_bounds(no)), limit - removed)
        for table, key, column in _PURGED_BY_NUMBER:
            removed += _delete_some(cursor, table, key, (column, no, no), limit - removed)
    return removed


def stats(cursor: sqlite3.Cursor, bank: BankRange) -> BankStats:
    """Counts of what the bank holds; invalidated memories are among the memories."""
    bounds = bank.bounds
    by_type = dict(
        cursor.execute(
            "SELECT type, count(*) FROM memories WHERE key BETWEEN ? AND ? GROUP BY type", bounds
        )
    )
    by_kind = dict(
        cursor.execute(
            "SELECT kind, count(*) FROM links WHERE source BETWEEN ? AND ? GROUP BY kind", bounds
        )
    )
    invalidated, first, last = cursor.execute(
        "SELECT count(invalidated_at), min(mentioned_at), max(mentioned_at) FROM memories "
        "WHERE key BETWEEN ? AND ?",
        bounds,
    ).fetchone()
    entities, documents, chunks = (
        cursor.execute(
            f"SELECT count(*) FROM {table} WHERE key BETWEEN ? AND ?", bounds
        ).fetchone()[0]
        for table in ("entities", "documents", "chunks")
    )
    (pending,) = cursor.execute(
        "SELECT count(*) FROM outbox WHERE bank_key = ?", (bank.vector_key,)
    ).fetchone()
    return BankStats(
        bank_id=bank.id,
        memories=sum(by_type.values()),
        by_type={kind: by_type.get(kind.value, 0) for kind in MemoryType},
        invalidated=invalidated,
        entities=entities,
        documents=documents,
        chunks=chunks,
        links={kind: by_kind.get(kind.value, 0) for kind in LinkKind},
        pending_vectors=pending,
        first_mentioned_at=moment_or_none(first),
        last_mentioned_at=moment_or_none(last),
    )


def _delete_some(
    cursor: sqlite3.Cursor, table: str, key: str, span: tuple[str, int, int], limit: int
) -> int:
    column, low, high = span
    cursor.execute(
        f"DELETE FROM {table} WHERE ({key}) IN "
        f"(SELECT {key} FROM {table} WHERE {column} BETWEEN ? AND ? LIMIT ?)",
        (low, high, max(limit, 0)),
    )
    return cursor.rowcount
