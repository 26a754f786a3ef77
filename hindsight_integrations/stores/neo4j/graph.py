"""`GraphStore` on Neo4j: banks, writing, the outbox and checks; reading and searching below it."""

# ruff: noqa: D102 (the methods are described in `GraphStore`)

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime

from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.models import Bank, BankStats, LinkKind, MemoryType
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    PendingVector,
    StoredBank,
    StoreFault,
)
from hindsight_integrations.stores.integrity import merge_faults
from hindsight_integrations.stores.neo4j import check, vectors, writing
from hindsight_integrations.stores.neo4j.connection import Transaction
from hindsight_integrations.stores.neo4j.nodes import (
    BankTransaction,
    bank_properties,
    stored_bank,
    text_or_none,
    time_or_none,
)
from hindsight_integrations.stores.neo4j.schema import BANK_LABELS, identity
from hindsight_integrations.stores.neo4j.searching import Neo4jSearcher
from hindsight_integrations.stores.refusals import bank_exists

_KEY_BYTES = 8

_CREATE = """
    MERGE (b:Bank {id: $given.id})
    ON CREATE SET b += $given, b.key = $key, b.importing = $importing,
        b.embedder = $embedder, b.dimension = $dimension, b.revision = 0,
        b.sequence = 0, b.valid_memories = 0, b.valid_lexemes = 0
    WITH b WHERE b.key = $key
    MATCH (s:HindsightStore {key: 'store'})
    SET s.banks = s.banks + 1, b.number = s.banks
    RETURN properties(b)"""

_LOCKED_NOTE = """
    MATCH (s:HindsightStore {key: 'store'}) SET s.claims = coalesce(s.claims, 0) + 1
    RETURN coalesce(s.index_note, ''), timestamp() / 1000.0"""
"""The SET locks the node, so that of two at once the second reads what the first wrote."""

_OF_TYPE = "MATCH (m:Memory) WHERE m.bank = $bank AND m.type = type AND m.mentioned_at IS NOT NULL"
_STATS = f"""
    MATCH (b:Bank {{key: $bank}})
    RETURN collect([properties(b),
        COUNT {{ MATCH (m:Memory) WHERE m.bank = $bank AND m.invalidated_at IS NOT NULL }},
        COUNT {{ MATCH (e:Entity) WHERE e.key STARTS WITH $prefix }},
        COUNT {{ MATCH (d:Document) WHERE d.key STARTS WITH $prefix }},
        COUNT {{ MATCH (c:Chunk) WHERE c.key STARTS WITH $prefix }},
        COUNT {{ MATCH (p:PendingVector) WHERE p.key STARTS WITH $pending }},
        COLLECT {{ UNWIND $types AS type RETURN [
            CASE type WHEN $most THEN 0 ELSE COUNT {{ {_OF_TYPE} }} END,
            COLLECT {{ {_OF_TYPE} RETURN m.mentioned_at
                ORDER BY m.bank, m.type, m.mentioned_at LIMIT 1 }},
            COLLECT {{ {_OF_TYPE} RETURN m.mentioned_at
                ORDER BY m.bank DESC, m.type DESC, m.mentioned_at DESC LIMIT 1 }}] }}])"""
"""Read from indexes alone. The memories of the type that most are of are not counted: a bank keeps
the number of its valid ones, and few are invalidated."""


