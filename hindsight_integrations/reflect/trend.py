"""How the evidence of a conclusion comes in, from when it was said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hindsight_integrations.conclusions import Trend

RECENT = timedelta(days=30)
STALE = timedelta(days=90)
"""Both after Hindsight 1.1."""


def trend(times: Sequence[datetime], now: datetime) -> Trend:
    """New if all evidence is of the last 30 days, stale if none is of the last 90.

    Between these, strengthening if the last 30 days brought at least as much a day as the time
    from the first evidence until then, else weakening.

    Args:
        times: when each piece of evidence was said; at least one.
        now: the moment to judge at.
    """
    first, last = min(times), max(times)
    if now - first <= RECENT:
        return Trend.NEW
    if now - last > STALE:
        return Trend.STALE
    recent = sum(now - time <= RECENT for time in times)
    earlier = (len(times) - recent) / ((now - first) - RECENT).total_seconds()
    return Trend.STRENGTHENING if recent / RECENT.total_seconds() >= earlier else Trend.WEAKENING
