"""Weights that fit the questions of some studies best, by coordinate ascent.

For speed the signals are taken as given: which memories late interaction reads and where rank
flows from is left as the weights in use decide it. What is found is then ranked for real.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.evaluate.metrics import supports
from hindsight_integrations.evaluate.study import Case, Study
from hindsight_integrations.recall import render
from hindsight_integrations.recall.ports import DEPTHS
from hindsight_integrations.recall.rank import DEFAULT_WEIGHTS, Weights, rank

STEPS = (0.0, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0)
"""What a weight is tried at, times its neutral value."""

ROUNDS = 4
"""Passes over all weights."""

NEUTRAL = Weights(**{each.name: -1.0 if each.name == "asks" else 1.0 for each in fields(Weights)})
"""Where fitting starts, so that it knows nothing of the weights in use."""


@dataclass(frozen=True, slots=True)
class _Sheet:
    """The signals of one question's pool.

    Attributes:
        signals: one standard deviation (or the whole) of each; shape (memories, weights).
        fixed: what no weight touches.
        gold: for each gold item, the positions of the memories that hold it.
    """

    signals: NDArray[np.float64]
    fixed: NDArray[np.float64]
    gold: tuple[NDArray[np.intp], ...]

    def gain(self, weights: NDArray[np.float64]) -> float:
        """Mean of R@5, R@10 and R@20."""
        total = self.signals @ weights + self.fixed
        found = 0.0
        for positions in self.gold:
            if len(positions):
                better = int((total > total[positions].max()).sum())
                found += sum(better < k for k in (5, 10, 20)) / 3
        return found / len(self.gold)


def fit(studies: Sequence[Study], start: Weights = NEUTRAL) -> Weights:
    """The weights that bring most of the evidence among the first 5, 10 and 20.

    Each study counts the same, however many questions it has.
    """
    sheets = [[_sheet(case) for case in study.cases if len(case.pool)] for study in studies]
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
                if (value := gain(tried)) > top + 1e-9:
                    best, top = tried, value
        if top == before:
            break
    return Weights(**dict(zip(names, best.tolist(), strict=True)))


def _sheet(case: Case) -> _Sheet:
    ranking = rank(case.pool, case.question, DEPTHS["mid"].head, DEFAULT_WEIGHTS)
    added = dict(zip(ranking.names, ranking.contributions.T, strict=True))
    signals = [
        added.pop(each.name.replace("_", " "), np.zeros(len(case.pool)))
        / getattr(DEFAULT_WEIGHTS, each.name)
        for each in fields(Weights)
    ]
    fixed = np.sum(list(added.values()), axis=0) if added else np.zeros(len(case.pool))
    return _Sheet(np.stack(signals, axis=1), fixed, tuple(_gold(case)))


def _gold(case: Case) -> Iterator[NDArray[np.intp]]:
    for item_id in case.asked.gold:
        yield np.array(
            [
                position
                for position, memory in enumerate(case.memories)
                if any(source.reference == item_id for source in memory.sources)
                and supports(render.line(memory), case.texts[item_id])
            ],
            dtype=np.intp,
        )
