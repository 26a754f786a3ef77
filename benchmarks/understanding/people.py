"""People introduced by their full name and called by a part of it later: joined, and never wrongly.

A case is a bank whose notes name each person as `[Ana](id)`, the first time as the introduction.
They are retained one by one, or all in one batch.
"""

from __future__ import annotations

import re

from benchmarks.understanding import Score, load
from hindsight_integrations.client import Hindsight

_LABEL = re.compile(r"\[([^]]+)\]\((\w+)\)")


def measure(half: str) -> list[Score]:
    """Return the score of joining later mentions with the person's first one."""
    score = Score(f"people, {half.replace('_', ' ')}")
    with Hindsight.in_memory() as memory:
        for case in load("people", half):
            bank_id, notes = str(case["bank"]), [str(note) for note in case["notes"]]
            texts = [_LABEL.sub(r"\1", note) for note in notes]
            if case["together"]:
                stored = memory.retain_many(bank_id, texts).ids
            else:
                stored = tuple(memory.retain(bank_id, text).ids[0] for text in texts)
            mentioned = [memory.memories.get(bank_id, each).entities for each in stored]
            _compare(notes, mentioned, score)
    return [score]


def _compare(notes: list[str], mentioned: list[tuple[str, ...]], score: Score) -> None:
    """Count the later mentions of one bank, and persons taken for another."""
    entity_of: dict[str, str] = {}
    for note, names in zip(notes, mentioned, strict=True):
        people = {person: name for name, person in _LABEL.findall(note)}
        for person, name in people.items():
            if person in entity_of:
                if entity_of[person] in names:
                    score.right += 1
                else:
                    score.missed.append(f"{note!r}: {names}")
            else:
                last = name.rpartition(" ")[2]
                entity_of[person] = next((n for n in names if n.endswith(last)), name)
        taken = {entity_of[person] for person in people}
        others = {entity for person, entity in entity_of.items() if person not in people}
        score.wrong += [f"{name!r} in {note!r}" for name in names if name in others - taken]
