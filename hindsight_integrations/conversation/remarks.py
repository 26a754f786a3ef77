"""Remarks: what was said or seen lately, and how much each weighs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

RECENCY = 0.6
"""Weight of a remark of this moment."""
SUBSTANCE = 0.4
"""What a remark's length adds to it, at most."""
FADING = timedelta(hours=24)
"""After this time the weight of recency is half."""
FULL_CHARS = 500
"""Characters from which a remark is as substantial as any."""


@dataclass(frozen=True, slots=True)
class Remark:
    """Something said or seen.

    Attributes:
        importance: 0 to 1 if the caller gave one; None to go by age and length.
        reflected: whether a reflection has taken it in.
    """

    id: str
    speaker: str
    text: str
    timestamp: datetime
    importance: float | None = None
    reflected: bool = False

    def weight(self, now: datetime) -> float:
        """Its importance at `now`, 0 to 1: what the caller gave, 0.0 included, or by formula.

        0.6 / (1 + hours / 24) + 0.4 * min(1, characters / 500). What is dated ahead has no age.
        """
        if self.importance is not None:
            return self.importance
        age = max(timedelta(), now - self.timestamp)
        return RECENCY / (1 + age / FADING) + SUBSTANCE * min(1.0, len(self.text) / FULL_CHARS)
