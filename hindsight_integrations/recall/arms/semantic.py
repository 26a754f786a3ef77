"""The semantic arm: memories nearest to the query by cosine similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hindsight_integrations.recall.base import ArmHit, BankSearch
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.stores.base import (
    VECTOR,
    GraphStore,
    MemoryFilter,
    StoredBank,
    Vector,
    VectorIndex,
)
from hindsight_integrations.stores.common import by_cosine

EXACT_LIMIT = 2000
"""Memories up to which those that pass a filter are scored one by one, if the index does not bring
enough of them at once."""

OVERFETCH = 4
"""Factor on the hits wanted that is asked of the index, which knows no filters."""

RESERVE = 1.25
"""Factor on what is asked of the index next, if as large a share of it passes as did before."""


def search(request: BankSearch) -> list[ArmHit]:
    """Return memories by cosine to the question, filtered before they are ranked."""
    limit, vector = request.depth.hits, request.question.vector
    if request.held is not None:
        found = _nearest_held(request.held, vector, limit)
    else:
        stores = request.graph, request.index, request.bank
        found = nearest(*stores, vector, request.filter, limit, request.near)
    return [ArmHit(id, cosine, f"meaning: cosine {cosine:.2f}") for id, cosine in found]


def first(request: BankSearch, most: int) -> list[str]:
    """Return the ids of the nearest memories that are known without asking the index again."""
    if request.held is not None:
        found = _nearest_held(request.held, request.question.vector, most)
    else:
        found = request.near() if request.near is not None else []
    return [memory_id for memory_id, _ in found[:most]]


def _nearest_held(held: Candidates, vector: Vector, limit: int) -> list[tuple[str, float]]:
    if not held:
        return []
    cosines = held.vectors @ vector
    least = np.partition(cosines, -limit)[-limit] if 0 < limit < len(held) else -np.inf
    best: list[int] = np.flatnonzero(cosines >= least).tolist()
    return by_cosine((held[index].id, float(cosines[index])) for index in best)[:limit]


def fetched(filter: MemoryFilter, limit: int) -> int:
    """Return how many are asked of the index first for `limit` memories that pass the filter."""
    return limit * (OVERFETCH if filter.is_selective or filter.types else 1) + 10


def nearest(
    graph: GraphStore,
    index: VectorIndex,
    bank: StoredBank,
    vector: Vector,
    filter: MemoryFilter,
    limit: int,
    near: Callable[[], list[tuple[str, float]]] | None = None,
) -> list[tuple[str, float]]:
    """Return the `limit` nearest memories that pass the filter, each with its cosine.

    The index is not asked once more if `near` returns the first that it was asked for already,
    `fetched` or more.
    """
    bank_id = bank.bank.id
    fetch = fetched(filter, limit)
    counted = not filter.is_selective
    looked_at: set[str] = set()
    allowed: set[str] = set()
    while True:
        found = index.query(bank.key, vector, fetch) if near is None else near()
        near = None
        new = [memory_id for memory_id, _ in found if memory_id not in looked_at]
        looked_at.update(new)
        allowed.update(graph.filter_ids(bank_id, new, filter))
        kept = [pair for pair in found if pair[0] in allowed]
        if len(kept) >= limit or len(found) < fetch:
            return kept[:limit]
        if not counted:
            few = graph.find_ids(bank_id, filter, EXACT_LIMIT)
            if few is not None:
                return exact(graph, bank_id, few, vector)[:limit]
            counted = True
        needed = RESERVE * fetch * limit / max(len(kept), 1)
        fetch = int(min(max(needed, 2 * fetch), OVERFETCH**2 * fetch))


def exact(
    graph: GraphStore, bank_id: str, ids: Sequence[str], vector: Vector
) -> list[tuple[str, float]]:
    """Return memories by cosine, nearest first, scored one by one."""
    vectors = graph.read(bank_id, VECTOR, ids)
    if not vectors:
        return []
    cosines = np.stack(list(vectors.values())) @ vector
    pairs = zip(vectors, cosines.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
