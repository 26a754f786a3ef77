"""BM25: how well documents answer a query by the terms they hold."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
"""How soon repetitions of a term in a document stop counting."""
B = 0.4
"""How far a document's length counts against it: not at all at 0, in full at 1.

Both from Trotman, Jia and Crane, "Towards an Efficient and Effective Search Engine", 2012. On
conversations and on encyclopaedia passages measured better than the usual 1.2 and 0.75."""


@dataclass(frozen=True, slots=True)
class TermCounts:
    """How often some documents hold the terms of a query.

    Attributes:
        terms: the distinct terms.
        counts: shape (documents, terms).
        lengths: lexemes of each document; shape (documents,).
    """

    terms: tuple[str, ...]
    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]], query: Sequence[str]) -> TermCounts:
        """Counted in the lexemes of each document, for this query alone."""
        terms = {term: column for column, term in enumerate(dict.fromkeys(query))}
        counts = np.zeros((len(documents), len(terms)))
        for row, document in enumerate(documents):
            if not terms.keys().isdisjoint(document):  # few hold any term, and this is soon told
                for lexeme in document:
                    if lexeme in terms:
                        counts[row, terms[lexeme]] += 1
        lengths = np.array([len(document) for document in documents], dtype=np.float64)
        return cls(tuple(terms), counts, lengths)

    def grouped(self, numbers: NDArray[np.intp], groups: int) -> TermCounts:
        """The same of groups of the documents, of which each has the number of its group."""
        counts = np.zeros((groups, len(self.terms)))
        np.add.at(counts, numbers, self.counts)
        lengths = np.bincount(numbers, self.lengths, groups).astype(np.float64)
        return TermCounts(self.terms, counts, lengths)


class HeldTerms:
    """Which of some documents hold which terms: worked out once, for many queries.

    Args:
        documents: the lexemes of each.
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        self._lengths = np.array([len(document) for document in documents], dtype=np.float64)
        self._rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, document in enumerate(documents):
            for lexeme in document:
                self._rows[lexeme].append(row)

    def asked(self, query: Sequence[str]) -> TermCounts:
        """How often each document holds the terms of a query, given as its lexemes."""
        terms = tuple(dict.fromkeys(query))
        counts = np.zeros((len(self._lengths), len(terms)))
        for column, term in enumerate(terms):
            if term in self._rows:
                counts[:, column] = np.bincount(self._rows[term], minlength=len(counts))
        return TermCounts(terms, counts, self._lengths)


def idf(frequency: int, documents: int) -> float:
    """Weight of a term that `frequency` of `documents` hold: ln(1 + (N - n + 0.5) / (n + 0.5)).

    The 1 inside the logarithm (as Lucene has it) keeps it above zero for terms that most hold.
    """
    return math.log1p((max(documents - frequency, 0) + 0.5) / (frequency + 0.5))


def bm25(
    asked: TermCounts,
    frequency: Mapping[str, int],
    n_documents: int,
    mean_length: float,
    *,
    k1: float = K1,
    b: float = B,
) -> NDArray[np.float64]:
    """BM25 score of each document.

    Sum over the distinct terms t of the query, with f the count of t in the document and L its
    length: idf(t) * f * (k1 + 1) / (f + k1 * (1 - b + b * L / mean_length)).

    Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
    2009, with the IDF of `idf`.

    Args:
        asked: what the documents hold of the query; they may be a few of the collection's.
        frequency: how many documents of the collection hold each term of the query.
        n_documents: documents of the collection.
        mean_length: their mean number of lexemes.
        k1: see `K1`.
        b: see `B`.

    Returns:
        Shape (documents,), not negative.
    """
    damping = k1 * (1 - b + b * asked.lengths[:, None] / max(mean_length, 1.0))
    weights = np.array([idf(frequency.get(term, 0), n_documents) for term in asked.terms], float)
    return np.asarray((asked.counts * (k1 + 1) / (asked.counts + damping)) @ weights)
