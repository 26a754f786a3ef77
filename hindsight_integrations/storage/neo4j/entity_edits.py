"""What a user puts right about entities: two that are one, one that is two, a wrong name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hindsight_integrations.errors import ConflictError, EntityNotFoundError, InvalidInputError
from hindsight_integrations.model import Entity
from hindsight_integrations.storage.conditions import check_free
from hindsight_integrations.storage.neo4j import banks, entities, mentions
from hindsight_integrations.storage.neo4j.connection import run, run_each
from hindsight_integrations.storage.neo4j.entities import names_of
from hindsight_integrations.storage.neo4j.keys import BankKey, existing
from hindsight_integrations.storage.requests import EntityEdit, EntityMerge, EntitySplit

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_MENTIONED = """
    MATCH (:Entity {key: $key})<-[:MENTIONS]-(m:Memory)
    RETURN m.key, [(m)-[x:MENTIONS]->(e:Entity) | [x.ordinal, e.key]]"""


def edit(tx: ManagedTransaction, bank: BankKey, change: EntityEdit) -> None:
    """Merge, split or rename, as a user asks; what gets aliases by it is kept from then on.

    Raises:
        EntityNotFoundError: an entity it names does not exist.
        ConflictError: a name, or the id of a new entity, is another entity's.
        InvalidInputError: an entity is to be merged with itself.
    """
    if isinstance(change, EntityMerge):
        _merge(tx, bank, change)
    elif isinstance(change, EntitySplit):
        _split(tx, bank, change)
    else:
        set_names(tx, bank, _read(tx, bank, change.entity_id).id, names_of(change))
        _keep_if_aliased(tx, bank, change.entity_id)
    banks.alter(tx, bank)


def set_names(tx: ManagedTransaction, bank: BankKey, id: str, names: Mapping[str, str]) -> None:
    """Give an entity these names, by normalised name, and no others. Raises `ConflictError`."""
    entities.remove_names(tx, bank.of(id))
    check_free(names, entities.owners_of(tx, bank, names))
    entities.add_names(tx, bank, {bank.of(id): names})


def _merge(tx: ManagedTransaction, bank: BankKey, change: EntityMerge) -> None:
    source = _read(tx, bank, change.source_id)
    target = _read(tx, bank, change.target_id)
    if source.id == target.id:
        raise InvalidInputError(f"entity {source.id!r} cannot be merged with itself")
    old, new = bank.of(source.id), bank.of(target.id)
    _reassign(tx, _mentioned(tx, old), old, new)
    set_names(tx, bank, source.id, {})
    set_names(tx, bank, target.id, names_of(target) | names_of(source))
    _keep_if_aliased(tx, bank, source.id, target.id)
    mentions.settle(tx, (old, new))


def _split(tx: ManagedTransaction, bank: BankKey, change: EntitySplit) -> None:
    entity = _read(tx, bank, change.entity_id)
    if existing(tx, "Entity", bank, [change.entity.id]):
        raise ConflictError(f"an entity {change.entity.id!r} exists already; choose another id")
    taken = names_of(change.entity)
    left = {norm: name for norm, name in names_of(entity).items() if norm not in taken}
    if not left:
        raise ConflictError(
            f"entity {entity.id!r} would be left without a name; give it another first"
        )
    old, new = bank.of(entity.id), bank.of(change.entity.id)
    set_names(tx, bank, entity.id, left)
    entities.store(tx, bank, [change.entity])
    set_names(tx, bank, change.entity.id, taken)
    _keep_if_aliased(tx, bank, entity.id, change.entity.id)
    chosen = {bank.of(id) for id in change.memory_ids}
    moved = {memory: group for memory, group in _mentioned(tx, old).items() if memory in chosen}
    mentions.settle(tx, _reassign(tx, moved, old, new))


def _read(tx: ManagedTransaction, bank: BankKey, id: str) -> Entity:
    found = entities.get_entities(tx, bank, [id])
    if id not in found:
        raise EntityNotFoundError(f"bank {bank.id!r} has no entity {id!r}; look it up again")
    return found[id]


def _keep_if_aliased(tx: ManagedTransaction, bank: BankKey, *ids: str) -> None:
    run_each(
        tx,
        "UNWIND $rows AS key MATCH (e:Entity {key: key}) SET e.edited = size(e.aliases) > 0",
        [bank.of(id) for id in ids],
    )


def _mentioned(tx: ManagedTransaction, entity: str) -> dict[str, list[str]]:
    """Key of each memory that mentions the entity to all it mentions, in order."""
    return {
        memory: [key for _, key in sorted(group)]
        for memory, group in run(tx, _MENTIONED, key=entity)
    }


def _reassign(
    tx: ManagedTransaction, mentioned: Mapping[str, list[str]], old: str, new: str
) -> set[str]:
    """Let memories mention `new` in the place of `old`; returns the entities to settle."""
    bereft = mentions.remove(tx, mentioned)
    changed = {
        memory: list(dict.fromkeys(new if each == old else each for each in group))
        for memory, group in mentioned.items()
    }
    mentions.add(tx, changed)
    return bereft
