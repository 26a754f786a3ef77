"""Suggest pairs of entities to merge, with the reasons, for the user to decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import Entity
from hindsight_integrations.nlp.name_matching import Match, Relation, is_given_name, parse
from hindsight_integrations.retain.entity_candidates import Candidates, relate
from hindsight_integrations.retain.entity_resolution import SURE_NAME, is_kept_apart
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.retain.name_use import NameUsage, StatementMentions, is_surname_alone
from hindsight_integrations.stores.base import COOCCURRENCES, ENTITY, GraphStore

NAME_WEIGHT = 0.7
"""Weight of the names' similarity; the rest weighs the shared companions [C]."""

MOST_ENTITIES = 1000
"""Most entities compared with each other: those with most mentions."""

_NAMED = 3
"""Most shared companions that a reason lists."""

_RELATIONS = {
    Relation.SAME: "the names are equal but for titles, spaces or signs",
    Relation.SHORTER: "{source} may be short for {target}",
    Relation.FULLER: "{source} may be the full name of {target}",
    Relation.ACRONYM: "one has the initials of the other",
}
_ALIKE = "the names are spelled alike"


@dataclass(frozen=True, slots=True)
class MergeSuggestion(JsonForm):
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
    graph: GraphStore, bank_id: str, kept_apart: Collection[str], limit: int
) -> list[MergeSuggestion]:
    """Return pairs of entities that may be one, by descending confidence.

    The names must pass the gates of `name_matching.compare`, and no memory may mention both. A
    surname alone is suggested only between two persons, if nobody else in the bank has it. The
    confidence is `NAME_WEIGHT` * name similarity + (1 - `NAME_WEIGHT`) * shared companions, the
    share of the source's companions that the target has too; it is divided by the number of targets
    that the source may stand for.

    Args:
        graph: the store.
        bank_id: the bank.
        kept_apart: digests of pairs of names that the user keeps apart (`Bank.kept_apart`).
        limit: most pairs.
    """
    listed = graph.list_entities(bank_id, limit=MOST_ENTITIES).items
    candidates = Candidates(
        graph, bank_id, [Mention(entity.name, entity.kind) for entity in listed]
    )
    usage = NameUsage((Mention(name, e.kind) for e in listed for name in e.names), ())
    pairs: dict[tuple[str, str], tuple[Entity, Entity, Match]] = {}
    for entity in listed:
        similar = candidates.similar(entity.name)
        for other in similar:
            source, target = sorted((entity, other), key=lambda e: (e.mention_count, e.name))
            if source.id == target.id or (source.id, target.id) in pairs:
                continue
            match = relate(Mention(source.name, source.kind), target)
            if not isinstance(match, Match) or any(
                is_kept_apart(kept_apart, n, target) for n in source.names
            ):
                continue
            if _may_be_one(source, target, match, usage, similar):
                pairs[source.id, target.id] = source, target, match
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    cooccurrences = graph.read(bank_id, COOCCURRENCES, ids)
    candidates_of = Counter(source for source, _ in pairs)
    suggestions = list(_scored(graph, bank_id, list(pairs.values()), cooccurrences, candidates_of))
    return sorted(suggestions, key=lambda s: (-s.confidence, s.source.name, s.target.name))[:limit]


def _may_be_one(
    source: Entity, target: Entity, match: Match, usage: NameUsage, similar: Sequence[Entity]
) -> bool:
    """Return False for a surname that others may have, and for two similar given names."""
    mention = Mention(source.name, source.kind)
    others = [entity for entity in similar if entity.id not in (source.id, target.id)]
    if usage.gate(mention, target, StatementMentions("", (mention,)), others):
        return False
    if is_surname_alone(mention, target):
        return {source.kind, target.kind} == {"person"}
    given_names = [name for name in (source.name, target.name) if is_given_name(parse(name).norm)]
    return match.relation is not Relation.VARIANT or len(given_names) < 2


def _scored(
    graph: GraphStore,
    bank_id: str,
    pairs: Sequence[tuple[Entity, Entity, Match]],
    cooccurrences: dict[str, Mapping[str, int]],
    candidates_of: Mapping[str, int],
) -> Iterator[MergeSuggestion]:
    for source, target, match in pairs:
        source_companions = cooccurrences.get(source.id, {})
        target_companions = cooccurrences.get(target.id, {})
        if target.id in source_companions:
            continue  # a memory mentions both, so they are two entities
        shared = [id for id in source_companions if id in target_companions]
        if not shared and match.similarity < SURE_NAME:
            continue  # neither the names nor shared companions are sufficient evidence
        shared_ratio = len(shared) / len(source_companions) if source_companions else 0.0
        confidence = NAME_WEIGHT * match.similarity + (1 - NAME_WEIGHT) * shared_ratio
        template = _RELATIONS.get(match.relation, _ALIKE)
        reasons = [template.format(source=repr(source.name), target=repr(target.name))]
        if shared:
            examples = graph.read(bank_id, ENTITY, shared[:_NAMED]).values()
            reasons.append(f"both are mentioned beside {', '.join(e.name for e in examples)}")
        if candidates_of[source.id] > 1:
            reasons.append(f"{candidates_of[source.id]} entities fit {source.name!r}")
        yield MergeSuggestion(
            source, target, round(confidence / candidates_of[source.id], 3), tuple(reasons)
        )
