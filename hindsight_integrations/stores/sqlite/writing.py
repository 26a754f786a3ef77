"""Applying a change set, in one transaction of the caller's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from hindsight_integrations.models import Document, Link, Source, is_conclusion, utc_now
from hindsight_integrations.stores.audit import MEMORY, MODEL, audit_of
from hindsight_integrations.stores.base import ChangeSet, MemoryRecord, QueueCheckpoint
from hindsight_integrations.stores.entities import mentioned_keys, names_of
from hindsight_integrations.stores.lexemes import lexeme_counts, valid_lexemes
from hindsight_integrations.stores.refusals import (
    check_exists,
    check_new,
    check_records,
    check_unchanged,
)
from hindsight_integrations.stores.removal import histories_to_forget, text_left
from hindsight_integrations.stores.sources import cited_ids, is_live, live_sources
from hindsight_integrations.stores.sqlite import vectors
from hindsight_integrations.stores.sqlite.entities import SqliteEntities
from hindsight_integrations.stores.sqlite.filters import DERIVED, add_derived
from hindsight_integrations.stores.sqlite.reading import (
    citations,
    conclusions_citing,
    mental_models,
)
from hindsight_integrations.stores.sqlite.rows import (
    AUDIT_COLUMNS,
    CHANGE_COLUMNS,
    CONTENT_COLUMNS,
    IN_KEYS,
    INVALID,
    MEMORY_COLUMNS,
    MENTAL_MODEL_COLUMNS,
    SOURCE_COLUMNS,
    VALID,
    BankTransaction,
    SqlValue,
    assignments,
    content_row,
    find_bank,
    index_term,
    insert_sql,
    key_list,
    lexemes_of,
    memory_row,
    row_of,
    source_row,
    upsert_sql,
)
from hindsight_integrations.stores.times import micros

_DOCUMENT_COLUMNS = "id, is_record, is_conversation, fingerprint, created_at, updated_at"
_CHUNK_COLUMNS = "id, document_id, position, fingerprint, text"


def apply(cursor: sqlite3.Cursor, changes: ChangeSet) -> tuple[str, ...]:
    """Apply a change set; return the ids of the memories removed. See `GraphStore.apply`."""
    tx = find_bank(cursor, changes.bank_id)
    _check_unchanged(tx, changes)
    removed_ids, affected = _remove_named(tx, changes)
    _check_records(tx, changes.documents)  # after the removal, which may make room for them
    _write(tx, changes, removed_ids, affected)
    return removed_ids


def _write(
    tx: BankTransaction, changes: ChangeSet, removed_ids: Sequence[str], affected: set[int]
) -> None:
    """Write what a change set holds besides removals, and recount the `affected` entities."""
    entities = SqliteEntities(tx)
    entity_keys = entities.resolve(changes)
    _insert(tx, "documents", _DOCUMENT_COLUMNS, changes.documents, overwrite=True)
    _insert(tx, "chunks", _CHUNK_COLUMNS, changes.chunks, overwrite=True)
    entities.set_names({entity_keys[names.entity_id]: names_of(names) for names in changes.names})
    entities.set_kinds({entity_keys[id]: kind for id, kind in changes.kinds})
    for edit in changes.entity_edits:
        entities.edit(edit)
    _add(tx, changes.memories, entity_keys)
    affected |= _replace(tx, changes.replaced, entity_keys)
    _append_sources(tx, changes.sources)
    _store_links(tx, changes.links)
    _insert(tx, "history", CHANGE_COLUMNS, changes.history)
    _insert(tx, "mental_models", MENTAL_MODEL_COLUMNS, changes.mental_models, overwrite=True)
    if changes.checkpoint is not None:
        _store_checkpoint(tx, changes.checkpoint)
    _insert(tx, "audit", AUDIT_COLUMNS, audit_of(changes, removed_ids))
    tx.delete_of(tx.memory_keys(changes.mark_consolidated).values(), "waiting")
    _mark(tx, tx.memory_keys(changes.mark_pending).values())
    vectors.stage(tx, changes.staged)
    if changes.requeue:
        vectors.requeue(tx, changes.requeue)
    if affected:
        entities.recount(affected)
    if changes.raises_version:
        raise_version(tx)


def forgets(cursor: sqlite3.Cursor, changes: ChangeSet) -> bool:
    """Return True if a change set, before it is applied, removes text that must not stay on disk.

    The earlier text of a replaced memory or mental model is not such a text: its history has it.
    """
    if (
        changes.remove_documents
        or changes.remove_chunks
        or changes.remove_memories
        or changes.remove_mental_models
        or changes.entity_edits
    ):
        return True
    if not changes.chunks:
        return False
    tx = find_bank(cursor, changes.bank_id)
    given = {chunk.id: chunk.text for chunk in changes.chunks}
    stored = tx.select_in("SELECT id, text FROM chunks WHERE bank = ? AND id IN (*)", given)
    return any(text != given[id] for id, text in stored)


def forget_terms(cursor: sqlite3.Cursor) -> None:
    """Merge the full-text index into one segment: the others keep the terms of removed memories."""
    cursor.execute("INSERT INTO lexeme_index (lexeme_index) VALUES ('optimize')")


def raise_version(tx: BankTransaction) -> None:
    """Raise the bank's version: what was read of its memories may no longer be true."""
    tx.execute("UPDATE banks SET edition = edition + 1 WHERE no = ?", (tx.no,))


