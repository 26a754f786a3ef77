"""Formulas of conclusions: confidence, trend and belief."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hindsight_integrations.conclusions import Trend

FULL = 10
"""Supporting memories from which more add no confidence."""
MOST = 0.9
LEAST = 0.1
SCEPTICAL, SCEPTICAL_FACTOR = 4, 0.8
TRUSTING, TRUSTING_FACTOR = 2, 1.1


def observation_confidence(proof_count: int, skepticism: int = 3) -> float:
    """Return min(n / 10, 0.9), x 0.8 from a skepticism of 4, x 1.1 up to 2; within 0.1 to 1.

    Source: Hindsight 1.1.
    """
    base = min(proof_count / FULL, MOST)
    if skepticism >= SCEPTICAL:
        base *= SCEPTICAL_FACTOR
    elif skepticism <= TRUSTING:
        base *= TRUSTING_FACTOR
    return round(max(LEAST, min(1.0, base)), 6)


RECENT = timedelta(days=30)
STALE = timedelta(days=90)
"""Both after Hindsight 1.1."""


def trend(times: Sequence[datetime], now: datetime) -> Trend:
    """Return new if all evidence is of the last 30 days, stale if none is of the last 90.

    Otherwise strengthening if the last 30 days brought at least as much evidence a day as the time
    before, else weakening.

    Args:
        times: when each piece of evidence was said; at least one.
        now: time of reference.
    """
    first, last = min(times), max(times)
    if now - first <= RECENT:
        return Trend.NEW
    if now - last > STALE:
        return Trend.STALE
    recent = sum(now - time <= RECENT for time in times)
    earlier = (len(times) - recent) / ((now - first) - RECENT).total_seconds()
    return Trend.STRENGTHENING if recent / RECENT.total_seconds() >= earlier else Trend.WEAKENING


RATES = {1: 0.5, 2: 0.4, 3: 0.3, 4: 0.2, 5: 0.12}
"""Share of the doubt, or of the belief, that one statement removes, by skepticism."""

UNDECIDED = 0.5
"""Belief before any statement."""


def belief(supports: Sequence[bool], skepticism: int = 3) -> float:
    """Return the belief in what these statements support or contradict, in order of time; 0 to 1.

    It starts at 1/2; each that supports gives b + r (1 - b), each that contradicts b - r b, with
    the r of `RATES`.
    """
    rate = RATES[skepticism]
    believed = UNDECIDED
    for support in supports:
        believed += rate * (1 - believed) if support else -rate * believed
    return round(believed, 6)
