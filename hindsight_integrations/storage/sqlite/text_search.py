"""Search by lexemes: the full-text index lists who holds them, the rarest decide who comes first.

SQLite's own ranking counts across all banks, and reads every match; the caller scores what is
found here with the bank's statistics.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence

from hindsight_integrations.language.bm25 import idf
from hindsight_integrations.storage.requests import LexemeStats, MemoryFilter, TextHit
from hindsight_integrations.storage.sqlite import lexemes as index
from hindsight_integrations.storage.sqlite.keys import BankRange
from hindsight_integrations.storage.sqlite.memories import admitted_keys, matching_keys

_POSTINGS_READ = 20_000
"""Postings read for one search, rarest lexeme first: about 15 ms. A lexeme that would exceed them
is left out if rarer ones found enough; otherwise its latest memories are read."""

_FEW = 1_000
"""A filter that leaves at most so many memories is searched by reading each of them."""


def text_search(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    lexemes: Sequence[str],
    filter: MemoryFilter,
    limit: int,
) -> list[TextHit]:
    """Memories that hold any of the lexemes, greatest sum of inverse document frequencies first.

    Equal ones come latest stored first.
    """
    stats = index.stats(cursor, bank, list(dict.fromkeys(lexemes)))
    weights = {lexeme: idf(stats.frequency[lexeme], stats.documents) for lexeme in stats.frequency}
    few = matching_keys(cursor, bank, filter, _FEW) if filter.is_selective else None
    if few is not None:
        ids = few
        held = index.read(cursor, few)
        sums = {key: sum(weights.get(each, 0.0) for each in set(held[key])) for key in held}
        chosen = _best({key: total for key, total in sums.items() if total > 0})[:limit]
    else:
        ids, chosen = {}, []
        ranked = _best(_sums(cursor, bank, stats, weights, filter, limit))
        for start in range(0, len(ranked), max(limit, 1)):
            batch = ranked[start : start + limit]
            ids |= admitted_keys(cursor, bank, batch, filter)
            chosen += [key for key in batch if key in ids]
            if len(chosen) >= limit:
                break
    chosen = chosen[:limit]
    terms = index.read(cursor, chosen)
    return [TextHit(ids[key], terms[key]) for key in chosen]


def _best(sums: Mapping[int, float]) -> list[int]:
    return sorted(sums, key=lambda key: (-sums[key], -key))


def _sums(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    stats: LexemeStats,
    weights: Mapping[str, float],
    filter: MemoryFilter,
    limit: int,
) -> Mapping[int, float]:
    """Key of a memory to the sum of the inverse document frequencies of what it holds."""
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
    return sums
