"""Vectors, those put aside for a change of embedder, and what the vector index has yet to do.

The outbox holds at most one `PendingVector` per memory: later work replaces earlier work by a new
node with a new ticket, so that settling an old ticket never strikes what came after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.errors import StoreError
from hindsight_integrations.storage.neo4j.connection import gather, run, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey, existing, tickets
from hindsight_integrations.storage.requests import (
    EmbedderStamp,
    PendingVector,
    Vector,
    VectorOperation,
)
from hindsight_integrations.storage.values import vector_bytes, vector_of

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_READ = "UNWIND $rows AS key MATCH (v:Vector {key: key}) RETURN collect([key, v.vector])"

_STORE = """
    UNWIND $rows AS row MERGE (v:Vector {key: row.key})
    SET v.vector = row.vector, v.interaction = row.interaction"""

_REPLACED = "UNWIND $rows AS row MATCH (p:PendingVector {key: row.key}) DELETE p"

_QUEUE = """
    UNWIND $rows AS row
    CREATE (p:PendingVector) SET p = row, p.bank_key = $bank_key, p.operation = $operation,
        p.queued_at = timestamp()"""

_PENDING = """
    MATCH (p:PendingVector) USING INDEX p:PendingVector(queued_at, ticket)
    WHERE p.queued_at >= 0 AND p.ticket >= 0
    OPTIONAL MATCH (v:Vector {key: p.memory})
    WITH p, v WHERE p.operation <> 'upsert' OR v IS NOT NULL
    RETURN p.ticket, p.bank_key, p.operation, p.memory_id,
        CASE p.operation WHEN 'upsert' THEN v.vector END
    ORDER BY p.queued_at, p.ticket LIMIT $limit"""

_STAGE = """
    UNWIND $rows AS row MERGE (s:StagedVector {key: row.key})
    SET s.embedder = $embedder, s.dimension = $dimension, s.vector = row.vector,
        s.interaction = row.interaction"""

_LACKING = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0
    OPTIONAL MATCH (s:StagedVector {key: m.key})
    WITH s WHERE s IS NULL OR s.embedder <> $embedder OR s.dimension <> $dimension
    RETURN count(*)"""

_WITH_VECTOR = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > $after MATCH (:Vector {key: m.key})
    RETURN m.seq, m.id ORDER BY m.bank, m.seq"""


def store(
    tx: ManagedTransaction,
    bank: BankKey,
    rows: Sequence[tuple[str, Vector, bytes | None]],
) -> None:
    """Store or overwrite (memory id, vector, interaction); queue vectors that changed."""
    values = {bank.of(id): vector_bytes(vector, bank.dimension) for id, vector, _ in rows}
    had: dict[str, bytes] = dict(gather(tx, _READ, list(values)))
    written = [
        {"key": bank.of(id), "vector": values[bank.of(id)], "interaction": interaction}
        for id, _, interaction in rows
    ]
    run_each(tx, _STORE, written)
    changed = [id for id, *_ in rows if had.get(bank.of(id)) != values[bank.of(id)]]
    _queue(tx, bank, VectorOperation.UPSERT, changed)


def remove(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> None:
    """Remove the vectors of memories, here and in the index."""
    keys = [bank.of(id) for id in ids]
    for label in ("Vector", "StagedVector"):
        run_each(tx, f"UNWIND $rows AS key MATCH (v:{label} {{key: key}}) DELETE v", keys)
    _queue(tx, bank, VectorOperation.DELETE, ids)


def unstage(tx: ManagedTransaction, bank: BankKey, ids: Iterable[str]) -> None:
    """Forget vectors put aside: the texts they were made of have changed."""
    keys = [bank.of(id) for id in ids]
    run_each(tx, "UNWIND $rows AS key MATCH (s:StagedVector {key: key}) DELETE s", keys)


def drop(tx: ManagedTransaction, bank: BankKey) -> None:
    """Queue the dropping of the bank's space, in place of all else queued for it."""
    run(
        tx,
        "MATCH (p:PendingVector) WHERE p.key STARTS WITH $prefix DELETE p",
        prefix=f"{bank.vector_key}|",
    )
    _queue(tx, bank, VectorOperation.DROP, [""])


