"""Which memories are of one matter: pure functions.

Two are if they share a topic and are alike; how alike they must be depends on how much the topic
tells. Likeness alone is not enough (two thanks are very alike), nor is a shared word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from hindsight_integrations.model import Bank, Memory
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.reflect.contradict import (
    Told,
    both_open_with,
    change,
    opening_name,
    told,
)
from hindsight_integrations.reflect.ports import Matter
from hindsight_integrations.reflect.topics import Grade, Statement, Topic, is_name
from hindsight_integrations.storage.requests import Vector

MARGIN = {Grade.PHRASE: 0.0, Grade.NAME: 0.0, Grade.NOUN: 0.15, Grade.WORD: 0.2}
"""What a shared topic adds to the cosine that is asked for."""

MOST = 80
"""Memories of a matter: more would not fit the prompt of a language model."""


def cosine(one: Vector, other: Vector) -> float:
    """Of two vectors of unit length."""
    return float(one @ other)


def shared_topics(one: Told, other: Told, alike: float, similarity: float) -> list[Topic]:
    """The topics by which two statements are of one matter, the most telling first.

    Args:
        one: a statement.
        other: another memory's.
        alike: cosine of the two memories.
        similarity: cosine that a shared phrase asks for.
    """
    if one.memory.id == other.memory.id or one.memory.scope != other.memory.scope:
        return []
    here, there = one.statement.topics, other.statement.topics
    common = [min(here[key], there[key], key=_grade) for key in here if key in there]
    found = [
        topic
        for topic in common
        if alike >= similarity + MARGIN[topic.grade] and _tells(topic, one, other)
    ]
    return sorted(found, key=lambda topic: (-topic.grade, topic.key))


def _grade(topic: Topic) -> Grade:
    return topic.grade


def _tells(topic: Topic, one: Told, other: Told) -> bool:
    """Whether sharing the topic makes a matter of it.

    A noun does for one speaker, or where nobody speaks, if a name is shared too. Any content
    word does if both sentences are about one name, which is not enough by itself: of one person
    very different things are said.
    """
    if topic.grade == Grade.WORD:
        first, second = opening_name(one.text), opening_name(other.text)
        if first is None or first != second:
            return False
        own = {part for name in _names(one) | _names(other) for part in _parts_of(name, first)}
        return entity_norm(topic.surface) not in own | {entity_norm(first)}
    if topic.grade == Grade.NOUN:
        if one.memory.speaker is None and other.memory.speaker is None:
            return bool(_names(one) & _names(other))
        return one.memory.speaker == other.memory.speaker
    if topic.grade == Grade.NAME and both_open_with(topic.surface, one.statement, other.statement):
        return _further(one.statement, other.statement, topic)
    return True


def _parts_of(name: str, first: str) -> list[str]:
    """The words of a name that begins so: "daniel" is the first of "daniel reyes"."""
    parts = name.split()
    return parts if parts[:1] == [entity_norm(first)] else []


def _names(told: Told) -> set[str]:
    return {entity_norm(name) for name in told.memory.entities if is_name(name)}


def _further(one: Statement, other: Statement, topic: Topic) -> bool:
    """Whether two sentences about one name share another name or a phrase."""
    common = one.topics.keys() & other.topics.keys()
    return any(key != topic.key and one.topics[key].grade > Grade.NOUN for key in common)


def changes(one: Told, other: Told, alike: float, similarity: float) -> bool:
    """Whether one of two statements changes what the other said."""
    if one.memory.scope != other.memory.scope or alike < similarity:
        return False
    older, newer = (one, other) if one.at <= other.at else (other, one)
    return newer.may_change and change(older, newer) is not None


def related(one: Sequence[Told], other: Sequence[Told], alike: float, similarity: float) -> bool:
    """Whether two memories are of one matter, by any of their statements."""
    return alike >= similarity and any(
        shared_topics(a, b, alike, similarity) or changes(a, b, alike, similarity)
        for a in one
        for b in other
    )


def matters(
    bank: Bank,
    waiting: Iterable[str],
    pairs: Iterable[tuple[str, str]],
    memories: Mapping[str, Memory],
    conclusions: Mapping[str, Memory],
    vectors: Mapping[str, Vector],
    similarity: float,
) -> list[Matter]:
    """What waits, gathered with what it has to do with, in order of time.

    Args:
        bank: whose memories they are.
        waiting: ids of memories and conclusions to be reflected on.
        pairs: ids of memories that may be of one matter.
        memories: facts by id, those that conclusions rest on among them.
        conclusions: what was concluded before, by id.
        vectors: of memories and conclusions.
        similarity: cosine that a shared phrase asks for.
    """
    groups = _Groups()
    for conclusion in conclusions.values():
        groups.add(conclusion.id)
        for source in conclusion.sources:
            if source.memory_id is not None and source.memory_id in memories:
                groups.join(conclusion.id, source.memory_id, most=None)
    speakers = frozenset(memory.speaker for memory in memories.values() if memory.speaker)
    read = {id: told(memory, speakers) for id, memory in memories.items()}
    weighed = sorted(
        ((cosine(vectors[a], vectors[b]), a, b) for a, b in _distinct(pairs)), reverse=True
    )
    for alike, a, b in weighed:
        if related(read[a], read[b], alike, similarity):
            groups.join(a, b, most=MOST)
    fresh = frozenset(waiting)
    found = [
        _matter(bank, members, fresh, memories, conclusions, vectors, speakers)
        for members in groups.all()
        if fresh & set(members)
    ]
    return sorted(found, key=_first)


def _first(matter: Matter) -> tuple[datetime, str]:
    first = (matter.memories or matter.conclusions)[0]
    return first.mentioned_at, first.id


def _distinct(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(min(a, b), max(a, b)) for a, b in pairs if a != b}


def _matter(
    bank: Bank,
    members: Sequence[str],
    fresh: frozenset[str],
    memories: Mapping[str, Memory],
    conclusions: Mapping[str, Memory],
    vectors: Mapping[str, Vector],
    speakers: frozenset[str],
) -> Matter:
    facts = in_order(memories[each] for each in members if each in memories)
    return Matter(
        bank=bank,
        subject=_subject(facts),
        memories=facts,
        new=fresh & set(members),
        conclusions=in_order(conclusions[each] for each in members if each in conclusions),
        vectors={each: vectors[each] for each in members if each in vectors},
        speakers=speakers,
    )


def in_order(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """By when they were said."""
    return tuple(sorted(memories, key=lambda memory: (memory.mentioned_at, memory.id)))


def _subject(memories: Sequence[Memory]) -> str:
    """The speaker they share, or the entity most of them mention."""
    speakers = {memory.speaker for memory in memories}
    if len(speakers) == 1 and (speaker := next(iter(speakers))):
        return speaker
    counts: defaultdict[str, int] = defaultdict(int)
    for memory in memories:
        for name in memory.entities:
            counts[name] += name not in speakers
    return max(counts, key=lambda name: (counts[name], name), default="a matter without a name")


class _Groups:
    """Disjoint sets that grow by joining."""

    def __init__(self) -> None:
        self._members: dict[str, list[str]] = {}

    def add(self, one: str) -> list[str]:
        return self._members.setdefault(one, [one])

    def join(self, one: str, other: str, *, most: int | None) -> None:
        """Make one group of two, unless it would have more than `most` members."""
        larger, smaller = sorted((self.add(one), self.add(other)), key=len, reverse=True)
        if larger is smaller or (most is not None and len(larger) + len(smaller) > most):
            return
        larger += smaller
        self._members |= dict.fromkeys(smaller, larger)

    def all(self) -> list[list[str]]:
        return list({id(members): members for members in self._members.values()}.values())