def _check_unchanged(tx: BankTransaction, changes: ChangeSet) -> None:
    sql = "SELECT id, fingerprint FROM documents WHERE bank = ? AND id IN (*)"
    stored: dict[str, str] = dict(tx.select_in(sql, [id for id, _ in changes.expected]))
    (version,) = tx.execute("SELECT edition FROM banks WHERE no = ?", (tx.no,)).fetchone()
    check_unchanged(changes, stored, version)


def _check_records(tx: BankTransaction, documents: Sequence[Document]) -> None:
    sql = "SELECT id, is_record FROM documents WHERE bank = ? AND id IN (*)"
    given = {document.id: document.is_record for document in documents}
    check_records(tx.id, given, dict(tx.select_in(sql, given)))


# Memories


def _add(
    tx: BankTransaction, records: Sequence[MemoryRecord], entity_keys: Mapping[str, int]
) -> None:
    if not records:
        return
    ids = [record.memory.id for record in records]
    check_new(tx.id, ids, tx.memory_keys(ids))
    keyed = dict(zip(tx.new_keys(len(records)), records, strict=True))
    tx.executemany(
        insert_sql("memories", f"key, bank, {MEMORY_COLUMNS}"),
        [(key, tx.no, *memory_row(record)) for key, record in keyed.items()],
    )
    _insert_related(tx, keyed, entity_keys)
    _mark(tx, (key for key, record in keyed.items() if not is_conclusion(record.memory)))


def _replace(
    tx: BankTransaction, records: Sequence[MemoryRecord], entity_keys: Mapping[str, int]
) -> set[int]:
    """Replace memories, and mark them and the conclusions on them; return affected entities."""
    if not records:
        return set()
    keys = _existing(tx, [record.memory.id for record in records])
    keyed = {keys[record.memory.id]: record for record in records}
    affected = _strip(tx, keyed)
    tx.delete_of(keyed, "staged", "waiting")
    tx.executemany(
        f"UPDATE memories SET {assignments(MEMORY_COLUMNS)} WHERE key = ?",
        [(*memory_row(record), key) for key, record in keyed.items()],
    )
    _insert_related(tx, keyed, entity_keys)
    _mark(tx, (*keyed, *(unit for _, unit in citations(tx, keyed))))
    return affected


def _insert_related(
    tx: BankTransaction, keyed: Mapping[int, MemoryRecord], entity_keys: Mapping[str, int]
) -> None:
    """Store all that belongs to memories besides their own rows."""
    memories = {key: record.memory for key, record in keyed.items()}
    tx.executemany(
        insert_sql("contents", f"unit, {CONTENT_COLUMNS}"),
        [(key, *content_row(memory)) for key, memory in memories.items()],
    )
    add_derived(tx, memories)
    evidence = _evidence(tx, (source for m in memories.values() for source in m.sources))
    live = {key: live_sources(tx.id, memory, evidence) for key, memory in memories.items()}
    _add_sources(tx, live, evidence)
    mentioned = {key: mentioned_keys(record, entity_keys) for key, record in keyed.items()}
    SqliteEntities(tx).add_mentions(mentioned)
    _add_lexemes(tx, keyed)
    vectors.store(tx, keyed)