def read(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> dict[str, Vector]:
    """Those of the vectors that exist, in the order asked for."""
    keys = {id: bank.of(id) for id in ids}
    found: dict[str, bytes] = dict(gather(tx, _READ, list(keys.values())))
    return {id: vector_of(found[key]) for id, key in keys.items() if key in found}


def pending(tx: ManagedTransaction, limit: int) -> list[PendingVector]:
    """What the index still has to do, oldest first.

    An upsert whose vector was lost is left out; `check` reports it.
    """
    return [
        PendingVector(
            ticket, key, VectorOperation(operation), id, None if data is None else vector_of(data)
        )
        for ticket, key, operation, id, data in run(tx, _PENDING, limit=max(limit, 0))
    ]


def settle(tx: ManagedTransaction, tickets: Sequence[int]) -> None:
    """Strike what the index has done."""
    run_each(
        tx, "UNWIND $rows AS ticket MATCH (p:PendingVector {ticket: ticket}) DELETE p", tickets
    )


def requeue(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str] | None) -> int:
    """Queue vectors for the index again, all or these; returns how many."""
    if ids is None:
        chosen = [id for _, id in run(tx, _WITH_VECTOR, bank=bank.key, after=0)]
    else:
        chosen = list(existing(tx, "Vector", bank, ids))
    _queue(tx, bank, VectorOperation.UPSERT, chosen)
    return len(chosen)


def ids_after(
    tx: ManagedTransaction, bank: BankKey, after: int, limit: int
) -> list[tuple[int, str]]:
    """The next `limit` (storing number, memory id) beyond a number, of those with a vector."""
    rows = run(tx, f"{_WITH_VECTOR} LIMIT $limit", bank=bank.key, after=after, limit=limit)
    return [(seq, id) for seq, id in rows]


def stage(
    tx: ManagedTransaction,
    bank: BankKey,
    rows: Sequence[tuple[str, Vector, bytes | None]],
    stamp: EmbedderStamp,
) -> None:
    """Put aside vectors of another embedder; those of memories that are gone are passed over."""
    keys = existing(tx, "Memory", bank, [id for id, *_ in rows])
    staged = [
        {
            "key": keys[id],
            "vector": vector_bytes(vector, stamp.dimension),
            "interaction": interaction,
        }
        for id, vector, interaction in rows
        if id in keys
    ]
    run_each(tx, _STAGE, staged, embedder=stamp.id, dimension=stamp.dimension)


def adopt(tx: ManagedTransaction, bank: BankKey, stamp: EmbedderStamp) -> None:
    """Put the staged vectors in the place of the bank's, and queue the dropping of its space.

    Raises:
        StoreError: a memory has no staged vector of this embedder.
    """
    ((lacking,),) = run(tx, _LACKING, bank=bank.key, embedder=stamp.id, dimension=stamp.dimension)
    if lacking:
        raise StoreError(
            f"{lacking} memories of bank {bank.id!r} have no vector of {stamp.id!r} put aside; "
            "embed and stage them first"
        )
    drop(tx, bank)
    for statement in (
        "MATCH (v:Vector) WHERE v.key STARTS WITH $prefix DELETE v",
        "MATCH (s:StagedVector) WHERE s.key STARTS WITH $prefix "
        "SET s:Vector REMOVE s:StagedVector, s.embedder, s.dimension",
    ):
        run(tx, statement, prefix=bank.prefix)


def _queue(
    tx: ManagedTransaction, bank: BankKey, operation: VectorOperation, ids: Sequence[str]
) -> None:
    rows = [
        {
            "key": f"{bank.vector_key}|{id}",
            "ticket": ticket,
            "memory_id": id,
            "memory": bank.of(id),
        }
        for id, ticket in zip(ids, tickets(tx, bank, len(ids)), strict=True)
    ]
    run_each(tx, _REPLACED, rows)
    run_each(tx, _QUEUE, rows, bank_key=bank.vector_key, operation=operation.value)
