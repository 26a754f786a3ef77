"""Probability that a memory belongs to the answer, from the totals of the ranking.

The totals are sums of signals in the manner of log-likelihoods: what share of the likelihood of
the whole pool a memory holds tells how far it leads. How like the question the best one is tells
whether the bank knows of the matter at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.recall.scaling import Scores

TEMPERATURE = 1.5
"""Difference of totals that makes a memory e times as likely."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of a logistic model of relevance, for the signals of one embedder.

    Fitted on all development sets of the bench together with questions that their banks cannot
    answer: other banks' questions, small talk, and questions whose evidence was taken out. The
    expected calibration error of each set, left out of the fit, is in docs/benchmarks.md.

    Attributes:
        share: of the logarithm of the memory's share of the pool.
        likeness: of the likeness of the best memory to the question, 0 to 1.
        size: of the logarithm of the number of memories in the bank.
        intercept: added to these.
        alone: likeness below which a bank of a single memory knows nothing of the question: less
            than what small talk reached in banks of a few.
        among_many: the same for a bank of `MANY` and more, whose best is like anything by chance.
            In the development sets all evidence had more than 0.3, in kinds of memory that nobody
            had tuned for one question in twenty less than 0.28, one in fifty less than 0.25.
    """

    share: float
    likeness: float
    size: float
    intercept: float
    alone: float
    among_many: float

    def relevance(self, total: Scores, likeness: float, documents: int) -> Scores:
        """Return the probability of each memory, 0 to 1, falling as its total does.

        Args:
            total: sums of the contributions, of all memories ranked.
            likeness: of the best of them to the question.
            documents: memories in the bank.
        """
        coefficients = (self.share, self.likeness, self.size)
        return logistic(features(total, likeness, documents) @ coefficients + self.intercept)

    def knows(self, likeness: float, documents: int) -> bool:
        """Return False if a bank whose best memory is so like the question knows nothing of it."""
        growth = min(1.0, math.log(max(documents, 1)) / math.log(MANY))
        return likeness >= self.alone + growth * (self.among_many - self.alone)


MANY = 100
"""Memories from which chance makes the best one of a bank hardly more like a question."""

BUNDLED = Calibration(0.916, 6.57, -0.297, -1.51, alone=0.18, among_many=0.25)
"""Calibration for the bundled models. It was fitted for the published one; with the default one its
error is 0.002 to 0.009 on each development set. With the published one it was not measured again
since the default weights changed."""

RANK = (-1.37, -0.83)
"""Coefficients of the logarithm of the rank, and of 1: for another embedder or fusion alone, the
scale of whose signals is not known."""


def features(total: Scores, likeness: float, documents: int) -> Scores:
    """Return the logarithm of each memory's share of the pool, likeness, and logarithm of the size.

    The share is that of the softmax of the totals; shape (memories, 3).
    """
    if not len(total):
        return np.zeros((0, 3))
    scaled = (total - total.max()) / TEMPERATURE
    share = scaled - math.log(float(np.exp(scaled).sum()))
    rest = np.array([likeness, math.log(max(documents, 1))])
    return np.column_stack([share, np.tile(rest, (len(total), 1))])


def relevance_by_rank(memories: int) -> Scores:
    """Return the probability of each place in an order, best first, by the place alone."""
    return logistic(RANK[0] * np.log(np.arange(1, memories + 1)) + RANK[1])


def logistic(values: Scores) -> Scores:
    """Return 1 / (1 + exp(-value)) of each."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -_LARGEST, _LARGEST))))


_LARGEST = 700.0
"""Exponent that a float still holds the power of."""
