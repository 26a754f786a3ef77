"""Banks: making, changing, counting, and taking them away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.errors import BankExistsError
from hindsight_integrations.model import Bank, BankStats, LinkKind, MemoryType
from hindsight_integrations.storage.neo4j import vectors
from hindsight_integrations.storage.neo4j.codec import (
    bank_properties,
    moment_or_none,
    stored_bank,
)
from hindsight_integrations.storage.neo4j.connection import run
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.neo4j.schema import BANK_LABELS
from hindsight_integrations.storage.requests import EmbedderStamp, StoredBank

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_CREATE = """
    MERGE (b:Bank {id: $bank.id})
    ON CREATE SET b += $bank, b.key = $key, b.embedder = $embedder, b.dimension = $dimension,
        b.revision = 0, b.sequence = 0, b.valid_memories = 0, b.valid_lexemes = 0
    WITH b WHERE b.key = $key
    MATCH (s:HindsightStore {key: 'store'})
    SET s.banks = s.banks + 1, b.number = s.banks
    RETURN properties(b)"""

_MEMORIES = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0
    RETURN m.type, count(*), count(m.invalidated_at), min(m.mentioned_at), max(m.mentioned_at)"""

_LINKS = """
    MATCH (m:Memory) WHERE m.bank = $bank AND m.seq > 0
    MATCH (m)-[l:LINK]->() RETURN l.kind, count(*)"""

_COUNTS = """
    RETURN COUNT { MATCH (e:Entity) WHERE e.key STARTS WITH $prefix },
        COUNT { MATCH (d:Document) WHERE d.key STARTS WITH $prefix },
        COUNT { MATCH (c:Chunk) WHERE c.key STARTS WITH $prefix },
        COUNT { MATCH (p:PendingVector) WHERE p.key STARTS WITH $pending }"""


def create(tx: ManagedTransaction, bank: Bank, embedder: EmbedderStamp, *, key: str) -> StoredBank:
    """Store a new bank, under a key never used before. Raises `BankExistsError`."""
    found = run(
        tx,
        _CREATE,
        bank=bank_properties(bank),
        key=key,
        embedder=embedder.id,
        dimension=embedder.dimension,
    )
    if not found:
        raise BankExistsError(f"bank {bank.id!r} exists already; open it, or choose another id")
    return stored_bank(found[0][0])


def get(tx: ManagedTransaction, bank_id: str) -> StoredBank | None:
    """The bank, or None."""
    found = run(tx, "MATCH (b:Bank {id: $id}) RETURN properties(b)", id=bank_id)
    return stored_bank(found[0][0]) if found else None


def list_all(tx: ManagedTransaction, *, waiting: bool) -> list[StoredBank]:
    """All banks, by id; or only those where memories wait to be reflected on."""
    which = "WHERE EXISTS { MATCH (m:Waiting) WHERE m.bank = b.key AND m.seq > 0 }"
    found = run(tx, f"MATCH (b:Bank) {which if waiting else ''} RETURN properties(b) ORDER BY b.id")
    return [stored_bank(node) for (node,) in found]


def replace(tx: ManagedTransaction, bank: BankKey, new: Bank) -> None:
    """Overwrite the bank; its embedder stays."""
    run(tx, "MATCH (b:Bank {key: $key}) SET b += $bank", key=bank.key, bank=bank_properties(new))


def edition(tx: ManagedTransaction, bank: BankKey) -> int:
    """How often what is stored of its memories was changed."""
    read = "MATCH (b:Bank {key: $key}) RETURN coalesce(b.edition, 0)"
    ((found,),) = run(tx, read, key=bank.key)
    return int(found)


def alter(tx: ManagedTransaction, bank: BankKey) -> None:
    """Raise the bank's edition: what was read of its memories may be true no more."""
    raised = "SET b.edition = coalesce(b.edition, 0) + 1"
    run(tx, f"MATCH (b:Bank {{key: $key}}) {raised}", key=bank.key)


def adopt_staged(tx: ManagedTransaction, bank: BankKey, embedder: EmbedderStamp) -> StoredBank:
    """Exchange the bank's vectors for the staged ones, under a new vector key.

    Raises:
        StoreError: a memory has no staged vector of this embedder.
    """
    vectors.adopt(tx, bank, embedder)
    ((node,),) = run(
        tx,
        "MATCH (b:Bank {key: $key}) SET b.revision = $revision, b.embedder = $embedder, "
        "b.dimension = $dimension RETURN properties(b)",
        key=bank.key,
        revision=bank.revision + 1,
        embedder=embedder.id,
        dimension=embedder.dimension,
    )
    adopted = BankKey(bank.id, bank.key, bank.number, bank.revision + 1, embedder.dimension)
    vectors.requeue(tx, adopted, None)
    return stored_bank(node)


def delete(tx: ManagedTransaction, bank: BankKey) -> None:
    """Hide the bank and queue the dropping of its vectors; `purge` removes what it owned."""
    vectors.drop(tx, bank)
    run(tx, "MATCH (b:Bank {key: $key}) SET b:DeletedBank REMOVE b:Bank", key=bank.key)


def purge(tx: ManagedTransaction, limit: int) -> int:
    """Remove up to `limit` nodes of deleted banks; returns how many."""
    removed = 0
    for (key,) in run(tx, "MATCH (b:DeletedBank) RETURN b.key ORDER BY b.number"):
        for label in BANK_LABELS:
            removed += _delete_some(tx, label, f"{key}|", limit - removed)
        removed += _delete_some(tx, "DeletedBank", key, limit - removed)
        if removed >= limit:
            break
    return removed


def stats(tx: ManagedTransaction, bank: BankKey) -> BankStats:
    """Counts of what the bank holds; invalidated memories are among the memories."""
    rows = run(tx, _MEMORIES, bank=bank.key)
    by_type = {kind: count for kind, count, *_ in rows}
    by_kind: dict[str, int] = dict(run(tx, _LINKS, bank=bank.key))
    ((entities, documents, chunks, pending),) = run(
        tx, _COUNTS, prefix=bank.prefix, pending=f"{bank.vector_key}|"
    )
    return BankStats(
        bank_id=bank.id,
        memories=sum(by_type.values()),
        by_type={kind: by_type.get(kind.value, 0) for kind in MemoryType},
        invalidated=sum(row[2] for row in rows),
        entities=entities,
        documents=documents,
        chunks=chunks,
        links={kind: by_kind.get(kind.value, 0) for kind in LinkKind},
        pending_vectors=pending,
        first_mentioned_at=moment_or_none(min((row[3] for row in rows), default=None)),
        last_mentioned_at=moment_or_none(max((row[4] for row in rows), default=None)),
    )


def _delete_some(tx: ManagedTransaction, label: str, prefix: str, limit: int) -> int:
    if limit <= 0:
        return 0
    ((removed,),) = run(
        tx,
        f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix WITH n LIMIT $limit "
        "DETACH DELETE n RETURN count(*)",
        prefix=prefix,
        limit=limit,
    )
    return int(removed)
