"""Documents, their chunks, and which memories stand next to each other in them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from itertools import chain, starmap

from hindsight_integrations.model import Chunk, Document
from hindsight_integrations.storage.requests import (
    Neighbour,
)
from hindsight_integrations.storage.sqlite import sources
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    key_list,
    memory_keys,
    new_keys,
    select_in,
)
from hindsight_integrations.storage.values import around, micros, moment


def fingerprints(
    cursor: sqlite3.Cursor, bank: BankRange, document_ids: Sequence[str]
) -> dict[str, str]:
    """Id to fingerprint, of the documents that exist."""
    sql = "SELECT id, fingerprint FROM documents WHERE bank = ? AND id IN (*)"
    return dict(select_in(cursor, sql, (bank.no,), document_ids))


def store_documents(cursor: sqlite3.Cursor, bank: BankRange, documents: Sequence[Document]) -> None:
    """Store documents, or overwrite those of the same id."""
    cursor.executemany(
        "INSERT INTO documents (key, bank, id, fingerprint, created_at, updated_at) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (bank, id) DO UPDATE SET "
        "fingerprint = excluded.fingerprint, created_at = excluded.created_at, "
        "updated_at = excluded.updated_at",
        [
            (
                key,
                bank.no,
                each.id,
                each.fingerprint,
                micros(each.created_at),
                micros(each.updated_at),
            )
            for key, each in zip(new_keys(cursor, bank, len(documents)), documents, strict=True)
        ],
    )


def store_chunks(cursor: sqlite3.Cursor, bank: BankRange, chunks: Sequence[Chunk]) -> None:
    """Store chunks, or overwrite those of the same id."""
    cursor.executemany(
        "INSERT INTO chunks (key, bank, id, document_id, position, fingerprint, text) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (bank, id) DO UPDATE SET "
        "document_id = excluded.document_id, position = excluded.position, "
        "fingerprint = excluded.fingerprint, text = excluded.text",
        [
            (key, bank.no, each.id, each.document_id, each.position, each.fingerprint, each.text)
            for key, each in zip(new_keys(cursor, bank, len(chunks)), chunks, strict=True)
        ],
    )


def remove_documents(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> list[int]:
    """Remove documents with their chunks and sources; returns the memories left unsupported."""
    supported = sources.remove_in(cursor, bank, "document_id", ids)
    for table, column in (("chunks", "document_id"), ("documents", "id")):
        cursor.executemany(
            f"DELETE FROM {table} WHERE bank = ? AND {column} = ?", [(bank.no, id) for id in ids]
        )
    return [key for key, still in supported.items() if not still]


def remove_chunks(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> list[int]:
    """Remove chunks and what they are sources of; returns the memories left unsupported."""
    supported = sources.remove_in(cursor, bank, "chunk_id", ids)
    cursor.executemany(
        "DELETE FROM chunks WHERE bank = ? AND id = ?", [(bank.no, id) for id in ids]
    )
    return [key for key, still in supported.items() if not still]


def get_document(cursor: sqlite3.Cursor, bank: BankRange, document_id: str) -> Document | None:
    """The document, or None."""
    row = cursor.execute(
        "SELECT id, fingerprint, created_at, updated_at, (SELECT count(*) FROM chunks c "
        "WHERE c.bank = d.bank AND c.document_id = d.id) "
        "FROM documents d WHERE bank = ? AND id = ?",
        (bank.no, document_id),
    ).fetchone()
    if row is None:
        return None
    return Document(row[0], bank.id, row[1], moment(row[2]), moment(row[3]), chunk_count=row[4])


def get_chunks(cursor: sqlite3.Cursor, bank: BankRange, document_id: str) -> list[Chunk]:
    """Its chunks, by position, then id."""
    rows = cursor.execute(
        "SELECT id, document_id, position, text, fingerprint FROM chunks "
        "WHERE bank = ? AND document_id = ? ORDER BY position, id",
        (bank.no, document_id),
    )
    return [Chunk(*row) for row in rows]


def chunks_by_id(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> dict[str, Chunk]:
    """Those of the chunks that exist, in the order asked for."""
    rows = select_in(
        cursor,
        "SELECT id, document_id, position, text, fingerprint FROM chunks "
        "WHERE bank = ? AND id IN (*)",
        (bank.no,),
        ids,
    )
    found = {row[0]: Chunk(*row) for row in rows}
    return {id: found[id] for id in ids if id in found}


def neighbours(
    cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str], distance: int
) -> list[Neighbour]:
    """Valid memories up to `distance` places away in the document of the first source.

    Only valid memories have a place. In the order asked for, then by place.
    """
    keys = memory_keys(cursor, bank, ids)
    params = (bank.no, max(distance, 0), bank.no, max(distance, 0), key_list(keys.values()))
    beside = {
        key: (json.loads(before), json.loads(after))
        for key, before, after in cursor.execute(_NEIGHBOURS, params)
    }
    placed = [(id, *beside[key]) for id, key in keys.items() if key in beside]
    return list(chain.from_iterable(starmap(around, placed)))


def _side(comparison: str, order: str) -> str:
    """A list of the ids of the valid memories on one side of `here`, nearest first."""
    return (
        "(SELECT json_group_array(id) FROM (SELECT m.id AS id FROM sources s "
        "CROSS JOIN memories m ON m.key = s.unit "
        "WHERE s.bank = ? AND s.document_id = here.document_id AND s.ordinal = 0 "
        f"AND (s.position, s.unit) {comparison} (here.position, here.unit) "
        f"AND m.invalidated_at IS NULL ORDER BY s.position {order}, s.unit {order} LIMIT ?))"
    )


# One statement for all memories: hundreds are asked for at once, and each trip into SQLite costs
# more than the look-up itself.
_NEIGHBOURS = (
    f"SELECT here.unit, {_side('<', 'DESC')}, {_side('>', 'ASC')} FROM json_each(?) asked "
    "CROSS JOIN sources here ON here.unit = asked.value AND here.ordinal = 0 "
    "CROSS JOIN memories m ON m.key = here.unit "
    "WHERE here.document_id IS NOT NULL AND m.invalidated_at IS NULL"
)
