"""Applying a change set: what the engine retains, replaces and forgets, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from hindsight_integrations.model import Change, Source
from hindsight_integrations.storage.conditions import (
    check_edition,
    check_new,
    check_there,
    check_unchanged,
    mentioned,
    unsupported,
)
from hindsight_integrations.storage.likeness import by_norm
from hindsight_integrations.storage.requests import (
    ChangeSet,
    MemoryRecord,
)
from hindsight_integrations.storage.sqlite import (
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
    vectors,
)
from hindsight_integrations.storage.sqlite.codec import (
    CONTENT_COLUMNS,
    MEMORY_COLUMNS,
    content_row,
    memory_row,
)
from hindsight_integrations.storage.sqlite.derived import DERIVED
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    find_bank,
    memory_keys,
    new_keys,
)
from hindsight_integrations.storage.values import is_conclusion, micros


def apply(cursor: sqlite3.Cursor, changes: ChangeSet) -> tuple[str, ...]:
    """Apply a change set inside the caller's transaction; returns the ids of memories that went.

    Raises:
        OvertakenError: what it was made from has changed.
        ConflictError: a new memory's id is taken, a new name is another entity's, or nothing that
            supports a conclusion is left.
        MemoryNotFoundError: a memory to replace, or to add a source to, does not exist.
        EntityNotFoundError: a memory mentions, or a new name is for, an entity that neither the
            bank nor the change set has.
    """
    bank = find_bank(cursor, changes.bank_id)
    found = documents.fingerprints(cursor, bank, [id for id, _ in changes.expected])
    check_unchanged(bank.id, changes.expected, found)
    if changes.edition is not None:
        check_edition(bank.id, changes.edition, banks.edition(cursor, bank))
    gone, bereft = removal.remove_named(cursor, bank, changes)
    documents.store_documents(cursor, bank, changes.documents)
    documents.store_chunks(cursor, bank, changes.chunks)
    records = (*changes.memories, *changes.replaced)
    used = [id for record in records for id in record.entity_ids]
    used += [named.entity_id for named in changes.names]
    entity_keys = entities.resolve(cursor, bank, changes.entities, used)
    for named in changes.names:
        names = by_norm((named.name, *named.aliases))
        entity_edits.set_names(cursor, bank, entity_keys[named.entity_id], names)
    _add(cursor, bank, changes.memories, entity_keys)
    bereft |= _replace(cursor, bank, changes.replaced, entity_keys)
    _add_sources(cursor, bank, changes.sources)
    links.add(cursor, bank, changes.links)
    _add_history(cursor, bank, changes.history)
    mental_models.remove(cursor, bank, changes.remove_mental_models)
    mental_models.store(cursor, bank, changes.mental_models)
    conclusions.settle(cursor, memory_keys(cursor, bank, changes.reflected).values())
    conclusions.wait(cursor, memory_keys(cursor, bank, changes.unreflected).values())
    if changes.mark is not None:
        marks.store(cursor, bank, changes.mark)
    if bereft:
        mentions.settle(cursor, bereft)
    if changes.alters:
        banks.alter(cursor, bank)
    return gone


def _add(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, int],
) -> None:
    ids = [record.memory.id for record in records]
    if not records:
        return
    check_new(bank.id, ids, memory_keys(cursor, bank, ids))
    keyed = dict(zip(new_keys(cursor, bank, len(records)), records, strict=True))
    cursor.executemany(
        f"INSERT INTO memories (key, bank, {MEMORY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(key, bank.no, *memory_row(record)) for key, record in keyed.items()],
    )
    _furnish(cursor, bank, keyed, entity_keys)
    conclusions.wait(cursor, (k for k, record in keyed.items() if not is_conclusion(record.memory)))


def _replace(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    records: Sequence[MemoryRecord],
    entity_keys: Mapping[str, int],
) -> set[int]:
    if not records:
        return set()
    keys = _existing(cursor, bank, [record.memory.id for record in records])
    keyed = {keys[record.memory.id]: record for record in records}
    bereft = removal.strip(cursor, bank, keyed)
    assignments = ", ".join(f"{column} = ?" for column in MEMORY_COLUMNS.split(", "))
    cursor.executemany(
        f"UPDATE memories SET {assignments} WHERE key = ?",
        [(*memory_row(record), key) for key, record in keyed.items()],
    )
    vectors.unstage(cursor, keyed)
    _furnish(cursor, bank, keyed, entity_keys)
    conclusions.wait_anew(cursor, keyed)
    return bereft


def _furnish(
    cursor: sqlite3.Cursor,
    bank: BankRange,
    keyed: Mapping[int, MemoryRecord],
    entity_keys: Mapping[str, int],
) -> None:
    """Store all that belongs to memories besides their own rows."""
    cursor.executemany(
        f"INSERT INTO contents (unit, {CONTENT_COLUMNS}) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(key, *content_row(record.memory)) for key, record in keyed.items()],
    )
    for table in DERIVED:
        table.insert(cursor, bank.no, {key: record.memory for key, record in keyed.items()})
    stated = {key: record.memory.sources for key, record in keyed.items()}
    for key in sources.add(cursor, bank, stated):
        raise unsupported(bank.id, keyed[key].memory.id)
    mentions.add(cursor, {key: mentioned(record, entity_keys) for key, record in keyed.items()})
    lexemes.add(
        cursor,
        bank,
        [(k, r.memory.invalidated_at is None, r.lexemes) for k, r in keyed.items()],
    )
    vectors.store(
        cursor, bank, [(k, r.memory.id, r.vector, r.interaction) for k, r in keyed.items()]
    )


def _existing(cursor: sqlite3.Cursor, bank: BankRange, ids: Sequence[str]) -> dict[str, int]:
    keys = memory_keys(cursor, bank, ids)
    check_there(bank.id, ids, keys)
    return keys


def _add_sources(
    cursor: sqlite3.Cursor, bank: BankRange, given: Sequence[tuple[str, Source]]
) -> None:
    keys = _existing(cursor, bank, [id for id, _ in given])
    grouped: dict[int, list[Source]] = {key: [] for key in keys.values()}
    for id, source in given:
        grouped[keys[id]].append(source)
    sources.add(cursor, bank, grouped)


def _add_history(cursor: sqlite3.Cursor, bank: BankRange, history: Sequence[Change]) -> None:
    cursor.executemany(
        "INSERT INTO history (key, bank, memory_id, action, field, old, new, at, reason) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (key, bank.no, c.memory_id, c.action, c.field, c.old, c.new, micros(c.at), c.reason)
            for key, c in zip(new_keys(cursor, bank, len(history)), history, strict=True)
        ],
    )
