"""Fit the weights of ranking to the questions of some studies, by coordinate ascent.

For speed the signals are computed once: which memories late interaction reads, and where rank
flows from, stay as the weights in use decide. The fitted weights are then measured in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.study import Case, Study
from hindsight_integrations.evaluate.metrics import supports
from hindsight_integrations.recall import packing
from hindsight_integrations.recall.base import DEPTHS
from hindsight_integrations.recall.ranking import rank
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS, Weights

STEPS = (0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Values tried for a weight, as multiples of its neutral value."""

ROUNDS = 4
"""Most passes over all weights."""

LEAST_GAIN = 0.001
"""Share of the evidence that another weight has to find more; else the weight stays as it is.

Without it, signals that say nothing of the kinds fitted on drift to values that lose other kinds.
"""

_SCALES = {"meaning": 10.0, "interaction": 10.0, "length": -0.25, "asks": -1.0, "own_words": -1.0}

NEUTRAL = Weights(**{each.name: _SCALES.get(each.name, 1.0) for each in fields(Weights)})
"""Start of the fitting, independent of the weights in use: a cosine spreads over a tenth."""


@dataclass(frozen=True, slots=True)
class _SignalTable:
    """The signals of one question's pool.

    Attributes:
        signals: contributions at weight 1; shape (memories, weights).
        fixed: sum of the contributions that have no weight.
        gold: for each gold item, the positions of the memories that hold it.
    """

    signals: NDArray[np.float64]
    fixed: NDArray[np.float64]
    gold: tuple[NDArray[np.intp], ...]

    def gain(self, weights: NDArray[np.float64]) -> float:
        """Return the mean of R@5, R@10 and R@20."""
        total = self.signals @ weights + self.fixed
        found = 0.0
        for positions in self.gold:
            if len(positions):
                better = int((total > total[positions].max()).sum())
                found += sum(better < k for k in (5, 10, 20)) / 3
        return found / len(self.gold)


def fit(studies: Sequence[Study], start: Weights = NEUTRAL) -> Weights:
    """Return the weights that bring most of the evidence among the first 5, 10 and 20.

    Each study counts the same, however many questions it has.
    """
    sheets = [[_signal_table(case) for case in study.cases if len(case.pool)] for study in studies]
    names = [each.name for each in fields(Weights)]
    best = np.array([getattr(start, name) for name in names])
    scale = best.copy()

    def gain(weights: NDArray[np.float64]) -> float:
        return float(np.mean([np.mean([s.gain(weights) for s in some]) for some in sheets]))

    top = gain(best)
    for _ in range(ROUNDS):
        before = top
        for column in range(len(names)):
            for step in STEPS:
                tried = best.copy()
                tried[column] = scale[column] * step
                if (value := gain(tried)) >= top + LEAST_GAIN:
                    best, top = tried, value
        if top == before:
            break
    return Weights(**dict(zip(names, best.tolist(), strict=True)))


def _signal_table(case: Case) -> _SignalTable:
    ranking = rank(case.pool, case.question, DEPTHS["mid"].head, DEFAULT_WEIGHTS)
    added = dict(zip(ranking.names, ranking.contributions.T, strict=True))
    signals = [
        added.pop(each.name.replace("_", " "), np.zeros(len(case.pool)))
        / getattr(DEFAULT_WEIGHTS, each.name)
        for each in fields(Weights)
    ]
    fixed = np.sum(list(added.values()), axis=0) if added else np.zeros(len(case.pool))
    return _SignalTable(np.stack(signals, axis=1), fixed, tuple(gold_positions(case)))


def gold_positions(case: Case) -> Iterator[NDArray[np.intp]]:
    """Yield, for each gold item, the positions of the memories that hold it."""
    for item_id in case.asked.gold:
        yield np.array(
            [
                position
                for position, memory in enumerate(case.memories)
                if any(source.reference == item_id for source in memory.sources)
                and supports(packing.memory_line(memory), case.texts[item_id])
            ],
            dtype=np.intp,
        )
