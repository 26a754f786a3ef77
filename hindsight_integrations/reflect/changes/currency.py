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

_WORD = re.compile(r"\w+")


def contradicts(newer: Memory, older: Memory) -> bool:
    """Return True if a statement of the newer memory changes one of the older."""
    return _may_contradict(newer, older, _subjects(newer), _subjects(older))


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
    return {
        older.id
        for older, one in pairs
        if any(_may_contradict(newer, older, other, one) for newer, other in pairs)
    }


def _may_contradict(
    newer: Memory, older: Memory, newer_on: frozenset[str], older_on: frozenset[str]
) -> bool:
    """Return True if two memories have a common subject, or neither has one."""
    if newer.mentioned_at <= older.mentioned_at:
        return False
    if newer_on.isdisjoint(older_on) and (newer_on or older_on):
        return False
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
