"""Links between memories, in both directions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from hindsight_integrations.model import Link, LinkKind
from hindsight_integrations.storage.requests import (
    MemoryFilter,
)
from hindsight_integrations.storage.sqlite.filters import condition
from hindsight_integrations.storage.sqlite.keys import BankRange, key_list, memory_keys
from hindsight_integrations.storage.sqlite.memories import keys_admitted


def add(cursor: sqlite3.Cursor, bank: BankRange, links: Sequence[Link]) -> None:
    """Store links, or give them a new weight; those to memories that are gone are passed over."""
    ends = (end for link in links for end in (link.source_id, link.target_id))
    keys = memory_keys(cursor, bank, ends)
    cursor.executemany(
        "INSERT INTO links (source, kind, target, weight) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (source, kind, target) DO UPDATE SET weight = excluded.weight",
        [
            (keys[link.source_id], link.kind.value, keys[link.target_id], link.weight)
            for link in links
            if link.source_id in keys and link.target_id in keys
        ],
    )


def heaviest(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    memory_ids: Sequence[str],
    per_memory: int,
    filter: MemoryFilter,
) -> list[Link]:
    """Links from and to the memories, the heaviest `per_memory` of each; each link once.

    In the order of the memories asked for, then by weight, then by the other end's id.
    """
    test = condition(bank, filter)
    # One statement for all memories, see `documents.neighbours`.
    sql = (
        "SELECT asked.value, (SELECT json_group_array(json_array(id, kind, weight, outward)) FROM ("
        "SELECT m.id AS id, l.kind AS kind, l.weight AS weight, l.outward AS outward FROM ("
        "SELECT target AS other, kind, weight, TRUE AS outward FROM links "
        "WHERE source = asked.value "
        "UNION ALL SELECT source, kind, weight, FALSE FROM links WHERE target = asked.value) l "
        f"CROSS JOIN memories m ON m.key = l.other WHERE {test.text} "
        "ORDER BY l.weight DESC, m.id, l.kind, l.outward LIMIT ?)) FROM json_each(?) asked"
    )
    admitted = keys_admitted(cursor, bank, memory_ids, filter)
    place = {id: n for n, id in enumerate(memory_ids)}
    ids = dict(sorted(admitted.items(), key=lambda pair: place[pair[1]]))
    found: dict[Link, None] = {}
    params = (*test.params, max(per_memory, 0), key_list(ids))
    for key, linked in cursor.execute(sql, params):
        for other, kind, weight, outward in json.loads(linked):
            source, target = (ids[key], other) if outward else (other, ids[key])
            found[Link(source, target, LinkKind(kind), weight)] = None
    return list(found)
