"""Pairs of entities that may be one, with the reasons, for the user to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.name_matching import Match, Relation, is_given_name, parse
from hindsight_integrations.retain.entity_resolution import SURE_NAME, Candidates, are_apart, relate
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.name_use import Fact, Uses, is_surname_alone
from hindsight_integrations.stores.base import COOCCURRENCES, ENTITY, GraphStore

NAME_WEIGHT = 0.7
"""Weight of the names' similarity; the rest is that of the company both are mentioned in [C]."""

MOST_ENTITIES = 1000
"""Most entities compared with the others, those mentioned most."""

_NAMED = 3
"""Shared companions that a reason names."""

_RELATIONS = {
    Relation.SAME: "the names are equal but for titles, spaces or signs",
    Relation.SHORTER: "{source} may be short for {target}",
    Relation.FULLER: "{source} may be the full name of {target}",
    Relation.ACRONYM: "one has the initials of the other",
}
_ALIKE = "the names are spelled alike"


@dataclass(frozen=True, slots=True)
class MergeSuggestion:
    """Two entities that may be one.

    Attributes:
        source: the entity that is mentioned less.
        target: the entity it would become a name of.
        confidence: 0 to 1.
        reasons: evidence for it, as sentences.
    """

    source: Entity
    target: Entity
    confidence: float
    reasons: tuple[str, ...]


def merge_suggestions(
    graph: GraphStore, bank_id: str, apart: Collection[str], limit: int
) -> list[MergeSuggestion]:
    """Return pairs of entities that may be one, likeliest first.

    The names must pass the gates of `name_matching.compare`, and no memory mentions both. A surname
    alone is suggested only between two persons, and if the bank knows no other with it. The
    confidence weighs the likeness of the names and the share of the entities mentioned beside the
    rarer one that are mentioned beside the other too; it is shared among the entities that a name
    may stand for.

    Args:
        graph: the store.
        bank_id: the bank.
        apart: names that the user keeps apart, as `Bank.kept_apart` has them.
        limit: most pairs.
    """
    listed = graph.list_entities(bank_id, limit=MOST_ENTITIES).items
    known = Candidates(graph, bank_id, [Mention(each.name, each.kind) for each in listed])
    uses = Uses((Mention(name, e.kind) for e in listed for name in (e.name, *e.aliases)), ())
    pairs: dict[tuple[str, str], tuple[Entity, Entity, Match]] = {}
    for entity in listed:
        like = known.like(entity.name)
        for other in like:
            source, target = sorted((entity, other), key=lambda e: (e.mention_count, e.name))
            if source.id == target.id or (source.id, target.id) in pairs:
                continue
            match = relate(Mention(source.name, source.kind), target)
            names = (source.name, *source.aliases)
            if not isinstance(match, Match) or any(are_apart(apart, n, target) for n in names):
                continue
            if _may_be_one(source, target, match, uses, like):
                pairs[source.id, target.id] = source, target, match
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    beside = graph.read(bank_id, COOCCURRENCES, ids)
    fitting = Counter(source for source, _ in pairs)
    found = list(_weighed(graph, bank_id, list(pairs.values()), beside, fitting))
    return sorted(found, key=lambda s: (-s.confidence, s.source.name, s.target.name))[:limit]


def _may_be_one(
    source: Entity, target: Entity, match: Match, uses: Uses, like: Sequence[Entity]
) -> bool:
    """Return False for a surname that may be another's, and for two given names spelled alike."""
    mention = Mention(source.name, source.kind)
    others = [one for one in like if one.id not in (source.id, target.id)]
    if uses.gate(mention, target, Fact("", (mention,)), others):
        return False
    if is_surname_alone(mention, target):
        return {source.kind, target.kind} == {"person"}
    given = [one for one in (source.name, target.name) if is_given_name(parse(one).norm)]
    return match.relation is not Relation.VARIANT or len(given) < 2


def _weighed(
    graph: GraphStore,
    bank_id: str,
    pairs: Sequence[tuple[Entity, Entity, Match]],
    beside: dict[str, Mapping[str, int]],
    fitting: Mapping[str, int],
) -> Iterator[MergeSuggestion]:
    for source, target, match in pairs:
        near, far = beside.get(source.id, {}), beside.get(target.id, {})
        if target.id in near:
            continue  # a memory mentions both: they are two
        shared = [id for id in near if id in far]
        if not shared and match.similarity < SURE_NAME:
            continue  # neither name nor company speaks for it
        company = len(shared) / len(near) if near else 0.0
        likeness = NAME_WEIGHT * match.similarity + (1 - NAME_WEIGHT) * company
        said = _RELATIONS.get(match.relation, _ALIKE)
        reasons = [said.format(source=repr(source.name), target=repr(target.name))]
        if shared:
            named = graph.read(bank_id, ENTITY, shared[:_NAMED]).values()
            reasons.append(f"both are mentioned beside {', '.join(e.name for e in named)}")
        if fitting[source.id] > 1:
            reasons.append(f"{fitting[source.id]} entities fit {source.name!r}")
        yield MergeSuggestion(
            source, target, round(likeness / fitting[source.id], 3), tuple(reasons)
        )
