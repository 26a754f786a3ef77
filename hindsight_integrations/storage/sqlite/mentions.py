"""Who is mentioned where, with the counts that follow from it.

Each entity's mention count and first and last mention, and how often two are mentioned together,
are kept in step with `mentions` in the same transaction.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

from hindsight_integrations.storage.requests import (
    MemoryFilter,
    Posting,
)
from hindsight_integrations.storage.sqlite import entities
from hindsight_integrations.storage.sqlite.filters import condition
from hindsight_integrations.storage.sqlite.keys import BankRange, entity_keys, key_list


def add(cursor: sqlite3.Cursor, mentioned: Mapping[int, Sequence[int]]) -> None:
    """Note the entities that memories mention: memory key to entity keys, each once."""
    cursor.executemany(
        "INSERT INTO mentions (unit, ordinal, entity) VALUES (?, ?, ?)",
        [
            (unit, ordinal, entity)
            for unit, group in mentioned.items()
            for ordinal, entity in enumerate(group)
        ],
    )
    moments = _moments(cursor, mentioned)
    cursor.executemany(
        "UPDATE entities SET mention_count = mention_count + ?1, "
        "first_seen = min(ifnull(first_seen, ?2), ?2), last_seen = max(ifnull(last_seen, ?3), ?3) "
        "WHERE key = ?4",
        [
            (len(times), min(times), max(times), entity)
            for entity, times in _seen(mentioned, moments).items()
        ],
    )
    cursor.executemany(
        "INSERT INTO cooccurrence (entity, other, count) VALUES (?, ?, ?) "
        "ON CONFLICT (entity, other) DO UPDATE SET count = count + excluded.count",
        [(*pair, count) for pair, count in sorted(_pairs(mentioned.values()).items())],
    )


def remove(cursor: sqlite3.Cursor, keys: Iterable[int]) -> set[int]:
    """Forget what memories mention; the memories themselves still have to be there.

    Returns:
        The entities that lost their first or last mention, perhaps their only one: `settle` them
        before the transaction ends.
    """
    chosen = key_list(keys)
    mentioned: defaultdict[int, list[int]] = defaultdict(list)
    for unit, entity in cursor.execute(
        "SELECT unit, entity FROM mentions WHERE unit IN (SELECT value FROM json_each(?))",
        (chosen,),
    ):
        mentioned[unit].append(entity)
    seen = _seen(mentioned, _moments(cursor, mentioned))
    cursor.execute("DELETE FROM mentions WHERE unit IN (SELECT value FROM json_each(?))", (chosen,))
    cursor.executemany(
        "UPDATE entities SET mention_count = mention_count - ? WHERE key = ?",
        [(len(times), entity) for entity, times in seen.items()],
    )
    pairs = _pairs(mentioned.values())
    cursor.executemany(
        "UPDATE cooccurrence SET count = count - ? WHERE entity = ? AND other = ?",
        [(count, *pair) for pair, count in pairs.items()],
    )
    cursor.executemany(
        "DELETE FROM cooccurrence WHERE entity = ? AND other = ? AND count <= 0", list(pairs)
    )
    extremes = cursor.execute(
        "SELECT key, first_seen, last_seen FROM entities "
        "WHERE key IN (SELECT value FROM json_each(?))",
        (key_list(seen),),
    )
    return {
        entity
        for entity, first, last in extremes
        if min(seen[entity]) <= first or max(seen[entity]) >= last
    }


def settle(cursor: sqlite3.Cursor, touched: Iterable[int]) -> None:
    """Find the first and last mention of entities anew, and drop those no longer mentioned.

    An entity with aliases that a user gave it stays even if nothing mentions it.
    """
    chosen = (key_list(touched),)
    cursor.execute(
        "UPDATE entities SET (first_seen, last_seen) = "
        "(SELECT min(m.mentioned_at), max(m.mentioned_at) FROM mentions x "
        "JOIN memories m ON m.key = x.unit WHERE x.entity = entities.key) "
        "WHERE key IN (SELECT value FROM json_each(?))",
        chosen,
    )
    unmentioned = [
        key
        for (key,) in cursor.execute(
            "DELETE FROM entities WHERE mention_count <= 0 AND NOT edited "
            "AND key IN (SELECT value FROM json_each(?)) RETURNING key",
            chosen,
        )
    ]
    entities.remove_names(cursor, unmentioned)


def cooccurring(
    cursor: sqlite3.Cursor, bank: BankRange, entity_ids: Sequence[str]
) -> dict[str, dict[str, int]]:
    """For each entity that exists, the others mentioned beside it, most often first."""
    return {
        id: dict(
            cursor.execute(
                "SELECT e.id, c.count FROM cooccurrence c JOIN entities e ON e.key = c.other "
                "WHERE c.entity = ? ORDER BY c.count DESC, e.id",
                (key,),
            )
        )
        for id, key in entity_keys(cursor, bank, entity_ids).items()
    }


def postings(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    entity_ids: Sequence[str],
    per_entity: int,
    filter: MemoryFilter,
) -> list[Posting]:
    """Memories that mention the entities, the latest stored `per_entity` of each first."""
    test = condition(bank, filter)
    sql = (
        "SELECT e.id, m.id, e.mention_count FROM entities e "
        "CROSS JOIN mentions x ON x.entity = e.key CROSS JOIN memories m ON m.key = x.unit "
        f"WHERE e.key = ? AND {test.text} ORDER BY x.unit DESC LIMIT ?"
    )
    return [
        Posting(*row)
        for key in entity_keys(cursor, bank, entity_ids).values()
        for row in cursor.execute(sql, (key, *test.params, max(per_entity, 0)))
    ]


def _moments(cursor: sqlite3.Cursor, keys: Iterable[int]) -> dict[int, int]:
    return dict(
        cursor.execute(
            "SELECT key, mentioned_at FROM memories WHERE key IN (SELECT value FROM json_each(?))",
            (key_list(keys),),
        )
    )


def _seen(
    mentioned: Mapping[int, Sequence[int]], moments: Mapping[int, int]
) -> dict[int, list[int]]:
    seen: defaultdict[int, list[int]] = defaultdict(list)
    for unit, group in mentioned.items():
        for entity in group:
            seen[entity].append(moments[unit])
    return seen


def _pairs(groups: Iterable[Sequence[int]]) -> Counter[tuple[int, int]]:
    """Both ways round: what stands beside an entity is then one range of the table."""
    return Counter(pair for group in groups for pair in permutations(group, 2))
