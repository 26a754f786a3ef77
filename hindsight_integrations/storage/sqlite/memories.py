"""Reading memories: by id, by filter, page by page."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence

from hindsight_integrations.model import Change, Memory, Page
from hindsight_integrations.storage import cursors
from hindsight_integrations.storage.requests import (
    Candidate,
    MemoryFilter,
    MemoryRecord,
)
from hindsight_integrations.storage.sqlite import lexemes, sources
from hindsight_integrations.storage.sqlite.codec import (
    CONTENT_COLUMNS,
    MEMORY_COLUMNS,
    memory_of,
    spans_of,
)
from hindsight_integrations.storage.sqlite.filters import condition, shortlist
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    Row,
    key_list,
    memory_keys,
    select_in,
)
from hindsight_integrations.storage.values import moment, vector_of

_FINGERPRINT = MEMORY_COLUMNS.split(", ").index("fingerprint")


def get_memories(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> dict[str, Memory]:
    """Those of the ids that exist, in the order asked for; one whose text was lost is left out."""
    keys = memory_keys(cursor, bank, ids)
    found = _memories(cursor, bank, _rows(cursor, keys.values()))
    return {id: found[key] for id, key in keys.items() if key in found}


def get_records(
    cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]
) -> dict[str, MemoryRecord]:
    """The same, with vectors and lexemes; one whose vector was lost is left out too."""
    keys = memory_keys(cursor, bank, ids)
    rows = _rows(cursor, keys.values())
    found = _memories(cursor, bank, rows)
    terms = lexemes.read(cursor, keys.values())
    mentioned = _mentioned(cursor, keys.values())
    vectors = {
        key: (vector, interaction)
        for key, vector, interaction in cursor.execute(
            "SELECT unit, vector, interaction FROM vectors "
            "WHERE unit IN (SELECT value FROM json_each(?))",
            (key_list(keys.values()),),
        )
    }
    return {
        id: MemoryRecord(
            memory=found[key],
            lexemes=terms.get(key, ()),
            vector=vector_of(vectors[key][0]),
            fingerprint=rows[key][_FINGERPRINT],
            interaction=vectors[key][1],
            entity_ids=tuple(entity_id for entity_id, _ in mentioned[key]),
        )
        for id, key in keys.items()
        if key in found and key in vectors
    }


_CANDIDATES = (
    "SELECT m.key, m.id, c.text, c.speaker, s.document_id, m.mentioned_at, m.occurred, "
    "(SELECT count(*) FROM sources WHERE unit = m.key AND supports), m.fingerprint, l.terms, "
    "v.vector, ifnull(v.interaction, x'') FROM json_each(?) asked "
    "CROSS JOIN memories m ON m.key = asked.value "
    "CROSS JOIN contents c ON c.unit = m.key "
    "CROSS JOIN vectors v ON v.unit = m.key "
    "LEFT JOIN lexemes l ON l.unit = m.key "
    "LEFT JOIN sources s ON s.unit = m.key AND s.ordinal = 0"
)


def candidates(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> list[Candidate]:
    """What ranking needs of the memories, in the order asked for; see `get_records`."""
    keys = memory_keys(cursor, bank, ids).values()
    mentioned = _mentioned(cursor, keys)
    return [
        Candidate(
            id,
            bank.id,
            text,
            speaker,
            document_id,
            moment(mentioned_at),
            spans_of(occurred),
            max(1, proofs),
            fingerprint,
            lexemes.lexemes_of(terms or ""),
            vector_of(vector),
            interaction,
            tuple(mentioned.get(key, ())),
        )
        for (
            key,
            id,
            text,
            speaker,
            document_id,
            mentioned_at,
            occurred,
            proofs,
            fingerprint,
            terms,
            vector,
            interaction,
        ) in cursor.execute(_CANDIDATES, (key_list(keys),))
    ]


def list_memories(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    filter: MemoryFilter,
    *,
    limit: int,
    page_cursor: str | None,
) -> Page[Memory]:
    """A page in storing order. Raises `InvalidInputError` on a cursor that is none of ours."""
    low, _ = bank.bounds
    after = low + cursors.memory_at(page_cursor)
    (total,) = cursor.execute(*_select("count(*)", bank, filter)).fetchone()
    sql, params = _select("m.key", bank, filter)
    size = max(limit, 0)
    keys = [
        key
        for (key,) in cursor.execute(
            f"{sql} AND m.key > ? ORDER BY m.key LIMIT ?", (*params, after, size + 1)
        )
    ]
    shown = keys[:size]
    found = _memories(cursor, bank, _rows(cursor, shown))
    more = shown and len(keys) > size
    items = [found[key] for key in shown if key in found]
    return Page(items, total, cursors.at_memory(shown[-1] - low) if more else None)


def admitted(
    cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str], filter: MemoryFilter
) -> set[str]:
    """Those of the ids that exist and pass the filter."""
    return set(keys_admitted(cursor, bank, ids, filter).values())


def keys_admitted(
    cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str], filter: MemoryFilter
) -> dict[int, str]:
    """The same, key to id, in no order."""
    test = condition(bank, filter)
    sql = f"SELECT m.key, m.id FROM memories m WHERE {test.text} AND m.bank = ? AND m.id IN (*)"
    return dict(select_in(cursor, sql, (*test.params, bank.no), ids))


def admitted_keys(
    cursor: sqlite3.Cursor, bank: BankRange, keys: Iterable[int], filter: MemoryFilter
) -> dict[int, str]:
    """Key to id, of those of the keys that exist and pass the filter."""
    test = condition(bank, filter)
    return dict(
        cursor.execute(
            "SELECT m.key, m.id FROM memories m "
            f"WHERE m.key IN (SELECT value FROM json_each(?)) AND {test.text}",
            (key_list(keys), *test.params),
        )
    )


def matching_keys(
    cursor: sqlite3.Cursor, bank: BankRange, filter: MemoryFilter, limit: int
) -> dict[int, str] | None:
    """Key to id, of all that pass the filter, in storing order; None if more than `limit`."""
    sql, params = _select("m.key, m.id", bank, filter)
    found = cursor.execute(f"{sql} ORDER BY m.key LIMIT ?", (*params, limit + 1)).fetchall()
    return None if len(found) > limit else dict(found)


def find_fingerprints(
    cursor: sqlite3.Cursor, bank: BankRange, fingerprints: Sequence[str]
) -> dict[str, list[str]]:
    """Fingerprint to the ids of the valid memories that have it, in storing order."""
    rows = select_in(
        cursor,
        "SELECT fingerprint, id, key FROM memories "
        "WHERE bank = ? AND invalidated_at IS NULL AND fingerprint IN (*)",
        (bank.no,),
        fingerprints,
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for fingerprint, id, _ in sorted(rows, key=lambda row: row[2]):
        found[fingerprint].append(id)
    return {fingerprint: found[fingerprint] for fingerprint in fingerprints if fingerprint in found}


def history(cursor: sqlite3.Cursor, bank: BankRange, memory_id: str) -> list[Change]:
    """What was changed of a memory, oldest first."""
    rows = cursor.execute(
        "SELECT memory_id, action, field, old, new, at, reason FROM history "
        "WHERE bank = ? AND memory_id = ? ORDER BY key",
        (bank.no, memory_id),
    )
    return [
        Change(memory_id, action, field, old, new, moment(at), reason)
        for memory_id, action, field, old, new, at, reason in rows
    ]


def mentions(
    cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Memory id to the ids of the entities it mentions, in the order of its text."""
    keys = memory_keys(cursor, bank, ids)
    mentioned = _mentioned(cursor, keys.values())
    return {id: tuple(entity for entity, _ in mentioned[key]) for id, key in keys.items()}


