"""How many memories of a bank hold each lexeme, kept in step with the memories that are valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.storage.neo4j.connection import run, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey
from hindsight_integrations.storage.requests import LexemeStats

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_COUNT = """
    UNWIND $rows AS row MERGE (l:Lexeme {key: row.key})
    ON CREATE SET l.bank = $bank, l.lexeme = row.lexeme, l.memories = 0
    SET l.memories = l.memories + row.count
    WITH l WHERE l.memories <= 0 DELETE l"""

_TOTALS = """
    MATCH (b:Bank {key: $bank})
    SET b.valid_memories = b.valid_memories + $memories,
        b.valid_lexemes = b.valid_lexemes + $lexemes"""

_STATS = """
    MATCH (b:Bank {key: $bank}) RETURN b.valid_memories, b.valid_lexemes,
        COLLECT { UNWIND $keys AS key MATCH (l:Lexeme {key: key}) RETURN [l.lexeme, l.memories] }"""


def count(
    tx: ManagedTransaction,
    bank: BankKey,
    *,
    added: Sequence[Sequence[str]],
    removed: Sequence[Sequence[str]],
) -> None:
    """Count the lexemes of memories that became valid, and of those that no longer are."""
    changes = Counter(lexeme for lexemes in added for lexeme in set(lexemes))
    changes.subtract(lexeme for lexemes in removed for lexeme in set(lexemes))
    rows = [
        {"key": bank.of(lexeme), "lexeme": lexeme, "count": change}
        for lexeme, change in sorted(changes.items())
        if change
    ]
    run_each(tx, _COUNT, rows, bank=bank.key)
    if added or removed:
        run(
            tx,
            _TOTALS,
            bank=bank.key,
            memories=len(added) - len(removed),
            lexemes=sum(map(len, added)) - sum(map(len, removed)),
        )


def stats(tx: ManagedTransaction, bank: BankKey, lexemes: Sequence[str]) -> LexemeStats:
    """Statistics over the bank's valid memories; a lexeme it lacks has frequency 0."""
    keys = [bank.of(lexeme) for lexeme in dict.fromkeys(lexemes)]
    ((documents, total, counted),) = run(tx, _STATS, bank=bank.key, keys=keys)
    frequency = dict.fromkeys(lexemes, 0) | dict(counted)
    return LexemeStats(documents, total / documents if documents else 0.0, frequency)
