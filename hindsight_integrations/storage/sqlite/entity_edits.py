"""What a user puts right about entities: two that are one, one that is two, a wrong name."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping

from hindsight_integrations.errors import ConflictError, EntityNotFoundError, InvalidInputError
from hindsight_integrations.storage.conditions import check_free
from hindsight_integrations.storage.likeness import by_norm
from hindsight_integrations.storage.requests import (
    EntityEdit,
    EntityMerge,
    EntitySplit,
)
from hindsight_integrations.storage.sqlite import banks, entities, mentions
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    entity_keys,
    memory_keys,
)


def edit(cursor: sqlite3.Cursor, bank: BankRange, change: EntityEdit) -> None:
    """Merge, split or rename, as a user asks; what gets aliases by it is kept from then on.

    Raises:
        EntityNotFoundError: an entity it names does not exist.
        ConflictError: a name, or the id of a new entity, is another entity's.
        InvalidInputError: an entity is to be merged with itself.
    """
    if isinstance(change, EntityMerge):
        _merge(cursor, bank, change)
    elif isinstance(change, EntitySplit):
        _split(cursor, bank, change)
    else:
        entity = _key(cursor, bank, change.entity_id)
        set_names(cursor, bank, entity, by_norm((change.name, *change.aliases)))
        _keep_if_aliased(cursor, entity)
    banks.alter(cursor, bank)


def set_names(
    cursor: sqlite3.Cursor, bank: BankRange, entity: int, names: Mapping[str, str]
) -> None:
    """Give an entity these names, by normalised name, and no others. Raises `ConflictError`."""
    entities.remove_names(cursor, (entity,))
    check_free(names, entities.owners_of(cursor, bank, names))
    entities.add_names(cursor, bank, entity, names)


def _merge(cursor: sqlite3.Cursor, bank: BankRange, change: EntityMerge) -> None:
    source = _key(cursor, bank, change.source_id)
    target = _key(cursor, bank, change.target_id)
    if source == target:
        raise InvalidInputError(f"entity {change.source_id!r} cannot be merged with itself")
    names = _names(cursor, target) | _names(cursor, source)
    moved = _mentions(cursor, source)
    mentions.remove(cursor, moved)
    mentions.add(
        cursor,
        {
            unit: list(dict.fromkeys(target if each == source else each for each in mentioned))
            for unit, mentioned in moved.items()
        },
    )
    set_names(cursor, bank, source, {})
    set_names(cursor, bank, target, names)
    _keep_if_aliased(cursor, source, target)
    mentions.settle(cursor, (source, target))


def _split(cursor: sqlite3.Cursor, bank: BankRange, change: EntitySplit) -> None:
    old = _key(cursor, bank, change.entity_id)
    if entity_keys(cursor, bank, [change.entity.id]):
        raise ConflictError(f"an entity {change.entity.id!r} exists already; choose another id")
    taken = by_norm((change.entity.name, *change.entity.aliases))
    left = {n: name for n, name in _names(cursor, old).items() if n not in taken}
    if not left:
        raise ConflictError(
            f"entity {change.entity_id!r} would be left without a name; give it another first"
        )
    set_names(cursor, bank, old, left)
    new = entities.insert(cursor, bank, change.entity)
    set_names(cursor, bank, new, taken)
    _keep_if_aliased(cursor, old, new)
    chosen = set(memory_keys(cursor, bank, change.memory_ids).values())
    moved = {u: m for u, m in _mentions(cursor, old).items() if u in chosen}
    bereft = mentions.remove(cursor, moved)
    mentions.add(
        cursor,
        {unit: [new if each == old else each for each in m] for unit, m in moved.items()},
    )
    mentions.settle(cursor, bereft)


def _key(cursor: sqlite3.Cursor, bank: BankRange, entity_id: str) -> int:
    keys = entity_keys(cursor, bank, [entity_id])
    if entity_id not in keys:
        raise EntityNotFoundError(f"bank {bank.id!r} has no entity {entity_id!r}; look it up again")
    return keys[entity_id]


def _names(cursor: sqlite3.Cursor, entity: int) -> dict[str, str]:
    return dict(
        cursor.execute("SELECT norm, name FROM names WHERE entity = ? ORDER BY ordinal", (entity,))
    )


def _keep_if_aliased(cursor: sqlite3.Cursor, *keys: int) -> None:
    cursor.executemany(
        "UPDATE entities SET edited = (SELECT count(*) > 1 FROM names WHERE entity = ?1) "
        "WHERE key = ?1",
        [(key,) for key in keys],
    )


def _mentions(cursor: sqlite3.Cursor, entity: int) -> dict[int, list[int]]:
    """Key of each memory that mentions the entity to all it mentions, in order."""
    found: defaultdict[int, list[int]] = defaultdict(list)
    for unit, mentioned in cursor.execute(
        "SELECT unit, entity FROM mentions "
        "WHERE unit IN (SELECT unit FROM mentions WHERE entity = ?) ORDER BY unit, ordinal",
        (entity,),
    ):
        found[unit].append(mentioned)
    return found
