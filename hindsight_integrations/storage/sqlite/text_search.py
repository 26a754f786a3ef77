"""Search by lexemes: the full-text index names the candidates, BM25 is computed here.

SQLite's own ranking counts across all banks; this one uses the bank's statistics.
"""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from hindsight_integrations.storage.requests import (
    LexemeStats,
    MemoryFilter,
    TextHit,
)
from hindsight_integrations.storage.sqlite import lexemes as index
from hindsight_integrations.storage.sqlite.keys import BankRange
from hindsight_integrations.storage.sqlite.memories import admitted_keys, matching_keys

K1, B = 1.2, 0.75
"""BM25's saturation and length normalisation, as in Robertson and Zaragoza (2009)."""

_POSTINGS_READ = 20_000
"""Postings read for one search, rarest lexeme first: about 15 ms. A lexeme that would exceed them
is left out if rarer ones found enough; otherwise its latest memories are read."""

_SCORED = 1_000
"""Memories scored at a time: about 5 ms."""


def text_search(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    lexemes: Sequence[str],
    filter: MemoryFilter,
    limit: int,
) -> list[TextHit]:
    """Memories that hold any of the lexemes, the likeliest `limit` by BM25, ties by id.

    Exact while no more than 1,000 memories hold a lexeme or pass a selective filter. Beyond that
    those with the greatest sum of inverse document frequencies are scored, 1,000 at a time until
    there are enough.
    """
    stats = index.stats(cursor, bank, list(dict.fromkeys(lexemes)))
    weights = {lexeme: _idf(stats, lexeme) for lexeme in stats.frequency}
    few = matching_keys(cursor, bank, filter, _SCORED) if filter.is_selective else None
    if few is not None:
        ranked = list(_scored(cursor, few, weights, stats.mean_length))
    else:
        ranked = []
        candidates = iter(_candidates(cursor, bank, stats, weights, filter, limit))
        while len(ranked) < limit and (batch := list(islice(candidates, _SCORED))):
            ids = admitted_keys(cursor, bank, batch, filter)
            ranked += _scored(cursor, ids, weights, stats.mean_length)
    best = heapq.nsmallest(max(limit, 0), ranked)
    return [TextHit(memory_id, terms) for _, memory_id, terms in best]


def bm25(terms: Sequence[str], weights: Mapping[str, float], mean_length: float) -> float:
    """Sum over lexemes of idf * tf (k1 + 1) / (tf + k1 (1 - b + b * length / mean length))."""
    norm = K1 * (1 - B + B * len(terms) / (mean_length or 1.0))
    score = 0.0
    for lexeme, weight in weights.items():
        if frequency := terms.count(lexeme):
            score += weight * frequency * (K1 + 1) / (frequency + norm)
    return score


def _idf(stats: LexemeStats, lexeme: str) -> float:
    holding = stats.frequency[lexeme]
    return math.log(1 + max(0.0, stats.documents - holding + 0.5) / (holding + 0.5))


def _scored(
    cursor: sqlite3.Cursor, ids: Mapping[int, str], weights: Mapping[str, float], mean: float
) -> Iterator[tuple[float, str, tuple[str, ...]]]:
    """(-score, id, lexemes) of those that hold a lexeme."""
    for key, terms in index.read(cursor, ids).items():
        if not weights.keys().isdisjoint(terms):
            yield -bm25(terms, weights, mean), ids[key], terms


def _candidates(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    stats: LexemeStats,
    weights: Mapping[str, float],
    filter: MemoryFilter,
    limit: int,
) -> list[int]:
    """Keys of memories that hold a lexeme, greatest sum of inverse document frequencies first."""
    with_invalid = filter.include_invalid or filter.as_of is not None
    signs = (index.VALID, index.INVALID) if with_invalid else (index.VALID,)
    sums: defaultdict[int, float] = defaultdict(float)
    left = _POSTINGS_READ
    for lexeme in sorted(weights, key=lambda each: (stats.frequency[each], each)):
        if stats.frequency[lexeme] > left and len(sums) >= limit:
            break
        for sign in signs:
            quoted = index.index_term(bank, sign, lexeme).replace('"', '""')
            for (key,) in cursor.execute(
                "SELECT rowid FROM lexeme_index WHERE lexeme_index MATCH ? "
                "ORDER BY rowid DESC LIMIT ?",
                (f'"{quoted}"', _POSTINGS_READ),
            ):
                sums[key] += weights[lexeme]
        left -= stats.frequency[lexeme]
    return sorted(sums, key=lambda key: (-sums[key], -key))
