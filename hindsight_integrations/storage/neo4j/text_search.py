"""Search by lexemes: the full-text index lists who holds them, the rarest decide who comes first.

Lucene's own scores count across all banks; the caller scores what is found here with the bank's
statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.language.bm25 import idf
from hindsight_integrations.storage.neo4j import lexemes as index
from hindsight_integrations.storage.neo4j import lucene
from hindsight_integrations.storage.neo4j.connection import run
from hindsight_integrations.storage.neo4j.filters import condition, facet_clauses
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.neo4j.schema import MEMORY_TEXTS
from hindsight_integrations.storage.requests import LexemeStats, MemoryFilter, TextHit

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_POSTINGS_READ = 20_000
"""Memories read for one search, those of the rarest lexemes first: about 60 ms. The others are
left out if the rare ones found enough."""


def text_search(
    tx: ManagedTransaction,
    bank: BankKey,
    lexemes: Sequence[str],
    filter: MemoryFilter,
    limit: int,
) -> list[TextHit]:
    """Memories that hold any of the lexemes, greatest sum of inverse document frequencies first.

    Equal ones come latest stored first.
    """
    stats = index.stats(tx, bank, lexemes)
    rarest = sorted(stats.frequency, key=lambda each: (stats.frequency[each], each))
    if not rarest or limit <= 0:
        return []
    test, clauses = condition(bank, filter), facet_clauses(filter)
    searches = [
        {
            "listed": " ".join([lucene.query(bank, lexemes=[lexeme]), *clauses]),
            "weight": idf(stats.frequency[lexeme], stats.documents),
        }
        for lexeme in rarest
    ]
    for count in dict.fromkeys((_affordable(stats, rarest), len(rarest))):
        ((found,),) = run(
            tx,
            _SEARCH.format(test=test.text),
            searches=searches[:count],
            most=_POSTINGS_READ,
            limit=limit,
            **test.params,
        )
        if len(found) == limit:
            break
    return [TextHit(id, lucene.terms_of(terms)) for id, terms in found]


_SEARCH = (
    "UNWIND $searches AS search "
    f"CALL db.index.fulltext.queryNodes('{MEMORY_TEXTS}', search.listed, {{{{limit: $most}}}}) "
    "YIELD node AS m WITH m, search.weight AS weight WHERE {test} "
    "WITH m, sum(weight) AS total ORDER BY total DESC, m.seq DESC LIMIT $limit "
    "RETURN collect([m.id, m.lexemes])"
)


def _affordable(stats: LexemeStats, rarest: Sequence[str]) -> int:
    """How many of the lexemes, at least one, are held by no more memories than may be read."""
    total = 0
    for count, lexeme in enumerate(rarest):
        total += stats.frequency[lexeme]
        if count and total > _POSTINGS_READ:
            return count
    return len(rarest)
