"""Cluster memories of one subject: pure functions.

Without a language model two memories belong together if they share a topic, or one changes what
the other says: which memories these are does not depend on when any of them was read. A model is
given similar memories that share a word, and judges for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hindsight_integrations.models import Bank, Memory
from hindsight_integrations.reflect.changes.contradictions import change, dated_statements, resumes
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.dependencies import Cluster
from hindsight_integrations.stores.base import Vector

MOST = 80
"""Most memories of a cluster for a language model: more would not fit its prompt."""


def cosine(one: Vector, other: Vector) -> float:
    """Return the cosine of two vectors of unit length."""
    return float(one @ other)


def related(
    one: Sequence[DatedStatement], other: Sequence[DatedStatement], ambiguous: frozenset[str]
) -> bool:
    """Return True if statements of two memories share a topic, or one changes the other."""
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
    one: Sequence[DatedStatement], other: Sequence[DatedStatement], alike: float, similarity: float
) -> bool:
    """Return True if statements of two similar memories share a word."""
    return alike >= similarity and any(
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
    similarity: float | None,
    ambiguous: frozenset[str] = frozenset(),
    people: frozenset[str] = frozenset(),
) -> list[Cluster]:
    """Cluster the waiting memories with related ones, in order of time.

    Args:
        bank: the bank of the memories.
        waiting: ids of memories and conclusions that wait to be consolidated.
        pairs: ids of memories that may belong together.
        memories: facts by id, including the evidence of the conclusions.
        conclusions: earlier conclusions by id.
        vectors: of memories and conclusions.
        similarity: cosine from which a language model is given two memories together; None for
            rules, which ask for a shared topic instead.
        ambiguous: first names that several people have.
        people: names that the bank knows as people's.
    """
    groups = _Groups()
    for conclusion in conclusions.values():
        groups.add(conclusion.id)
        for source in conclusion.sources:
            if source.memory_id is not None and source.memory_id in memories:
                groups.join(conclusion.id, source.memory_id, most=None)
    spoke = frozenset(memory.speaker for memory in memories.values() if memory.speaker)
    speakers = spoke | people
    read = {id: dated_statements(memory, speakers) for id, memory in memories.items()}
    weighed = sorted(
        ((cosine(vectors[a], vectors[b]), a, b) for a, b in _distinct(pairs)), reverse=True
    )
    for alike, a, b in weighed:
        if similarity is None:
            if related(read[a], read[b], ambiguous):
                groups.join(a, b, most=None)
        elif similar(read[a], read[b], alike, similarity):
            groups.join(a, b, most=MOST)
    fresh = frozenset(waiting)
    made = [
        _cluster(bank, members, fresh, memories, conclusions, vectors, speakers, ambiguous)
        for members in groups.all()
        if fresh & set(members)
    ]
    return sorted(made, key=_first)


def _first(cluster: Cluster) -> tuple[datetime, str]:
    first = (cluster.memories or cluster.conclusions)[0]
    return first.mentioned_at, first.id


def _distinct(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(min(a, b), max(a, b)) for a, b in pairs if a != b}


def _cluster(
    bank: Bank,
    members: Sequence[str],
    fresh: frozenset[str],
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
        new=fresh & set(members),
        conclusions=in_order(conclusions[id] for id in members if id in conclusions),
        vectors={id: vectors[id] for id in members if id in vectors},
        speakers=speakers,
        ambiguous=ambiguous,
    )


def in_order(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Sort memories by when they were said."""
    return tuple(sorted(memories, key=lambda memory: (memory.mentioned_at, memory.id)))


def _subject(memories: Sequence[Memory]) -> str:
    """Return the speaker they share, or the entity most of them mention."""
    speakers = {memory.speaker for memory in memories}
    if len(speakers) == 1 and (speaker := next(iter(speakers))):
        return speaker
    counts: defaultdict[str, int] = defaultdict(int)
    for memory in memories:
        for name in memory.entities:
            counts[name] += name not in speakers
    return max(counts, key=lambda name: (counts[name], name), default="a matter without a name")


class _Groups:
    """Disjoint sets of ids that grow by joining."""

    def __init__(self) -> None:
        self._members: dict[str, list[str]] = {}

    def add(self, one: str) -> list[str]:
        return self._members.setdefault(one, [one])

    def join(self, one: str, other: str, *, most: int | None) -> None:
        """Join two groups, unless the result would have more than `most` members."""
        larger, smaller = sorted((self.add(one), self.add(other)), key=len, reverse=True)
        if larger is smaller or (most is not None and len(larger) + len(smaller) > most):
            return
        larger += smaller
        self._members |= dict.fromkeys(smaller, larger)

    def all(self) -> list[list[str]]:
        return list({id(members): members for members in self._members.values()}.values())
