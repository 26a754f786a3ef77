"""Applying a change set: what the engine retains, replaces and forgets, in one transaction.

The bank is locked first, so all that is read here stays true until the transaction ends, and a
transaction that is run again finds what it found before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.errors import ConflictError, InvalidInputError, MemoryNotFoundError
from hindsight_integrations.model import Change
from hindsight_integrations.storage.neo4j import (
    documents,
    entities,
    entity_edits,
    lexemes,
    links,
    mentions,
    times,
    vectors,
)
from hindsight_integrations.storage.neo4j.codec import memory_properties, text_of
from hindsight_integrations.storage.neo4j.connection import gather, run_each
from hindsight_integrations.storage.neo4j.entities import names_of
from hindsight_integrations.storage.neo4j.keys import BankKey, existing, lock_bank, reserve
from hindsight_integrations.storage.neo4j.lucene import terms_of
from hindsight_integrations.storage.requests import ChangeSet, MemoryRecord

if TYPE_CHECKING:
    from neo4j import ManagedTransaction

_VALID_LEXEMES = """
    UNWIND $rows AS key MATCH (m:Memory {key: key}) WHERE m.invalidated_at IS NULL
    RETURN collect([m.lexemes])"""

_STRIP = """
    UNWIND $rows AS key MATCH (m:Memory {key: key})
    CALL (m) { MATCH (m)-[:AT]->(t:Time) DETACH DELETE t }
    CALL (m) { MATCH (m)-[f:FROM]->() DELETE f }"""


def apply(tx: ManagedTransaction, changes: ChangeSet) -> tuple[str, ...]:
    """Apply a change set inside the caller's transaction; returns the ids of memories that went.

    Raises:
        ConflictError: a new memory's id is taken, or a new name is another entity's.
        MemoryNotFoundError: a memory to replace, or to add a source to, does not exist.
        EntityNotFoundError: a memory mentions, or a new name is for, an entity that neither the
            bank nor the change set has.
    """
    bank = lock_bank(tx, changes.bank_id)
    gone, bereft = _removals(tx, bank, changes)
    documents.store_documents(tx, bank, changes.documents)
    documents.store_chunks(tx, bank, changes.chunks)
    records = (*changes.memories, *changes.replaced)
    used = [id for record in records for id in record.entity_ids]
    used += [named.entity_id for named in changes.names]
    entity_keys = entities.resolve(tx, bank, changes.entities, used)
    for named in changes.names:
        id = entity_keys[named.entity_id].removeprefix(bank.prefix)
        entity_edits.set_names(tx, bank, id, names_of(named))
    _add(tx, bank, changes.memories, entity_keys)
    bereft |= _replace(tx, bank, changes.replaced, entity_keys)
    _check_existing(tx, bank, [id for id, _ in changes.sources])
    documents.add_sources(tx, bank, changes.sources)
    links.add(tx, bank, changes.links)
    _add_history(tx, bank, changes.history)
    mentions.settle(tx, bereft)
    return gone


def _removals(
    tx: ManagedTransaction, bank: BankKey, changes: ChangeSet
) -> tuple[tuple[str, ...], set[str]]:
    """Ids of the memories that went, and the entities to settle."""
    named = existing(tx, "Memory", bank, changes.remove_memories)
    ends = (changes.remove_documents, changes.remove_chunks)
    stated = documents.stated_in(tx, bank, *ends)
    bereft = _remove(tx, bank, list(named))
    gone = set(named.values())
    orphans = documents.remove(tx, bank, *ends, [row for row in stated if row[0] not in gone])
    unsourced = tuple(key.removeprefix(bank.prefix) for key in orphans)
    return (*named, *unsourced), bereft | _remove(tx, bank, unsourced)


def _remove(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> set[str]:
    if not ids:
        return set()
    bereft = _strip(tx, bank, ids)
    vectors.remove(tx, bank, ids)
    run_each(
        tx,
        "UNWIND $rows AS key MATCH (m:Memory {key: key}) DETACH DELETE m",
        [bank.of(id) for id in ids],
    )
    return bereft


def _add(
    tx: ManagedTransaction,
    bank: BankKey,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, str],
) -> None:
    ids = [record.memory.id for record in records]
    if taken := list(existing(tx, "Memory", bank, ids)):
        raise ConflictError(f"memory {taken[0]!r} exists already in bank {bank.id!r}; replace it")
    if len(set(ids)) < len(ids):
        raise ConflictError(f"a change set for bank {bank.id!r} holds a new memory twice")
    numbered = zip(reserve(tx, bank, len(records)), records, strict=True)
    rows = [memory_properties(bank, seq, record) for seq, record in numbered]
    run_each(tx, "UNWIND $rows AS row CREATE (m:Memory) SET m = row", rows)
    _furnish(tx, bank, records, entity_keys)


def _replace(
    tx: ManagedTransaction,
    bank: BankKey,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, str],
) -> set[str]:
    if not records:
        return set()
    ids = [record.memory.id for record in records]
    _check_existing(tx, bank, ids)
    bereft = _strip(tx, bank, ids)
    numbers: dict[str, int] = dict(
        gather(
            tx,
            "UNWIND $rows AS key MATCH (m:Memory {key: key}) RETURN collect([m.id, m.seq])",
            [bank.of(id) for id in ids],
        )
    )
    rows = [memory_properties(bank, numbers[record.memory.id], record) for record in records]
    run_each(tx, "UNWIND $rows AS row MATCH (m:Memory {key: row.key}) SET m = row", rows)
    vectors.unstage(tx, bank, ids)
    _furnish(tx, bank, records, entity_keys)
    return bereft


def _furnish(
    tx: ManagedTransaction,
    bank: BankKey,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, str],
) -> None:
    """Store all that belongs to memories besides their own nodes."""
    memories = [record.memory for record in records]
    times.add(tx, bank, memories)
    documents.link_sources(
        tx, bank, [(bank.of(each.id), source) for each in memories for source in each.sources]
    )
    mentioned = {bank.of(r.memory.id): _mentioned(r, entity_keys) for r in records}
    mentions.add(tx, mentioned)
    valid = [record.lexemes for record in records if record.memory.invalidated_at is None]
    lexemes.count(tx, bank, added=valid, removed=())
    vectors.store(tx, bank, [(r.memory.id, r.vector, r.interaction) for r in records])


def _strip(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> set[str]:
    """Undo `_furnish`, save for the vectors; returns the entities to settle."""
    keys = [bank.of(id) for id in ids]
    valid = [terms_of(text) for (text,) in gather(tx, _VALID_LEXEMES, keys)]
    lexemes.count(tx, bank, added=(), removed=valid)
    run_each(tx, _STRIP, keys)
    return mentions.remove(tx, keys)


def _mentioned(record: MemoryRecord, entity_keys: Mapping[str, str]) -> list[str]:
    if len(record.entity_ids) != len(record.memory.entities):
        raise InvalidInputError(
            f"memory {record.memory.id!r} names {len(record.memory.entities)} entities but gives "
            f"{len(record.entity_ids)} ids; give one id a name"
        )
    return list(dict.fromkeys(entity_keys[id] for id in record.entity_ids))


def _check_existing(tx: ManagedTransaction, bank: BankKey, ids: Sequence[str]) -> None:
    there = existing(tx, "Memory", bank, ids)
    if missing := [id for id in ids if id not in there]:
        raise MemoryNotFoundError(
            f"bank {bank.id!r} has no memory {missing[0]!r}; it was deleted, or never stored"
        )


def _add_history(tx: ManagedTransaction, bank: BankKey, history: Sequence[Change]) -> None:
    rows = [
        {
            "key": bank.of(str(seq)),
            "bank": bank.key,
            "seq": seq,
            "memory_id": change.memory_id,
            "action": change.action,
            "field": change.field,
            "old": change.old,
            "new": change.new,
            "at": text_of(change.at),
            "reason": change.reason,
        }
        for seq, change in zip(reserve(tx, bank, len(history)), history, strict=True)
    ]
    run_each(tx, "UNWIND $rows AS row CREATE (c:Change) SET c = row", rows)
