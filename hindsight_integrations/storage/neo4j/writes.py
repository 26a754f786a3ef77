"""Applying a change set: what the engine retains, replaces and forgets, in one transaction.

The bank is locked first, so all that is read here stays true until the transaction ends, and a
transaction that is run again finds what it found before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hindsight_integrations.model import Change, MemoryType
from hindsight_integrations.storage.conditions import (
    check_edition,
    check_new,
    check_there,
    check_unchanged,
    mentioned,
)
from hindsight_integrations.storage.neo4j import (
    banks,
    conclusions,
    documents,
    entities,
    entity_edits,
    lexemes,
    links,
    marks,
    mental_models,
    mentions,
    removal,
    sources,
    times,
    vectors,
)
from hindsight_integrations.storage.neo4j.codec import memory_properties, text_of
from hindsight_integrations.storage.neo4j.connection import gather, run_each
from hindsight_integrations.storage.neo4j.entities import names_of
from hindsight_integrations.storage.neo4j.keys import BankKey, existing, lock_bank, reserve
from hindsight_integrations.storage.requests import ChangeSet, MemoryRecord
from hindsight_integrations.storage.values import is_conclusion

if TYPE_CHECKING:
    from neo4j import ManagedTransaction


def apply(tx: ManagedTransaction, changes: ChangeSet) -> tuple[str, ...]:
    """Apply a change set inside the caller's transaction; returns the ids of memories that went.

    Raises:
        OvertakenError: what it was made from has changed.
        ConflictError: a new memory's id is taken, a new name is another entity's, or nothing that
            supports a conclusion is left.
        MemoryNotFoundError: a memory to replace, or to add a source to, does not exist.
        EntityNotFoundError: a memory mentions, or a new name is for, an entity that neither the
            bank nor the change set has.
    """
    bank = lock_bank(tx, changes.bank_id)
    found = documents.fingerprints(tx, bank, [id for id, _ in changes.expected])
    check_unchanged(bank.id, changes.expected, found)
    if changes.edition is not None:
        check_edition(bank.id, changes.edition, banks.edition(tx, bank))
    gone, bereft = removal.remove_named(tx, bank, changes)
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
    stated = [id for id, _ in changes.sources]
    check_there(bank.id, stated, existing(tx, "Memory", bank, stated))
    sources.add(tx, bank, changes.sources)
    links.add(tx, bank, changes.links)
    _add_history(tx, bank, changes.history)
    mental_models.remove(tx, bank, changes.remove_mental_models)
    mental_models.store(tx, bank, changes.mental_models)
    conclusions.settle(tx, bank, changes.reflected)
    conclusions.wait(tx, bank, changes.unreflected)
    if changes.mark is not None:
        marks.store(tx, bank, changes.mark)
    mentions.settle(tx, bereft)
    if changes.alters:
        banks.alter(tx, bank)
    return gone


def _add(
    tx: ManagedTransaction,
    bank: BankKey,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, str],
) -> None:
    ids = [record.memory.id for record in records]
    check_new(bank.id, ids, existing(tx, "Memory", bank, ids))
    waiting = [record.memory.id for record in records if not is_conclusion(record.memory)]
    records = conclusions.upheld(tx, bank, records, ids)
    numbered = zip(reserve(tx, bank, len(records)), records, strict=True)
    rows = [memory_properties(bank, seq, record) for seq, record in numbered]
    run_each(tx, "UNWIND $rows AS row CREATE (m:Memory) SET m = row", rows)
    _furnish(tx, bank, records, entity_keys)
    conclusions.wait(tx, bank, waiting)


def _replace(
    tx: ManagedTransaction,
    bank: BankKey,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, str],
) -> set[str]:
    if not records:
        return set()
    ids = [record.memory.id for record in records]
    check_there(bank.id, ids, existing(tx, "Memory", bank, ids))
    records = conclusions.upheld(tx, bank, records, ())
    bereft = removal.strip(tx, bank, ids)
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
    conclusions.wait_anew(tx, bank, ids)
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
    sources.draw(tx, bank, {bank.of(each.id): each.sources for each in memories})
    observed = [bank.of(each.id) for each in memories if each.type is MemoryType.OBSERVATION]
    run_each(tx, "UNWIND $rows AS key MATCH (m:Memory {key: key}) SET m:Observation", observed)
    mentions.add(tx, {bank.of(r.memory.id): mentioned(r, entity_keys) for r in records})
    valid = [record.lexemes for record in records if record.memory.invalidated_at is None]
    lexemes.count(tx, bank, added=valid, removed=())
    vectors.store(tx, bank, [(r.memory.id, r.vector, r.interaction) for r in records])


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
