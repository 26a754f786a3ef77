"""Probability that a memory belongs to the answer, from the totals of the ranking.

The totals behave like log-likelihoods: a memory's softmax share of the pool says how far it leads.
The similarity of the best memory to the question says if the bank knows the answer at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from hindsight_integrations.nlp.model_registry import (
    E5_SMALL,
    MEMORY_MINILM,
    MINILM,
    USE_MULTILINGUAL,
    knows_language_of,
)
from hindsight_integrations.recall.base import Question
from hindsight_integrations.recall.scaling import Scores

TEMPERATURE = 1.5
"""Difference of totals by which a memory becomes e times as likely."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of a logistic model of relevance, for the signals of one embedder.

    Fitted on all development sets of the benchmark, together with questions that their banks cannot
    answer: other banks' questions, small talk, and questions whose evidence was removed. The
    expected calibration error of each set, when left out of the fit, is in docs/benchmarks.md.

    Attributes:
        share: coefficient of the logarithm of the memory's share of the pool.
        similarity: coefficient of the best memory's similarity to the question, 0 to 1.
        size: coefficient of the logarithm of the number of memories in the bank.
        intercept: constant term.
        minimum_similarity: pairs of bank size and minimum similarity, in ascending order. If the
            best memory is less similar to the question, the bank does not know the answer. Between
            the sizes the minimum is interpolated over the logarithm of the size, like the
            similarity of random hits.
        hint: reduction of the minimum if the question names an entity or a time of the bank.
        unknown_name: increase of the minimum if the question has a name that no memory has,
            whatever else it names; 0 to ignore such names.
    """

    share: float
    similarity: float
    size: float
    intercept: float
    minimum_similarity: tuple[tuple[int, float], ...]
    hint: float
    unknown_name: float = 0.0

    def relevance(self, total: Scores, similarity: float, documents: int) -> Scores:
        """Return the probability of each memory, 0 to 1, in the order of the totals.

        Args:
            total: sums of the contributions, of all memories ranked.
            similarity: similarity of the best of them to the question.
            documents: number of memories in the bank.
        """
        coefficients = (self.share, self.similarity, self.size)
        return logistic(features(total, similarity, documents) @ coefficients + self.intercept)

    def knows(
        self, similarity: float, documents: int, *, hinted: bool = False, unknown_name: bool = False
    ) -> bool:
        """Return True if the best memory is similar enough for the bank to know the answer.

        Args:
            similarity: similarity of the best memory to the question.
            documents: number of memories in the bank.
            hinted: True if the question names an entity or a time of the bank.
            unknown_name: True if the question has a name of which no memory has a word.
        """
        sizes, minima = zip(*self.minimum_similarity, strict=True)
        required = np.interp(math.log(max(documents, 1)), np.log(sizes), minima)
        if unknown_name and self.unknown_name:
            required += self.unknown_name
        elif hinted:
            required -= self.hint
        return bool(similarity >= required)


PUBLISHED = Calibration(
    0.916, 6.57, -0.297, -1.51, minimum_similarity=((1, 0.18), (100, 0.25)), hint=math.inf
)
"""Calibration for the published all-MiniLM-L6-v2; its error is 0.004 to 0.013 on six kinds of
memory written for this project, three of chats and three of notes."""

BUNDLED = replace(
    PUBLISHED,
    minimum_similarity=((1, 0.18), (100, 0.27), (1_000, 0.38)),
    hint=0.05,
    unknown_name=0.05,
)
"""Calibration for the default model; its error is 0.002 to 0.009 on each development set.

In very small banks the minimum is below the similarity that small talk reached. Of 392 questions to
banks of about 100 memories, of kinds that no weight was fitted on, one is below 0.27; asked in one
bank of all 1,365 memories, 2.8 % are below 0.38. In development sets of 500 to 2,000 memories no
question is below.
"""

E5 = replace(PUBLISHED, minimum_similarity=((1, 0.15), (100, 0.27)), hint=0.05)
"""Calibration for `e5-small-v2`; its error is 0.003 to 0.011 on the same kinds.

Of the questions that these banks of 100 memories can answer, 97 % have a best memory of 0.27 or
more, most small talk too: the model tells them apart less well than the others. Larger banks were
not measured, so the minimum does not grow further.
"""

MULTILINGUAL = replace(PUBLISHED, minimum_similarity=((1, 0.12), (50, 0.14)), hint=0.02)
"""Calibration for `use-multilingual-3`, whose similarities are lower (error in docs/models.md).

The best memory of small talk has 0.13 in the middle, in several languages, and that of questions
which banks of 45 memories in German, Spanish and Japanese can answer has 0.20 or more. Larger
banks than some 150 memories were not measured, so the minimum does not grow further.
"""

BESIDE_ANOTHER = replace(BUNDLED, minimum_similarity=((1, 0.2), (100, 0.3), (1_000, 0.4)))
"""Calibration for any other embedder, by the late interaction of the default model beside it.

With vectors of `use-multilingual-3`, bge-small-en-v1.5 and all-MiniLM-L6-v2 its error is at most
0.02 on each of six kinds of memory. Of the questions that banks of 100 memories can answer, 97 %
have a best memory of 0.30 or more (0.43 in banks of 500), half of small talk less.
"""

CALIBRATIONS: Mapping[str, Calibration] = MappingProxyType(
    {
        MEMORY_MINILM.id: BUNDLED,
        MINILM.id: PUBLISHED,
        E5_SMALL.id: E5,
        USE_MULTILINGUAL.id: MULTILINGUAL,
    }
)
"""By the id of the embedder that gives its own token vectors, or none."""


def calibration_for(question: Question, embedder_id: str) -> Calibration | None:
    """Return the calibration of an embedder for a question; None if none was measured.

    In a language that the model does not know, all texts are similar to it, those in another script
    most. Fitted on twenty banks in thirteen languages, each left out in turn: the error was at most
    0.03, instead of 0.21.
    """
    if question.two_models:
        return BESIDE_ANOTHER
    calibration = CALIBRATIONS.get(embedder_id)
    if calibration is None or knows_language_of(question.text, embedder_id):
        return calibration
    return replace(calibration, share=1.05, similarity=3.9, size=-0.297, intercept=-1.0)


IN_ANY_LANGUAGE = 100
"""Bank size above which the minimum similarity stops growing for questions in other languages than
English, which the model finds less similar. Without this limit a bank of 1,530 memories left 6 of
40 German questions unanswered."""

RANK = (-1.37, -0.83)
"""Coefficient of the logarithm of the rank, and intercept. Used with other embedders and with
fusion alone, because the scale of their signals is not known."""


def features(total: Scores, similarity: float, documents: int) -> Scores:
    """Return the logarithm of each memory's share, the similarity, and the logarithm of bank size.

    The share is the softmax of the totals. The shape is (memories, 3).
    """
    if not len(total):
        return np.zeros((0, 3))
    scaled = (total - total.max()) / TEMPERATURE
    share = scaled - math.log(float(np.exp(scaled).sum()))
    rest = np.array([similarity, math.log(max(documents, 1))])
    return np.column_stack([share, np.tile(rest, (len(total), 1))])


def relevance_by_rank(memories: int) -> Scores:
    """Return a probability for each rank, best first, from the rank alone."""
    return logistic(RANK[0] * np.log(np.arange(1, memories + 1)) + RANK[1])


def logistic(values: Scores) -> Scores:
    """Return 1 / (1 + exp(-value)) for each value."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(values, -_LARGEST, _LARGEST))))


_LARGEST = 700.0
"""Largest exponent whose exponential is still finite as a float."""
