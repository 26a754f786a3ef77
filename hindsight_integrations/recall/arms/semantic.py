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
from hindsight_integrations.stores.hits import by_cosine

EXACT_LIMIT = 2_000
"""Memories up to which those that pass a filter are scored one by one, if the index does not bring
enough of them at once."""

MOST_EXACT = 10_000
"""The same limit, where the index would have to bring very many hits for enough to pass."""

EXACT_PER_HIT = 2
"""Memories scored one by one in the time of one hit more of the index, which has to be filtered.
Measured on banks of 100,000 and 1,000,000 memories in SQLite."""

OVERFETCH = 4
"""Factor on the hits wanted that is asked of the index, which knows no filters."""

RESERVE = 1.25
"""Factor on what is asked of the index next, if as large a share of it passes as did before."""


def search(request: BankSearch) -> list[ArmHit]:
    """Return memories that pass the filter, by descending cosine to the question."""
    limit, vector = request.depth.hits, request.question.vector
    if request.bank_candidates is not None:
        nearest_pairs = _nearest_of(request.bank_candidates, vector, limit)
    else:
        stores = request.graph, request.index, request.bank
        nearest_pairs = nearest(*stores, vector, request.filter, limit, request.index_hits)
    return [ArmHit(id, cosine, f"meaning: cosine {cosine:.2f}") for id, cosine in nearest_pairs]


def nearest_ids(request: BankSearch, limit: int) -> list[str]:
    """Return the ids of the nearest memories, from what has been read: no index is queried."""
    if request.bank_candidates is not None:
        nearest_pairs = _nearest_of(request.bank_candidates, request.question.vector, limit)
    else:
        nearest_pairs = request.index_hits() if request.index_hits is not None else []
    return [memory_id for memory_id, _ in nearest_pairs[:limit]]


def _nearest_of(candidates: Candidates, vector: Vector, limit: int) -> list[tuple[str, float]]:
    if not candidates:
        return []
    cosines = candidates.vectors @ vector
    threshold = np.partition(cosines, -limit)[-limit] if 0 < limit < len(candidates) else -np.inf
    indices: list[int] = np.flatnonzero(cosines >= threshold).tolist()
    return by_cosine((candidates[index].id, float(cosines[index])) for index in indices)[:limit]


def index_limit(filter: MemoryFilter, limit: int) -> int:
    """Return the number of hits to ask of the index first, for `limit` that pass the filter."""
    return limit * (OVERFETCH if filter.is_selective or filter.types else 1) + 10


def nearest(
    graph: GraphStore,
    index: VectorIndex,
    bank: StoredBank,
    vector: Vector,
    filter: MemoryFilter,
    limit: int,
    index_hits: Callable[[], list[tuple[str, float]]] | None = None,
) -> list[tuple[str, float]]:
    """Return the `limit` nearest memories that pass the filter, each with its cosine.

    The index knows no filters, so it is asked for more memories until enough of them pass. If few
    memories pass at all, these are scored one by one.

    Args:
        graph: store that applies the filter.
        index: vector index of the bank.
        bank: the bank.
        vector: embedding of the question.
        filter: what a memory must pass.
        limit: most memories returned.
        index_hits: returns the index's first `index_limit` hits or more, if already queried.
    """
    bank_id = bank.bank.id
    fetch_limit = index_limit(filter, limit)
    counted = 0 if filter.is_selective else MOST_EXACT
    seen: set[str] = set()
    passing: set[str] = set()
    while True:
        fetched = index.query(bank.key, vector, fetch_limit) if index_hits is None else index_hits()
        index_hits = None
        new_ids = [memory_id for memory_id, _ in fetched if memory_id not in seen]
        seen.update(new_ids)
        passing.update(graph.filter_ids(bank_id, new_ids, filter))
        passing_pairs = [pair for pair in fetched if pair[0] in passing]
        if len(passing_pairs) >= limit or len(fetched) < fetch_limit:
            return passing_pairs[:limit]
        needed = RESERVE * fetch_limit * limit / max(len(passing_pairs), 1)
        exact_limit = int(np.clip(EXACT_PER_HIT * needed, EXACT_LIMIT, MOST_EXACT))
        if counted < exact_limit:
            all_ids = graph.find_ids(bank_id, filter, exact_limit)
            if all_ids is not None:
                return exact(graph, bank_id, all_ids, vector)[:limit]
            counted = exact_limit
        fetch_limit = int(min(max(needed, 2 * fetch_limit), OVERFETCH**2 * fetch_limit))


def exact(
    graph: GraphStore, bank_id: str, ids: Sequence[str], vector: Vector
) -> list[tuple[str, float]]:
    """Score memories one by one; return their ids and cosines, nearest first."""
    vectors = graph.read(bank_id, VECTOR, ids)
    if not vectors:
        return []
    cosines = np.stack(list(vectors.values())) @ vector
    pairs = zip(vectors, cosines.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
