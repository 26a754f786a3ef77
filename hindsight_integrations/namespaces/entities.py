"""`memory.entities`: the people, places and things of a bank, and corrections to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import (
    EntityNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.models import Entity, Page
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.normalization import entity_norm, new_id
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    ENTITY,
    ENTITY_NAMED,
    MENTIONS,
    ChangeSet,
    EntityMerge,
    EntityNames,
    EntitySplit,
    StoredBank,
)
from hindsight_integrations.stores.common import read_one


def find_entity(runtime: Runtime, bank_id: str, name_or_id: str) -> Entity:
    """Return the entity with this id, name or alias.

    Raises:
        EntityNotFoundError: there is none.
    """
    wanted = validation.label("an entity", name_or_id)
    found = read_one(runtime.graph, bank_id, ENTITY, wanted, None)
    norm = entity_norm(wanted)
    found = found or read_one(runtime.graph, bank_id, ENTITY_NAMED, norm, None)
    if found is None:
        similar = runtime.graph.similar_entities(bank_id, [wanted], 3)[wanted]
        hint = f"; did you mean {', '.join(repr(e.name) for e in similar)}?" if similar else ""
        raise EntityNotFoundError(f"bank {bank_id!r} knows no entity {wanted!r}{hint}")
    return found


class Entities:
    """The entities of a bank."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get(self, bank_id: str, name_or_id: str) -> Entity:
        """Return the entity with this id, name or alias.

        Raises:
            BankNotFoundError, EntityNotFoundError: there is no such bank, or entity.
        """
        self._runtime.bank(validation.bank_id(bank_id))
        return find_entity(self._runtime, bank_id, name_or_id)

    def list(self, bank_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[Entity]:
        """Return a page of at most 1000 entities, most mentioned first."""
        self._runtime.bank(validation.bank_id(bank_id))
        limit, cursor = validation.page_limit(limit), validation.page_cursor(cursor)
        return self._runtime.graph.list_entities(bank_id, limit=limit, cursor=cursor)

    def merge(self, bank_id: str, source: str, target: str) -> Entity:
        """Merge two entities: `source` and its other names become aliases of `target`."""

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            one, other = self.get(bank_id, source), self.get(bank_id, target)
            if one.id == other.id:
                raise InvalidInputError(f"{source!r} and {target!r} are one entity already")
            return ChangeSet(bank_id, entity_edits=(EntityMerge(one.id, other.id),)), other.id

        return self._changed(bank_id, make)

    def split(self, bank_id: str, entity: str, name: str, memory_ids: Sequence[str]) -> Entity:
        """Split an entity: the given memories mention the new entity `name` instead.

        A name that the old entity has as an alias goes over to the new one.

        Raises:
            MemoryNotFoundError: one of the memories does not exist, or does not mention it.
        """
        given = validation.items_or_one("memory_ids", memory_ids, "ids of memories that mention it")
        ids = tuple(validation.label("a memory id", memory_id) for memory_id in given)
        if not ids:
            raise InvalidInputError("no memory was named; give the ids that mention it")

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            mentioned = self._runtime.graph.read(bank_id, MENTIONS, ids)
            for memory_id in ids:
                if old.id not in mentioned.get(memory_id, ()):
                    raise MemoryNotFoundError(
                        f"bank {bank_id!r} has no memory {memory_id!r} that mentions {old.name!r}; "
                        "give the ids of memories that do"
                    )
            new = Entity(new_id("e-"), bank_id, validation.label("name", name), old.kind)
            return ChangeSet(bank_id, entity_edits=(EntitySplit(old.id, new, ids),)), new.id

        return self._changed(bank_id, make)

    def rename(self, bank_id: str, entity: str, name: str) -> Entity:
        """Change the canonical name; the old one becomes an alias."""
        canonical = validation.label("name", name)

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            return _named(bank_id, old, canonical, (*old.aliases, old.name)), old.id

        return self._changed(bank_id, make)

    def alias(self, bank_id: str, entity: str, *aliases: str) -> Entity:
        """Add aliases to an entity."""
        given = [validation.label("an alias", alias) for alias in aliases]

        def make(_: StoredBank) -> tuple[ChangeSet, str]:
            old = self.get(bank_id, entity)
            return _named(bank_id, old, old.name, (*old.aliases, *given)), old.id

        return self._changed(bank_id, make)

    def _changed(self, bank_id: str, make: Callable[[StoredBank], tuple[ChangeSet, str]]) -> Entity:
        """Apply a correction to the entities as they are stored then; return the one it names."""
        entity_id, _ = change(self._runtime, validation.bank_id(bank_id), make)
        return self.get(bank_id, entity_id)

    aget = async_variant(get)
    alist = async_variant(list)
    amerge = async_variant(merge)
    asplit = async_variant(split)
    arename = async_variant(rename)
    aalias = async_variant(alias)


def _named(bank_id: str, entity: Entity, name: str, aliases: Sequence[str]) -> ChangeSet:
    """Return the change that gives an entity a name and aliases."""
    others = {entity_norm(alias): alias for alias in aliases}
    others.pop(entity_norm(name), None)
    edit = EntityNames(entity.id, name, tuple(others.values()))
    return ChangeSet(bank_id, entity_edits=(edit,))
