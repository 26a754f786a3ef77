"""Links between memories, in both directions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from hindsight_integrations.model import Link, LinkKind
from hindsight_integrations.storage.ports import MemoryFilter
from hindsight_integrations.storage.sqlite.filters import condition
from hindsight_integrations.storage.sqlite.keys import BankRange, memory_keys
from hindsight_integrations.storage.sqlite.memories import admitted


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
    sql = (
        "SELECT m.id, l.kind, l.weight, l.outward FROM ("
        "SELECT target AS other, kind, weight, TRUE AS outward FROM links WHERE source = ? "
        "UNION ALL SELECT source, kind, weight, FALSE FROM links WHERE target = ?) l "
        f"CROSS JOIN memories m ON m.key = l.other WHERE {test.text} "
        "ORDER BY l.weight DESC, m.id, l.kind, l.outward LIMIT ?"
    )
    seeds = memory_keys(cursor, bank, memory_ids)
    allowed = admitted(cursor, bank, memory_ids, filter)
    found: dict[Link, None] = {}
    for id, key in seeds.items():
        if id in allowed:
            params = (key, key, *test.params, max(per_memory, 0))
            for other, kind, weight, outward in cursor.execute(sql, params):
                source, target = (id, other) if outward else (other, id)
                found[Link(source, target, LinkKind(kind), weight)] = None
    return list(found)