class Neo4jGraph(Neo4jSearcher):
    """The graph store in a database of the Neo4j server at `uri`, 5.26 or later.

    `uri` has one of the schemes `neo4j`, `neo4j+s`, `neo4j+ssc`, `bolt`, `bolt+s` or `bolt+ssc`;
    without a password, none is sent. Any number of threads and processes may use one database. A
    call waits 15 seconds for a server that is away.

    Raises:
        InvalidInputError: `uri` is none of a Neo4j server.
        MissingExtraError: the driver is not installed.
        SchemaVersionError: the database was written by a newer release.
        StoreUnavailableError: the server cannot be reached or used, or is too old.
    """

    def __repr__(self) -> str:
        return f"Neo4jGraph({self._database.where!r}, database={self._database.name!r})"

    # Banks

    def create_bank(
        self, bank: Bank, embedder: EmbedderIdentity, *, importing: str | None = None
    ) -> StoredBank:
        key = secrets.token_hex(_KEY_BYTES)
        found = self._database.write(
            lambda tx: tx.run(
                _CREATE,
                given=bank_properties(bank),
                key=key,
                embedder=embedder.id,
                dimension=embedder.dimension,
                importing=importing,
            )
        )
        if not found:
            raise bank_exists(bank.id)
        return stored_bank(found[0][0])

    def get_bank(self, bank_id: str) -> StoredBank | None:
        query = "MATCH (b:Bank {id: $id}) WHERE b.importing IS NULL RETURN properties(b)"
        found = [node for (node,) in self._database.query(query, {"id": bank_id}) if node]
        if not found:
            return None
        self._banks.note(found[0])
        return stored_bank(found[0])

    def list_banks(
        self,
        *,
        pending_consolidation: bool = False,
        importing: bool = False,
        leaving: bool = False,
        expired_by: datetime | None = None,
    ) -> list[StoredBank]:
        query = "MATCH (b:Bank) WHERE (b.importing IS NOT NULL) = $importing"
        if pending_consolidation:
            query += " AND EXISTS { MATCH (m:Waiting) WHERE m.bank = b.key AND m.seq > 0 }"
        if leaving:
            query += " AND b.leaving IS NOT NULL"
        if expired_by is not None:
            query += " AND EXISTS { MATCH (m:Memory) WHERE m.bank = b.key AND m.expires_at <= $by }"
        found = self._database.query(
            f"{query} RETURN properties(b) ORDER BY b.id",
            {"importing": importing, "by": text_or_none(expired_by)},
        )
        return [stored_bank(node) for (node,) in found if node]  # null if deleted meanwhile

    def update_bank(
        self,
        bank_id: str,
        bank: Bank | Callable[[Bank], Bank] | None = None,
        *,
        embedder: EmbedderIdentity | None = None,
        leaving: bool = False,
    ) -> StoredBank:
        def work(tx: BankTransaction) -> StoredBank:
            if bank is not None:
                changed = bank(_stored(tx).bank) if callable(bank) else bank
                given = bank_properties(changed)
                if changed.id != bank_id:
                    if tx.run("MATCH (b:Bank {id: $id}) RETURN b.id", id=changed.id):
                        raise bank_exists(changed.id)
                    given["importing"] = None
                tx.run("MATCH (b:Bank {key: $bank}) SET b += $given", given=given)
            if leaving:
                tx.run("MATCH (b:Bank {key: $bank}) SET b.leaving = $id", id=bank_id)
            if embedder is not None:
                vectors.adopt(tx, embedder)
            return _stored(tx)

        return self._write(bank_id, work)

    def delete_bank(self, bank_id: str) -> None:
        def work(tx: BankTransaction) -> None:
            vectors.drop(tx)
            tx.run("MATCH (b:Bank {key: $bank}) SET b:DeletedBank REMOVE b:Bank")

        self._write(bank_id, work)

    def purge_deleted(self, limit: int = 5000) -> int:
        return self._database.write(lambda tx: _purge(tx, limit))

    def bank_stats(self, bank_id: str) -> BankStats:
        return self._read(bank_id, _stats)

    # Writing, and the outbox

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        return self._database.write(lambda tx: writing.apply(tx, changes))

    def pending_vectors(self, limit: int, bank_key: str | None = None) -> list[PendingVector]:
        return vectors.pending(self._database.reads, limit, bank_key)

    def acknowledge(self, tickets: Iterable[int]) -> set[int]:
        return vectors.acknowledge(self._database.repeatable, list(tickets))

    def claim_outbox(self, holder: str, seconds: float) -> bool:
        return vectors.claim(self._database.repeatable, holder, seconds)

    # The store itself

    def note_index(self, change: Callable[[str, float], str]) -> None:
        def work(tx: Transaction) -> None:
            ((note, now),) = tx.run(_LOCKED_NOTE)
            tx.run(
                "MATCH (s:HindsightStore {key: 'store'}) SET s.index_note = $note",
                note=change(note, now),
            )

        self._database.write(work)

    def identity(self) -> str:
        return identity(self._database.reads)

    def check(self, *, repair: bool) -> list[StoreFault]:
        """See `GraphStore`; one bank after the other."""
        faults: list[StoreFault] = []
        for stored in (*self.list_banks(), *self.list_banks(importing=True)):
            with suppress(BankNotFoundError):  # deleted meanwhile
                faults += self._write(
                    stored.bank.id, lambda tx: check.check_bank(tx, repair=repair)
                )
        return merge_faults(faults)

    def close(self) -> None:
        self._database.close()


def _stored(tx: BankTransaction) -> StoredBank:
    ((node,),) = tx.run("MATCH (b:Bank {key: $bank}) RETURN properties(b)")
    return stored_bank(node)


def _purge(tx: Transaction, limit: int) -> int:
    """Remove up to `limit` nodes of deleted banks; return their number."""
    removed = 0
    for (key,) in tx.run("MATCH (b:DeletedBank) RETURN b.key ORDER BY b.number"):
        labels = [(label, f"{key}|") for label in BANK_LABELS]
        for label, prefix in (*labels, ("DeletedBank", key)):
            if removed >= limit:
                return removed
            ((count,),) = tx.run(
                f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix WITH n LIMIT $limit "
                "DETACH DELETE n RETURN count(*)",
                prefix=prefix,
                limit=limit - removed,
            )
            removed += count
    return removed


def _stats(tx: BankTransaction) -> BankStats:
    counted = tx.collected(
        _STATS,
        types=[kind.value for kind in MemoryType],
        most=MemoryType.WORLD.value,
        pending=f"{tx.vector_key}|",
    )
    ((bank, invalidated, entities, documents, chunks, pending, rows),) = counted
    by_type = {kind: row[0] for kind, row in zip(MemoryType, rows, strict=True)}
    memories = bank["valid_memories"] + invalidated
    by_type[MemoryType.WORLD] = memories - sum(by_type.values())
    return BankStats(
        bank_id=tx.id,
        memories=memories,
        by_type=by_type,
        invalidated=invalidated,
        entities=entities,
        documents=documents,
        chunks=chunks,
        links={kind: bank.get(f"{kind.value}_links", 0) for kind in LinkKind},
        pending_vectors=pending,
        first_mentioned_at=time_or_none(
            min((first for row in rows for first in row[1]), default=None)
        ),
        last_mentioned_at=time_or_none(
            max((last for row in rows for last in row[2]), default=None)
        ),
    )
