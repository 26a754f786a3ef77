"""The entities a batch of mentions may mean: those the bank knows, and those the batch made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from hindsight_integrations.model import Entity
from hindsight_integrations.retain.compare import Name, acronym, parse
from hindsight_integrations.retain.nicknames import formal_names, short_forms

_MOST_SIMILAR = 20
"""Entities asked of the store for a name it does not know."""


class EntityLookup(Protocol):
    """What resolution asks of the graph store; see `GraphStore`."""

    def lookup_entities(self, bank_id: str, names: Sequence[str]) -> dict[str, Entity]:
        """Normalised name to the entity that has it as name or alias."""
        ...

    def similar_entities(self, bank_id: str, name: str, limit: int) -> list[Entity]:
        """Entities whose names are like this one, likeliest first."""
        ...

    def cooccurring(self, bank_id: str, entity_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """For each entity, those mentioned beside it and in how many memories."""
        ...


class Candidates:
    """Entities in view while a batch is resolved. Reads each thing once; writes nothing.

    Args:
        lookup: the store.
        bank_id: the bank.
        names: all names of the batch, looked up together.
    """

    def __init__(self, lookup: EntityLookup, bank_id: str, names: Iterable[str]) -> None:
        self._lookup = lookup
        self._bank_id = bank_id
        self._entities: dict[str, Entity] = {}
        self._owners: dict[str, str] = {}
        self._by_key: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._similar: dict[str, list[str]] = {}
        self._beside: dict[str, frozenset[str]] = {}
        self._newly_beside: defaultdict[str, set[str]] = defaultdict(set)
        spellings = {form for name in names for form in _exact_forms(parse(name))}
        for norm, entity in lookup.lookup_entities(bank_id, sorted(spellings)).items():
            self._owners[norm] = entity.id
            self._entities[entity.id] = entity

    def __getitem__(self, entity_id: str) -> Entity:
        return self._entities[entity_id]

    def owner(self, name: str) -> Entity | None:
        """The entity that has this very name."""
        owner = self._owners.get(parse(name).norm)
        return None if owner is None else self._entities[owner]

    def like(self, name: str) -> list[Entity]:
        """Entities whose names may be other forms of this one, likeliest first."""
        parsed = parse(name)
        if parsed.norm not in self._similar:
            self._similar[parsed.norm] = self._ask(parsed)
        found = dict.fromkeys(self._similar[parsed.norm])
        for form in _exact_forms(parsed):
            if form in self._owners:
                found[self._owners[form]] = None
        for key in _keys(parsed):
            found |= self._by_key[key]
        return [self._entities[entity_id] for entity_id in found]

    def share_beside(self, entity_id: str, others: Collection[str]) -> float:
        """The share of the other entities that were mentioned together with this one before."""
        if not others:
            return 0.0
        if entity_id not in self._beside:
            stored = self._lookup.cooccurring(self._bank_id, [entity_id])
            self._beside[entity_id] = frozenset(stored.get(entity_id, ()))
        beside = self._beside[entity_id] | self._newly_beside[entity_id]
        return len(beside.intersection(others)) / len(others)

    def add(self, entity: Entity) -> None:
        """A new entity, or a known one with more names."""
        self._entities[entity.id] = entity
        for name in map(parse, (entity.name, *entity.aliases)):
            self._owners.setdefault(name.norm, entity.id)
            for key in _keys(name):
                self._by_key[key][entity.id] = None

    def see(self, entity_ids: Sequence[str], moment: datetime) -> None:
        """Note that a statement of this moment mentions these entities together."""
        for entity_id in entity_ids:
            entity = self._entities[entity_id]
            last = moment if entity.last_seen is None else max(moment, entity.last_seen)
            self._entities[entity_id] = replace(entity, last_seen=last)
            self._newly_beside[entity_id].update(
                other for other in entity_ids if other != entity_id
            )

    def _ask(self, name: Name) -> list[str]:
        found: dict[str, None] = {}
        for spelling in (name.norm, *_formal_spellings(name)):
            for entity in self._lookup.similar_entities(self._bank_id, spelling, _MOST_SIMILAR):
                self._entities.setdefault(entity.id, entity)
                found[entity.id] = None
        return list(found)


def _exact_forms(name: Name) -> list[str]:
    """Normal forms under which the same thing may be known, the name itself first."""
    first, rest = name.words[0], name.words[1:]
    given = [first, *short_forms(first), *sorted(formal_names(first))]
    core = " ".join(name.words)
    forms = [name.norm, core, *(" ".join((word, *rest)) for word in given), acronym(name.norm)]
    return [form for form in dict.fromkeys(forms) if form]


def _formal_spellings(name: Name) -> list[str]:
    """With the given name in full: nothing in "Bob Jones" finds "Robert Jones" by its letters."""
    return [" ".join((formal, *name.words[1:])) for formal in sorted(formal_names(name.words[0]))]


def _keys(name: Name) -> list[str]:
    """What a new entity of the batch is found by: how its words begin, and its initials."""
    words = (*name.words, *sorted(formal_names(name.words[0])))
    forms = (name.norm, acronym(name.norm))
    return list(
        dict.fromkeys([word[:2] for word in words] + [f"={form}" for form in forms if form])
    )
