"""Reciprocal rank fusion: one order out of several, from ranks alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence


def reciprocal_rank_fusion(rankings: Iterable[Sequence[str]], k: int = 60) -> dict[str, float]:
    """Fuse rankings: score(d) = sum over rankings of 1 / (k + rank of d), ranks from 1.

    Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods", SIGIR 2009, which also gives k = 60.

    Returns:
        Id to fused score, best first, ties by id.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] += 1.0 / (k + rank)
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
