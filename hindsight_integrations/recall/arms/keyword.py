"""The keyword arm: memories that share exact terms with the query, by BM25.

The store finds candidates; the scoring is here, so that every store ranks alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.nlp.bm25 import TermCounts, bm25, idf, lexemes
from hindsight_integrations.recall.base import ArmHit, BankSearch
from hindsight_integrations.stores.base import TextHit

CANDIDATES = 2
"""Candidates asked of the store for each hit wanted, since it knows no BM25."""

NAMED_TERMS = 4
"""Terms that a reason lists at most."""


_WORD = re.compile(r"\w+")


def search(request: BankSearch) -> list[ArmHit]:
    """Return memories that share terms with the question, best BM25 first."""
    query_terms, stats = request.question.lexemes, request.stats
    if not query_terms:
        return []
    candidates, counts = _candidates(request, query_terms)
    if not candidates:
        return []
    scores = bm25(counts, stats.frequency, stats.documents, stats.mean_length)
    by_rarity = sorted(
        set(query_terms),
        key=lambda term: (-idf(stats.frequency.get(term, 0), stats.documents), term),
    )
    scored = ((hit, score) for hit, score in zip(candidates, scores.tolist(), strict=True) if score)
    ranked = sorted(scored, key=lambda pair: (-pair[1], pair[0]))
    words = _words(request.question.text)
    hits = []
    for (memory_id, document_terms), score in ranked[: request.depth.hits]:
        shared = [words.get(term, term) for term in by_rarity if term in document_terms][
            :NAMED_TERMS
        ]
        hits.append(ArmHit(memory_id, score, f"terms: {', '.join(shared)}"))
    return hits


def _candidates(
    request: BankSearch, query_terms: Sequence[str]
) -> tuple[list[TextHit], TermCounts]:
    """Return candidates that may share terms with the question, and their counts of its terms."""
    if request.bank_candidates is not None:
        counts = request.bank_candidates.terms.asked(query_terms)
        return [TextHit(memory.id, memory.lexemes) for memory in request.bank_candidates], counts
    limit = request.depth.hits * CANDIDATES
    found = request.graph.text_search(
        request.bank_id, query_terms, request.filter, limit, request.stats
    )
    return found, TermCounts.of([hit.lexemes for hit in found], query_terms)


def _words(question: str) -> dict[str, str]:
    """Map each lexeme of a question to the word it stands for, to show it unstemmed."""
    words: dict[str, str] = {}
    for word in _WORD.findall(question):
        for term in lexemes(word):
            words.setdefault(term, word)
    return words
