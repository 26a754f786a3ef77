"""What moving a bank reads of it, page by page, and giving it another id.

Each page goes on after a place and gives every item with its own place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.errors import BankExistsError
from hindsight_integrations.model import Change, Chunk, Document
from hindsight_integrations.storage.neo4j import banks
from hindsight_integrations.storage.neo4j.codec import moment_of
from hindsight_integrations.storage.neo4j.connection import Row, run
from hindsight_integrations.storage.neo4j.documents import CHUNK, DOCUMENT, document_of
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import EntityNames

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_CHANGES = """
    MATCH (n:Change) WHERE n.bank = $bank
        AND (n.memory_id > $id OR n.memory_id = $id AND n.seq > $seq)
    RETURN n.seq, n.memory_id, n.action, n.field, n.old, n.new, n.at, n.reason
    ORDER BY n.memory_id, n.seq LIMIT $limit"""


def rename(tx: ManagedTransaction, bank: BankKey, new_id: str) -> None:
    """Give a bank another id; keys do not depend on it. Raises `BankExistsError`."""
    if banks.get(tx, new_id) is not None:
        raise BankExistsError(f"bank {new_id!r} exists already; choose another id")
    run(tx, "MATCH (b:Bank {key: $key}) SET b.id = $id", key=bank.key, id=new_id)


def documents_after(
    tx: ManagedTransaction, bank: BankKey, after: str, limit: int
) -> list[tuple[str, Document]]:
    """The next documents, by id."""
    rows = _after(tx, bank, "Document", DOCUMENT, after, limit)
    return [(row[0], document_of(bank, row)) for row in rows]


def chunks_after(
    tx: ManagedTransaction, bank: BankKey, after: str, limit: int
) -> list[tuple[str, Chunk]]:
    """The next chunks, by id."""
    rows = _after(tx, bank, "Chunk", CHUNK, after, limit)
    return [(row[0], Chunk(*row)) for row in rows]


def edited_after(
    tx: ManagedTransaction, bank: BankKey, after: str, limit: int
) -> list[tuple[str, EntityNames]]:
    """The next entities that a user edited, by id, with all their names."""
    rows = _after(tx, bank, "Entity", "n.id, n.name, n.aliases", after, limit, "AND n.edited")
    return [(id, EntityNames(id, name, tuple(aliases))) for id, name, aliases in rows]


def changes_after(
    tx: ManagedTransaction, bank: BankKey, after: tuple[str, int], limit: int
) -> list[tuple[tuple[str, int], Change]]:
    """The next changes, by memory id, then in the order they were made."""
    id, seq = after
    rows = run(tx, _CHANGES, bank=bank.key, id=id, seq=seq, limit=limit)
    return [
        ((id, seq), Change(id, action, field, old, new, moment_of(at), reason))
        for seq, id, action, field, old, new, at, reason in rows
    ]


def _after(
    tx: ManagedTransaction,
    bank: BankKey,
    label: str,
    columns: str,
    after: str,
    limit: int,
    test: str = "",
) -> list[Row]:
    return run(
        tx,
        f"MATCH (n:{label}) WHERE n.key STARTS WITH $prefix AND n.key > $after {test} "
        f"RETURN {columns} ORDER BY n.key LIMIT $limit",
        prefix=bank.prefix,
        after=bank.of(after),
        limit=limit,
    )
