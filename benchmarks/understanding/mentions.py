"""Names in short notes and chats: found whole, of the right kind, and nothing else taken for one.

A case is a note of somebody's bank in which each name stands as `[Ana](person)`. The notes of a
bank are retained one after another, as their writer would.
"""

from __future__ import annotations

import re
from itertools import groupby

from benchmarks.understanding import Score, load
from hindsight_integrations.client import Hindsight
from hindsight_integrations.models import Entity
from hindsight_integrations.normalization import entity_norm

_LABEL = re.compile(r"\[([^]]+)\]\((\w+)\)")
_CLASSES = {"product": "thing", "work": "thing", "event": "thing", "group": "thing"}
_SPELLED = {"organisation": "organization"}


def measure(half: str) -> list[Score]:
    """Return the scores of names and of their kinds; "concept" is no statement of a kind."""
    shown = half.replace("_", " ")
    names, kinds = Score(f"mentions, {shown}"), Score(f"kinds of entities, {shown}")
    with Hindsight.in_memory() as memory:
        for bank_id, cases in groupby(load("mentions", half), key=lambda case: str(case["bank"])):
            notes = [str(case["note"]) for case in cases]
            stored = [memory.retain(bank_id, _LABEL.sub(r"\1", note)).ids[0] for note in notes]
            entities = memory.entities.list(bank_id, limit=1000).items
            for note, memory_id in zip(notes, stored, strict=True):
                mentioned = memory.memories.get(bank_id, memory_id).entities
                of_note = [entity for entity in entities if entity.name in mentioned]
                _compare(note, of_note, names, kinds)
    return [names, kinds]


def _compare(note: str, entities: list[Entity], names: Score, kinds: Score) -> None:
    """Count the names of one note."""
    labels = {entity_norm(name): _SPELLED.get(kind, kind) for name, kind in _LABEL.findall(note)}
    entity_of = {
        entity_norm(name): entity
        for entity in entities
        for name in (entity.name, *entity.aliases)
        if entity_norm(name) in labels
    }
    right = {entity.id for entity in entity_of.values()}
    names.right += len(entity_of)
    names.wrong += [f"{entity.name!r} in {note!r}" for entity in entities if entity.id not in right]
    names.missed += [f"{norm!r} in {note!r}" for norm in labels if norm not in entity_of]
    for norm, entity in entity_of.items():
        kind = _CLASSES.get(entity.kind, entity.kind)
        if kind == labels[norm]:
            kinds.right += 1
        elif kind == "concept":
            kinds.missed.append(f"{norm!r} in {note!r}")
        else:
            kinds.wrong.append(f"{norm!r}, {kind} in {note!r}")
