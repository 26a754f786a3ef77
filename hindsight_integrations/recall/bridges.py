"""Signals from the entities that memories share: what the best hits lead on to.

The question's own entities are left out: they led to the hits already, and counting them again
only strengthens what is known. Speakers are left out too, since they connect everything.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.naming import entity_norm
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.standard import Scores

COMMON_SHARE = 0.15
"""An entity on more of the pool than this connects nothing, unless it is on few memories."""

FEW = 10
"""So few memories are never too many."""

SOURCES = 3
"""Best hits from which rank flows."""

DAMPING = 0.5
ITERATIONS = 4
"""Of the personalised PageRank: rank stays near its sources, within two memories of them."""

PULL = 0.7
"""How much of the way to a hit a memory is drawn that shares a name with it alone."""

SPARSE, DENSE = 0.7, 1.5
"""Linking entities a memory below which the signals are off, and from which they are fully on."""


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Which memories of the pool share which linking entities.

    Attributes:
        incidence: 1 where a memory mentions an entity; shape (memories, entities).
        frequency: memories of the pool that mention each entity.
    """

    incidence: NDArray[np.float64]
    frequency: NDArray[np.float64]

    @property
    def strength(self) -> float:
        """How far the pool is linked by entities at all, 0 to 1."""
        if not len(self.incidence):
            return 0.0
        linking = float(self.incidence.sum()) / len(self.incidence)
        return float(np.clip((linking - SPARSE) / (DENSE - SPARSE), 0.0, 1.0))

    @property
    def rarity(self) -> NDArray[np.float64]:
        """Inverse document frequency of each entity within the pool."""
        return np.log(len(self.incidence) / self.frequency) + 0.1


def entity_graph(pool: Pool) -> EntityGraph:
    """The entities that link at least two memories of the pool, and are not on too many."""
    speakers = {entity_norm(name) for name in {m.speaker for m in pool.memories} if name}
    mentioned = [
        {
            entity_id
            for entity_id, name in memory.entities
            if entity_id not in pool.named and entity_norm(name) not in speakers
        }
        for memory in pool.memories
    ]
    counts = Counter(entity_id for ids in mentioned for entity_id in ids)
    most = max(FEW, COMMON_SHARE * len(pool))
    linking = {e: n for n, e in enumerate(sorted(e for e, c in counts.items() if 2 <= c <= most))}
    incidence = np.zeros((len(pool), len(linking)))
    for row, ids in enumerate(mentioned):
        for entity_id in ids:
            if entity_id in linking:
                incidence[row, linking[entity_id]] = 1.0
    return EntityGraph(incidence, incidence.sum(axis=0))


def personalised_pagerank(graph: EntityGraph, scores: Scores) -> Scores:
    """Rank that flows from the best hits over shared entities: r = (1 - d) s + d M r, repeated.

    The personalised PageRank of Haveliwala, "Topic-sensitive PageRank", WWW 2002. An edge
    weighs idf / sqrt(frequency), so that a name on many memories carries little.
    """
    if not graph.incidence.size:
        return np.zeros(len(scores))
    weights = graph.incidence * (graph.rarity / np.sqrt(graph.frequency))
    leaving = _rows_to_one(weights)
    arriving = _rows_to_one(weights.T)
    source = np.zeros(len(scores))
    best = np.argsort(-scores, kind="stable")[:SOURCES]
    source[best] = 1.0 / np.arange(1, len(best) + 1)
    source /= source.sum()
    rank = source
    for _ in range(ITERATIONS):
        rank = (1 - DAMPING) * source + DAMPING * ((rank @ leaving) @ arriving)
    return np.asarray(rank)


def drawn(graph: EntityGraph, scores: Scores) -> Scores:
    """What a memory gains by a rare name that it shares with one of the best hits.

    It is drawn `PULL` of the way up to that hit, times 2 / the number of memories that the name
    is on: a name on just two memories ties them together, one on twenty hardly does. So the way
    from "Alice works on Heron" to "Ruth runs Heron" is found even in small talk, where few
    memories share any name, and a memory never passes the hit it is drawn to.
    """
    gain = np.zeros(len(scores))
    if not graph.incidence.size:
        return gain
    best = np.argsort(-scores, kind="stable")[:SOURCES]
    for place, hit in enumerate(best, start=1):
        tie = (graph.incidence * graph.incidence[hit] * (2 / graph.frequency)).max(axis=1)
        towards = PULL * tie * np.clip(scores[hit] - scores, 0.0, None)
        towards[best[:place]] = 0.0
        gain = np.maximum(gain, towards)
    return gain


def _rows_to_one(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = matrix.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(matrix, sums, out=np.zeros_like(matrix), where=sums > 0)
    return shares
