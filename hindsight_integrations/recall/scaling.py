"""Bring scores of different kinds onto one scale, and fuse ranked lists."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def standardise(values: NDArray[np.floating]) -> Scores:
    """Return values of mean 0 and standard deviation 1; all zero where they are equal."""
    if not len(values):
        return np.zeros(0)
    centred = np.asarray(values, dtype=np.float64) - float(np.mean(values))
    deviation = float(np.std(centred))
    return centred / deviation if deviation > 1e-9 else np.zeros(len(centred))


def over_max(values: NDArray[np.floating]) -> Scores:
    """Divide by the largest, so that the best is 1; all zero if none is positive."""
    top = float(np.max(values)) if len(values) else 0.0
    return np.asarray(values, dtype=np.float64) / top if top > 0 else np.zeros(len(values))


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
    order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    return {item: scores[item] for item in order}
