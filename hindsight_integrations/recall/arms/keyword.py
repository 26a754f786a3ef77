"""The keyword arm: memories that share exact terms with the query, by BM25.

The store finds candidates; the scoring is here, so that every store ranks alike.
"""

from __future__ import annotations

from hindsight_integrations.nlp.bm25 import TermCounts, bm25, idf
from hindsight_integrations.recall.base import ArmHit, BankSearch

CANDIDATES = 2
"""Candidates asked of the store for each hit wanted, since it knows no BM25."""

NAMED_TERMS = 4
"""Terms that a reason lists at most."""


def search(request: BankSearch) -> list[ArmHit]:
    """Return memories that share terms with the question, best BM25 first."""
    lexemes, stats = request.question.lexemes, request.stats
    if not lexemes:
        return []
    found = request.graph.text_search(
        request.bank_id, lexemes, request.filter, request.depth.hits * CANDIDATES
    )
    if not found:
        return []
    counts = TermCounts.of([hit.lexemes for hit in found], lexemes)
    scores = bm25(counts, stats.frequency, stats.documents, stats.mean_length)
    by_rarity = sorted(
        set(lexemes), key=lambda term: (-idf(stats.frequency.get(term, 0), stats.documents), term)
    )
    ranked = sorted(zip(found, scores.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))
    hits = []
    for (memory_id, held), score in ranked[: request.depth.hits]:
        shared = [term for term in by_rarity if term in held][:NAMED_TERMS]
        hits.append(ArmHit(memory_id, score, f"terms: {', '.join(shared)}"))
    return hits
