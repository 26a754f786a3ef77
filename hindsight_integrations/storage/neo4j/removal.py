"""Taking memories away, with all that hangs on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.storage.neo4j import (
    conclusions,
    documents,
    lexemes,
    mentions,
    vectors,
)
from hindsight_integrations.storage.neo4j.connection import gather, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey, existing
from hindsight_integrations.storage.neo4j.lucene import terms_of
from hindsight_integrations.storage.requests import ChangeSet

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_VALID_LEXEMES = """
    UNWIND $rows AS key MATCH (m:Memory {key: key}) WHERE m.invalidated_at IS NULL
    RETURN collect([m.lexemes])"""

_STRIP = """
    UNWIND $rows AS key MATCH (m:Memory {key: key}) REMOVE m:Observation
    WITH m
    CALL (m) { MATCH (m)-[:AT]->(t:Time) DETACH DELETE t }
    CALL (m) { MATCH (m)-[f:FROM|EVIDENCE]->() DELETE f }"""


def remove_named(
    tx: ManagedTransaction, bank: BankKey, changes: ChangeSet
) -> tuple[tuple[str, ...], set[str]]:
    """Take away what a change set removes; returns what `remove` does."""
    named = existing(tx, "Memory", bank, changes.remove_memories)
    ends = (changes.remove_documents, changes.remove_chunks)
    going = set(named.values())
    stated = [row for row in documents.stated_in(tx, bank, *ends) if row[0] not in going]
    return remove(tx, bank, [*named, *documents.remove(tx, bank, *ends, stated)])


def remove(
    tx: ManagedTransaction, bank: BankKey, leaving: Sequence[str]
) -> tuple[tuple[str, ...], set[str]]:
    """Take memories (by id) away, and every conclusion that nothing supports then.

    Returns:
        The ids of all that went, and the entities to settle.
    """
    gone: list[str] = []
    bereft: set[str] = set()
    while leaving:
        unsupported = conclusions.withdraw(tx, bank, leaving)
        bereft |= _remove(tx, bank, leaving)
        gone += leaving
        leaving = unsupported
    return tuple(gone), bereft


def strip(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> set[str]:
    """Remove all that belongs to memories besides their own nodes and their vectors.

    Returns:
        The entities to settle.
    """
    keys = [bank.of(id) for id in ids]
    valid = [terms_of(text) for (text,) in gather(tx, _VALID_LEXEMES, keys)]
    lexemes.count(tx, bank, added=(), removed=valid)
    run_each(tx, _STRIP, keys)
    return mentions.remove(tx, keys)


def _remove(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> set[str]:
    bereft = strip(tx, bank, ids)
    vectors.remove(tx, bank, ids)
    run_each(
        tx,
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) DETACH DELETE m",
        [bank.of(id) for id in ids],
    )
    return bereft
