"""What moving a bank reads of it, page by page, and giving it another id.

Each page goes on after a place and gives every item with its own place.
"""

from __future__ import annotations

import sqlite3

from hindsight_integrations.errors import BankExistsError
from hindsight_integrations.model import Change, Chunk, Document
from hindsight_integrations.storage.requests import (
    EntityNames,
)
from hindsight_integrations.storage.sqlite import banks, entities
from hindsight_integrations.storage.sqlite.keys import BankRange
from hindsight_integrations.storage.values import moment


def rename(cursor: sqlite3.Cursor, bank: BankRange, new_id: str) -> None:
    """Give a bank another id; keys do not depend on it. Raises `BankExistsError`."""
    if banks.get(cursor, new_id) is not None:
        raise BankExistsError(f"bank {new_id!r} exists already; choose another id")
    cursor.execute("UPDATE banks SET id = ? WHERE no = ?", (new_id, bank.no))


def documents_after(
    cursor: sqlite3.Cursor, bank: BankRange, after: str, limit: int
) -> list[tuple[str, Document]]:
    """The next documents, by id."""
    rows = cursor.execute(
        "SELECT id, fingerprint, created_at, updated_at, (SELECT count(*) FROM chunks c "
        "WHERE c.bank = d.bank AND c.document_id = d.id) "
        "FROM documents d WHERE bank = ? AND id > ? ORDER BY id LIMIT ?",
        (bank.no, after, limit),
    )
    return [
        (id, Document(id, bank.id, fingerprint, moment(created), moment(updated), chunk_count))
        for id, fingerprint, created, updated, chunk_count in rows
    ]


def chunks_after(
    cursor: sqlite3.Cursor, bank: BankRange, after: str, limit: int
) -> list[tuple[str, Chunk]]:
    """The next chunks, by id."""
    rows = cursor.execute(
        "SELECT id, document_id, position, text, fingerprint FROM chunks "
        "WHERE bank = ? AND id > ? ORDER BY id LIMIT ?",
        (bank.no, after, limit),
    )
    return [(row[0], Chunk(*row)) for row in rows]


def edited_after(
    cursor: sqlite3.Cursor, bank: BankRange, after: str, limit: int
) -> list[tuple[str, EntityNames]]:
    """The next entities that a user edited, by id, with all their names."""
    rows = cursor.execute(
        "SELECT id, key FROM entities WHERE bank = ? AND edited AND id > ? ORDER BY id LIMIT ?",
        (bank.no, after, limit),
    )
    keys = dict(rows.fetchall())
    found = entities.read(cursor, bank, keys.values())
    return [(id, EntityNames(id, found[key].name, found[key].aliases)) for id, key in keys.items()]


def changes_after(
    cursor: sqlite3.Cursor, bank: BankRange, after: tuple[str, int], limit: int
) -> list[tuple[tuple[str, int], Change]]:
    """The next changes, by memory id, then in the order they were made."""
    rows = cursor.execute(
        "SELECT key, memory_id, action, field, old, new, at, reason FROM history "
        "WHERE bank = ? AND (memory_id, key) > (?, ?) ORDER BY memory_id, key LIMIT ?",
        (bank.no, *after, limit),
    )
    return [
        ((id, key), Change(id, action, field, old, new, moment(at), reason))
        for key, id, action, field, old, new, at, reason in rows
    ]
