"""Entities of a change set: resolving them to stored ones, their names, and corrections by a user.

The rules are the same in each graph store; a store derives `EntityWriter` and writes the steps that
depend on its database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hindsight_integrations.errors import ConflictError, EntityNotFoundError, InvalidInputError
from hindsight_integrations.models import Entity
from hindsight_integrations.stores.base import (
    ChangeSet,
    EntityEdit,
    EntityMerge,
    EntityNames,
    EntityRemoval,
    EntitySplit,
    MemoryRecord,
)
from hindsight_integrations.stores.names import spellings

K = TypeVar("K")


class EntityWriter(ABC, Generic[K]):
    """The entities of one bank in one transaction.

    Entities and memories are named by the keys of the store (K), which differ from ids. Names are
    mappings of normalised name to spelling, the canonical name first.
    """

    def __init__(self, bank_id: str) -> None:
        self._bank_id = bank_id

    # Steps of a store

    @abstractmethod
    def find(self, ids: Sequence[str]) -> dict[str, K]:
        """Return id to key of the entities that exist."""

    @abstractmethod
    def new_keys(self, ids: Sequence[str]) -> Mapping[str, K]:
        """Return id to key for entities to store; not all of them need be stored."""

    @abstractmethod
    def insert(self, entities: Mapping[K, Entity]) -> None:
        """Store entities, without their names, under their keys."""

    @abstractmethod
    def set_kinds(self, kinds: Mapping[K, str]) -> None:
        """Give entities these kinds, in place of those they have."""

    @abstractmethod
    def owners(self, norms: Iterable[str]) -> Mapping[str, K]:
        """Return normalised name to the entity that has it, for names that are taken."""

    @abstractmethod
    def names(self, entity: K) -> dict[str, str]:
        """Return the names of an entity."""

    @abstractmethod
    def add_names(self, names: Mapping[K, Mapping[str, str]]) -> None:
        """Give entities more names. The first name of one that has none becomes canonical."""

    @abstractmethod
    def remove_names(self, entities: Iterable[K]) -> None:
        """Take all names from entities."""

    @abstractmethod
    def memories(self, ids: Iterable[str]) -> Collection[K]:
        """Return the keys of memories."""

    @abstractmethod
    def mentions_beside(self, entity: K) -> Mapping[K, Sequence[K]]:
        """Return each memory that mentions the entity with all it mentions, in order."""

    @abstractmethod
    def add_mentions(self, mentioned: Mapping[K, Sequence[K]]) -> None:
        """Store the entities that memories mention: memory to entities, each once."""

    @abstractmethod
    def remove_mentions(self, memories: Iterable[K]) -> set[K]:
        """Remove all mentions of memories, which themselves still have to exist.

        Returns:
            The entities to `recount` before the transaction ends.
        """

    @abstractmethod
    def mark_edited(self, entities: Iterable[K]) -> None:
        """Keep those of the entities that have aliases even if nothing mentions them."""

    @abstractmethod
    def recount(self, entities: Iterable[K]) -> None:
        """Update what is counted of mentions, and drop entities that are no longer mentioned."""

    # What stores have in common

    def resolve(self, changes: ChangeSet) -> dict[str, K]:
        """Store the entities of a change set; return the keys of all that it uses, by id.

        Raises:
            EntityNotFoundError: it uses an entity that is neither its own nor the bank's.
        """
        ids = list(dict.fromkeys(entity.id for entity in changes.entities))
        known = self.find(used_ids(changes))
        names = spellings(n for each in changes.entities for n in each.names)
        new_keys = self.new_keys([id for id in ids if id not in known])
        plan = _plan(changes, known, self.owners(names), new_keys)
        self.insert(plan.new)
        self.add_names(plan.names)
        return plan.keys

    def set_names(self, names: Mapping[K, Mapping[str, str]]) -> None:
        """Give entities these names and no others.

        Raises:
            ConflictError: one of them is another entity's.
        """
        if not names:
            return
        self.remove_names(names)
        given = [(norm, name) for group in names.values() for norm, name in group.items()]
        owned = set(self.owners(dict(given)))
        for norm, name in given:
            if norm in owned:
                raise ConflictError(
                    f"the name {name!r} belongs to another entity; choose another name, or "
                    "merge the two"
                )
            owned.add(norm)
        self.add_names({entity: group for entity, group in names.items() if group})

    def edit(self, change: EntityEdit) -> None:
        """Merge, split, rename or remove; an entity that gets aliases by it is kept from then on.

        Raises:
            EntityNotFoundError: an entity it names does not exist.
            ConflictError: a name, or the id of a new entity, is another entity's.
            InvalidInputError: an entity is to be merged with itself.
        """
        match change:
            case EntityMerge():
                edited = affected = self._merge(change)
            case EntitySplit():
                edited, affected = self._split(change)
            case EntityNames(entity_id):
                key = self._key(entity_id)
                self.set_names({key: names_of(change)})
                edited, affected = {key}, set()
            case EntityRemoval(entity_id):
                edited = affected = self._remove(self._key(entity_id))
        self.mark_edited(edited)
        self.recount(affected)

    def _merge(self, change: EntityMerge) -> set[K]:
        source, target = self._key(change.source_id), self._key(change.target_id)
        if source == target:
            raise InvalidInputError(f"entity {change.source_id!r} cannot be merged with itself")
        names = self.names(target) | self.names(source)
        self._move_mentions(self.mentions_beside(source), source, target)
        self.set_names({source: {}, target: names})
        return {source, target}

    def _remove(self, entity: K) -> set[K]:
        beside = self.mentions_beside(entity)
        affected = self.remove_mentions(beside)
        self.add_mentions(
            {memory: [key for key in group if key != entity] for memory, group in beside.items()}
        )
        self.set_names({entity: {}})
        return affected | {entity}

    def _split(self, change: EntitySplit) -> tuple[set[K], set[K]]:
        old, id = self._key(change.entity_id), change.entity.id
        if self.find([id]):
            raise ConflictError(f"an entity {id!r} exists already; choose another id")
        taken = names_of(change.entity)
        left = {norm: name for norm, name in self.names(old).items() if norm not in taken}
        if not left:
            raise ConflictError(
                f"entity {change.entity_id!r} would have no name left; give it another name first"
            )
        new = self.new_keys([id])[id]
        self.insert({new: change.entity})
        self.set_names({old: left, new: taken})
        chosen = self.memories(change.memory_ids)
        beside = {m: group for m, group in self.mentions_beside(old).items() if m in chosen}
        return {old, new}, self._move_mentions(beside, old, new)

    def _move_mentions(self, beside: Mapping[K, Sequence[K]], old: K, new: K) -> set[K]:
        """Put one entity in the place of another in memories; return the entities to recount."""
        affected = self.remove_mentions(beside)
        self.add_mentions(
            {
                memory: list(dict.fromkeys(new if key == old else key for key in group))
                for memory, group in beside.items()
            }
        )
        return affected

    def _key(self, entity_id: str) -> K:
        found = self.find([entity_id])
        if not found:
            raise EntityNotFoundError(
                f"bank {self._bank_id!r} has no entity {entity_id!r}; look it up again"
            )
        return found[entity_id]


def names_of(named: Entity | EntityNames) -> dict[str, str]:
    """Return normalised name to spelling, the canonical one first."""
    return spellings((named.name, *named.aliases))


@dataclass(frozen=True, slots=True)
class _Plan(Generic[K]):
    """Entities of a change set, resolved.

    Attributes:
        keys: entity id to the key of the stored entity, of all that the change set uses.
        new: entities to store, by key.
        names: key to the names that the entity gains.
    """

    keys: dict[str, K]
    new: dict[K, Entity]
    names: dict[K, dict[str, str]]


def used_ids(changes: ChangeSet) -> list[str]:
    """Return the ids of all entities that a change set names, each once."""
    ids = [entity.id for entity in changes.entities]
    return list(dict.fromkeys([*ids, *sorted(_used(changes))]))


def given_names(changes: ChangeSet) -> list[str]:
    """Return the normalised names that a change set gives to entities, each once."""
    given = [*map(names_of, changes.entities), *map(names_of, changes.names)]
    return list(dict.fromkeys(norm for names in given for norm in names))


def _used(changes: ChangeSet) -> set[str]:
    """Return the ids of the entities that a change set mentions, renames or gives a kind."""
    records = (*changes.memories, *changes.replaced)
    return {id for record in records for id in record.entity_ids}.union(
        (named.entity_id for named in changes.names), (id for id, _ in changes.kinds)
    )


def _plan(
    changes: ChangeSet, known: Mapping[str, K], owners: Mapping[str, K], new_keys: Mapping[str, K]
) -> _Plan[K]:
    """Resolve the entities of a change set.

    An entity whose id, name or alias the bank has is that one, and gains the names it lacks; the
    others are new.
    """
    plan: _Plan[K] = _Plan(dict(known), {}, {})
    owned = dict(owners)
    for entity in changes.entities:
        names = names_of(entity)
        if entity.id not in plan.keys:
            owner = next((owned[norm] for norm in names if norm in owned), None)
            plan.keys[entity.id] = new_keys[entity.id] if owner is None else owner
            if owner is None:
                plan.new[new_keys[entity.id]] = entity
        key = plan.keys[entity.id]
        gained = {norm: name for norm, name in names.items() if norm not in owned}
        plan.names.setdefault(key, {}).update(gained)
        owned |= dict.fromkeys(gained, key)
    if missing := _used(changes) - plan.keys.keys():
        raise EntityNotFoundError(
            f"bank {changes.bank_id!r} has no entity {min(missing)!r}; add it to the change set"
        )
    return plan


def mentioned_keys(record: MemoryRecord, entity_keys: Mapping[str, K]) -> list[K]:
    """Return the keys of the entities that a memory mentions, each once, in order.

    Raises:
        InvalidInputError: it does not give an id for each of its entities' names.
    """
    if len(record.entity_ids) != len(record.memory.entities):
        raise InvalidInputError(
            f"memory {record.memory.id!r} has {len(record.memory.entities)} entity names "
            f"but {len(record.entity_ids)} entity ids; give one id per name"
        )
    return list(dict.fromkeys(entity_keys[id] for id in record.entity_ids))
