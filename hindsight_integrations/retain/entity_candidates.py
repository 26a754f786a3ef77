"""Entities that a name may be: those of the bank, read at once, and those new in the batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Protocol, Self, TypeVar

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.name_matching import (
    Gate,
    Match,
    Name,
    acronym,
    compare,
    formal_names,
    parse,
    short_forms,
    titles_differ,
)
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.stores.base import ENTITY_NAMED, Kind

T = TypeVar("T")

_MOST_SIMILAR = 20
"""Most similar entities that the store returns for an unknown name."""

_MOST_NEW = 20
"""Most new entities of the batch that a name is compared with, by rarest shared blocking key: with
all of them, a parts list of thousands of names would take minutes."""


class EntityLookup(Protocol):
    """Reads that resolution needs of the graph store; see `GraphStore`."""

    def read(self, bank_id: str, kind: Kind[T], keys: Sequence[str]) -> dict[str, T]:
        """Return the value of each key that has one."""
        ...

    def similar_entities(
        self, bank_id: str, names: Sequence[str], limit: int
    ) -> dict[str, list[Entity]]:
        """Return entities with similar names for each of the names, likeliest first."""
        ...

    def mentioned_together(
        self, bank_id: str, entity_ids: Sequence[str], among: Sequence[str]
    ) -> dict[str, set[str]]:
        """Return, for each of the entities that exists, those of `among` mentioned beside it."""
        ...


class Candidates:
    """Candidate entities of a batch: reads each once, and writes nothing.

    Reads are batched, so that their number does not grow with the batch: names at construction,
    cooccurrences on first use or by `prefetch`.

    Args:
        lookup: the store.
        bank_id: the bank.
        mentions: all mentions of the batch.
    """

    def __init__(self, lookup: EntityLookup, bank_id: str, mentions: Iterable[Mention]) -> None:
        self._lookup = lookup
        self._bank_id = bank_id
        self._entities: dict[str, Entity] = {}
        self._entity_by_name: dict[str, str] = {}
        self._by_key: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._similar: dict[str, list[str]] = {}
        self._mentioned_with: dict[str, set[str]] = {}
        self._mentioned_with_in_batch: defaultdict[str, set[str]] = defaultdict(set)
        distinct = list({(mention.name, mention.kind): mention for mention in mentions}.values())
        names = [parse(mention.name) for mention in distinct]
        spellings = {form for name in names for form in _exact_forms(name)}
        for norm, entity in lookup.read(bank_id, ENTITY_NAMED, sorted(spellings)).items():
            self._entity_by_name[norm] = entity.id
            self._entities[entity.id] = entity
        self._unsure = [m for m in distinct if may_be_another(m, self.owner(m.name))]
        self._read_similar([parse(mention.name) for mention in self._unsure])

    def __getitem__(self, entity_id: str) -> Entity:
        return self._entities[entity_id]

    def owner(self, name: str) -> Entity | None:
        """Return the entity that has exactly this name, normalised; None if there is none."""
        owner = self._entity_by_name.get(parse(name).norm)
        return None if owner is None else self._entities[owner]

    def similar(self, name: str) -> list[Entity]:
        """Return entities whose names may be other forms of this one, most similar first."""
        parsed = parse(name)
        if parsed.norm not in self._similar:
            self._read_similar([parsed])
        entity_ids = dict.fromkeys(self._similar[parsed.norm])
        for form in _exact_forms(parsed):
            if form in self._entity_by_name:
                entity_ids[self._entity_by_name[form]] = None
        entity_ids |= dict.fromkeys(self._new_with_shared_key(parsed))
        return [self._entities[entity_id] for entity_id in entity_ids]

    def _new_with_shared_key(self, name: Name) -> Iterable[str]:
        """Return new entities that share a blocking key with the name, rarest keys first."""
        buckets = [self._by_key[key] for key in _blocking_keys(name) if key in self._by_key]
        entity_ids: dict[str, None] = {}
        for bucket in sorted(buckets, key=len):
            for entity_id in reversed(bucket):
                if len(entity_ids) == _MOST_NEW:
                    return entity_ids
                entity_ids[entity_id] = None
        return entity_ids

    def share_mentioned_with(self, entity_id: str, others: Collection[str]) -> float:
        """Return the share, 0 to 1, of the other entities that were mentioned with this one."""
        if not others:
            return 0.0
        if entity_id not in self._mentioned_with:
            self._read_cooccurrences(dict.fromkeys([entity_id, *self._candidate_ids()]))
        known = self._mentioned_with[entity_id] | self._mentioned_with_in_batch[entity_id]
        return len(known.intersection(others)) / len(others)

    def prefetch(self) -> Self:
        """Read the cooccurrences of all candidate entities; return itself."""
        self._read_cooccurrences(dict.fromkeys(self._candidate_ids()))
        return self

    def add(self, entity: Entity) -> None:
        """Add a new entity, or a known one with more names."""
        self._entities[entity.id] = entity
        for name in map(parse, entity.names):
            self._entity_by_name.setdefault(name.norm, entity.id)
            for key in _blocking_keys(name):
                self._by_key[key][entity.id] = None

    def note_mentioned(self, entity_ids: Sequence[str], timestamp: datetime) -> None:
        """Record that a statement said at this time mentions these entities together."""
        for entity_id in entity_ids:
            entity = self._entities[entity_id]
            last = timestamp if entity.last_seen is None else max(timestamp, entity.last_seen)
            self._entities[entity_id] = replace(entity, last_seen=last)
            self._mentioned_with_in_batch[entity_id].update(
                other for other in entity_ids if other != entity_id
            )

    def _read_similar(self, names: Iterable[Name]) -> None:
        """Look up the stored entities with similar names."""
        spellings = {name.norm: (name.norm, *_formal_spellings(name)) for name in names}
        all_spellings = list(dict.fromkeys(chain.from_iterable(spellings.values())))
        if not all_spellings:
            return
        found = self._lookup.similar_entities(self._bank_id, all_spellings, _MOST_SIMILAR)
        for norm, forms in spellings.items():
            similar = {entity.id: entity for form in forms for entity in found[form]}
            for entity in similar.values():
                if entity.id not in self._entities:
                    self._entities[entity.id] = entity
                    self._mentioned_with.clear()  # read without this entity
            self._similar[norm] = list(similar)

    def _candidate_ids(self) -> Iterator[str]:
        """Yield the ids of entities that match a mention which no exact name decides."""
        for mention in self._unsure:
            for entity in self.similar(mention.name):
                if isinstance(relate(mention, entity), Match):
                    yield entity.id

    def _read_cooccurrences(self, entity_ids: Iterable[str]) -> None:
        """Look up which of all candidates were mentioned with these entities."""
        ids, among, together = list(entity_ids), list(self._entities), {}
        if ids and len(among) > 1:
            together = self._lookup.mentioned_together(self._bank_id, ids, among)
        self._mentioned_with |= {id: together.get(id, set()) for id in ids}


def _exact_forms(name: Name) -> list[str]:
    """Return normal forms under which the same entity may be stored, the name itself first."""
    first, rest = name.words[0], name.words[1:]
    given = [first, *short_forms(first), *sorted(formal_names(first))]
    forms = [
        name.norm,
        " ".join(name.words),
        *(" ".join((word, *rest)) for word in given),
        acronym(name.norm),
    ]
    return [form for form in dict.fromkeys(forms) if form]


def _formal_spellings(name: Name) -> list[str]:
    """Return spellings with the given name in full: "Robert Jones" for "Bob Jones"."""
    return [" ".join((formal, *name.words[1:])) for formal in sorted(formal_names(name.words[0]))]


def _blocking_keys(name: Name) -> list[str]:
    """Return the blocking keys of a name: words, their first letters, initials.

    New entities are compared with a name only if they share a key with it.
    """
    words = (*name.words, *sorted(formal_names(name.words[0])))
    forms = (name.norm, acronym(name.norm))
    keys = [part for word in words for part in (word[:2], word[:4], f"{word} ")]
    return list(dict.fromkeys(keys + [f"={form}" for form in forms if form]))


def may_be_another(mention: Mention, owner: Entity | None) -> bool:
    """Return True unless the mention is certainly the entity with exactly this name."""
    if owner is None:
        return True
    return not parse(mention.name).is_full and "person" in (mention.kind, owner.kind)


def relate(mention: Mention, entity: Entity) -> Match | Gate:
    """Return the closest relation of the mention to any of the entity's names.

    A full name must agree with a full name, if the entity has one: "Maria Kim" is not the Maria
    who is known as "Maria Lopez" too.
    """
    names = entity.names
    if _titles_conflict(mention.name, names):
        return Gate.TITLES
    full = [name for name in names if parse(name).is_full]
    if entity.kind == "person" and parse(mention.name).is_full and full:
        names = tuple(full)
    results = [compare(mention.name, mention.kind, name, entity.kind) for name in names]
    matches = [result for result in results if isinstance(result, Match)]
    if matches:
        return max(matches, key=lambda match: match.similarity)
    gates = [result for result in results if isinstance(result, Gate)]
    return next((gate for gate in gates if gate is not Gate.WORDS), Gate.WORDS)


def _titles_conflict(name: str, names: Iterable[str]) -> bool:
    """Return True if a surname's title differs from the titles in all other names with a title.

    "Mr Klein" is not the Mrs Klein who has the alias "Klein".
    """
    parsed = parse(name)
    others = [other for other in map(parse, names) if other.title and not other.is_full]
    return (
        bool(others)
        and not parsed.is_full
        and all(titles_differ(parsed, other) for other in others)
    )
