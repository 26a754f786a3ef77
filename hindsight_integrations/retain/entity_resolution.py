"""Entity resolution: resolve each mention to an entity of the bank, or to a new one.

Candidates must pass the gates of `compare`; those that do are scored
`0.5 name + 0.3 context + 0.2 recency` and merged from 0.6 (weights and threshold are
Hindsight's). A part of a name that only one person has needs no score. For each mention a
`Decision` explains the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.name_matching import (
    KIN_TITLES,
    SAME,
    SHORT_FORM,
    Gate,
    Match,
    Relation,
    acronym,
    compare,
    parse,
)
from hindsight_integrations.normalization import new_id, pair_digest
from hindsight_integrations.results import Joined
from hindsight_integrations.retain.entity_candidates import (
    Candidates,
    EntityLookup,
    may_be_another,
    relate,
)
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.name_use import NameUsage, StatementMentions
from hindsight_integrations.retain.stated_names import aliases_stated, names_denied

NAME_WEIGHT = 0.5
CONTEXT_WEIGHT = 0.3
RECENCY_WEIGHT = 0.2
RECENCY_DAYS = 7.0
"""Days after the last mention at which the recency score reaches 0."""
MIN_CONTEXT = 0.3
"""Minimum share of the other entities mentioned that must be known with the candidate, unless the
name alone suffices: in an import everything is recent, so recency is no evidence."""
CLEAR_LEAD = 0.05
"""Minimum difference in score between the best candidate and the next."""
SURE_NAME = 0.81
"""Name similarity from which a short form of a single entity needs no other evidence."""
_MOST_REJECTED = 5


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
    """The entity that a mention was resolved to, with the reasons.

    Attributes:
        mention: the mention.
        entity_id: id of its entity.
        entity_name: canonical name of its entity.
        relation: relation of the mention's name to the entity's; None for a new entity.
        score: score of the entity; None where no score was needed.
        rejected: names of entities that were rejected, each with the reason.
        adds_alias: True if the name becomes a new alias of a known entity.
    """

    mention: Mention
    entity_id: str
    entity_name: str
    relation: Relation | None = None
    score: Score | None = None
    rejected: tuple[tuple[str, Gate], ...] = ()
    adds_alias: bool = False


@dataclass(frozen=True, slots=True)
class KindDoubt:
    """A known entity that new texts mention as of another kind than is stored.

    Attributes:
        entity: the entity.
        names: its names in the texts.
        kinds: the kinds that these mentions were given.
        texts: the texts.
    """

    entity: Entity
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolution:
    """The entities of a batch of facts.

    Attributes:
        entity_ids: for each fact, the ids of its entities, each once.
        created: entities that are new to the bank.
        renamed: known entities that gained aliases, with all their names.
        names: canonical name of each entity mentioned, by id.
        decisions: one per mention that is somebody's, fact by fact.
        kind_doubts: known entities that are mentioned as of another kind.
    """

    entity_ids: tuple[tuple[str, ...], ...]
    created: tuple[Entity, ...]
    renamed: tuple[Entity, ...]
    names: Mapping[str, str]
    decisions: tuple[Decision, ...]
    kind_doubts: tuple[KindDoubt, ...] = ()

    @property
    def joined(self) -> tuple[Joined, ...]:
        """Names that were resolved to an entity with another canonical name, each once."""
        joined = {
            Joined(decision.mention.name, decision.entity_name, REASONS[decision.relation])
            for decision in self.decisions
            if decision.relation in REASONS
            and decision.mention.name != decision.entity_name
            and (decision.adds_alias or decision.relation is not Relation.SAME)
        }
        return tuple(sorted(joined, key=lambda item: (item.entity, item.name)))


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
        kept_apart: digests of pairs of names that are never one entity's (`Bank.kept_apart`).
    """

    def __init__(
        self,
        lookup: EntityLookup,
        bank_id: str,
        threshold: float = 0.6,
        kept_apart: Collection[str] = (),
    ) -> None:
        self._lookup = lookup
        self._bank_id = bank_id
        self._threshold = threshold
        self._kept_apart = frozenset(kept_apart)

    def resolve(
        self,
        mentions_by_fact: Sequence[Sequence[Mention]],
        times: Sequence[datetime],
        texts: Sequence[str] = (),
        known: Candidates | None = None,
    ) -> Resolution:
        """Resolve the mentions of successive facts; earlier facts are context for later ones.

        Args:
            mentions_by_fact: mentions of each fact.
            times: when each was said.
            texts: texts of the facts, in which stated aliases are found; none to ignore these.
            known: candidates of the mentions, if already read.
        """
        if known is None:
            known = Candidates(self._lookup, self._bank_id, chain.from_iterable(mentions_by_fact))
        usage = NameUsage(chain.from_iterable(mentions_by_fact), texts)
        batch = _Batch(known, self._bank_id, self._threshold, self._kept_apart, usage)
        for index, (mentions, said_at) in enumerate(zip(mentions_by_fact, times, strict=True)):
            batch.add(mentions, said_at, texts[index] if texts else "")
        return batch.resolution()


