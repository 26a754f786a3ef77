"""Lasting facts that a memory tells of people, as topics of its statements.

One plain statement suffices for such a fact: "Hannah works at the library." Its topic is the
person with the fact, so that all who say the same are evidence for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from hindsight_integrations.models import Memory
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.changes.doubts import is_of_past_year
from hindsight_integrations.reflect.changes.model import DatedStatement
from hindsight_integrations.reflect.person_statements import (
    ReadStatement,
    ambiguous_names,
    read_statements,
)
from hindsight_integrations.reflect.profile_reader import ProfileSection, Reading
from hindsight_integrations.reflect.topics import THE_WRITER, Grade, Topic
from hindsight_integrations.retain.speakers import is_agent


def with_person_facts(
    memory: Memory, statements: Sequence[DatedStatement], people: Set[str], agent: str
) -> tuple[DatedStatement, ...]:
    """Return the statements of a memory, those that tell a fact of a person with its topic.

    What the bank's own agent says tells none, nor does what holds no longer when it is said.

    Args:
        memory: the memory.
        statements: all its statements.
        people: names that are people's.
        agent: name of the bank's agent.
    """
    if is_agent(memory.speaker, agent, ()):
        return tuple(statements)
    facts: dict[int, Topic] = {}
    for person in _persons(memory, people):
        names = frozenset({entity_norm(person)} if person else ())
        read = read_statements(
            memory.text, memory.entities, memory.speaker, names, is_writer=not person
        )
        if len(read) == len(statements):
            for index, (dated, one) in enumerate(zip(statements, read, strict=True)):
                if index not in facts and (fact := _fact(dated, one)) is not None:
                    facts[index] = _topic(person, fact)
    return tuple(
        _with_topic(dated, facts[index]) if index in facts else dated
        for index, dated in enumerate(statements)
    )


def tells_fact(dated: DatedStatement) -> bool:
    """Return True for a statement with the topic of a fact."""
    return any(topic.grade is Grade.FACT for topic in dated.statement.topics.values())


def _persons(memory: Memory, people: Set[str]) -> Iterable[str]:
    """Return the speaker and the people whom a memory names; "" for the writer of a note.

    Left out is whom it tells from a namesake: "the other Anna".
    """
    named = {name for name in memory.entities if name in people}
    named -= ambiguous_names([memory], named)
    return dict.fromkeys([memory.speaker or "", *sorted(named, key=memory.text.find)])


def _fact(dated: DatedStatement, read: ReadStatement) -> Reading | None:
    """Return the lasting fact that a statement tells; None if it is explained or is in the past."""
    if read.quoted != dated.text or is_of_past_year(dated.text, dated.at):
        return None
    facts = (r for r in read.readings if r.section is ProfileSection.FACT and r.holds)
    return next(facts, None)


def _topic(person: str, fact: Reading) -> Topic:
    terms = " ".join(sorted(fact.terms))
    key = f"@{entity_norm(person)}>{fact.slot}>{terms}"
    return Topic(key, person or THE_WRITER, Grade.FACT, value=terms)


def _with_topic(dated: DatedStatement, topic: Topic) -> DatedStatement:
    topics = {**dated.statement.topics, topic.key: topic}
    return replace(dated, statement=replace(dated.statement, topics=topics))
