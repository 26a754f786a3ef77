"""Putting scores of different kinds on one scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def standardise(values: NDArray[np.floating]) -> Scores:
    """Mean 0 and standard deviation 1; all zero where there is nothing to tell apart."""
    if not len(values):
        return np.zeros(0)
    centred = np.asarray(values, dtype=np.float64) - float(np.mean(values))
    deviation = float(np.std(centred))
    return centred / deviation if deviation > 1e-9 else np.zeros(len(centred))


def over_max(values: NDArray[np.floating]) -> Scores:
    """Divided by the largest, so that the best is 1; all zero if none is positive."""
    top = float(np.max(values)) if len(values) else 0.0
    return np.asarray(values, dtype=np.float64) / top if top > 0 else np.zeros(len(values))