class _Batch:
    """State of the resolution of one batch."""

    def __init__(
        self,
        known: Candidates,
        bank_id: str,
        threshold: float,
        kept_apart: frozenset[str],
        usage: NameUsage,
    ) -> None:
        self._known = known
        self._usage = usage
        self._denied: defaultdict[str, set[str]] = defaultdict(set)
        self._bank_id = bank_id
        self._threshold = threshold
        self._kept_apart = kept_apart
        self._created: dict[str, None] = {}
        self._renamed: dict[str, None] = {}
        self._ids: list[tuple[str, ...]] = []
        self._decisions: list[Decision] = []
        self._doubts: dict[str, list[tuple[Mention, str]]] = {}

    def add(self, mentions: Sequence[Mention], timestamp: datetime, text: str) -> None:
        """Resolve the mentions of a fact: former names before new ones, full before short ones."""
        names = [mention.name for mention in mentions]
        stated = aliases_stated(text, mentions) if text else []
        for denied in names_denied(text, names):
            for name in names:
                if name != denied:
                    self._denied[parse(name).norm].add(denied)
        fact = StatementMentions(text, mentions)
        stated_aliases = {
            parse(name).norm: other for pair in stated for name, other in (pair, pair[::-1])
        }
        new_names = {parse(new).norm for new, _ in stated}
        context = {owner.id for m in mentions if (owner := self._known.owner(m.name))}
        decisions_by_index: dict[int, Decision] = {}

        def order(index: int) -> tuple[bool, int]:
            name = parse(mentions[index].name)
            spelled_otherwise = mentions[index].addressed_as is not None
            return spelled_otherwise or name.norm in new_names, -len(name.words)

        for index in sorted(range(len(mentions)), key=order):
            mention = mentions[index]
            other_name = stated_aliases.get(parse(mention.name).norm)
            if mention.is_another and self._knows(mention):
                continue
            decision = (
                self._decide_by_address(mention)
                or self._decide_by_statement(mention, other_name)
                or self._decide_by_score(mention, timestamp, context, fact)
            )
            decisions_by_index[index] = decision
            context.add(decision.entity_id)
        decisions = [decision for _, decision in sorted(decisions_by_index.items())]
        self._decisions += decisions
        for decision in decisions:
            self._compare_kinds(decision, text)
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
            kind_doubts=tuple(
                KindDoubt(
                    self._known[entity_id],
                    tuple(dict.fromkeys(mention.name for mention, _ in doubted)),
                    tuple(dict.fromkeys(mention.kind for mention, _ in doubted)),
                    tuple(dict.fromkeys(text for _, text in doubted)),
                )
                for entity_id, doubted in self._doubts.items()
            ),
        )

    def _compare_kinds(self, decision: Decision, text: str) -> None:
        """Give a new entity the kind that a later mention tells; doubt that of a known one."""
        mention, entity = decision.mention, self._known[decision.entity_id]
        if mention.kind == entity.kind:
            return
        if entity.id in self._created:
            if entity.kind == "concept":
                self._known.add(replace(entity, kind=mention.kind))
        elif mention.kind != "concept" or self._known.owner(mention.name) is not None:
            self._doubts.setdefault(entity.id, []).append((mention, text))

    def _knows(self, mention: Mention) -> bool:
        """Return True if the bank has a person by whose name, or a form of it, this one goes.

        A name belongs to one entity, so that a second bearer of it has none.
        """
        owner = self._known.owner(mention.name)
        similar = self._known.similar(mention.name) if owner is None else [owner]
        return any(
            "person" in (mention.kind, entity.kind) and isinstance(relate(mention, entity), Match)
            for entity in similar
        )

    def _decide_by_address(self, mention: Mention) -> Decision | None:
        """Resolve a variant spelling of a participant's name; None if the bank has both names."""
        participant = self._known.owner(mention.addressed_as) if mention.addressed_as else None
        if participant is None or self._known.owner(mention.name) is not None:
            return None
        if is_kept_apart(self._kept_apart, mention.name, participant):
            return None
        self._add_alias(participant, mention.name)
        return Decision(mention, participant.id, participant.name, Relation.ADDRESSED)

    def _decide_by_statement(self, mention: Mention, alias: str | None) -> Decision | None:
        """Resolve a name by an alias that the text states; None if each name has an entity."""
        entity = self._known.owner(alias) if alias else None
        if alias is None or entity is None or self._known.owner(mention.name) is not None:
            return None
        if is_kept_apart(self._kept_apart, mention.name, entity):
            return None
        if _stands_for(mention.name, alias) and any(
            _stands_for(name, alias) for name in entity.names
        ):
            return None  # the entity is another one with the same initials
        self._add_alias(entity, mention.name)
        return Decision(mention, entity.id, entity.name, Relation.STATED)

    def _decide_by_score(
        self,
        mention: Mention,
        timestamp: datetime,
        context: Collection[str],
        fact: StatementMentions,
    ) -> Decision:
        """Resolve a name by its score (name, context, recency), or create a new entity."""
        owner = self._known.owner(mention.name)
        if owner is not None and not may_be_another(mention, owner):
            return Decision(mention, owner.id, owner.name, Relation.SAME)
        # The entity with exactly this name is no evidence for another one.
        evidence = set(context) - {owner.id if owner else ""}
        options: list[_Option] = []
        rejected: dict[str, Gate] = {}
        similar = self._known.similar(mention.name)
        for entity in similar:
            is_owner = owner is not None and entity.id == owner.id
            match = SAME if is_owner else relate(mention, entity)
            if isinstance(match, Match) and not is_owner:
                match = self._exclusion(mention, entity, fact, similar) or match
            if isinstance(match, Match):
                score = self._score(match, entity, timestamp, evidence)
                options.append(_Option(entity, match.relation, score))
            else:
                rejected[entity.name] = match
        options.sort(key=lambda option: -option.score.total)
        chosen, reasons = self._best_option(
            mention, options, [m for m in fact.mentions if m != mention]
        )
        rejected = {**reasons, **rejected}
        reasons_given = tuple(rejected.items())[:_MOST_REJECTED]
        if chosen is None:
            entity = self._create(mention, timestamp)
            return Decision(mention, entity.id, entity.name, rejected=reasons_given)
        adds_alias = owner is None and not (
            chosen.relation is Relation.SHORTER and len(options) > 1
        )
        if adds_alias:
            self._add_alias(chosen.entity, mention.name)
        entity = chosen.entity
        return Decision(
            mention,
            entity.id,
            entity.name,
            chosen.relation,
            chosen.score,
            reasons_given,
            adds_alias,
        )

    def _exclusion(
        self, mention: Mention, entity: Entity, fact: StatementMentions, similar: Sequence[Entity]
    ) -> Gate | None:
        """Return the reason, by the user or the texts, why a similar name is not the entity's."""
        if is_kept_apart(self._kept_apart, mention.name, entity):
            return Gate.APART
        for denied in self._denied.get(parse(mention.name).norm, ()):
            if isinstance(relate(Mention(denied, mention.kind), entity), Match):
                return Gate.DENIED
        return self._usage.gate(mention, entity, fact, similar)

    def _best_option(
        self, mention: Mention, options: Sequence[_Option], others: Sequence[Mention]
    ) -> tuple[_Option | None, dict[str, Gate]]:
        """Return the option that passes and leads by `CLEAR_LEAD`, and why others were rejected."""
        reasons: dict[str, Gate] = {}
        passing: list[_Option] = []
        for option in options:
            gate = self._gate_option(mention, option, options, others)
            if gate is None:
                passing.append(option)
            else:
                reasons[option.entity.name] = gate
        best = passing[0] if passing else None
        if len(passing) > 1 and passing[0].score.total - passing[1].score.total < CLEAR_LEAD:
            same = [option for option in passing if option.relation is Relation.SAME]
            if len(same) > 1:  # "Klein", where the bank has Mrs Klein and Dr. Klein
                norm = parse(mention.name).norm
                same = [o for o in same if norm in {parse(n).norm for n in o.entity.names}]
            best = same[0] if same else None
        reasons |= {option.entity.name: Gate.AMBIGUOUS for option in passing if option is not best}
        return best, reasons

    def _gate_option(
        self,
        mention: Mention,
        option: _Option,
        options: Sequence[_Option],
        others: Sequence[Mention],
    ) -> Gate | None:
        """Return the reason to reject an option; None if it passes."""
        score, relation = option.score, option.relation
        if relation is Relation.SAME:
            return None
        rivals = [other for other in others if isinstance(relate(other, option.entity), Match)]
        if relation is Relation.SHORTER:  # "Peggy ... Peggy O'Brien" are one
            rivals = [other for other in rivals if not _is_short_form(other, mention)]
        of_nickname = score.name < SHORT_FORM and not all(parse(r.name).is_full for r in rivals)
        is_full = parse(mention.name).is_full
        if rivals and (relation is not Relation.SHORTER or is_full or of_nickname):
            return Gate.TOGETHER  # "Jo phoned Joanna" names two
        is_sure = relation in (Relation.SHORTER, Relation.ACRONYM)
        is_sure = is_sure or _completes_titled_surname(mention, option)
        if is_sure and len(options) == 1 and score.name >= SURE_NAME:
            return None
        if score.total < self._threshold or score.context < MIN_CONTEXT:
            return Gate.SCORE
        stale = relation is Relation.FULLER and score.recency == 0.0
        return Gate.SCORE if stale else None

    def _score(
        self, match: Match, entity: Entity, timestamp: datetime, context: Collection[str]
    ) -> Score:
        """Score an entity whose name matches."""
        others = [entity_id for entity_id in context if entity_id != entity.id]
        shared = self._known.share_mentioned_with(entity.id, others)
        return Score(match.similarity, shared, _recency(entity, timestamp))

    def _create(self, mention: Mention, timestamp: datetime) -> Entity:
        """Create a new entity from a mention."""
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


