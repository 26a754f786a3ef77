"""Taking memories away, with all that hangs on them, and the histories that may quote them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from hindsight_integrations.storage.neo4j import (
    conclusions,
    documents,
    lexemes,
    mental_models,
    mentions,
    vectors,
)
from hindsight_integrations.storage.neo4j.connection import gather, run_each
from hindsight_integrations.storage.neo4j.keys import BankKey, existing
from hindsight_integrations.storage.neo4j.lucene import terms_of
from hindsight_integrations.storage.requests import ChangeSet
from hindsight_integrations.storage.values import DRAWN, RESTED

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

_RESTED = """
    UNWIND $rows AS id
    MATCH (c:Change) WHERE c.bank = $bank AND c.memory_id = id AND c.field = $field
    RETURN collect([c.old])"""

_FORGET = """
    UNWIND $rows AS id MATCH (c:Change) WHERE c.bank = $bank AND c.memory_id = id
    DELETE c"""


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
        _forget_history(tx, bank, leaving)
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


def _forget_history(tx: ManagedTransaction, bank: BankKey, leaving: Sequence[str]) -> None:
    """Delete what was told of memories so far, and of all that rests on them or ever did.

    What the engine drew from others says no more than these, so where it goes nothing else does.
    """
    stated = [id for id in leaving if not id.startswith(DRAWN)]
    models = mental_models.read(tx, bank)
    further = {*stated, *chain.from_iterable(conclusions.resting_on(tx, bank, stated).values())}
    told = {*leaving, *further}
    while further:
        rows = gather(tx, _RESTED, sorted(further), bank=bank.key, field=RESTED)
        rested = {id for (id,) in rows}
        rested |= {model.id for model in models if not further.isdisjoint(model.sources)}
        further = rested - told
        told |= further
    run_each(tx, _FORGET, sorted(told), bank=bank.key)


def _remove(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> set[str]:
    bereft = strip(tx, bank, ids)
    vectors.remove(tx, bank, ids)
    run_each(
        tx,
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) DETACH DELETE m",
        [bank.of(id) for id in ids],
    )
    return bereft
