"""How sure a conclusion is, by how much supports it and how sceptical its bank is."""

from __future__ import annotations

FULL = 10
"""Supporting memories from which more add nothing."""
MOST = 0.9
LEAST = 0.1
SCEPTICAL, SCEPTICAL_FACTOR = 4, 0.8
TRUSTING, TRUSTING_FACTOR = 2, 1.1


def observation_confidence(proof_count: int, skepticism: int = 3) -> float:
    """min(n / 10, 0.9), x 0.8 from a skepticism of 4, x 1.1 up to one of 2; from 0.1 to 1.

    Source: Hindsight 1.1.
    """
    base = min(proof_count / FULL, MOST)
    if skepticism >= SCEPTICAL:
        base *= SCEPTICAL_FACTOR
    elif skepticism <= TRUSTING:
        base *= TRUSTING_FACTOR
    return round(max(LEAST, min(1.0, base)), 6)
