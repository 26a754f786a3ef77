"""Names in a question that a bank knows."""

from __future__ import annotations

from hindsight_integrations.model import Entity
from hindsight_integrations.naming import word_runs
from hindsight_integrations.storage.ports import GraphStore

LONGEST_NAME = 5
"""Words of the longest name looked up."""


def named_entities(graph: GraphStore, bank_id: str, question: str) -> list[Entity]:
    """Entities whose names or aliases stand in the question, in the order they do.

    The longest name wins where several overlap ("New York" over "York"). A single word in
    lower case counts only if no capital spelling would be expected of it, that is, unless it
    is a plain word of the language that happens to be somebody's name.
    """
    runs = list(word_runs(question, LONGEST_NAME))
    known = graph.lookup_entities(bank_id, sorted({run.norm for run in runs}))
    found: dict[str, Entity] = {}
    taken: set[int] = set()
    for run in sorted(runs, key=lambda run: (-len(run.places), run.places)):
        entity = known.get(run.norm)
        if entity is None or taken & set(run.places) or run.is_plain_word:
            continue
        taken |= set(run.places)
        found.setdefault(entity.id, entity)
    return list(found.values())
