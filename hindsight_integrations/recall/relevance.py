"""Probability that a memory belongs to the answer, from the totals of the ranking.

The totals are sums of signals in the manner of log-likelihoods: what share of the likelihood of
the whole pool a memory holds tells how far it leads. How like the question the best one is tells
whether the bank knows of the matter at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
        least: numbers of memories, rising, each with the likeness of the best one below which a
            bank of so many knows nothing of the question; between them it grows with the logarithm
            of the number, as does the likeness that chance brings.
        hint: likeness that an entity or a time of the bank, named by the question, stands for.
        stranger: likeness that is needed besides, whatever else it names, if the question has a
            name that no memory has; 0 if that is not to count.
    """

    share: float
    likeness: float
    size: float
    intercept: float
    least: tuple[tuple[int, float], ...]
    hint: float
    stranger: float = 0.0

    def relevance(self, total: Scores, likeness: float, documents: int) -> Scores:
        """Return the probability of each memory, 0 to 1, falling as its total does.

        Args:
            total: sums of the contributions, of all memories ranked.
            likeness: of the best of them to the question.
            documents: memories in the bank.
        """
        coefficients = (self.share, self.likeness, self.size)
        return logistic(features(total, likeness, documents) @ coefficients + self.intercept)

    def knows(
        self, likeness: float, documents: int, *, hinted: bool = False, strange: bool = False
    ) -> bool:
        """Return False if a bank whose best memory is so like the question knows nothing of it.

        Args:
            likeness: of the best memory to the question.
            documents: memories in the bank.
            hinted: the question names an entity or a time of the bank.
            strange: the question has a name of which no memory has a word.
        """
        sizes, least = zip(*self.least, strict=True)
        needed = np.interp(math.log(max(documents, 1)), np.log(sizes), least)
        if strange and self.stranger:
            needed += self.stranger
        elif hinted:
            needed -= self.hint
        return bool(likeness >= needed)


PUBLISHED = Calibration(0.916, 6.57, -0.297, -1.51, least=((1, 0.18), (100, 0.25)), hint=math.inf)
"""Calibration for all-MiniLM-L6-v2 as it was published; its error was not measured again since the
weights of ranking changed."""

BUNDLED = replace(
    PUBLISHED, least=((1, 0.18), (100, 0.27), (1_000, 0.38)), hint=0.05, stranger=0.05
)
"""Calibration for the default model; its error is 0.002 to 0.009 on each development set.

What knowing takes of a bank of a few is less than what small talk reached there. Of 392 questions
to banks of about 100 memories, of kinds that no weight was fitted on, one has less than 0.27; put
to one bank of all these, 1,365 memories, 2.8 % have less than 0.38. In development sets of 500 to
2,000 memories all questions have more.
"""

IN_ANY_LANGUAGE = 100
"""Memories up to which knowing takes more of a bigger bank, asked in another language than English:
the model finds those less alike. With no such limit a bank of 1,530 memories was silent to 6 of 40
German questions."""

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
