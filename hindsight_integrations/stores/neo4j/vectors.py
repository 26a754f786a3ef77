"""Vectors, those staged for a change of embedder, and the outbox of the vector index.

The outbox holds at most one `PendingVector` per memory: later work replaces earlier work by a new
node with a new ticket, so that acknowledging an old ticket never removes what came after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hindsight_integrations.stores.base import (
    EmbedderIdentity,
    MemoryRecord,
    PendingVector,
    StagedVector,
    VectorOperation,
)
from hindsight_integrations.stores.encoding import vector_bytes, vector_of
from hindsight_integrations.stores.neo4j.connection import Transaction
from hindsight_integrations.stores.neo4j.nodes import BankTransaction, Properties
from hindsight_integrations.stores.refusals import no_staged_vector

_STORED = "UNWIND $rows AS key MATCH (v:Vector {key: key}) RETURN collect([key, v.vector])"

_STORE = """
    UNWIND $rows AS row MERGE (v:Vector {key: row.key})
    SET v.vector = row.vector, v.interaction = row.interaction"""

_REPLACED = "UNWIND $rows AS row MATCH (p:PendingVector {key: row.key}) DELETE p"

_QUEUE = """
    UNWIND $rows AS row
    CREATE (p:PendingVector) SET p = row, p.bank_key = $bank_key, p.operation = $operation,
        p.queued_at = timestamp()"""

_ACKNOWLEDGE = """
    UNWIND $rows AS ticket MATCH (p:PendingVector {ticket: ticket})
    DELETE p RETURN collect([ticket])"""

_PENDING = """
    MATCH (p:PendingVector) USING INDEX p:PendingVector(queued_at, ticket)
    WHERE p.queued_at >= 0 AND p.ticket >= 0
    OPTIONAL MATCH (v:Vector {key: p.memory})
    WITH p, v WHERE p.operation <> 'upsert' OR v IS NOT NULL
    RETURN p.ticket, p.bank_key, p.operation, p.memory_id,
        CASE p.operation WHEN 'upsert' THEN v.vector END
    ORDER BY p.queued_at, p.ticket LIMIT $limit"""

_PENDING_OF_BANK = """
    MATCH (p:PendingVector) WHERE p.key STARTS WITH $queued
    OPTIONAL MATCH (v:Vector {key: p.memory})
    WITH p, v WHERE p.operation <> 'upsert' OR v IS NOT NULL
    WITH p, v ORDER BY p.queued_at, p.ticket LIMIT $limit
    RETURN p.ticket, p.bank_key, p.operation, p.memory_id,
        CASE p.operation WHEN 'upsert' THEN v.vector END
    ORDER BY p.queued_at, p.ticket"""

_CLAIM = """
    MATCH (s:HindsightStore {key: 'store'}) SET s.claims = coalesce(s.claims, 0) + 1
    WITH s WHERE s.applier IS NULL OR s.applier = $holder OR s.applied_until <= timestamp()
    SET s.applier = $holder, s.applied_until = timestamp() + toInteger(1000 * $seconds)
    RETURN s.applier"""
"""The first SET locks the node, so that of two at once the second reads what the first wrote."""

_STAGE = """
    UNWIND $rows AS row MERGE (s:StagedVector {key: row.key})
    SET s.embedder = row.embedder, s.dimension = row.dimension, s.vector = row.vector,
        s.interaction = row.interaction"""

_LACKING = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0
    OPTIONAL MATCH (s:StagedVector {key: m.key})
    WITH m, s WHERE s IS NULL OR s.embedder <> $embedder OR s.dimension <> $dimension
    RETURN collect(m.id)"""

WITH_VECTOR = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > $after MATCH (:Vector {key: m.key})
    WITH m ORDER BY m.bank, m.seq"""
"""Each memory after a number that has a vector, in storing order."""


def store(tx: BankTransaction, records: Sequence[MemoryRecord], *, new: bool = False) -> None:
    """Store the vectors of memories, `new` ones or not; queue those that changed."""
    rows: list[Properties] = [
        {
            "key": tx.of(record.memory.id),
            "vector": vector_bytes(record.vector, tx.dimension),
            "interaction": record.interaction,
        }
        for record in records
    ]
    had: dict[str, bytes] = {}
    if not new:
        had = dict(tx.gather(_STORED, [row["key"] for row in rows]))
    tx.run_each(_STORE, rows)
    changed = [row["key"] for row in rows if had.get(row["key"]) != row["vector"]]
    _queue(tx, VectorOperation.UPSERT, map(tx.id_of, changed))


def remove(tx: BankTransaction, ids: Sequence[str]) -> None:
    """Remove the vectors of memories, and queue their removal from the index."""
    keys = tx.all_of(ids)
    tx.run_each("UNWIND $rows AS key MATCH (v:Vector {key: key}) DELETE v", keys)
    unstage(tx, ids)
    _queue(tx, VectorOperation.DELETE, ids)


def unstage(tx: BankTransaction, ids: Iterable[str]) -> None:
    """Remove staged vectors: the texts they were computed from have changed."""
    tx.run_each("UNWIND $rows AS key MATCH (s:StagedVector {key: key}) DELETE s", tx.all_of(ids))


def drop(tx: BankTransaction) -> None:
    """Queue the dropping of the bank's collection, in place of all else queued for it."""
    tx.run(
        "MATCH (p:PendingVector) WHERE p.key STARTS WITH $queued DELETE p",
        queued=f"{tx.vector_key}|",
    )
    _queue(tx, VectorOperation.DROP, [""])


