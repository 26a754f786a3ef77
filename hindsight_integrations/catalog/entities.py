"""`memory.entities`: the people, places and things of a bank, and corrections to them."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.core import Core
from hindsight_integrations.errors import EntityNotFoundError, InvalidInputError
from hindsight_integrations.model import Entity, Page
from hindsight_integrations.naming import entity_norm, new_id
from hindsight_integrations.storage.requests import EntityMerge, EntityNames, EntitySplit


def find_entity(core: Core, bank_id: str, name_or_id: str) -> Entity:
    """The entity of this id, name or alias.

    Raises:
        EntityNotFoundError: there is none.
    """
    wanted = checks.label("an entity", name_or_id)
    found = core.graph.get_entities(bank_id, [wanted]).get(wanted)
    norm = entity_norm(wanted)
    found = found or core.graph.lookup_entities(bank_id, [norm]).get(norm)
    if found is None:
        similar = core.graph.similar_entities(bank_id, wanted, 3)
        hint = f"; did you mean {', '.join(repr(e.name) for e in similar)}?" if similar else ""
        raise EntityNotFoundError(f"bank {bank_id!r} knows no entity {wanted!r}{hint}")
    return found


class Entities:
    """The entities of a bank."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def get(self, bank_id: str, name_or_id: str) -> Entity:
        """The entity of this id, name or alias.

        Raises:
            BankNotFoundError, EntityNotFoundError: there is no such bank, or entity.
        """
        self._core.bank(checks.bank_id(bank_id))
        return find_entity(self._core, bank_id, name_or_id)

    def list(self, bank_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[Entity]:
        """Entities, most mentioned first, a page of at most 1000 at a time."""
        self._core.bank(checks.bank_id(bank_id))
        limit = checks.page_limit(limit)
        return self._core.graph.list_entities(bank_id, limit=limit, cursor=cursor)

    def merge(self, bank_id: str, source: str, target: str) -> Entity:
        """Two names, one entity: `source` and its other names become aliases of `target`."""
        bank = self._core.bank(checks.bank_id(bank_id))
        with self._core.lock(bank.key):
            one, other = self.get(bank_id, source), self.get(bank_id, target)
            if one.id == other.id:
                raise InvalidInputError(f"{source!r} and {target!r} are one entity already")
            self._core.graph.edit_entity(bank_id, EntityMerge(one.id, other.id))
            return self.get(bank_id, other.id)

    def split(self, bank_id: str, entity: str, name: str, memory_ids: Sequence[str]) -> Entity:
        """One name, two entities: the memories named mention the new entity `name` instead.

        A name that the old entity has as an alias goes over to the new one.
        """
        bank = self._core.bank(checks.bank_id(bank_id))
        with self._core.lock(bank.key):
            old = self.get(bank_id, entity)
            new = Entity(new_id("e-"), bank_id, checks.label("name", name), old.kind)
            ids = tuple(checks.label("a memory id", memory_id) for memory_id in memory_ids)
            if not ids:
                raise InvalidInputError("no memory was named; give the ids that mention it")
            self._core.graph.edit_entity(bank_id, EntitySplit(old.id, new, ids))
            return self.get(bank_id, new.id)

    def rename(self, bank_id: str, entity: str, name: str) -> Entity:
        """Give an entity another canonical name; the old one becomes an alias."""
        old = self.get(bank_id, entity)
        return self._name(bank_id, old, name, (*old.aliases, old.name))

    def alias(self, bank_id: str, entity: str, *aliases: str) -> Entity:
        """Give an entity more names it is found by."""
        old = self.get(bank_id, entity)
        return self._name(bank_id, old, old.name, (*old.aliases, *aliases))

    def _name(self, bank_id: str, entity: Entity, name: str, aliases: Sequence[str]) -> Entity:
        canonical = checks.label("name", name)
        others = {entity_norm(a): checks.label("an alias", a) for a in aliases}
        others.pop(entity_norm(canonical), None)
        with self._core.lock(self._core.bank(bank_id).key):
            self._core.graph.edit_entity(
                bank_id, EntityNames(entity.id, canonical, tuple(others.values()))
            )
            return self.get(bank_id, entity.id)

    aget = twin(get)
    alist = twin(list)
    amerge = twin(merge)
    asplit = twin(split)
    arename = twin(rename)
    aalias = twin(alias)
