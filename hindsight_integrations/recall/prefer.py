"""An observation in place of the facts it quotes: the same evidence in fewer words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hindsight_integrations.model import Memory, MemoryType
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.storage.ports import GraphStore

LEAST_PART = 0.5
"""Part of a memory's text that an observation quotes, from which it stands for that memory."""

HEAD = 200
"""Best memories that may be replaced: what comes after them seldom fits a budget."""

CALLED_FOR = 20
"""Best memories of which an observation must quote two: for one fact it says too much."""


def with_observations(graph: GraphStore, pool: Pool, order: Sequence[int]) -> list[int]:
    """The order, with each fact that an observation of the pool quotes replaced by that one.

    An observation is preferred where several of its facts would be shown anyway, and takes the
    place of the best of them. A fact of which it shows less than half stays, so that nothing is
    lost that the question may be about.

    Args:
        graph: where the observations are read from.
        pool: what was ranked.
        order: positions in the pool, best first.
    """
    places = {(pool.memories[p].bank_id, pool.memories[p].id): p for p in order}
    standing: dict[int, int] = {}
    best = frozenset(order[:CALLED_FOR])
    banks: defaultdict[str, list[str]] = defaultdict(list)
    for position in order[:HEAD]:
        banks[pool.memories[position].bank_id].append(pool.memories[position].id)
    for bank_id, ids in banks.items():
        resting = graph.resting_on(bank_id, ids).values()
        ranked = {id for each in resting for id in each if (bank_id, id) in places}
        for observation in graph.get_memories(bank_id, sorted(ranked)).values():
            shown = [
                places[bank_id, fact_id]
                for fact_id, quote in _shown(observation)
                if (bank_id, fact_id) in places
                and len(quote) >= LEAST_PART * len(pool.memories[places[bank_id, fact_id]].text)
            ]
            if len(best.intersection(shown)) > 1:
                standing |= dict.fromkeys(shown, places[bank_id, observation.id]) | standing
    return list(dict.fromkeys(standing.get(position, position) for position in order))


def _shown(observation: Memory) -> list[tuple[str, str]]:
    """The memories whose words stand in an observation's text, each with those words."""
    if observation.type is not MemoryType.OBSERVATION:
        return []
    return [
        (source.memory_id, source.quote)
        for source in observation.sources
        if source.memory_id and source.quote and source.quote in observation.text
    ]
