"""Latency of a repeated operation, in milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Latency:
    """Median and 95th percentile, in milliseconds."""

    p50: float
    p95: float

    def __str__(self) -> str:
        return f"{_short(self.p50)} / {_short(self.p95)}"


def timed(work: Callable[[T], object], cases: Iterable[T]) -> Latency:
    """Time `work` on each case, one after the other."""
    spent = []
    for case in cases:
        started = time.perf_counter()
        work(case)
        spent.append(1000 * (time.perf_counter() - started))
    p50, p95 = np.percentile(spent, (50, 95)).tolist()
    return Latency(p50, p95)


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
