"""Vectors, those put aside for a change of embedder, and what the vector index has yet to do.

The outbox holds at most one row per memory: later work replaces earlier work under a new ticket,
so that settling an old ticket never strikes what came after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from hindsight_integrations.errors import StoreError
from hindsight_integrations.storage.requests import (
    EmbedderStamp,
    PendingVector,
    Vector,
    VectorOperation,
)
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    key_list,
    memory_keys,
)
from hindsight_integrations.storage.values import vector_bytes, vector_of


def store(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    rows: Sequence[tuple[int, str, Vector, bytes | None]],
) -> None:
    """Store or overwrite (key, memory id, vector, interaction); queue vectors that changed."""
    keys = (key_list(key for key, *_ in rows),)
    had = dict(
        cursor.execute(
            "SELECT unit, vector FROM vectors WHERE unit IN (SELECT value FROM json_each(?))", keys
        )
    )
    values = {key: vector_bytes(vector, bank.dimension) for key, _, vector, _ in rows}
    cursor.executemany(
        "INSERT INTO vectors (unit, vector, interaction) VALUES (?, ?, ?) ON CONFLICT (unit) "
        "DO UPDATE SET vector = excluded.vector, interaction = excluded.interaction",
        [(key, values[key], interaction) for key, _, _, interaction in rows],
    )
    changed = {id: key for key, id, *_ in rows if had.get(key) != values[key]}
    _queue(cursor, bank, VectorOperation.UPSERT, changed)


def remove(cursor: sqlite3.Cursor, bank: BankRange, gone: dict[str, int]) -> None:
    """Remove the vectors of memories (id to key), here and in the index."""
    keys = (key_list(gone.values()),)
    for table in ("vectors", "staged"):
        cursor.execute(f"DELETE FROM {table} WHERE unit IN (SELECT value FROM json_each(?))", keys)
    _queue(cursor, bank, VectorOperation.DELETE, gone)


def unstage(cursor: sqlite3.Cursor, keys: Iterable[int]) -> None:
    """Forget vectors put aside: the texts they were made of have changed."""
    cursor.execute(
        "DELETE FROM staged WHERE unit IN (SELECT value FROM json_each(?))", (key_list(keys),)
    )


def drop(cursor: sqlite3.Cursor, bank: BankRange) -> None:
    """Queue the dropping of the bank's space, in place of all else queued for it."""
    cursor.execute("DELETE FROM outbox WHERE bank_key = ?", (bank.vector_key,))
    cursor.execute(
        "INSERT INTO outbox (bank_key, operation, memory_id) VALUES (?, ?, '')",
        (bank.vector_key, VectorOperation.DROP.value),
    )


def read(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> dict[str, Vector]:
    """Those of the vectors that exist, in the order asked for."""
    keys = memory_keys(cursor, bank, ids)
    found = dict(
        cursor.execute(
            "SELECT unit, vector FROM vectors WHERE unit IN (SELECT value FROM json_each(?))",
            (key_list(keys.values()),),
        )
    )
    return {id: vector_of(found[key]) for id, key in keys.items() if key in found}


def pending(cursor: sqlite3.Cursor, limit: int) -> list[PendingVector]:
    """What the index still has to do, oldest first.

    An upsert whose vector was lost is left out; `check` reports it.
    """
    rows = cursor.execute(
        "SELECT o.ticket, o.bank_key, o.operation, o.memory_id, v.vector FROM outbox o "
        "LEFT JOIN vectors v ON v.unit = o.unit "
        "WHERE o.operation <> 'upsert' OR v.unit IS NOT NULL ORDER BY o.ticket LIMIT ?",
        (max(limit, 0),),
    )
    return [
        PendingVector(
            ticket, key, VectorOperation(operation), id, None if data is None else vector_of(data)
        )
        for ticket, key, operation, id, data in rows
    ]


def settle(cursor: sqlite3.Cursor, tickets: Iterable[int]) -> None:
    """Strike what the index has done."""
    cursor.execute(
        "DELETE FROM outbox WHERE ticket IN (SELECT value FROM json_each(?))", (key_list(tickets),)
    )


def requeue(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str] | None) -> int:
    """Queue vectors for the index again, all or these; returns how many."""
    chosen = None if ids is None else key_list(memory_keys(cursor, bank, ids).values())
    low, high = bank.bounds
    cursor.execute(
        "INSERT OR REPLACE INTO outbox (bank_key, operation, memory_id, unit) "
        "SELECT ?, ?, m.id, m.key FROM memories m JOIN vectors v ON v.unit = m.key "
        "WHERE m.key BETWEEN ? AND ? "
        "AND (?5 IS NULL OR m.key IN (SELECT value FROM json_each(?5))) ORDER BY m.key",
        (bank.vector_key, VectorOperation.UPSERT.value, low, high, chosen),
    )
    return cursor.rowcount


def ids_after(
    cursor: sqlite3.Cursor, bank: BankRange, after: int, limit: int
) -> list[tuple[int, str]]:
    """The next `limit` (key, memory id) beyond a key, of memories that have a vector."""
    _, high = bank.bounds
    return cursor.execute(
        "SELECT m.key, m.id FROM memories m JOIN vectors v ON v.unit = m.key "
        "WHERE m.key > ? AND m.key <= ? ORDER BY m.key LIMIT ?",
        (after, high, limit),
    ).fetchall()


def stage(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    rows: Sequence[tuple[str, Vector, bytes | None]],
    stamp: EmbedderStamp,
) -> None:
    """Put aside vectors of another embedder; those of memories that are gone are passed over."""
    keys = memory_keys(cursor, bank, [id for id, *_ in rows])
    cursor.executemany(
        "INSERT OR REPLACE INTO staged (unit, embedder, dimension, vector, interaction) "
        "VALUES (?, ?, ?, ?, ?)",
        [
            (keys[id], stamp.id, stamp.dimension, vector_bytes(vector, stamp.dimension), extra)
            for id, vector, extra in rows
            if id in keys
        ],
    )


def adopt(cursor: sqlite3.Cursor, bank: BankRange, stamp: EmbedderStamp) -> None:
    """Put the staged vectors in the place of the bank's, and queue the dropping of its space.

    Raises:
        StoreError: a memory has no staged vector of this embedder.
    """
    low, high = bank.bounds
    (lacking,) = cursor.execute(
        "SELECT count(*) FROM memories m WHERE m.key BETWEEN ? AND ? AND NOT EXISTS "
        "(SELECT 1 FROM staged s WHERE s.unit = m.key AND s.embedder = ? AND s.dimension = ?)",
        (low, high, stamp.id, stamp.dimension),
    ).fetchone()
    if lacking:
        raise StoreError(
            f"{lacking} memories of bank {bank.id!r} have no vector of {stamp.id!r} put aside; "
            "embed and stage them first"
        )
    drop(cursor, bank)
    for statement in (
        "DELETE FROM vectors WHERE unit BETWEEN ? AND ?",
        "INSERT INTO vectors (unit, vector, interaction) "
        "SELECT unit, vector, interaction FROM staged WHERE unit BETWEEN ? AND ?",
        "DELETE FROM staged WHERE unit BETWEEN ? AND ?",
    ):
        cursor.execute(statement, (low, high))


def _queue(
    cursor: sqlite3.Cursor, bank: BankRange, operation: VectorOperation, memories: dict[str, int]
) -> None:
    cursor.executemany(
        "INSERT OR REPLACE INTO outbox (bank_key, operation, memory_id, unit) VALUES (?, ?, ?, ?)",
        [(bank.vector_key, operation.value, id, key) for id, key in memories.items()],
    )
