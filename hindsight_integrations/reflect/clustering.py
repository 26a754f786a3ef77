"""Cluster memories that may support a common conclusion: pure functions.

For rules, two memories are linked if they share a topic, or one changes what the other states, and
a lasting fact of a person may stand alone: so the clusters do not depend on the order of
consolidation. For a language model, similar memories that share a word are linked, and the model
judges their relation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hindsight_integrations.models import Bank, Memory
from hindsight_integrations.reflect.changes.contradictions import change, dated_statements, resumes
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.dependencies import Cluster
from hindsight_integrations.reflect.person_facts import tells_fact, with_person_facts
from hindsight_integrations.stores.base import Vector

MOST_FOR_MODEL = 80
"""Most memories of a cluster for a language model: more would not fit its prompt."""


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of unit length."""
    return float(one @ other)


def related(
    one: Sequence[DatedStatement], other: Sequence[DatedStatement], ambiguous: frozenset[str]
) -> bool:
    """Return True if two memories of one scope share a topic, or one changes the other."""
    return any(
        a.memory.scope == b.memory.scope
        and (
            bool(a.statement.topics.keys() & b.statement.topics.keys())
            or change(a, b, ambiguous) is not None
            or change(b, a, ambiguous) is not None
            or resumes(a, b)
            or resumes(b, a)
        )
        for a in one
        for b in other
    )


def similar(
    one: Sequence[DatedStatement],
    other: Sequence[DatedStatement],
    cosine_similarity: float,
    threshold: float,
) -> bool:
    """Return True if two memories of one scope are similar and share a word."""
    return cosine_similarity >= threshold and any(
        a.memory.scope == b.memory.scope and bool(a.statement.terms & b.statement.terms)
        for a in one
        for b in other
    )


def clusters(
    bank: Bank,
    waiting: Iterable[str],
    pairs: Iterable[tuple[str, str]],
    memories: Mapping[str, Memory],
    conclusions: Mapping[str, Memory],
    vectors: Mapping[str, Vector],
    threshold: float | None,
    ambiguous: frozenset[str] = frozenset(),
    person_names: frozenset[str] = frozenset(),
) -> list[Cluster]:
    """Cluster the waiting memories with related ones; clusters are sorted by their first memory.

    Args:
        bank: the bank of the memories.
        waiting: ids of memories and conclusions that wait to be consolidated.
        pairs: candidate pairs of ids of memories to link.
        memories: facts by id, including the evidence of the conclusions.
        conclusions: earlier conclusions by id.
        vectors: of memories and conclusions.
        threshold: minimum cosine to link two memories for a language model; None for rules, which
            link by topic instead.
        ambiguous: first names that several people have.
        person_names: names that the bank knows as people's.
    """
    groups = _DisjointSets()
    for conclusion in conclusions.values():
        groups.add(conclusion.id)
        for source in conclusion.sources:
            if source.memory_id is not None and source.memory_id in memories:
                groups.join(conclusion.id, source.memory_id, limit=None)
    known_speakers = frozenset(memory.speaker for memory in memories.values() if memory.speaker)
    speakers = known_speakers | person_names
    waiting_ids = frozenset(waiting)
    statements = {
        id: _statements(memory, speakers, bank, with_facts=threshold is None)
        for id, memory in memories.items()
    }
    for id in sorted(waiting_ids & statements.keys()):
        if any(map(tells_fact, statements[id])):
            groups.add(id)
    pairs_by_cosine = sorted(
        ((cosine(vectors[a], vectors[b]), a, b) for a, b in _distinct(pairs)), reverse=True
    )
    for cosine_similarity, a, b in pairs_by_cosine:
        if threshold is None:
            if related(statements[a], statements[b], ambiguous):
                groups.join(a, b, limit=None)
        elif similar(statements[a], statements[b], cosine_similarity, threshold):
            groups.join(a, b, limit=MOST_FOR_MODEL)
    results = [
        _cluster(bank, members, waiting_ids, memories, conclusions, vectors, speakers, ambiguous)
        for members in groups.all()
        if waiting_ids & set(members)
    ]
    return sorted(results, key=_start)


def _statements(
    memory: Memory, people: frozenset[str], bank: Bank, *, with_facts: bool
) -> tuple[DatedStatement, ...]:
    """Return the statements of a memory, on request with the facts that they tell of people."""
    read = dated_statements(memory, people)
    return with_person_facts(memory, read, people, bank.name) if with_facts else read


def _start(cluster: Cluster) -> tuple[datetime, str]:
    first = (cluster.memories or cluster.conclusions)[0]
    return first.mentioned_at, first.id


def _distinct(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(min(a, b), max(a, b)) for a, b in pairs if a != b}


def _cluster(
    bank: Bank,
    members: Sequence[str],
    waiting_ids: frozenset[str],
    memories: Mapping[str, Memory],
    conclusions: Mapping[str, Memory],
    vectors: Mapping[str, Vector],
    speakers: frozenset[str],
    ambiguous: frozenset[str],
) -> Cluster:
    facts = in_order(memories[id] for id in members if id in memories)
    return Cluster(
        bank=bank,
        subject=_subject(facts),
        memories=facts,
        new=waiting_ids & set(members),
        conclusions=in_order(conclusions[id] for id in members if id in conclusions),
        vectors={id: vectors[id] for id in members if id in vectors},
        speakers=speakers,
        ambiguous=ambiguous,
    )


def in_order(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Sort memories by when they were said."""
    return tuple(sorted(memories, key=lambda memory: (memory.mentioned_at, memory.id)))


def _subject(memories: Sequence[Memory]) -> str:
    """Return the common speaker of the memories, else the entity most of them mention."""
    speakers = {memory.speaker for memory in memories}
    if len(speakers) == 1 and (speaker := next(iter(speakers))):
        return speaker
    counts: defaultdict[str, int] = defaultdict(int)
    for memory in memories:
        for name in memory.entities:
            counts[name] += name not in speakers
    return max(counts, key=lambda name: (counts[name], name), default="a matter without a name")


class _DisjointSets:
    """Disjoint sets of ids (union-find)."""

    def __init__(self) -> None:
        self._members: dict[str, list[str]] = {}

    def add(self, first: str) -> list[str]:
        return self._members.setdefault(first, [first])

    def join(self, first: str, second: str, *, limit: int | None) -> None:
        """Join two groups, unless the result would have more than `limit` members."""
        larger, smaller = sorted((self.add(first), self.add(second)), key=len, reverse=True)
        if larger is smaller or (limit is not None and len(larger) + len(smaller) > limit):
            return
        larger += smaller
        self._members |= dict.fromkeys(smaller, larger)

    def all(self) -> list[list[str]]:
        return list({id(members): members for members in self._members.values()}.values())
