"""Find retrieved memories that newer ones contradict, by the rules of change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from hindsight_integrations.models import Memory, MentalModel
from hindsight_integrations.nlp.sentences import sentences
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.reflect.answers.questions import SELF
from hindsight_integrations.reflect.changes.contradictions import change, dated_statements
from hindsight_integrations.reflect.topics import read_ahead

_WORD = re.compile(r"\w+")


def contradicts(newer: Memory, older: Memory) -> bool:
    """Return True if a statement of the newer memory changes one of the older."""
    comparable = _are_comparable(newer, older, _subjects(newer), _subjects(older))
    return comparable and _changes(newer, older)


def overtaking(older: Memory, memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories that contradict an older one and are not contradicted themselves."""
    newer = [memory for memory in memories if contradicts(memory, older)]
    outdated = contradicted(newer)
    return [memory for memory in newer if memory.id not in outdated]


def contradicted_statements(
    memory: Memory, others: Iterable[Memory], texts: Iterable[str]
) -> set[str]:
    """Return those statements of a memory that newer memories contradict.

    If the memory is contradicted, and no sentence of it alone, any of them may be meant: all are
    returned.

    Args:
        memory: the memory.
        others: memories that may be newer.
        texts: sentences of the memory.
    """
    newer = [other for other in others if contradicts(other, memory)]

    def is_changed(text: str) -> bool:
        return any(contradicts(other, replace(memory, text=text)) for other in newer)

    changed = {text for text in texts if is_changed(text)}
    if changed or not newer or any(map(is_changed, sentences(memory.text))):
        return changed
    return set(texts)


def contradicted(memories: Sequence[Memory]) -> set[str]:
    """Return the ids of the memories that a newer one among them contradicts."""
    subjects = [_subjects(memory) for memory in memories]
    pairs = list(zip(memories, subjects, strict=True))
    comparable = [
        (newer, older)
        for older, one in pairs
        for newer, other in pairs
        if _are_comparable(newer, older, other, one)
    ]
    read_ahead({memory.id: memory for pair in comparable for memory in pair}.values())
    outdated: set[str] = set()
    for newer, older in comparable:
        if older.id not in outdated and _changes(newer, older):
            outdated.add(older.id)
    return outdated


def _are_comparable(
    newer: Memory, older: Memory, newer_on: frozenset[str], older_on: frozenset[str]
) -> bool:
    """Return True if one memory is newer, and both have a common subject, or neither has one."""
    if newer.mentioned_at <= older.mentioned_at:
        return False
    return not newer_on.isdisjoint(older_on) or not (newer_on or older_on)


def _changes(newer: Memory, older: Memory) -> bool:
    earlier = dated_statements(older)
    return any(change(old, new) for new in dated_statements(newer) for old in earlier)


def _subjects(memory: Memory) -> frozenset[str]:
    """Return the names in a memory and its speaker's; "" for an unnamed writer."""
    names = frozenset(map(entity_norm, memory.entities))
    if memory.speaker:
        return names | {entity_norm(memory.speaker)}
    return names | {""} if not SELF.isdisjoint(_WORD.findall(memory.text.casefold())) else names


def contradicting(model: MentalModel, memories: Iterable[Memory]) -> tuple[str, ...]:
    """Return the ids of memories stored after a mental model's text that contradict it."""
    parts = [
        Memory(id=model.id, bank_id=model.bank_id, text=sentence) for sentence in _own_words(model)
    ]
    return tuple(
        memory.id
        for memory in memories
        if memory.id not in model.sources
        and memory.created_at > model.refreshed_at
        and any(_overtakes(memory, part) for part in parts)
    )


def _overtakes(memory: Memory, part: Memory) -> bool:
    """Compare as if the memory had been said after the text, whose date is that of its writing."""
    before = memory.mentioned_at - timedelta(microseconds=1)
    told = replace(part, mentioned_at=before, speaker=memory.speaker, entities=memory.entities)
    return contradicts(memory, told)


def _own_words(model: MentalModel) -> Iterable[str]:
    """Yield the sentences of a text that was not composed of memories, which are compared apart."""
    for line in model.text.splitlines():
        if not (line.startswith("- ") and line.endswith("]")):
            yield from sentences(line)
