"""What memories rest on: places in documents where they were stated, or other memories."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hindsight_integrations.model import Source
from hindsight_integrations.storage.sqlite.codec import SOURCE_COLUMNS, source_of, source_row
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    SqlValue,
    key_list,
    memory_keys,
)


def add(
    cursor: sqlite3.Cursor, bank: BankRange, sources: Mapping[int, Sequence[Source]]
) -> list[int]:
    """Append sources to memories; one that a memory has already is not stored again.

    One that names a memory which is not there is passed over.

    Returns:
        The memories that were to rest on others, and have no source that supports them.
    """
    named = {each.memory_id for given in sources.values() for each in given if each.memory_id}
    keys = memory_keys(cursor, bank, sorted(named))
    had: dict[int, list[tuple[SqlValue, ...]]] = {key: [] for key in sources}
    for key, *row in cursor.execute(
        f"SELECT unit, {SOURCE_COLUMNS} FROM sources "
        "WHERE unit IN (SELECT value FROM json_each(?)) ORDER BY unit, ordinal",
        (key_list(sources),),
    ):
        had[key].append(tuple(row))
    added, unsupported = [], []
    for key, given in sources.items():
        live = [
            source_row(each, keys.get(each.memory_id or ""))
            for each in given
            if each.memory_id is None or each.memory_id in keys
        ]
        fresh = [row for row in dict.fromkeys(live) if row not in had[key]]
        added += [(key, n, bank.no, *row) for n, row in enumerate(fresh, start=len(had[key]))]
        rests = any(each.memory_id is not None for each in given)
        if rests and not any(row[-1] for row in (*had[key], *fresh)):
            unsupported.append(key)
    cursor.executemany(
        f"INSERT INTO sources (unit, ordinal, bank, {SOURCE_COLUMNS}) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        added,
    )
    return unsupported


def read(cursor: sqlite3.Cursor, keys: Iterable[int]) -> defaultdict[int, list[Source]]:
    """Memory key to its sources, in order."""
    found: defaultdict[int, list[Source]] = defaultdict(list)
    for row in cursor.execute(
        "SELECT s.unit, s.document_id, s.chunk_id, s.position, s.mentioned_at, s.reference, "
        "m.id, s.quote, s.supports FROM sources s LEFT JOIN memories m ON m.key = s.evidence "
        "WHERE s.unit IN (SELECT value FROM json_each(?)) ORDER BY s.unit, s.ordinal",
        (key_list(keys),),
    ):
        found[row[0]].append(source_of(row[1:]))
    return found


def resting_on(cursor: sqlite3.Cursor, keys: Iterable[int]) -> list[tuple[int, int]]:
    """(Memory, conclusion that rests on it), both as keys, in storing order."""
    return cursor.execute(
        "SELECT DISTINCT evidence, unit FROM sources "
        "WHERE evidence IN (SELECT value FROM json_each(?)) ORDER BY evidence, unit",
        (key_list(keys),),
    ).fetchall()


def remove_in(
    cursor: sqlite3.Cursor, bank: BankRange, column: str, ids: Iterable[str]
) -> dict[int, bool]:
    """Remove sources in documents or chunks; memory key to whether any that supports it is left."""
    touched: set[int] = set()
    for id in ids:
        touched.update(
            unit
            for (unit,) in cursor.execute(
                f"DELETE FROM sources WHERE bank = ? AND {column} = ? RETURNING unit",
                (bank.no, id),
            )
        )
    return _close_up(cursor, touched)


def remove_evidence(cursor: sqlite3.Cursor, keys: Iterable[int]) -> dict[int, bool]:
    """Remove the sources that name these memories; returns what `remove_in` does."""
    rows = cursor.execute(
        "DELETE FROM sources WHERE evidence IN (SELECT value FROM json_each(?)) RETURNING unit",
        (key_list(keys),),
    )
    return _close_up(cursor, {unit for (unit,) in rows})


def _close_up(cursor: sqlite3.Cursor, touched: set[int]) -> dict[int, bool]:
    """Number what is left anew: the first source is the one numbered 0."""
    left: dict[int, list[int]] = {key: [] for key in sorted(touched)}
    supported = dict.fromkeys(left, False)
    for key, ordinal, supports in cursor.execute(
        "SELECT unit, ordinal, supports FROM sources "
        "WHERE unit IN (SELECT value FROM json_each(?)) ORDER BY unit, ordinal",
        (key_list(left),),
    ):
        left[key].append(ordinal)
        supported[key] |= bool(supports)
    cursor.executemany(
        "UPDATE sources SET ordinal = ? WHERE unit = ? AND ordinal = ?",
        [
            (new, key, old)
            for key, ordinals in left.items()
            for new, old in enumerate(ordinals)
            if new != old
        ],
    )
    return supported
