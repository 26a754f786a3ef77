"""Resolve each mention to an entity that the bank knows, or to a new one.

Candidates must pass the gates of `compare`; those that do are scored
`0.5 name + 0.3 context + 0.2 recency` and merged from 0.6 (weights and threshold are
Hindsight's). A part of a name that only one person has needs no score. Each mention comes back
with a `Decision` that explains its entity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Protocol, Self, TypeVar

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.name_matching import (
    SAME,
    Gate,
    Match,
    Name,
    Relation,
    acronym,
    compare,
    formal_names,
    parse,
    short_forms,
    titles_differ,
)
from hindsight_integrations.normalization import new_id, pair_digest
from hindsight_integrations.results import Joined
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.name_use import Fact, Uses
from hindsight_integrations.retain.stated_names import aliases_stated, names_denied
from hindsight_integrations.stores.base import ENTITY_NAMED, Kind

T = TypeVar("T")

_MOST_SIMILAR = 20
"""Entities requested of the store for an unknown name."""

_MOST_NEW = 20
"""New entities of the call that a name is compared with, those that share its rarest parts first:
with all of them, a parts list of thousands of names would take minutes."""


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
    """Entities considered while a batch is resolved; reads each once and writes nothing.

    What the batch will ask for is read together, so that the number of reads does not grow with it:
    names at once, what was mentioned together when it is asked for, or by `read_ahead`.

    Args:
        lookup: the store.
        bank_id: the bank.
        mentions: all mentions of the batch.
    """

    def __init__(self, lookup: EntityLookup, bank_id: str, mentions: Iterable[Mention]) -> None:
        self._lookup = lookup
        self._bank_id = bank_id
        self._entities: dict[str, Entity] = {}
        self._owners: dict[str, str] = {}
        self._by_key: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._similar: dict[str, list[str]] = {}
        self._mentioned_with: dict[str, set[str]] = {}
        self._newly_with: defaultdict[str, set[str]] = defaultdict(set)
        distinct = list({(mention.name, mention.kind): mention for mention in mentions}.values())
        names = [parse(mention.name) for mention in distinct]
        spellings = {form for name in names for form in _exact_forms(name)}
        for norm, entity in lookup.read(bank_id, ENTITY_NAMED, sorted(spellings)).items():
            self._owners[norm] = entity.id
            self._entities[entity.id] = entity
        self._unsure = [m for m in distinct if may_be_another(m, self.owner(m.name))]
        self._read_similar([parse(mention.name) for mention in self._unsure])

    def __getitem__(self, entity_id: str) -> Entity:
        return self._entities[entity_id]

    def owner(self, name: str) -> Entity | None:
        """Return the entity that has this very name."""
        owner = self._owners.get(parse(name).norm)
        return None if owner is None else self._entities[owner]

    def like(self, name: str) -> list[Entity]:
        """Return entities whose names may be other forms of this one, likeliest first."""
        parsed = parse(name)
        if parsed.norm not in self._similar:
            self._read_similar([parsed])
        entity_ids = dict.fromkeys(self._similar[parsed.norm])
        for form in _exact_forms(parsed):
            if form in self._owners:
                entity_ids[self._owners[form]] = None
        entity_ids |= dict.fromkeys(self._sharing(parsed))
        return [self._entities[entity_id] for entity_id in entity_ids]

    def _sharing(self, name: Name) -> Iterable[str]:
        """Return new entities that share a key with the name, those of the rarest key first."""
        buckets = [self._by_key[key] for key in _keys(name) if key in self._by_key]
        sharing: dict[str, None] = {}
        for bucket in sorted(buckets, key=len):
            for entity_id in reversed(bucket):
                if len(sharing) == _MOST_NEW:
                    return sharing
                sharing[entity_id] = None
        return sharing

    def share_mentioned_with(self, entity_id: str, others: Collection[str]) -> float:
        """Return the share of the other entities that were mentioned with this one before."""
        if not others:
            return 0.0
        if entity_id not in self._mentioned_with:
            self._read_beside(dict.fromkeys([entity_id, *self._may_be()]))
        known = self._mentioned_with[entity_id] | self._newly_with[entity_id]
        return len(known.intersection(others)) / len(others)

    def read_ahead(self) -> Self:
        """Read what was mentioned with the entities that the mentions may be; return itself."""
        self._read_beside(dict.fromkeys(self._may_be()))
        return self

    def add(self, entity: Entity) -> None:
        """Add a new entity, or a known one with more names."""
        self._entities[entity.id] = entity
        for name in map(parse, (entity.name, *entity.aliases)):
            self._owners.setdefault(name.norm, entity.id)
            for key in _keys(name):
                self._by_key[key][entity.id] = None

    def note_mentioned(self, entity_ids: Sequence[str], timestamp: datetime) -> None:
        """Record that a statement of this time mentions these entities together."""
        for entity_id in entity_ids:
            entity = self._entities[entity_id]
            last = timestamp if entity.last_seen is None else max(timestamp, entity.last_seen)
            self._entities[entity_id] = replace(entity, last_seen=last)
            self._newly_with[entity_id].update(other for other in entity_ids if other != entity_id)

    def _read_similar(self, names: Iterable[Name]) -> None:
        """Look up the stored entities with similar names."""
        spellings = {name.norm: (name.norm, *_formal_spellings(name)) for name in names}
        asked = list(dict.fromkeys(chain.from_iterable(spellings.values())))
        if not asked:
            return
        found = self._lookup.similar_entities(self._bank_id, asked, _MOST_SIMILAR)
        for norm, forms in spellings.items():
            similar = {entity.id: entity for form in forms for entity in found[form]}
            for entity in similar.values():
                if entity.id not in self._entities:
                    self._entities[entity.id] = entity
                    self._mentioned_with.clear()  # it was not among those asked for
            self._similar[norm] = list(similar)

    def _may_be(self) -> Iterator[str]:
        """Yield the entities that the unsure mentions may be."""
        for mention in self._unsure:
            for entity in self.like(mention.name):
                if isinstance(relate(mention, entity), Match):
                    yield entity.id

    def _read_beside(self, entity_ids: Iterable[str]) -> None:
        """Look up which of the entities considered were mentioned with these."""
        ids, among, beside = list(entity_ids), list(self._entities), {}
        if ids and len(among) > 1:
            beside = self._lookup.mentioned_together(self._bank_id, ids, among)
        self._mentioned_with |= {id: beside.get(id, set()) for id in ids}


def _exact_forms(name: Name) -> list[str]:
    """Return normal forms under which the same thing may be known, the name itself first."""
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


def _keys(name: Name) -> list[str]:
    """Return the keys that find a new entity of the batch: words, their beginnings, initials."""
    words = (*name.words, *sorted(formal_names(name.words[0])))
    forms = (name.norm, acronym(name.norm))
    keys = [part for word in words for part in (word[:2], word[:4], f"{word} ")]
    return list(dict.fromkeys(keys + [f"={form}" for form in forms if form]))


NAME_WEIGHT = 0.5
CONTEXT_WEIGHT = 0.3
RECENCY_WEIGHT = 0.2
RECENCY_DAYS = 7.0
"""Days after which a last mention has no weight."""
LEAST_CONTEXT = 0.3
"""Least share of the other entities mentioned that must be known with the candidate, unless the
name alone is sure: in an import everything is recent, so recency tells nothing."""
CLEAR_LEAD = 0.05
"""Lead in score that one of several persons with a first name must have over the next."""
SURE_NAME = 0.81
"""Similarity from which a short form of a single entity needs no other evidence."""
_MOST_REFUSED = 5


@dataclass(frozen=True, slots=True)
class Score:
    """Fit of a candidate to a mention, each part from 0 to 1."""

    name: float
    context: float
    recency: float

    @property
    def total(self) -> float:
        """Weighted sum, from 0 to 1."""
        return (
            NAME_WEIGHT * self.name + CONTEXT_WEIGHT * self.context + RECENCY_WEIGHT * self.recency
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """Entity of a mention, with the reasons.

    Attributes:
        mention: the mention.
        entity_id: id of its entity.
        entity_name: canonical name of its entity.
        relation: relation of the mention's name to the entity's; None for a new entity.
        score: of the entity chosen; None where no score was needed.
        refused: names of entities that were rejected, each with the reason.
        learns: True if the name is new to a known entity.
    """

    mention: Mention
    entity_id: str
    entity_name: str
    relation: Relation | None = None
    score: Score | None = None
    refused: tuple[tuple[str, Gate], ...] = ()
    learns: bool = False


@dataclass(frozen=True, slots=True)
class Resolution:
    """The entities of a batch of facts.

    Attributes:
        entity_ids: for each fact, the ids of its entities, each once.
        created: entities that are new to the bank.
        renamed: known entities that gained aliases, with all their names.
        names: canonical name of each entity mentioned, by id.
        decisions: one per mention, fact by fact.
    """

    entity_ids: tuple[tuple[str, ...], ...]
    created: tuple[Entity, ...]
    renamed: tuple[Entity, ...]
    names: Mapping[str, str]
    decisions: tuple[Decision, ...]

    @property
    def joined(self) -> tuple[Joined, ...]:
        """The names taken for those of entities called otherwise, each once."""
        found = {
            Joined(one.mention.name, one.entity_name, REASONS[one.relation])
            for one in self.decisions
            if one.relation in REASONS
            and one.mention.name != one.entity_name
            and (one.learns or one.relation is not Relation.SAME)
        }
        return tuple(sorted(found, key=lambda one: (one.entity, one.name)))


REASONS: Mapping[Relation | None, str] = {
    Relation.SAME: "equal but for a title, an article, a legal form or spaces",
    Relation.SHORTER: "a part or short form of the name",
    Relation.FULLER: "more of the name than was known",
    Relation.ACRONYM: "the initials of the name, or what they stand for",
    Relation.VARIANT: "spelled alike, and mentioned with the same people or things",
    Relation.ADDRESSED: "the conversation addresses or introduces a participant by it",
    Relation.STATED: "the text says that they are the same",
}
"""Why a name is taken for that of an entity called otherwise."""


@dataclass(frozen=True, slots=True)
class _Option:
    """A candidate that a mention may be."""

    entity: Entity
    relation: Relation
    score: Score


class Resolver:
    """Resolves the mentions of one bank.

    Args:
        lookup: store of the bank's entities.
        bank_id: the bank.
        threshold: score from which a mention is taken for a known entity.
        apart: names that are never one thing's, as `Bank.kept_apart` has them.
    """

    def __init__(
        self,
        lookup: EntityLookup,
        bank_id: str,
        threshold: float = 0.6,
        apart: Collection[str] = (),
    ) -> None:
        self._lookup = lookup
        self._bank_id = bank_id
        self._threshold = threshold
        self._apart = frozenset(apart)

    def resolve(
        self,
        mentions_by_fact: Sequence[Sequence[Mention]],
        times: Sequence[datetime],
        texts: Sequence[str] = (),
        known: Candidates | None = None,
    ) -> Resolution:
        """Return the entities of successive facts; earlier facts are context for later ones.

        Args:
            mentions_by_fact: mentions of each fact.
            times: when each was said.
            texts: the facts, so that names they say to be the same thing's are joined.
            known: what is stored of the mentions, read already.
        """
        if known is None:
            known = Candidates(self._lookup, self._bank_id, chain.from_iterable(mentions_by_fact))
        uses = Uses(chain.from_iterable(mentions_by_fact), texts)
        batch = _Batch(known, self._bank_id, self._threshold, self._apart, uses)
        for index, (mentions, said_at) in enumerate(zip(mentions_by_fact, times, strict=True)):
            batch.add(mentions, said_at, texts[index] if texts else "")
        return batch.resolution()


class _Batch:
    """A batch that is being resolved."""

    def __init__(
        self,
        known: Candidates,
        bank_id: str,
        threshold: float,
        apart: frozenset[str],
        uses: Uses,
    ) -> None:
        self._known = known
        self._uses = uses
        self._denied: defaultdict[str, set[str]] = defaultdict(set)
        self._bank_id = bank_id
        self._threshold = threshold
        self._apart = apart
        self._created: dict[str, None] = {}
        self._renamed: dict[str, None] = {}
        self._ids: list[tuple[str, ...]] = []
        self._decisions: list[Decision] = []

    def add(self, mentions: Sequence[Mention], timestamp: datetime, text: str) -> None:
        """Resolve the mentions of a fact: old names before new ones, full ones before parts."""
        names = [mention.name for mention in mentions]
        stated = aliases_stated(text, mentions) if text else []
        for denied in names_denied(text, names):
            for name in names:
                if name != denied:
                    self._denied[parse(name).norm].add(denied)
        fact = Fact(text, mentions)
        partners = {parse(one).norm: other for pair in stated for one, other in (pair, pair[::-1])}
        newer = {parse(new).norm for new, _ in stated}
        context = {owner.id for m in mentions if (owner := self._known.owner(m.name))}
        decided: dict[int, Decision] = {}

        def order(index: int) -> tuple[bool, int]:
            name = parse(mentions[index].name)
            spelled_otherwise = mentions[index].addressed_as is not None
            return spelled_otherwise or name.norm in newer, -len(name.words)

        for index in sorted(range(len(mentions)), key=order):
            mention = mentions[index]
            partner = partners.get(parse(mention.name).norm)
            decision = (
                self._addressed(mention)
                or self._stated(mention, partner)
                or self._decide(mention, timestamp, context, fact)
            )
            decided[index] = decision
            context.add(decision.entity_id)
        decisions = [decided[index] for index in range(len(mentions))]
        self._decisions += decisions
        ids = tuple(dict.fromkeys(decision.entity_id for decision in decisions))
        self._known.note_mentioned(ids, timestamp)
        self._ids.append(ids)

    def resolution(self) -> Resolution:
        """Return the entities of all facts added so far."""
        return Resolution(
            entity_ids=tuple(self._ids),
            created=tuple(self._known[entity_id] for entity_id in self._created),
            renamed=tuple(self._known[entity_id] for entity_id in self._renamed),
            names={
                entity_id: self._known[entity_id].name for ids in self._ids for entity_id in ids
            },
            decisions=tuple(self._decisions),
        )

    def _addressed(self, mention: Mention) -> Decision | None:
        """Decide for another spelling of a participant's name, unless the bank has both."""
        participant = self._known.owner(mention.addressed_as) if mention.addressed_as else None
        if participant is None or self._known.owner(mention.name) is not None:
            return None
        if are_apart(self._apart, mention.name, participant):
            return None
        self._add_alias(participant, mention.name)
        return Decision(mention, participant.id, participant.name, Relation.ADDRESSED)

    def _stated(self, mention: Mention, partner: str | None) -> Decision | None:
        """Decide by the text's own statement of aliases, unless the bank has two entities."""
        entity = self._known.owner(partner) if partner else None
        if partner is None or entity is None or self._known.owner(mention.name) is not None:
            return None
        if are_apart(self._apart, mention.name, entity):
            return None
        if _stands_for(mention.name, partner) and any(
            _stands_for(name, partner) for name in _names(entity)
        ):
            return None  # another thing of the same initials
        self._add_alias(entity, mention.name)
        return Decision(mention, entity.id, entity.name, Relation.STATED)

    def _decide(
        self,
        mention: Mention,
        timestamp: datetime,
        context: Collection[str],
        fact: Fact,
    ) -> Decision:
        """Decide by names, context and recency."""
        owner = self._known.owner(mention.name)
        if owner is not None and not may_be_another(mention, owner):
            return Decision(mention, owner.id, owner.name, Relation.SAME)
        beside = set(context) - {owner.id if owner else ""}  # it is no evidence against itself
        options: list[_Option] = []
        refused: dict[str, Gate] = {}
        like = self._known.like(mention.name)
        for entity in like:
            is_owner = owner is not None and entity.id == owner.id
            match = SAME if is_owner else relate(mention, entity)
            if isinstance(match, Match) and not is_owner:
                match = self._apart_from(mention, entity, fact, like) or match
            if isinstance(match, Match):
                score = self._score(match, entity, timestamp, beside)
                options.append(_Option(entity, match.relation, score))
            else:
                refused[entity.name] = match
        options.sort(key=lambda option: -option.score.total)
        best, reasons = self._best(mention, options, [m for m in fact.mentions if m != mention])
        refused = {**reasons, **refused}
        reasons_given = tuple(refused.items())[:_MOST_REFUSED]
        if best is None:
            entity = self._create(mention, timestamp)
            return Decision(mention, entity.id, entity.name, refused=reasons_given)
        learns = owner is None and not (best.relation is Relation.SHORTER and len(options) > 1)
        if learns:
            self._add_alias(best.entity, mention.name)
        entity = best.entity
        return Decision(
            mention, entity.id, entity.name, best.relation, best.score, reasons_given, learns
        )

    def _apart_from(
        self, mention: Mention, entity: Entity, fact: Fact, like: Sequence[Entity]
    ) -> Gate | None:
        """Return the reason why a like name is not the entity's: the user's, or the texts'."""
        if are_apart(self._apart, mention.name, entity):
            return Gate.APART
        for denied in self._denied.get(parse(mention.name).norm, ()):
            if isinstance(relate(Mention(denied, mention.kind), entity), Match):
                return Gate.DENIED
        return self._uses.gate(mention, entity, fact, like)

    def _best(
        self, mention: Mention, options: Sequence[_Option], others: Sequence[Mention]
    ) -> tuple[_Option | None, dict[str, Gate]]:
        """Return the option that is good enough and clearly the best, and why others are not."""
        reasons: dict[str, Gate] = {}
        fit: list[_Option] = []
        for option in options:
            gate = self._gate(mention, option, options, others)
            if gate is None:
                fit.append(option)
            else:
                reasons[option.entity.name] = gate
        best = fit[0] if fit else None
        if len(fit) > 1 and fit[0].score.total - fit[1].score.total < CLEAR_LEAD:
            same = [option for option in fit if option.relation is Relation.SAME]
            if len(same) > 1:  # "Klein", where the bank has Mrs Klein and Dr. Klein
                norm = parse(mention.name).norm
                same = [o for o in same if norm in {parse(n).norm for n in _names(o.entity)}]
            best = same[0] if same else None
        reasons |= {option.entity.name: Gate.AMBIGUOUS for option in fit if option is not best}
        return best, reasons

    def _gate(
        self,
        mention: Mention,
        option: _Option,
        options: Sequence[_Option],
        others: Sequence[Mention],
    ) -> Gate | None:
        """Return the reason against an option, if there is one."""
        score, relation = option.score, option.relation
        if relation is Relation.SAME:
            return None
        rivals = [other for other in others if isinstance(relate(other, option.entity), Match)]
        if relation is Relation.SHORTER:  # "Peggy ... Peggy O'Brien" are one
            rivals = [other for other in rivals if not _is_part(other, mention)]
        if rivals and (relation is not Relation.SHORTER or parse(mention.name).is_full):
            return Gate.TOGETHER
        is_short = relation in (Relation.SHORTER, Relation.ACRONYM)
        if is_short and len(options) == 1 and score.name >= SURE_NAME:
            return None
        if score.total < self._threshold or score.context < LEAST_CONTEXT:
            return Gate.SCORE
        stale = relation is Relation.FULLER and score.recency == 0.0
        return Gate.SCORE if stale else None

    def _score(
        self, match: Match, entity: Entity, timestamp: datetime, context: Collection[str]
    ) -> Score:
        """Return the score of an entity whose name matches."""
        others = [entity_id for entity_id in context if entity_id != entity.id]
        shared = self._known.share_mentioned_with(entity.id, others)
        return Score(match.similarity, shared, _recency(entity, timestamp))

    def _create(self, mention: Mention, timestamp: datetime) -> Entity:
        """Make a new entity of a mention."""
        entity = Entity(
            id=new_id("e-"),
            bank_id=self._bank_id,
            name=mention.name,
            kind=mention.kind,
            first_seen=timestamp,
            last_seen=timestamp,
        )
        self._known.add(entity)
        self._created[entity.id] = None
        return entity

    def _add_alias(self, entity: Entity, name: str) -> None:
        """Add a name to an entity, unless another entity has it."""
        if self._known.owner(name) is None:
            self._known.add(replace(entity, aliases=(*entity.aliases, name)))
            if entity.id not in self._created:
                self._renamed[entity.id] = None


