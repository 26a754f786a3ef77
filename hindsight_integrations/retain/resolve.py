"""Which entity each mention means: one the bank knows, or a new one.

Candidates must pass the gates of `compare`; those that do are scored
`0.5 name + 0.3 context + 0.2 recency` and merged from 0.6 on (weights and threshold are
Hindsight's). A part of a name that only one person has needs no score. Whatever is decided can
be explained: every mention comes back with a `Decision`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.model import Entity
from hindsight_integrations.naming import new_id
from hindsight_integrations.retain.aliases import aliases_stated
from hindsight_integrations.retain.candidates import Candidates, EntityLookup
from hindsight_integrations.retain.compare import (
    SAME,
    Gate,
    Match,
    Relation,
    acronym,
    compare,
    parse,
)
from hindsight_integrations.retain.ports import Mention

NAME_WEIGHT = 0.5
CONTEXT_WEIGHT = 0.3
RECENCY_WEIGHT = 0.2
RECENCY_DAYS = 7.0
"""Days after which a last mention says nothing any more."""
LEAST_CONTEXT = 0.3
"""Share of what is mentioned beside it that must be known beside the candidate, unless the
name alone is sure: in an import everything was said just now, and recency says nothing."""
CLEAR_LEAD = 0.05
"""By how much one of several persons must fit a first name better than the next."""
SURE_NAME = 0.81
"""Similarity from which a short form needs no other evidence, if only one entity has it."""
_MOST_REFUSED = 5


@dataclass(frozen=True, slots=True)
class Score:
    """How well a candidate fits a mention, each part from 0 to 1."""

    name: float
    context: float
    recency: float

    @property
    def total(self) -> float:
        """The weighted sum, from 0 to 1."""
        return (
            NAME_WEIGHT * self.name + CONTEXT_WEIGHT * self.context + RECENCY_WEIGHT * self.recency
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """What a mention was taken for, and why.

    Attributes:
        relation: how the mention's name relates to the entity's; None for a new entity.
        score: of the entity chosen; None for a new one.
        refused: names of entities considered and passed over, each with the reason.
    """

    mention: Mention
    entity_id: str
    entity_name: str
    relation: Relation | None = None
    score: Score | None = None
    refused: tuple[tuple[str, Gate], ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether the mention made a new entity."""
        return self.relation is None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The entities of a batch of facts.

    Attributes:
        entity_ids: for each fact, the ids of what it mentions, each once.
        created: entities that are new to the bank.
        learnt: known entities that gained aliases, with all their names.
        names: canonical name of each entity mentioned, by id.
        decisions: one a mention, fact by fact.
    """

    entity_ids: tuple[tuple[str, ...], ...]
    created: tuple[Entity, ...]
    learnt: tuple[Entity, ...]
    names: Mapping[str, str]
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class _Option:
    entity: Entity
    relation: Relation
    score: Score


class Resolver:
    """Resolves the mentions of one bank.

    Args:
        lookup: where the bank's entities are looked up.
        bank_id: the bank.
        threshold: score from which a mention is taken for a known entity.
    """

    def __init__(self, lookup: EntityLookup, bank_id: str, threshold: float = 0.6) -> None:
        self._lookup = lookup
        self._bank_id = bank_id
        self._threshold = threshold

    def resolve(
        self,
        mentions_by_fact: Sequence[Sequence[Mention]],
        times: Sequence[datetime],
        texts: Sequence[str] = (),
    ) -> Resolution:
        """Entities of successive facts; earlier ones are context for those after them.

        Args:
            mentions_by_fact: what each fact mentions.
            times: when each was said.
            texts: the facts themselves, if names they say to be the same are to be joined.
        """
        batch = _Batch(self._lookup, self._bank_id, self._threshold, mentions_by_fact)
        for number, (mentions, moment) in enumerate(zip(mentions_by_fact, times, strict=True)):
            batch.take(mentions, moment, texts[number] if texts else "")
        return batch.resolution()


class _Batch:
    """One batch under way."""

    def __init__(
        self,
        lookup: EntityLookup,
        bank_id: str,
        threshold: float,
        mentions_by_fact: Sequence[Sequence[Mention]],
    ) -> None:
        names = {mention.name for mentions in mentions_by_fact for mention in mentions}
        self._known = Candidates(lookup, bank_id, names)
        self._bank_id = bank_id
        self._threshold = threshold
        self._created: dict[str, None] = {}
        self._learnt: dict[str, None] = {}
        self._ids: list[tuple[str, ...]] = []
        self._decisions: list[Decision] = []

    def take(self, mentions: Sequence[Mention], moment: datetime, text: str) -> None:
        """Decide the mentions of one fact: old names before new ones, full ones before parts."""
        stated = aliases_stated(text, [mention.name for mention in mentions]) if text else []
        partners = {parse(one).norm: other for pair in stated for one, other in (pair, pair[::-1])}
        newer = {parse(new).norm for new, _ in stated}
        context = {owner.id for m in mentions if (owner := self._known.owner(m.name))}
        decided: dict[int, Decision] = {}
        for index in sorted(
            range(len(mentions)),
            key=lambda i: (
                parse(mentions[i].name).norm in newer,
                -len(parse(mentions[i].name).words),
                i,
            ),
        ):
            mention = mentions[index]
            partner = partners.get(parse(mention.name).norm)
            decision = self._stated(mention, partner) or self._decide(
                mention, moment, context, [m for m in mentions if m != mention]
            )
            decided[index] = decision
            context.add(decision.entity_id)
        self._decisions.extend(decided[index] for index in range(len(mentions)))
        ids = tuple(dict.fromkeys(decided[index].entity_id for index in range(len(mentions))))
        self._known.see(ids, moment)
        self._ids.append(ids)

    def resolution(self) -> Resolution:
        """All that was decided."""
        return Resolution(
            entity_ids=tuple(self._ids),
            created=tuple(self._known[entity_id] for entity_id in self._created),
            learnt=tuple(self._known[entity_id] for entity_id in self._learnt),
            names={
                entity_id: self._known[entity_id].name for ids in self._ids for entity_id in ids
            },
            decisions=tuple(self._decisions),
        )

    def _stated(self, mention: Mention, partner: str | None) -> Decision | None:
        """What the text says the mention is another name of, unless the bank has both apart."""
        entity = self._known.owner(partner) if partner else None
        if partner is None or entity is None or self._known.owner(mention.name) is not None:
            return None
        if _stands_for(mention.name, partner) and any(
            _stands_for(name, partner) for name in _names(entity)
        ):
            return None  # another thing of the same initials
        self._learn(entity, mention.name)
        return Decision(mention, entity.id, entity.name, Relation.STATED)

    def _decide(
        self,
        mention: Mention,
        moment: datetime,
        context: Collection[str],
        beside: Sequence[Mention],
    ) -> Decision:
        owner = self._known.owner(mention.name)
        may_be_part = not parse(mention.name).is_full and (
            mention.kind == "person" or (owner is not None and owner.kind == "person")
        )
        if owner is not None and not may_be_part:
            return Decision(mention, owner.id, owner.name, Relation.SAME)
        options: list[_Option] = []
        refused: dict[str, Gate] = {}
        for entity in self._known.like(mention.name):
            match = SAME if owner and entity.id == owner.id else _relate(mention, entity)
            if isinstance(match, Match):
                score = self._score(match, entity, moment, context)
                options.append(_Option(entity, match.relation, score))
            else:
                refused[entity.name] = match
        options.sort(key=lambda option: -option.score.total)
        best, reasons = self._best(mention, options, beside)
        refused = {**reasons, **refused}
        reasons_given = tuple(refused.items())[:_MOST_REFUSED]
        if best is None:
            entity = self._create(mention, moment)
            return Decision(mention, entity.id, entity.name, refused=reasons_given)
        if not (best.relation is Relation.SHORTER and len(options) > 1):
            self._learn(best.entity, mention.name)
        return Decision(
            mention, best.entity.id, best.entity.name, best.relation, best.score, reasons_given
        )

    def _best(
        self, mention: Mention, options: Sequence[_Option], beside: Sequence[Mention]
    ) -> tuple[_Option | None, dict[str, Gate]]:
        """The option that is good enough and better than any other, and why the others are not."""
        reasons: dict[str, Gate] = {}
        fit: list[_Option] = []
        for option in options:
            gate = self._gate(mention, option, options, beside)
            if gate is None:
                fit.append(option)
            else:
                reasons[option.entity.name] = gate
        best = fit[0] if fit else None
        if len(fit) > 1 and fit[0].score.total - fit[1].score.total < CLEAR_LEAD:
            best = next((option for option in fit if option.relation is Relation.SAME), None)
        reasons |= {option.entity.name: Gate.AMBIGUOUS for option in fit if option is not best}
        return best, reasons

    def _gate(
        self,
        mention: Mention,
        option: _Option,
        options: Sequence[_Option],
        beside: Sequence[Mention],
    ) -> Gate | None:
        """What keeps a possible candidate from being taken, if anything."""
        score, relation = option.score, option.relation
        if relation is Relation.SAME:
            return None
        rivals = [other for other in beside if isinstance(_relate(other, option.entity), Match)]
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
        self, match: Match, entity: Entity, moment: datetime, context: Collection[str]
    ) -> Score:
        others = [entity_id for entity_id in context if entity_id != entity.id]
        shared = self._known.share_beside(entity.id, others)
        return Score(match.similarity, shared, _recency(entity, moment))

    def _create(self, mention: Mention, moment: datetime) -> Entity:
        entity = Entity(
            id=new_id("e-"),
            bank_id=self._bank_id,
            name=mention.name,
            kind=mention.kind,
            first_seen=moment,
            last_seen=moment,
        )
        self._known.add(entity)
        self._created[entity.id] = None
        return entity

    def _learn(self, entity: Entity, name: str) -> None:
        """Give an entity another name, if that is nobody's."""
        if self._known.owner(name) is None:
            self._known.add(replace(entity, aliases=(*entity.aliases, name)))
            if entity.id not in self._created:
                self._learnt[entity.id] = None


