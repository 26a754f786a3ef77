"""Repeated attempts at a change that other writers overtake."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

ATTEMPTS = 30
_PAUSE = 0.1
"""Seconds by which the longest wait between two attempts grows with each. The wait is random, so
that of several processes each gets its turn: eight at once took up to 14 attempts."""


def attempts() -> Iterator[int]:
    """Yield the numbers of attempts from 1, pausing before each but the first."""
    yield 1
    for number in range(2, ATTEMPTS + 1):
        time.sleep(random.uniform(0, (number - 1) * _PAUSE))
        yield number
