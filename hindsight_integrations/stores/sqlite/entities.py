"""Names and mentions of entities, the counts that follow from them, and corrections by a user.

A normalised name belongs to one entity of a bank, as its canonical name (ordinal 0) or an alias.
Each entity's mention count, first and last mention, and how often two are mentioned together, are
kept in step with `mentions` in the same transaction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

from hindsight_integrations.models import Entity
from hindsight_integrations.stores.base import (
    ChangeSet,
    EntityEdit,
    EntityMerge,
    EntityNames,
    EntitySplit,
)
from hindsight_integrations.stores.common import (
    check_entity_id_free,
    check_mergeable,
    check_names_free,
    entities_used,
    grams_of,
    no_entity,
    plan_entities,
    replace_mention,
    spellings,
    split_names,
)
from hindsight_integrations.stores.sqlite.reading import name_owners
from hindsight_integrations.stores.sqlite.rows import (
    IN_KEYS,
    BankTransaction,
    key_list,
)


def resolve(tx: BankTransaction, changes: ChangeSet) -> dict[str, int]:
    """Store the entities of a change set; return the keys of all that it uses, by id.

    Raises:
        EntityNotFoundError: it uses an entity that is neither its own nor the bank's.
    """
    used = entities_used(changes)
    known = tx.entity_keys([*(entity.id for entity in changes.entities), *used])
    names = [name for entity in changes.entities for name in (entity.name, *entity.aliases)]
    owners = name_owners(tx, spellings(names))
    keys = iter(tx.new_keys(len({e.id for e in changes.entities} - known.keys())))
    plan = plan_entities(changes, known, owners, lambda _: next(keys))
    _insert(tx, plan.new)
    _add_names(tx, plan.names)
    return plan.keys


def set_names(tx: BankTransaction, entity: int, names: Mapping[str, str]) -> None:
    """Give an entity these names, by normalised name, and no others. Raises `ConflictError`."""
    _remove_names(tx, (entity,))
    check_names_free(names, name_owners(tx, names))
    _add_names(tx, {entity: names})


def _insert(tx: BankTransaction, entities: Iterable[tuple[int, Entity]]) -> None:
    tx.executemany(
        "INSERT INTO entities (key, bank, id, kind) VALUES (?, ?, ?, ?)",
        [(key, tx.no, entity.id, entity.kind) for key, entity in entities],
    )


def _add_names(tx: BankTransaction, names: Mapping[int, Mapping[str, str]]) -> None:
    """Give entities more names: normalised name to spelling. A first one becomes canonical."""
    given = [(entity, *pair) for entity, group in names.items() for pair in group.items()]
    keys = tx.new_keys(len(given))
    tx.executemany(
        "INSERT INTO names (key, bank, norm, name, entity, ordinal) VALUES (?1, ?2, ?3, ?4, ?5, "
        "(SELECT ifnull(max(ordinal) + 1, 0) FROM names WHERE entity = ?5))",
        [
            (key, tx.no, norm, name, entity)
            for key, (entity, norm, name) in zip(keys, given, strict=True)
        ],
    )
    tx.executemany(
        "INSERT INTO grams (name, bank, gram) VALUES (?, ?, ?)",
        [
            (key, tx.no, gram)
            for key, (_, norm, _) in zip(keys, given, strict=True)
            for gram in grams_of(norm)
        ],
    )


def _remove_names(tx: BankTransaction, entities: Iterable[int]) -> None:
    chosen = (key_list(entities),)
    tx.execute(
        f"DELETE FROM grams WHERE name IN (SELECT key FROM names WHERE entity {IN_KEYS})", chosen
    )
    tx.execute(f"DELETE FROM names WHERE entity {IN_KEYS}", chosen)


# Mentions


def add_mentions(tx: BankTransaction, mentioned: Mapping[int, Sequence[int]]) -> None:
    """Store the entities that memories mention: memory key to entity keys, each once."""
    tx.executemany(
        "INSERT INTO mentions (unit, ordinal, entity) VALUES (?, ?, ?)",
        [
            (unit, ordinal, entity)
            for unit, group in mentioned.items()
            for ordinal, entity in enumerate(group)
        ],
    )
    tx.executemany(
        "UPDATE entities SET mention_count = mention_count + ?1, "
        "first_seen = min(ifnull(first_seen, ?2), ?2), last_seen = max(ifnull(last_seen, ?3), ?3) "
        "WHERE key = ?4",
        [
            (len(times), min(times), max(times), entity)
            for entity, times in _seen(tx, mentioned).items()
        ],
    )
    tx.executemany(
        "INSERT INTO cooccurrence (entity, other, count) VALUES (?, ?, ?) "
        "ON CONFLICT (entity, other) DO UPDATE SET count = count + excluded.count",
        [(*pair, count) for pair, count in sorted(_pairs(mentioned.values()).items())],
    )


def remove_mentions(tx: BankTransaction, units: Iterable[int]) -> set[int]:
    """Delete the mentions of memories, which themselves still have to exist.

    Returns:
        The entities that lost their first or last mention, perhaps their only one: `recount` them
        before the transaction ends.
    """
    chosen = (key_list(units),)
    mentioned: defaultdict[int, list[int]] = defaultdict(list)
    for unit, entity in tx.execute(
        f"DELETE FROM mentions WHERE unit {IN_KEYS} RETURNING unit, entity", chosen
    ):
        mentioned[unit].append(entity)
    seen = _seen(tx, mentioned)
    tx.executemany(
        "UPDATE entities SET mention_count = mention_count - ? WHERE key = ?",
        [(len(times), entity) for entity, times in seen.items()],
    )
    pairs = _pairs(mentioned.values())
    tx.executemany(
        "UPDATE cooccurrence SET count = count - ? WHERE entity = ? AND other = ?",
        [(count, *pair) for pair, count in pairs.items()],
    )
    tx.executemany(
        "DELETE FROM cooccurrence WHERE entity = ? AND other = ? AND count <= 0", list(pairs)
    )
    extremes = tx.execute(
        f"SELECT key, first_seen, last_seen FROM entities WHERE key {IN_KEYS}", (key_list(seen),)
    )
    return {
        entity
        for entity, first, last in extremes
        if min(seen[entity]) <= first or max(seen[entity]) >= last
    }


def recount(tx: BankTransaction, entities: Iterable[int]) -> None:
    """Find the first and last mention of entities again, and drop those no longer mentioned.

    An entity with aliases that a user gave it stays even if nothing mentions it.
    """
    chosen = (key_list(entities),)
    tx.execute(
        "UPDATE entities SET (first_seen, last_seen) = "
        "(SELECT min(m.mentioned_at), max(m.mentioned_at) FROM mentions x "
        "JOIN memories m ON m.key = x.unit WHERE x.entity = entities.key) "
        f"WHERE key {IN_KEYS}",
        chosen,
    )
    unmentioned = tx.execute(
        f"DELETE FROM entities WHERE mention_count <= 0 AND NOT edited AND key {IN_KEYS} "
        "RETURNING key",
        chosen,
    ).fetchall()
    _remove_names(tx, [key for (key,) in unmentioned])


def _seen(tx: BankTransaction, mentioned: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Return entity key to when each of the memories that mention it was said."""
    said = dict(
        tx.execute(
            f"SELECT key, mentioned_at FROM memories WHERE key {IN_KEYS}", (key_list(mentioned),)
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


# Corrections


def edit(tx: BankTransaction, change: EntityEdit) -> None:
    """Merge, split or rename; an entity that gets aliases by it is kept from then on.

    Raises:
        EntityNotFoundError: an entity it names does not exist.
        ConflictError: a name, or the id of a new entity, is another entity's.
        InvalidInputError: an entity is to be merged with itself.
    """
    match change:
        case EntityMerge():
            edited = affected = _merge(tx, change)
        case EntitySplit():
            edited, affected = _split(tx, change)
        case EntityNames(entity_id, name, aliases):
            key = _key(tx, entity_id)
            set_names(tx, key, spellings((name, *aliases)))
            edited, affected = {key}, set()
    tx.executemany(
        "UPDATE entities SET edited = (SELECT count(*) > 1 FROM names WHERE entity = ?1) "
        "WHERE key = ?1",
        [(key,) for key in edited],
    )
    recount(tx, affected)


def _merge(tx: BankTransaction, change: EntityMerge) -> set[int]:
    source = _key(tx, change.source_id)
    target = _key(tx, change.target_id)
    check_mergeable(change.source_id, change.target_id)
    names = _names(tx, target) | _names(tx, source)
    moved = _mentions_beside(tx, source)
    remove_mentions(tx, moved)
    add_mentions(tx, replace_mention(moved, source, target))
    set_names(tx, source, {})
    set_names(tx, target, names)
    return {source, target}


def _split(tx: BankTransaction, change: EntitySplit) -> tuple[set[int], set[int]]:
    old = _key(tx, change.entity_id)
    check_entity_id_free(change.entity.id, tx.entity_keys([change.entity.id]))
    left, taken = split_names(_names(tx, old), change)
    (new,) = tx.new_keys(1)
    _insert(tx, [(new, change.entity)])
    set_names(tx, old, left)
    set_names(tx, new, taken)
    chosen = set(tx.memory_keys(change.memory_ids).values())
    moved = {u: group for u, group in _mentions_beside(tx, old).items() if u in chosen}
    affected = remove_mentions(tx, moved)
    add_mentions(tx, replace_mention(moved, old, new))
    return {old, new}, affected


def _key(tx: BankTransaction, entity_id: str) -> int:
    keys = tx.entity_keys([entity_id])
    if entity_id not in keys:
        raise no_entity(tx.id, entity_id)
    return keys[entity_id]


def _names(tx: BankTransaction, entity: int) -> dict[str, str]:
    return dict(
        tx.execute("SELECT norm, name FROM names WHERE entity = ? ORDER BY ordinal", (entity,))
    )


def _mentions_beside(tx: BankTransaction, entity: int) -> dict[int, list[int]]:
    """Return each memory that mentions the entity with all it mentions, in order."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for unit, mentioned in tx.execute(
        "SELECT unit, entity FROM mentions "
        "WHERE unit IN (SELECT unit FROM mentions WHERE entity = ?) ORDER BY unit, ordinal",
        (entity,),
    ):
        found[unit].append(mentioned)
    return found
