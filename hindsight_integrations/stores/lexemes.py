"""Lexemes: their statistics in a bank, and how many of them a search looks up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hindsight_integrations.stores.base import LexemeStats, MemoryRecord

POSTINGS_READ = 10_000
"""Postings that a term search reads, of the rarest lexemes first: about 8 ms in SQLite and 30 in
Neo4j. If these give enough memories, further lexemes are looked up only among these memories."""

COMMON_LEXEMES = 8
"""Most lexemes, the rarest first, that are looked up among memories already found: each takes about
a millisecond, and the most common ones have almost no weight."""

RARE_LEXEMES = 200
"""Most lexemes whose postings were read for common ones to be looked up too. A longer question has
enough of them, and an index takes a limited number of clauses (Lucene 1,024)."""


def lexeme_statistics(
    documents: int, length: int, lexemes: Iterable[str], counts: Mapping[str, int]
) -> LexemeStats:
    """Return statistics of a bank with this many valid memories and lexemes in them."""
    frequency = dict.fromkeys(lexemes, 0) | dict(counts)
    return LexemeStats(documents, length / documents if documents else 0.0, frequency)


def valid_lexemes(records: Iterable[MemoryRecord]) -> list[tuple[str, ...]]:
    """Return the lexemes of each memory that is not invalidated: only these are counted."""
    return [record.lexemes for record in records if record.memory.invalidated_at is None]


def lexeme_counts(memories: Iterable[Sequence[str]]) -> Counter[str]:
    """Return the number of memories that contain each lexeme."""
    return Counter(lexeme for lexemes in memories for lexeme in set(lexemes))