def _select(columns: str, bank: BankRange, filter: MemoryFilter) -> tuple[str, tuple[object, ...]]:
    test, narrow = condition(bank, filter), shortlist(bank, filter)
    if narrow is None:
        return (
            f"SELECT {columns} FROM memories m WHERE m.key BETWEEN ? AND ? AND {test.text}",
            (*bank.bounds, *test.params),
        )
    return (
        f"SELECT {columns} FROM memories m WHERE m.key IN ({narrow.text}) AND {test.text}",
        (*narrow.params, *test.params),
    )


def _rows(cursor: sqlite3.Cursor, keys: Iterable[int]) -> dict[int, Row]:
    sql = (
        f"SELECT key, {MEMORY_COLUMNS}, {CONTENT_COLUMNS} FROM memories "
        "JOIN contents ON unit = key WHERE key IN (SELECT value FROM json_each(?))"
    )
    return {row[0]: row[1:] for row in cursor.execute(sql, (key_list(keys),))}


def _memories(cursor: sqlite3.Cursor, bank: BankRange, rows: dict[int, Row]) -> dict[int, Memory]:
    stated = sources.read(cursor, rows)
    mentioned = _mentioned(cursor, rows)
    return {
        key: memory_of(
            row,
            bank_id=bank.id,
            sources=stated[key],
            entities=[name for _, name in mentioned[key]],
        )
        for key, row in rows.items()
    }


def _mentioned(
    cursor: sqlite3.Cursor, keys: Iterable[int]
) -> defaultdict[int, list[tuple[str, str]]]:
    """Memory key to the (id, canonical name) of each entity, in the order of the text."""
    # In order as they are read; to sort them here is cheaper than to have SQLite promise it.
    stated = sorted(
        cursor.execute(
            "SELECT m.unit, m.ordinal, m.entity FROM json_each(?) asked "
            "CROSS JOIN mentions m ON m.unit = asked.value",
            (key_list(keys),),
        )
    )
    # Memories recalled together share most of their entities: each is looked up once.
    entities = {
        key: (entity_id, name)
        for key, entity_id, name in cursor.execute(
            "SELECT e.key, e.id, ifnull(n.name, e.id) FROM entities e "
            "LEFT JOIN names n ON n.entity = e.key AND n.ordinal = 0 "
            "WHERE e.key IN (SELECT value FROM json_each(?))",
            (key_list({entity for _, _, entity in stated}),),
        )
    }
    found: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for key, _, entity in stated:
        if entity in entities:
            found[key].append(entities[entity])
    return found