def may_be_another(mention: Mention, owner: Entity | None) -> bool:
    """Return True unless the mention is surely the entity that has this very name."""
    if owner is None:
        return True
    return not parse(mention.name).is_full and "person" in (mention.kind, owner.kind)


def _names(entity: Entity) -> tuple[str, ...]:
    return (entity.name, *entity.aliases)


def are_apart(apart: Collection[str], name: str, entity: Entity) -> bool:
    """Return True if the user keeps a name apart from one of the entity's."""
    return bool(apart) and any(pair_digest(name, other) in apart for other in _names(entity))


def relate(mention: Mention, entity: Entity) -> Match | Gate:
    """Return the closest relation of the mention to any of the entity's names.

    A full name must agree with a full name, if the entity has one: "Maria Kim" is not the Maria
    who is known as "Maria Lopez" too.
    """
    names = _names(entity)
    if _is_titled_otherwise(mention.name, names):
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


def _is_titled_otherwise(name: str, names: Iterable[str]) -> bool:
    """Return True for a surname whose title is none of those that go with it in other names.

    "Mr Klein" is not the Mrs Klein who is called "Klein" as well.
    """
    one = parse(name)
    others = [other for other in map(parse, names) if other.title and not other.is_full]
    return bool(others) and not one.is_full and all(titles_differ(one, other) for other in others)


def _stands_for(name: str, initials: str) -> bool:
    """Return True if these are the name's initials."""
    return acronym(parse(name).norm) == parse(initials).norm


def _is_part(one: Mention, other: Mention) -> bool:
    """Return True if one name has fewer words than the other, and may be its short form."""
    shorter = len(parse(one.name).words) < len(parse(other.name).words)
    return shorter and isinstance(compare(one.name, one.kind, other.name, other.kind), Match)


def _recency(entity: Entity, timestamp: datetime) -> float:
    """Return 1 for an entity just mentioned, falling to 0 over a week."""
    if entity.last_seen is None:
        return 0.0
    days = abs((timestamp - entity.last_seen).total_seconds()) / 86400.0
    return max(0.0, 1.0 - days / RECENCY_DAYS)
