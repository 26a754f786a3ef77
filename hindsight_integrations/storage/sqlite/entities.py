"""Entities and their names: who has a name, who has one like it, and making new ones.

A normalised name belongs to one entity of a bank, as its canonical name (ordinal 0) or an alias.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hindsight_integrations.model import Entity, Page
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.storage import cursors
from hindsight_integrations.storage.conditions import check_entities
from hindsight_integrations.storage.likeness import (
    RAREST_TRIGRAMS,
    by_norm,
    grams_of,
    likeness,
    trigrams,
)
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    entity_keys,
    key_list,
    new_keys,
    select_in,
)
from hindsight_integrations.storage.values import moment_or_none

_COMMON = 500
"""Names read per trigram or word: one that more names share tells little."""


def resolve(
    cursor: sqlite3.Cursor, bank: BankRange, entities: Sequence[Entity], used: Iterable[str]
) -> dict[str, int]:
    """Entity id to key, of a change set's entities and of those it uses.

    An entity whose id, name or alias the bank has is that one, and gains the names it lacks;
    the others are stored.

    Raises:
        EntityNotFoundError: it uses an entity that is neither its own nor the bank's.
    """
    used = set(used)
    found = entity_keys(cursor, bank, [*(entity.id for entity in entities), *used])
    spellings = [by_norm((entity.name, *entity.aliases)) for entity in entities]
    owners = owners_of(cursor, bank, [norm for names in spellings for norm in names])
    for entity, names in zip(entities, spellings, strict=True):
        owner = next((owners[norm] for norm in names if norm in owners), None)
        if entity.id not in found:
            found[entity.id] = insert(cursor, bank, entity) if owner is None else owner
        fresh = {norm: name for norm, name in names.items() if norm not in owners}
        add_names(cursor, bank, found[entity.id], fresh)
        owners |= dict.fromkeys(fresh, found[entity.id])
    check_entities(bank.id, used, found)
    return found


def owners_of(cursor: sqlite3.Cursor, bank: BankRange, norms: Iterable[str]) -> dict[str, int]:
    """Normalised name to the key of the entity that has it."""
    sql = "SELECT norm, entity FROM names WHERE bank = ? AND norm IN (*)"
    return dict(select_in(cursor, sql, (bank.no,), norms))


def insert(cursor: sqlite3.Cursor, bank: BankRange, entity: Entity) -> int:
    """Store an entity, as yet without a name; returns its key."""
    (key,) = new_keys(cursor, bank, 1)
    cursor.execute(
        "INSERT INTO entities (key, bank, id, kind) VALUES (?, ?, ?, ?)",
        (key, bank.no, entity.id, entity.kind),
    )
    return key


def add_names(
    cursor: sqlite3.Cursor, bank: BankRange, entity: int, names: Mapping[str, str]
) -> None:
    """Give an entity more names: normalised name to spelling. Its first becomes canonical."""
    keys = new_keys(cursor, bank, len(names))
    cursor.executemany(
        "INSERT INTO names (key, bank, norm, name, entity, ordinal) VALUES (?1, ?2, ?3, ?4, ?5, "
        "(SELECT ifnull(max(ordinal) + 1, 0) FROM names WHERE entity = ?5))",
        [
            (key, bank.no, norm, name, entity)
            for key, (norm, name) in zip(keys, names.items(), strict=True)
        ],
    )
    cursor.executemany(
        "INSERT INTO grams (name, bank, gram) VALUES (?, ?, ?)",
        [
            (key, bank.no, gram)
            for key, norm in zip(keys, names, strict=True)
            for gram in sorted(grams_of(norm))
        ],
    )


def remove_names(cursor: sqlite3.Cursor, keys: Iterable[int]) -> None:
    """Take all their names from entities."""
    chosen = (key_list(keys),)
    cursor.execute(
        "DELETE FROM grams WHERE name IN (SELECT key FROM names "
        "WHERE entity IN (SELECT value FROM json_each(?)))",
        chosen,
    )
    cursor.execute("DELETE FROM names WHERE entity IN (SELECT value FROM json_each(?))", chosen)


def lookup(cursor: sqlite3.Cursor, bank: BankRange, names: Sequence[str]) -> dict[str, Entity]:
    """Normalised name to the entity that has it as name or alias, in the order asked for."""
    norms = list(by_norm(names))
    owners = owners_of(cursor, bank, norms)
    found = read(cursor, bank, owners.values())
    return {norm: found[owners[norm]] for norm in norms if norm in owners}


def get_entities(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> dict[str, Entity]:
    """Those of the entities that exist, in the order asked for."""
    keys = entity_keys(cursor, bank, ids)
    found = read(cursor, bank, keys.values())
    return {id: found[key] for id, key in keys.items()}


def similar(cursor: sqlite3.Cursor, bank: BankRange, name: str, limit: int) -> list[Entity]:
    """Entities whose names share a rare trigram or a word with `name`, likeliest first."""
    norm = entity_norm(name)
    sharing = {gram: _names_with(cursor, bank, gram) for gram in sorted(grams_of(norm))}
    runs = trigrams(norm)
    found = [gram for gram in sharing if sharing[gram] and gram in runs]
    rarest = heapq.nsmallest(RAREST_TRIGRAMS, found, key=lambda gram: len(sharing[gram]))
    chosen = [*rarest, *(gram for gram in sharing if gram not in runs)]
    best: defaultdict[tuple[str, int], float] = defaultdict(float)
    for id, key, other in cursor.execute(
        "SELECT e.id, e.key, n.norm FROM names n JOIN entities e ON e.key = n.entity "
        "WHERE n.key IN (SELECT value FROM json_each(?))",
        (key_list(set().union(*(sharing[gram] for gram in chosen))),),
    ):
        best[id, key] = max(best[id, key], likeness(norm, other))
    ranked = heapq.nsmallest(max(limit, 0), best, key=lambda each: (-best[each], each))
    entities = read(cursor, bank, [key for _, key in ranked])
    return [entities[key] for _, key in ranked]


def list_entities(
    cursor: sqlite3.Cursor, bank: BankRange, *, limit: int, page_cursor: str | None
) -> Page[Entity]:
    """A page, most mentioned first, ties by id.

    Raises `InvalidInputError` on a cursor that is none of ours.
    """
    count, id = cursors.entity_at(page_cursor)
    low, high = bank.bounds
    (total,) = cursor.execute(
        "SELECT count(*) FROM entities WHERE key BETWEEN ? AND ?", (low, high)
    ).fetchone()
    size = max(limit, 0)
    rows = cursor.execute(
        "SELECT key, mention_count, id FROM entities WHERE key BETWEEN ?1 AND ?2 "
        "AND (?3 IS NULL OR mention_count < ?3 OR (mention_count = ?3 AND id > ?4)) "
        "ORDER BY mention_count DESC, id LIMIT ?5",
        (low, high, count, id, size + 1),
    ).fetchall()
    shown = rows[:size]
    found = read(cursor, bank, [key for key, *_ in shown])
    more = shown and len(rows) > size
    return Page(
        [found[key] for key, *_ in shown],
        total,
        cursors.at_entity(*shown[-1][1:]) if more else None,
    )


def read(cursor: sqlite3.Cursor, bank: BankRange, keys: Iterable[int]) -> dict[int, Entity]:
    """Entities of these keys."""
    chosen = (key_list(keys),)
    names: defaultdict[int, list[str]] = defaultdict(list)
    for entity, name in cursor.execute(
        "SELECT entity, name FROM names WHERE entity IN (SELECT value FROM json_each(?)) "
        "ORDER BY entity, ordinal",
        chosen,
    ):
        names[entity].append(name)
    return {
        key: Entity(
            id=id,
            bank_id=bank.id,
            name=names[key][0] if names[key] else id,
            kind=kind,
            aliases=tuple(names[key][1:]),
            mention_count=count,
            first_seen=moment_or_none(first),
            last_seen=moment_or_none(last),
        )
        for key, id, kind, count, first, last in cursor.execute(
            "SELECT key, id, kind, mention_count, first_seen, last_seen FROM entities "
            "WHERE key IN (SELECT value FROM json_each(?))",
            chosen,
        )
    }


def _names_with(cursor: sqlite3.Cursor, bank: BankRange, gram: str) -> list[int]:
    rows = cursor.execute(
        "SELECT name FROM grams WHERE bank = ? AND gram = ? LIMIT ?", (bank.no, gram, _COMMON)
    )
    return [name for (name,) in rows]
