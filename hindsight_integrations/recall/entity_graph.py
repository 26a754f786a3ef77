"""Signals of entities that memories of a pool share, as pure functions; aligned with the pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.scaling import Scores

COMMON_SHARE = 0.15
"""Share of the pool above which an entity connects nothing, unless it is on few memories."""

FEW = 10
"""Memories of the pool up to which an entity always connects."""

SOURCES = 3
"""Number of best hits that are the sources of PageRank and of the shared entity boost."""

DAMPING = 0.5
"""Share of rank that flows on in each iteration of the personalised PageRank."""

ITERATIONS = 4
"""Iterations of the personalised PageRank: rank stays within two memories of its sources."""

ATTRACTION = 0.7
"""Share of the difference to a hit's score that a memory gains if only these two share a name."""

SPARSE, DENSE = 0.7, 1.5
"""Linking entities a memory below which the signals are off, and from which they are fully on."""


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """Memories of the pool and the entities that link them, as a list of mentions.

    A sparse list, since few memories mention an entity: of the cells of a dense table of a bank of
    2,000 passages, one in a thousand is used.

    Attributes:
        size: number of memories.
        memories: position in the pool of the memory of each mention.
        entities: number of the entity of each mention; each pair stands once.
        frequency: number of memories of the pool that mention each entity.
        names: of the entities.
    """

    size: int
    memories: NDArray[np.intp]
    entities: NDArray[np.intp]
    frequency: NDArray[np.float64]
    names: tuple[str, ...]

    @property
    def strength(self) -> float:
        """Degree to which entities link the pool at all, 0 to 1."""
        linking = len(self.memories) / max(self.size, 1)
        return float(np.clip((linking - SPARSE) / (DENSE - SPARSE), 0.0, 1.0))

    @property
    def rarity(self) -> NDArray[np.float64]:
        """Inverse document frequency of each entity within the pool."""
        return np.log(self.size / self.frequency) + 0.1

    def mentioned_in(self, memory: int) -> NDArray[np.intp]:
        """Return the entities that a memory mentions, in order."""
        return np.sort(self.entities[self.memories == memory])

    def sum_by_memory(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, for each memory, the sum of the values of its mentions."""
        return np.bincount(self.memories, values, self.size).astype(np.float64)

    def sum_by_entity(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return, for each entity, the sum of the values of its mentions."""
        return np.bincount(self.entities, values, len(self.names)).astype(np.float64)


def entity_graph(pool: Pool) -> EntityGraph:
    """Return the entities that link at least two memories of the pool, and are not on too many.

    The question's own entities are left out: they led to the hits already, and counting them again
    only strengthens what is known. Speakers are left out too, since they connect everything.
    """
    mentions = pool.memories.mentions
    counts = np.bincount(mentions.entities, minlength=len(mentions.names))
    linking = (counts >= 2) & (counts <= max(FEW, COMMON_SHARE * len(pool)))
    linking[[mentions.numbers[id] for id in pool.query_entity_ids if id in mentions.numbers]] = (
        False
    )
    links = linking[mentions.entities]
    return EntityGraph(
        size=len(pool),
        memories=mentions.memories[links],
        entities=(np.cumsum(linking) - 1)[mentions.entities[links]],
        frequency=counts[linking].astype(np.float64),
        names=tuple(mentions.names[entity] for entity in np.flatnonzero(linking).tolist()),
    )


def personalised_pagerank(graph: EntityGraph, scores: Scores) -> Scores:
    """Return the rank that flows from the best hits over shared entities.

    r = (1 - d) s + d M r, repeated `ITERATIONS` times with d = `DAMPING`.

    The personalised PageRank of Haveliwala, "Topic-sensitive PageRank", WWW 2002. An edge
    weighs idf / sqrt(frequency), so that a name on many memories carries little.
    """
    if not len(graph.memories):
        return np.zeros(len(scores))
    weights = (graph.rarity / np.sqrt(graph.frequency))[graph.entities]
    outgoing = weights / graph.sum_by_memory(weights)[graph.memories]
    incoming = weights / graph.sum_by_entity(weights)[graph.entities]
    source = np.zeros(len(scores))
    best = np.argsort(-scores, kind="stable")[:SOURCES]
    source[best] = 1.0 / np.arange(1, len(best) + 1)
    source /= source.sum()
    rank = source
    for _ in range(ITERATIONS):
        entity_rank = graph.sum_by_entity(rank[graph.memories] * outgoing)
        passed_on = graph.sum_by_memory(entity_rank[graph.entities] * incoming)
        rank = (1 - DAMPING) * source + DAMPING * passed_on
    return rank


def shared_entity_boost(graph: EntityGraph, scores: Scores) -> tuple[Scores, NDArray[np.intp]]:
    """Return the gain in score of memories that share a rare name with one of the best hits.

    The gain is `ATTRACTION` * 2 / f of the difference to that hit's score, with f the number of
    memories that mention the name: a name on two memories links them strongly, one on twenty
    hardly. So "Ruth runs Heron" is found by way of "Alice works on Heron" even in small talk, where
    few memories share a name; and no memory gains enough to pass its hit.

    Returns:
        The gains, and for each the number of the entity that it comes from.
    """
    gain = np.zeros(len(scores))
    entity_of_gain = np.zeros(len(scores), dtype=np.intp)
    best = np.argsort(-scores, kind="stable")[:SOURCES]
    for rank, hit in enumerate(best, start=1):
        for entity in graph.mentioned_in(hit).tolist():
            sharing = graph.memories[graph.entities == entity]
            sharing = sharing[~np.isin(sharing, best[:rank])]
            strength = ATTRACTION * 2 / graph.frequency[entity]
            gains = strength * np.clip(scores[hit] - scores[sharing], 0.0, None)
            improves = gains > gain[sharing]
            gain[sharing[improves]] = gains[improves]
            entity_of_gain[sharing[improves]] = entity
    return gain, entity_of_gain