def _names(entity: Entity) -> tuple[str, ...]:
    return (entity.name, *entity.aliases)


def _relate(mention: Mention, entity: Entity) -> Match | Gate:
    """The closest relation of the mention to any of the entity's names.

    A full name must agree with a full name, if the entity has one: "Maria Kim" is not the Maria
    who is known as "Maria Lopez" too.
    """
    names = _names(entity)
    full = [name for name in names if parse(name).is_full]
    if entity.kind == "person" and parse(mention.name).is_full and full:
        names = tuple(full)
    results = [compare(mention.name, mention.kind, name, entity.kind) for name in names]
    matches = [result for result in results if isinstance(result, Match)]
    if matches:
        return max(matches, key=lambda match: match.similarity)
    gates = [result for result in results if isinstance(result, Gate)]
    return next((gate for gate in gates if gate is not Gate.WORDS), Gate.WORDS)


def _stands_for(name: str, initials: str) -> bool:
    return acronym(parse(name).norm) == parse(initials).norm


def _is_part(one: Mention, other: Mention) -> bool:
    """Whether the one name has fewer words than the other, and may be its short form."""
    shorter = len(parse(one.name).words) < len(parse(other.name).words)
    return shorter and isinstance(compare(one.name, one.kind, other.name, other.kind), Match)


def _recency(entity: Entity, moment: datetime) -> float:
    """1 if just mentioned, falling to 0 over a week."""
    if entity.last_seen is None:
        return 0.0
    days = abs((moment - entity.last_seen).total_seconds()) / 86400.0
    return max(0.0, 1.0 - days / RECENCY_DAYS)
