"""Small multiplicative boosts, after Hindsight 1.1: they settle near ties and nothing more.

A boost multiplies the likelihood that a memory is wanted; the totals of `rank` are sums in the
manner of log-likelihoods, so a boost is added to them as its logarithm.
"""

from __future__ import annotations

from datetime import datetime

RECENCY = 0.10
TEMPORAL = 0.10
PROOF = 0.05
"""Largest relative effect of each boost [Hindsight 1.1]."""

RECENCY_DAYS = 365
"""Days after which a memory counts as old."""

PROOF_FULL = 10
"""Sources from which a memory counts as fully proven."""


def recency_boost(mentioned_at: datetime, asked_at: datetime) -> float:
    """From 1.1 for what was said just now, falling in a straight line to 0.9 after a year."""
    days = abs((asked_at - mentioned_at).total_seconds()) / 86_400
    return 1.0 + RECENCY * (1.0 - 2.0 * min(1.0, days / RECENCY_DAYS))


def temporal_boost(fit: float) -> float:
    """From 0.9 for a memory of another time than the one asked for, to 1.1 for one inside it.

    Args:
        fit: how well its times fit the window, 0 to 1.
    """
    return 1.0 + TEMPORAL * (2.0 * fit - 1.0)


def proof_boost(proof_count: int) -> float:
    """From 1 for one source to 1.05 for ten and more."""
    return 1.0 + PROOF * (min(proof_count, PROOF_FULL) - 1) / (PROOF_FULL - 1)
