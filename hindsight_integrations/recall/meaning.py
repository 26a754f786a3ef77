"""The meaning arm: nearest neighbours of the question's embedding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindsight_integrations.recall.ports import ArmHit, BankSearch
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import (
    MemoryFilter,
    StoredBank,
    Vector,
)

EXACT_LIMIT = 2000
"""A filter that leaves at most this many memories is answered by scoring each of them, if the
index does not bring enough of them at once."""

OVERFETCH = 4
"""The index knows no filters: this many times the hits wanted are asked of it at first."""


def search(request: BankSearch) -> list[ArmHit]:
    """Memories by cosine to the question, filtered before they are ranked."""
    return [
        ArmHit(memory_id, cosine, f"meaning: cosine {cosine:.2f}")
        for memory_id, cosine in nearest(
            request.graph,
            request.index,
            request.bank,
            request.question.vector,
            request.filter,
            request.depth.hits,
        )
    ]


def nearest(
    graph: GraphStore,
    index: VectorIndex,
    bank: StoredBank,
    vector: Vector,
    filter: MemoryFilter,
    limit: int,
) -> list[tuple[str, float]]:
    """The `limit` admitted memories nearest to `vector`, with their cosine, nearest first."""
    bank_id = bank.bank.id
    fetch = limit * (OVERFETCH if filter.is_selective or filter.types else 1) + 10
    counted = not filter.is_selective
    while True:
        found = index.query(bank.key, vector, fetch)
        allowed = graph.admitted(bank_id, [memory_id for memory_id, _ in found], filter)
        kept = [pair for pair in found if pair[0] in allowed]
        if len(kept) >= limit or len(found) < fetch:
            return kept[:limit]
        if not counted:
            ids = graph.matching(bank_id, filter, EXACT_LIMIT)
            if ids is not None:
                return _exact(graph, bank_id, ids, vector)[:limit]
            counted = True
        fetch *= OVERFETCH


def _exact(
    graph: GraphStore, bank_id: str, ids: Sequence[str], vector: Vector
) -> list[tuple[str, float]]:
    vectors = graph.vectors(bank_id, ids)
    if not vectors:
        return []
    cosines = np.stack(list(vectors.values())) @ vector
    pairs = zip(vectors, cosines.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