def is_kept_apart(kept_apart: Collection[str], name: str, entity: Entity) -> bool:
    """Return True if the user keeps a name apart from any of the entity's names."""
    return bool(kept_apart) and any(
        pair_digest(name, other) in kept_apart for other in entity.names
    )


def _completes_titled_surname(mention: Mention, option: _Option) -> bool:
    """Return True for a full name of whom the bank knows by title and surname: "Anna Novak".

    That nobody else has the surname, and that the title fits the given name, `NameUsage` checks. A
    given name alone is not enough, since a full name often introduces a namesake.
    """
    if option.relation is not Relation.FULLER:
        return False
    surname = parse(mention.name).words[-1]
    return any(
        name.title not in KIN_TITLES and name.words == (surname,) and bool(name.title)
        for name in map(parse, option.entity.names)
    )


def _stands_for(name: str, initials: str) -> bool:
    """Return True if `initials` are the initials of the name."""
    return acronym(parse(name).norm) == parse(initials).norm


def _is_short_form(short: Mention, full: Mention) -> bool:
    """Return True if one name has fewer words than the other and matches it."""
    shorter = len(parse(short.name).words) < len(parse(full.name).words)
    return shorter and isinstance(compare(short.name, short.kind, full.name, full.kind), Match)


def _recency(entity: Entity, timestamp: datetime) -> float:
    """Return 1 for an entity just mentioned, falling linearly to 0 over `RECENCY_DAYS`."""
    if entity.last_seen is None:
        return 0.0
    days = abs((timestamp - entity.last_seen).total_seconds()) / 86400.0
    return max(0.0, 1.0 - days / RECENCY_DAYS)
