"""Which conclusions rest on a memory, and which memories wait to be reflected on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from hindsight_integrations.storage.sqlite import sources
from hindsight_integrations.storage.sqlite.keys import BankRange, key_list, memory_keys


def unreflected(cursor: sqlite3.Cursor, bank: BankRange, limit: int) -> list[str]:
    """Ids of the memories that wait, in storing order."""
    rows = cursor.execute(
        "SELECT m.id FROM waiting w CROSS JOIN memories m ON m.key = w.unit "
        "WHERE w.unit BETWEEN ? AND ? ORDER BY w.unit LIMIT ?",
        (*bank.bounds, max(limit, 0)),
    )
    return [id for (id,) in rows]


def resting_on(
    cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Id of each memory that exists to the ids of the conclusions that rest on it."""
    keys = memory_keys(cursor, bank, ids)
    pairs = sources.resting_on(cursor, keys.values())
    names = {key: id for id, key in ids_of(cursor, (unit for _, unit in pairs)).items()}
    found: dict[int, list[str]] = {key: [] for key in keys.values()}
    for key, unit in pairs:
        if unit in names:
            found[key].append(names[unit])
    return {id: tuple(found[key]) for id, key in keys.items()}


def ids_of(cursor: sqlite3.Cursor, keys: Iterable[int]) -> dict[str, int]:
    """Id to key, of the memories that exist, in storing order."""
    return dict(
        cursor.execute(
            "SELECT id, key FROM memories WHERE key IN (SELECT value FROM json_each(?)) "
            "ORDER BY key",
            (key_list(keys),),
        )
    )


def wait(cursor: sqlite3.Cursor, keys: Iterable[int]) -> None:
    """Let those of the memories wait that are valid."""
    cursor.execute(
        "INSERT OR IGNORE INTO waiting (unit) SELECT key FROM memories "
        "WHERE key IN (SELECT value FROM json_each(?)) AND invalidated_at IS NULL",
        (key_list(keys),),
    )


def wait_anew(cursor: sqlite3.Cursor, replaced: Iterable[int]) -> None:
    """Let replaced memories wait, and the conclusions that rest on them."""
    keys = list(replaced)
    settle(cursor, keys)  # one that is now held to be wrong waits no longer
    wait(cursor, (*keys, *(unit for _, unit in sources.resting_on(cursor, keys))))


def settle(cursor: sqlite3.Cursor, keys: Iterable[int]) -> None:
    """These memories wait no longer."""
    cursor.execute(
        "DELETE FROM waiting WHERE unit IN (SELECT value FROM json_each(?))", (key_list(keys),)
    )
