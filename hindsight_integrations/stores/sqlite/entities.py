"""Names and mentions of entities, the counts that follow from them, and corrections by a user.

A normalised name belongs to one entity of a bank, as its canonical name (ordinal 0) or an alias.
Each entity's mention count, first and last mention, and how often two are mentioned together, are
kept in step with `mentions` in the same transaction.
"""

# ruff: noqa: D102 (the methods are described in `EntityWriter`)

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import permutations

from hindsight_integrations.models import Entity
from hindsight_integrations.stores.entities import EntityWriter
from hindsight_integrations.stores.names import grams_of
from hindsight_integrations.stores.sqlite.reading import name_owners
from hindsight_integrations.stores.sqlite.rows import (
    IN_KEYS,
    BankTransaction,
    key_list,
    text_in,
    time_or_null,
)


class SqliteEntities(EntityWriter[int]):
    """The entities of a bank in a transaction; see `EntityWriter`."""

    def __init__(self, tx: BankTransaction) -> None:
        super().__init__(tx.id)
        self._tx = tx

    def find(self, ids: Sequence[str]) -> dict[str, int]:
        return self._tx.entity_keys(ids)

    def new_keys(self, ids: Sequence[str]) -> Mapping[str, int]:
        return dict(zip(ids, self._tx.new_keys(len(ids)), strict=True))

    def insert(self, entities: Mapping[int, Entity]) -> None:
        self._tx.executemany(
            "INSERT INTO entities (key, bank, id, kind) VALUES (?, ?, ?, ?)",
            [(key, self._tx.no, entity.id, entity.kind) for key, entity in entities.items()],
        )

    def set_kinds(self, kinds: Mapping[int, str]) -> None:
        self._tx.executemany(
            "UPDATE entities SET kind = ? WHERE key = ?",
            [(kind, entity) for entity, kind in kinds.items()],
        )

    def owners(self, norms: Iterable[str]) -> Mapping[str, int]:
        return name_owners(self._tx, norms)

    def names(self, entity: int) -> dict[str, str]:
        read = ", ".join(map(text_in, ("norm", "name")))
        sql = f"SELECT {read} FROM names WHERE entity = ? ORDER BY ordinal"
        return dict(self._tx.execute(sql, (entity,)))

    def add_names(self, names: Mapping[int, Mapping[str, str]]) -> None:
        given = [(entity, *pair) for entity, group in names.items() for pair in group.items()]
        keys = self._tx.new_keys(len(given))
        self._tx.executemany(
            "INSERT INTO names (key, bank, norm, name, entity, ordinal) VALUES "
            "(?1, ?2, ?3, ?4, ?5, "
            "(SELECT ifnull(max(ordinal) + 1, 0) FROM names WHERE entity = ?5))",
            [
                (key, self._tx.no, norm, name, entity)
                for key, (entity, norm, name) in zip(keys, given, strict=True)
            ],
        )
        self._tx.executemany(
            "INSERT INTO grams (name, bank, gram) VALUES (?, ?, ?)",
            [
                (key, self._tx.no, gram)
                for key, (_, norm, _) in zip(keys, given, strict=True)
                for gram in grams_of(norm)
            ],
        )

    def remove_names(self, entities: Iterable[int]) -> None:
        chosen = (key_list(entities),)
        self._tx.execute(
            f"DELETE FROM grams WHERE name IN (SELECT key FROM names WHERE entity {IN_KEYS})",
            chosen,
        )
        self._tx.execute(f"DELETE FROM names WHERE entity {IN_KEYS}", chosen)

    def memories(self, ids: Iterable[str]) -> Collection[int]:
        return set(self._tx.memory_keys(ids).values())

    def mentions_beside(self, entity: int) -> dict[int, list[int]]:
        found: defaultdict[int, list[int]] = defaultdict(list)
        for unit, mentioned in self._tx.execute(
            "SELECT unit, entity FROM mentions "
            "WHERE unit IN (SELECT unit FROM mentions WHERE entity = ?) ORDER BY unit, ordinal",
            (entity,),
        ):
            found[unit].append(mentioned)
        return found

    def add_mentions(self, mentioned: Mapping[int, Sequence[int]]) -> None:
        self._tx.executemany(
            "INSERT INTO mentions (unit, ordinal, entity) VALUES (?, ?, ?)",
            [
                (unit, ordinal, entity)
                for unit, group in mentioned.items()
                for ordinal, entity in enumerate(group)
            ],
        )
        self._tx.executemany(
            "UPDATE entities SET mention_count = mention_count + ?1, "
            "first_seen = min(ifnull(first_seen, ?2), ?2), "
            "last_seen = max(ifnull(last_seen, ?3), ?3) WHERE key = ?4",
            [
                (len(times), min(times), max(times), entity)
                for entity, times in _seen(self._tx, mentioned).items()
            ],
        )
        self._tx.executemany(
            "INSERT INTO cooccurrence (entity, other, count) VALUES (?, ?, ?) "
            "ON CONFLICT (entity, other) DO UPDATE SET count = count + excluded.count",
            [(*pair, count) for pair, count in sorted(_pairs(mentioned.values()).items())],
        )

    def remove_mentions(self, memories: Iterable[int]) -> set[int]:
        chosen = (key_list(memories),)
        mentioned: defaultdict[int, list[int]] = defaultdict(list)
        for unit, entity in self._tx.execute(
            f"DELETE FROM mentions WHERE unit {IN_KEYS} RETURNING unit, entity", chosen
        ):
            mentioned[unit].append(entity)
        seen = _seen(self._tx, mentioned)
        self._tx.executemany(
            "UPDATE entities SET mention_count = mention_count - ? WHERE key = ?",
            [(len(times), entity) for entity, times in seen.items()],
        )
        pairs = _pairs(mentioned.values())
        self._tx.executemany(
            "UPDATE cooccurrence SET count = count - ? WHERE entity = ? AND other = ?",
            [(count, *pair) for pair, count in pairs.items()],
        )
        self._tx.executemany(
            "DELETE FROM cooccurrence WHERE entity = ? AND other = ? AND count <= 0", list(pairs)
        )
        extremes = self._tx.execute(
            f"SELECT key, {time_or_null('first_seen')}, {time_or_null('last_seen')} "
            f"FROM entities WHERE key {IN_KEYS}",
            (key_list(seen),),
        )
        # Of an entity that keeps its first and last mention, no more than the count changes.
        return {
            entity
            for entity, first, last in extremes
            if first is None
            or min(seen[entity]) <= first
            or last is None
            or max(seen[entity]) >= last
        }

    def mark_edited(self, entities: Iterable[int]) -> None:
        self._tx.executemany(
            "UPDATE entities SET edited = (SELECT count(*) > 1 FROM names WHERE entity = ?1) "
            "WHERE key = ?1",
            [(key,) for key in entities],
        )

    def recount(self, entities: Iterable[int]) -> None:
        # An entity with aliases that a user gave it stays even if nothing mentions it.
        chosen = (key_list(entities),)
        self._tx.execute(
            "UPDATE entities SET (first_seen, last_seen) = "
            "(SELECT min(m.mentioned_at), max(m.mentioned_at) FROM mentions x "
            "JOIN memories m ON m.key = x.unit WHERE x.entity = entities.key) "
            f"WHERE key {IN_KEYS}",
            chosen,
        )
        unmentioned = self._tx.execute(
            f"DELETE FROM entities WHERE mention_count <= 0 AND NOT edited AND key {IN_KEYS} "
            "RETURNING key",
            chosen,
        ).fetchall()
        self.remove_names([key for (key,) in unmentioned])


def _seen(tx: BankTransaction, mentioned: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return entity key to when each of the memories that mention it was said."""
    said = dict(
        tx.execute(
            f"SELECT key, ifnull({time_or_null('mentioned_at')}, 0) FROM memories "
            f"WHERE key {IN_KEYS}",
            (key_list(mentioned),),
        )
    )
    seen: defaultdict[int, list[int]] = defaultdict(list)
    for unit, group in mentioned.items():
        for entity in group:
            seen[entity].append(said[unit])
    return seen


def _pairs(groups: Iterable[Sequence[int]]) -> Counter[tuple[int, int]]:
    """Count pairs both ways round: what stands beside an entity is one range of the table."""
    return Counter(pair for group in groups for pair in permutations(group, 2))
