"""Weights of the ranking's signals, and which of them a question is ranked with."""

from __future__ import annotations

from dataclasses import dataclass

from hindsight_integrations.nlp.model_registry import knows_language_of
from hindsight_integrations.recall.base import Question


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each signal. Each docstring gives the scale of the signal itself.

    Fitted on all kinds of memory in the development sets of the benchmark at once:
    docs/benchmarks.md lists the effect of each, and the figures when a kind was left out.
    Similarity to the question is not divided by its standard deviation in the pool, because that
    would overrate accidental matches in pools where nothing matches.
    """

    meaning: float = 6.0
    """Cosine of the embeddings, -1 to 1. It counts less in dialogues (`in_dialogue`), whose turns
    are short: late interaction by the same model measures their overlap with the question
    better."""
    interaction: float = 6.0
    """Late interaction, -1 to 1: each term of the question is matched to its nearest term in the
    memory."""
    terms: float = 0.5
    """BM25 divided by the logarithm of the number of memories: about 1 for a rare common word."""
    length: float = -0.4
    """Logarithm of (number of characters + 10). Long memories use more of the token budget, and
    resemble every question a little."""
    date: float = 3.0
    """Fit of the memory's times to the period asked about, 0 to 1."""
    neighbours: float = 1.2
    """Similarity of the previous and next turn to the question."""
    second_neighbours: float = 0.5
    """Similarity of the turns two positions away to the question."""
    session: float = 0.4
    """Similarity of the whole session to the question."""
    speaker: float = 3.6
    """1 if said by the person whom the question asks about, else 0."""
    asks: float = -0.55
    """1 if it ends in a question itself, else 0."""
    answers: float = 3.5
    """0 to 1: it replies to a question that is similar to the one asked."""
    information: float = 0.4
    """Information content of a turn, whatever the question."""
    own_words: float = -5.0
    """1 if said by the agent itself, unless the question asks for that; else 0. Its replies repeat
    what the user said, at ten times the length."""
    lasting_fact: float = 0.5
    """1 if it states a lasting fact about somebody and the question asks for advice, else 0."""
    pagerank: float = 0.55
    """PageRank that flows from the best hits over shared entities."""
    shared_name: float = 1.0
    """Boost of a memory that shares a rare name with one of the best hits."""
    residual: float = 1.0
    """Late interaction with the part of the question that the best hits do not cover yet."""
    feedback: float = 3.0
    """Cosine with the mean of the best hits, -1 to 1. Below the best hits, a memory similar to all
    of them is more likely to belong to the answer than one that is only similar to the question
    [Rocchio, "Relevance Feedback in Information Retrieval", 1971]. Not used in a chat with the
    agent, where everything resembles its replies."""


DEFAULT_WEIGHTS = Weights()
"""For a question with token vectors, in a language that the embedder may know."""

WITHOUT_TOKENS = Weights(terms=1.0, length=0.0, speaker=1.8, pagerank=0.0, shared_name=0.5)
"""For a question without token vectors: the cosine stands for late interaction too.

Fitted with `use-multilingual-3` on thirteen kinds of memory in English and seventeen banks in
eleven other languages, whose figures all rose (docs/models.md).
"""

IN_UNKNOWN_LANGUAGE = Weights(meaning=0.0, terms=1.5)
"""For a question in a language that the embedder does not know: exact terms lead, and late
interaction, which also matches parts of words, adds to them. The cosine of such texts says little.
Fitted on the same seventeen banks."""


def weights_for(question: Question, embedder_id: str) -> Weights:
    """Return the weights to rank a question with.

    Args:
        question: the question, with its token vectors if it has any.
        embedder_id: model that made the vectors.
    """
    if question.tokens is None:
        return WITHOUT_TOKENS
    known = knows_language_of(question.text, embedder_id)
    return DEFAULT_WEIGHTS if known else IN_UNKNOWN_LANGUAGE