def _existing(tx: BankTransaction, ids: Sequence[str]) -> dict[str, int]:
    keys = tx.memory_keys(ids)
    check_exists(tx.id, ids, keys)
    return keys


# Removal


def _remove_named(tx: BankTransaction, changes: ChangeSet) -> tuple[tuple[str, ...], set[int]]:
    """Remove what a change set names; return what `remove` does."""
    unsourced = [
        *_remove_sources(tx, "document_id", changes.remove_documents),
        *_remove_sources(tx, "chunk_id", changes.remove_chunks),
    ]
    for table, column, ids in (
        ("chunks", "document_id", changes.remove_documents),
        ("documents", "id", changes.remove_documents),
        ("chunks", "id", changes.remove_chunks),
    ):
        tx.executemany(
            f"DELETE FROM {table} WHERE bank = ? AND {column} = ?", [(tx.no, id) for id in ids]
        )
    named = tx.memory_keys(changes.remove_memories)
    removed = remove(tx, named | tx.memory_ids(unsourced))
    tx.executemany(
        "DELETE FROM mental_models WHERE bank = ? AND id = ?",
        [(tx.no, id) for id in changes.remove_mental_models],
    )
    return removed


def remove(tx: BankTransaction, removed: dict[str, int]) -> tuple[tuple[str, ...], set[int]]:
    """Remove memories (id to key), and every conclusion that loses all support.

    Returns:
        The ids of all removed, and the entities to recount.
    """
    removed_ids: list[str] = []
    affected: set[int] = set()
    chunk_ids: set[str] = set()
    while removed:
        _forget_history(tx, removed)
        chunk_ids |= _stated_in(tx, removed.values())
        removed_ids += removed
        affected |= _strip(tx, removed.values())
        vectors.remove(tx, removed)
        tx.delete_of(removed.values(), "waiting")
        for table, column in (("links", "source"), ("links", "target"), ("memories", "key")):
            chosen = (key_list(removed.values()),)
            tx.execute(f"DELETE FROM {table} WHERE {column} {IN_KEYS}", chosen)
        removed = withdraw(tx, removed.values())
    _cut_chunks(tx, chunk_ids)
    return tuple(removed_ids), affected


def _stated_in(tx: BankTransaction, keys: Iterable[int]) -> set[str]:
    """Return the ids of the chunks that are sources of memories."""
    sql = f"SELECT DISTINCT chunk_id FROM sources WHERE unit {IN_KEYS} AND chunk_id IS NOT NULL"
    return {id for (id,) in tx.execute(sql, (key_list(keys),))}


def _cut_chunks(tx: BankTransaction, ids: Iterable[str]) -> None:
    """Reduce chunks to the texts of the memories still stated in them."""
    for id in sorted(ids):
        texts = tx.execute(
            "SELECT text FROM contents WHERE unit IN (SELECT unit FROM sources "
            "WHERE bank = ? AND chunk_id = ?) ORDER BY unit",
            (tx.no, id),
        )
        left = text_left(text for (text,) in texts)
        tx.execute("UPDATE chunks SET text = ? WHERE bank = ? AND id = ?", (left, tx.no, id))


def withdraw(tx: BankTransaction, removed_keys: Iterable[int]) -> dict[str, int]:
    """Remove memories from the evidence of conclusions, which become pending consolidation.

    Returns:
        The conclusions (id to key) that nothing supports any more; they are to be removed.
    """
    sql = f"DELETE FROM sources WHERE evidence {IN_KEYS} RETURNING unit"
    conclusion_keys = {unit for (unit,) in tx.execute(sql, (key_list(removed_keys),))}
    supported = _renumber_sources(tx, conclusion_keys)
    _mark(tx, (key for key, is_supported in supported.items() if is_supported))
    return tx.memory_ids((key for key, is_supported in supported.items() if not is_supported))


def _strip(tx: BankTransaction, keys: Iterable[int]) -> set[int]:
    """Remove all rows that belong to memories, except their own and their vectors.

    Returns:
        The entities to recount.
    """
    chosen = list(keys)
    affected = SqliteEntities(tx).remove_mentions(chosen)
    _remove_lexemes(tx, chosen)
    tx.delete_of(chosen, "contents", "sources", *DERIVED)
    return affected


