"""Latency of a repeated operation, in milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Latency:
    """Median and 95th percentile, in milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Latency:
        """Return that of what was measured."""
        p50, p95 = np.percentile(milliseconds, (50, 95)).tolist()
        return cls(p50, p95)

    def __str__(self) -> str:
        return f"{_short(self.p50)} / {_short(self.p95)}"


def timed(work: Callable[[T], object], cases: Iterable[T]) -> Latency:
    """Time `work` on each case, one after the other."""
    return Latency.of([spent(work, case) for case in cases])


def spent(work: Callable[[T], object], case: T) -> float:
    """Return the milliseconds that `work` takes on a case."""
    started = time.perf_counter()
    work(case)
    return 1000 * (time.perf_counter() - started)


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
