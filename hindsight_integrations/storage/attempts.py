"""Doing something anew for as long as other processes change what it was made from."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

ATTEMPTS = 30
_PAUSE = 0.1
"""Seconds by which the longest wait between two attempts grows with each. How long one waits is
random, so that of several processes each gets its turn: eight at once took up to 14 attempts."""


def attempts() -> Iterator[int]:
    """The numbers of the attempts, from 1, with a pause before each but the first."""
    yield 1
    for number in range(2, ATTEMPTS + 1):
        time.sleep(random.uniform(0, (number - 1) * _PAUSE))
        yield number