def requeue(tx: BankTransaction, ids: Sequence[str] | None) -> None:
    """Queue vectors for the index again, all or these; of ids that have none, the removal."""
    if ids is None:
        chosen = [id for (id,) in tx.run(f"{WITH_VECTOR} RETURN m.id", after=0)]
    else:
        chosen = list(tx.existing("Vector", ids))
        _queue(tx, VectorOperation.DELETE, dict.fromkeys(id for id in ids if id not in set(chosen)))
    _queue(tx, VectorOperation.UPSERT, chosen)


def pending(tx: Transaction, limit: int, bank_key: str | None = None) -> list[PendingVector]:
    """Return the oldest operations; an upsert whose vector was lost is left to `check`."""
    query, chosen = _PENDING, {}
    if bank_key is not None:
        query, chosen = _PENDING_OF_BANK, {"queued": f"{bank_key}|"}
    return [
        PendingVector(
            ticket, key, VectorOperation(operation), id, None if data is None else vector_of(data)
        )
        for ticket, key, operation, id, data in tx.run(query, limit=max(limit, 0), **chosen)
        if None not in (ticket, key, operation, id)  # acknowledged while the statement ran
    ]


def acknowledge(tx: Transaction, tickets: Sequence[int]) -> set[int]:
    """Remove operations from the outbox; return the tickets of those that were in it."""
    return {ticket for (ticket,) in tx.gather(_ACKNOWLEDGE, tickets)}


def claim(tx: Transaction, holder: str, seconds: float) -> bool:
    """Note who applies the operations of all banks; see `GraphStore.claim_outbox`."""
    return bool(tx.run(_CLAIM, holder=holder, seconds=seconds))


def stage(tx: BankTransaction, staged: Sequence[StagedVector]) -> None:
    """Keep vectors of another embedder aside; those of unknown memories are ignored."""
    keys = tx.existing("Memory", (id for id, *_ in staged))
    rows = [
        {
            "key": keys[id],
            "vector": vector_bytes(vector, embedder.dimension),
            "interaction": interaction,
            "embedder": embedder.id,
            "dimension": embedder.dimension,
        }
        for id, vector, interaction, embedder in staged
        if id in keys
    ]
    tx.run_each(_STAGE, rows)


def adopt(tx: BankTransaction, embedder: EmbedderIdentity) -> None:
    """Replace the bank's vectors by the staged ones, under a new vector key.

    Raises:
        UnstagedError: a memory has no staged vector of this embedder.
    """
    given = {"embedder": embedder.id, "dimension": embedder.dimension}
    ((lacking,),) = tx.run(_LACKING, **given)
    if lacking:
        raise no_staged_vector(tx.id, lacking, embedder.id)
    drop(tx)
    tx.run("MATCH (v:Vector) WHERE v.key STARTS WITH $prefix DELETE v")
    tx.run(
        "MATCH (s:StagedVector) WHERE s.key STARTS WITH $prefix "
        "SET s:Vector REMOVE s:StagedVector, s.embedder, s.dimension"
    )
    tx.run(
        "MATCH (b:Bank {key: $bank}) SET b.revision = b.revision + 1, b.embedder = $embedder, "
        "b.dimension = $dimension",
        **given,
    )
    requeue(replace(tx, revision=tx.revision + 1, dimension=embedder.dimension), None)


def _queue(tx: BankTransaction, operation: VectorOperation, ids: Iterable[str]) -> None:
    queued = list(ids)
    rows = [
        {"key": f"{tx.vector_key}|{id}", "ticket": ticket, "memory_id": id, "memory": tx.of(id)}
        for id, ticket in zip(queued, tx.tickets(len(queued)), strict=True)
    ]
    tx.run_each(_REPLACED, rows)
    tx.run_each(_QUEUE, rows, bank_key=tx.vector_key, operation=operation.value)