def _forget_history(tx: BankTransaction, removed: Mapping[str, int]) -> None:
    def cited_once(ids: Sequence[str], field: str) -> list[str]:
        sql = (
            "SELECT old FROM history "
            "WHERE bank = ? AND field = ? AND NOT of_model AND memory_id IN (*)"
        )
        return [id for (id,) in tx.select_in(sql, ids, field)]

    sql = f"SELECT id FROM memories WHERE key {IN_KEYS} AND NOT derived"
    memories, models = histories_to_forget(
        removed,
        [id for (id,) in tx.execute(sql, (key_list(removed.values()),))],
        mental_models(tx),
        lambda ids: conclusions_citing(tx, ids),
        cited_once,
    )
    for ids, of_model in ((memories, False), (models, True)):
        tx.executemany(
            "DELETE FROM history WHERE bank = ? AND memory_id = ? AND of_model = ?",
            [(tx.no, id, of_model) for id in ids],
        )
        tx.executemany(
            "UPDATE audit SET reason = NULL "
            "WHERE bank = ? AND kind = ? AND id = ? AND reason IS NOT NULL",
            [(tx.no, MODEL if of_model else MEMORY, id) for id in ids],
        )


# Pending consolidation


def _mark(tx: BankTransaction, keys: Iterable[int]) -> None:
    """Mark those of the memories that are valid as pending consolidation."""
    tx.execute(
        "INSERT OR IGNORE INTO waiting (unit) SELECT key FROM memories "
        f"WHERE key {IN_KEYS} AND invalidated_at IS NULL",
        (key_list(keys),),
    )


# Sources


def _append_sources(tx: BankTransaction, given: Sequence[tuple[str, Source]]) -> None:
    keys = _existing(tx, [id for id, _ in given])
    evidence = _evidence(tx, (source for _, source in given))
    added: dict[int, list[Source]] = {key: [] for key in keys.values()}
    for id, source in given:
        added[keys[id]] += [source] if is_live(source, evidence) else []
    _add_sources(tx, added, evidence)


def _evidence(tx: BankTransaction, sources: Iterable[Source]) -> dict[str, int]:
    """Return id to key of the memories that sources name and that exist."""
    return tx.memory_keys(cited_ids(sources))


def _add_sources(
    tx: BankTransaction, sources: Mapping[int, Sequence[Source]], evidence: Mapping[str, int]
) -> None:
    """Append live sources to memories; one that a memory has already is not stored again.

    `evidence` gives the key of each memory that they name.
    """
    had: dict[int, list[tuple[SqlValue, ...]]] = {key: [] for key in sources}
    for key, *row in tx.execute(
        f"SELECT unit, {SOURCE_COLUMNS} FROM sources WHERE unit {IN_KEYS} ORDER BY unit, ordinal",
        (key_list(sources),),
    ):
        had[key].append(tuple(row))
    added = []
    for key, given in sources.items():
        rows = (source_row(source, evidence.get(source.memory_id or "")) for source in given)
        new = [row for row in dict.fromkeys(rows) if row not in had[key]]
        added += [(key, n, tx.no, *row) for n, row in enumerate(new, start=len(had[key]))]
    tx.executemany(insert_sql("sources", f"unit, ordinal, bank, {SOURCE_COLUMNS}"), added)


def _remove_sources(tx: BankTransaction, column: str, ids: Iterable[str]) -> list[int]:
    """Remove sources in documents or chunks; return the memories left unsupported.

    A conclusion that is still supported becomes pending consolidation.
    """
    sql = f"DELETE FROM sources WHERE bank = ? AND {column} = ? RETURNING unit"
    touched = {unit for id in ids for (unit,) in tx.execute(sql, (tx.no, id)).fetchall()}
    supported = _renumber_sources(tx, touched)
    citing = tx.execute(
        f"SELECT unit FROM sources WHERE unit {IN_KEYS} AND evidence IS NOT NULL",
        (key_list(touched),),
    )
    _mark(tx, {key for (key,) in citing if supported[key]})
    return [key for key, is_supported in supported.items() if not is_supported]


