"""Vectors, those staged for a change of embedder, and the outbox of the vector index.

The outbox holds at most one row per memory: later work replaces earlier work under a new ticket,
so that acknowledging an old ticket never removes what came after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hindsight_integrations.stores.base import (
    EmbedderIdentity,
    MemoryRecord,
    PendingVector,
    StagedVector,
    VectorOperation,
)
from hindsight_integrations.stores.encoding import vector_bytes, vector_of
from hindsight_integrations.stores.refusals import no_staged_vector
from hindsight_integrations.stores.sqlite.rows import (
    IN_KEYS,
    SEQUENCE_BITS,
    BankTransaction,
    key_list,
    text_in,
)


def store(tx: BankTransaction, records: Mapping[int, MemoryRecord]) -> None:
    """Store or overwrite the vectors of memories, by key; queue those that changed."""
    stored = dict(
        tx.execute(f"SELECT unit, vector FROM vectors WHERE unit {IN_KEYS}", (key_list(records),))
    )
    values = {key: vector_bytes(each.vector, tx.dimension) for key, each in records.items()}
    tx.executemany(
        "INSERT INTO vectors (unit, vector, interaction) VALUES (?, ?, ?) ON CONFLICT (unit) "
        "DO UPDATE SET vector = excluded.vector, interaction = excluded.interaction",
        [(key, values[key], record.interaction) for key, record in records.items()],
    )
    changed = {r.memory.id: key for key, r in records.items() if stored.get(key) != values[key]}
    _queue(tx, VectorOperation.UPSERT, changed)


def remove(tx: BankTransaction, removed: Mapping[str, int]) -> None:
    """Remove the vectors of memories (id to key), and queue their removal from the index."""
    tx.delete_of(removed.values(), "vectors", "staged")
    _queue(tx, VectorOperation.DELETE, removed)


def drop(tx: BankTransaction) -> None:
    """Queue the dropping of the bank's collection, in place of all else queued for it."""
    tx.execute("DELETE FROM outbox WHERE bank_key = ?", (tx.vector_key,))
    _queue(tx, VectorOperation.DROP, {"": None})


def requeue(tx: BankTransaction, ids: Sequence[str] | None) -> None:
    """Queue vectors for the index again, all or these; of ids that have none, the removal."""
    chosen = None
    if ids is not None:
        keys = tx.memory_keys(ids)
        chosen = key_list(keys.values())
        held = {
            key
            for (key,) in tx.execute(f"SELECT unit FROM vectors WHERE unit {IN_KEYS}", (chosen,))
        }
        _queue(tx, VectorOperation.DELETE, {id: None for id in ids if keys.get(id) not in held})
    tx.execute(
        "INSERT OR REPLACE INTO outbox (bank_key, operation, memory_id, unit) "
        "SELECT ?, ?, m.id, m.key FROM memories m JOIN vectors v ON v.unit = m.key "
        "WHERE m.key BETWEEN ? AND ? "
        "AND (?5 IS NULL OR m.key IN (SELECT value FROM json_each(?5))) ORDER BY m.key",
        (tx.vector_key, VectorOperation.UPSERT.value, *tx.bounds, chosen),
    )


def pending(cursor: sqlite3.Cursor, limit: int, bank_key: str | None = None) -> list[PendingVector]:
    """Return the oldest operations; an upsert whose vector was lost or cut is left to `check`.

    They are read in the order of tickets (`+` keeps the index by bank out of it), so that vectors
    are read only of those returned.
    """
    rows = cursor.execute(
        "SELECT o.ticket, o.bank_key, o.operation, o.memory_id, v.vector FROM outbox o "
        "LEFT JOIN vectors v ON v.unit = o.unit "
        f"LEFT JOIN banks b ON b.no = o.unit >> {SEQUENCE_BITS} "
        "WHERE (?1 IS NULL OR +o.bank_key = ?1) "
        "AND (o.operation <> 'upsert' OR length(v.vector) = 4 * b.dimension) "
        "ORDER BY o.ticket LIMIT ?2",
        (bank_key, max(limit, 0)),
    )
    return [
        PendingVector(
            ticket, key, VectorOperation(operation), id, None if data is None else vector_of(data)
        )
        for ticket, key, operation, id, data in rows
    ]


def claim(cursor: sqlite3.Cursor, holder: str, seconds: float) -> bool:
    """Note who applies the operations of all banks; see `GraphStore.claim_outbox`."""
    claimed = cursor.execute(
        "UPDATE store SET applier = ?1, applied_until = julianday('now') + ?2 / 86400.0 "
        "WHERE applier IS NULL OR applier = ?1 OR applied_until <= julianday('now')",
        (holder, seconds),
    )
    return claimed.rowcount == 1


def stage(tx: BankTransaction, staged: Sequence[StagedVector]) -> None:
    """Keep vectors of another embedder aside; those of unknown memories are ignored."""
    keys = tx.memory_keys([id for id, *_ in staged])
    tx.executemany(
        "INSERT OR REPLACE INTO staged (unit, embedder, dimension, vector, interaction) "
        "VALUES (?, ?, ?, ?, ?)",
        [
            (
                keys[id],
                embedder.id,
                embedder.dimension,
                vector_bytes(vector, embedder.dimension),
                extra,
            )
            for id, vector, extra, embedder in staged
            if id in keys
        ],
    )


def adopt(tx: BankTransaction, embedder: EmbedderIdentity) -> None:
    """Replace the bank's vectors by the staged ones, under a new vector key.

    Raises:
        UnstagedError: a memory has no staged vector of this embedder.
    """
    lacking = tx.execute(
        f"SELECT {text_in('m.id')} FROM memories m WHERE m.key BETWEEN ? AND ? AND NOT EXISTS "
        "(SELECT 1 FROM staged s WHERE s.unit = m.key AND s.embedder = ? AND s.dimension = ?)",
        (*tx.bounds, embedder.id, embedder.dimension),
    ).fetchall()
    if lacking:
        raise no_staged_vector(tx.id, [id for (id,) in lacking], embedder.id)
    drop(tx)
    for statement in (
        "DELETE FROM vectors WHERE unit BETWEEN ? AND ?",
        "INSERT INTO vectors (unit, vector, interaction) "
        "SELECT unit, vector, interaction FROM staged WHERE unit BETWEEN ? AND ?",
        "DELETE FROM staged WHERE unit BETWEEN ? AND ?",
    ):
        tx.execute(statement, tx.bounds)
    tx.execute(
        "UPDATE banks SET revision = revision + 1, embedder = ?, dimension = ? WHERE no = ?",
        (embedder.id, embedder.dimension, tx.no),
    )
    requeue(replace(tx, revision=tx.revision + 1, dimension=embedder.dimension), None)


def _queue(
    tx: BankTransaction, operation: VectorOperation, memories: Mapping[str, int | None]
) -> None:
    tx.executemany(
        "INSERT OR REPLACE INTO outbox (bank_key, operation, memory_id, unit) VALUES (?, ?, ?, ?)",
        [(tx.vector_key, operation.value, id, key) for id, key in memories.items()],
    )