def _renumber_sources(tx: BankTransaction, touched: set[int]) -> dict[int, bool]:
    """Number the sources that are left from 0; return memory key to whether any supports it."""
    left: dict[int, list[int]] = {key: [] for key in sorted(touched)}
    supported = dict.fromkeys(left, False)
    for key, ordinal, supports in tx.execute(
        f"SELECT unit, ordinal, supports FROM sources WHERE unit {IN_KEYS} ORDER BY unit, ordinal",
        (key_list(left),),
    ):
        left[key].append(ordinal)
        supported[key] |= bool(supports)
    tx.executemany(
        "UPDATE sources SET ordinal = ? WHERE unit = ? AND ordinal = ?",
        [
            (new, key, old)
            for key, ordinals in left.items()
            for new, old in enumerate(ordinals)
            if new != old
        ],
    )
    return supported


# Lexemes


def _add_lexemes(tx: BankTransaction, records: Mapping[int, MemoryRecord]) -> None:
    rows = []
    for key, record in records.items():
        is_valid = record.memory.invalidated_at is None
        sign = VALID if is_valid else INVALID
        terms = " ".join(index_term(tx.no, sign, lexeme) for lexeme in record.lexemes)
        rows.append((key, is_valid, terms))
    tx.executemany("INSERT INTO lexemes (unit, valid, terms) VALUES (?, ?, ?)", rows)
    _count_lexemes(tx, valid_lexemes(records.values()), 1)


def _remove_lexemes(tx: BankTransaction, keys: Iterable[int]) -> None:
    rows = tx.execute(
        f"DELETE FROM lexemes WHERE unit {IN_KEYS} RETURNING valid, terms", (key_list(keys),)
    ).fetchall()
    valid = [lexemes_of(terms) for is_valid, terms in rows if is_valid]
    _count_lexemes(tx, valid, -1)
    tx.executemany(
        "DELETE FROM lexeme_counts WHERE bank = ? AND lexeme = ? AND memories <= 0",
        [(tx.no, lexeme) for lexeme in set().union(*valid)],
    )


def _count_lexemes(tx: BankTransaction, memories: Sequence[Sequence[str]], sign: int) -> None:
    tx.executemany(
        "INSERT INTO lexeme_counts (bank, lexeme, memories) VALUES (?, ?, ?) "
        "ON CONFLICT (bank, lexeme) DO UPDATE SET memories = memories + excluded.memories",
        [
            (tx.no, lexeme, sign * count)
            for lexeme, count in sorted(lexeme_counts(memories).items())
        ],
    )
    tx.execute(
        "UPDATE banks SET valid_memories = valid_memories + ?, valid_lexemes = valid_lexemes + ? "
        "WHERE no = ?",
        (sign * len(memories), sign * sum(map(len, memories)), tx.no),
    )


# Documents, chunks, links, checkpoints, and rows of any table


def _insert(
    tx: BankTransaction,
    table: str,
    columns: str,
    values: Sequence[object],
    *,
    overwrite: bool = False,
) -> None:
    """Insert values under new keys; `overwrite` those whose id the bank has, which keep theirs."""
    stored = f"key, bank, {columns}"
    sql = upsert_sql(table, stored, "bank, id") if overwrite else insert_sql(table, stored)
    keyed = zip(tx.new_keys(len(values)), values, strict=True)
    tx.executemany(sql, [(key, tx.no, *row_of(value, columns)) for key, value in keyed])


def _store_links(tx: BankTransaction, links: Sequence[Link]) -> None:
    ends = (end for link in links for end in (link.source_id, link.target_id))
    keys = tx.memory_keys(ends)
    tx.executemany(
        upsert_sql("links", "source, kind, target, weight", "source, kind, target"),
        [
            (keys[link.source_id], link.kind.value, keys[link.target_id], link.weight)
            for link in links
            if link.source_id in keys and link.target_id in keys
        ],
    )


def _store_checkpoint(tx: BankTransaction, checkpoint: QueueCheckpoint) -> None:
    """Store a checkpoint; one that expires removes those of the bank that have expired."""
    if checkpoint.expires_at is not None:
        expired = "DELETE FROM marks WHERE bank = ? AND expires_at < ?"
        tx.execute(expired, (tx.no, micros(utc_now())))
    columns = "queue, number, digest, expires_at"
    tx.execute(
        upsert_sql("marks", f"bank, {columns}", "bank, queue"),
        (tx.no, *row_of(checkpoint, columns)),
    )
