"""Taking memories away, with all that hangs on them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from hindsight_integrations.storage.requests import ChangeSet
from hindsight_integrations.storage.sqlite import (
    conclusions,
    documents,
    lexemes,
    mentions,
    sources,
    vectors,
)
from hindsight_integrations.storage.sqlite.derived import DERIVED
from hindsight_integrations.storage.sqlite.keys import BankRange, key_list, memory_keys


def remove_named(
    cursor: sqlite3.Cursor, bank: BankRange, changes: ChangeSet
) -> tuple[tuple[str, ...], set[int]]:
    """Take away what a change set removes; returns what `remove` does."""
    if not (changes.remove_memories or changes.remove_documents or changes.remove_chunks):
        return (), set()
    unsourced = documents.remove_documents(cursor, bank, changes.remove_documents)
    unsourced += documents.remove_chunks(cursor, bank, changes.remove_chunks)
    named = memory_keys(cursor, bank, changes.remove_memories)
    return remove(cursor, bank, named | conclusions.ids_of(cursor, unsourced))


def remove(
    cursor: sqlite3.Cursor, bank: BankRange, leaving: dict[str, int]
) -> tuple[tuple[str, ...], set[int]]:
    """Take memories (id to key) away, and every conclusion that nothing supports then.

    Returns:
        The ids of all that went, and the entities to settle.
    """
    gone: list[str] = []
    bereft: set[int] = set()
    while leaving:
        gone += leaving
        bereft |= _remove(cursor, bank, leaving)
        leaving = withdraw(cursor, leaving.values())
    return tuple(gone), bereft


def withdraw(cursor: sqlite3.Cursor, lost: Iterable[int]) -> dict[str, int]:
    """Strike memories from the evidence of conclusions, which then wait to be reflected on.

    Returns:
        The conclusions (id to key) that nothing supports any more; they are to be removed.
    """
    supported = sources.remove_evidence(cursor, lost)
    conclusions.wait(cursor, (key for key, still in supported.items() if still))
    return conclusions.ids_of(cursor, (key for key, still in supported.items() if not still))


def strip(cursor: sqlite3.Cursor, bank: BankRange, keys: Iterable[int]) -> set[int]:
    """Remove all that belongs to memories besides their own rows and their vectors.

    Returns:
        The entities to settle.
    """
    chosen = list(keys)
    bereft = mentions.remove(cursor, chosen)
    lexemes.remove(cursor, bank, chosen)
    for table in ("contents", "sources", *(table.name for table in DERIVED)):
        cursor.execute(
            f"DELETE FROM {table} WHERE unit IN (SELECT value FROM json_each(?))",
            (key_list(chosen),),
        )
    return bereft


def _remove(cursor: sqlite3.Cursor, bank: BankRange, gone: dict[str, int]) -> set[int]:
    keys = (key_list(gone.values()),)
    bereft = strip(cursor, bank, gone.values())
    for column in ("source", "target"):
        cursor.execute(
            f"DELETE FROM links WHERE {column} IN (SELECT value FROM json_each(?))", keys
        )
    vectors.remove(cursor, bank, gone)
    conclusions.settle(cursor, gone.values())
    cursor.execute("DELETE FROM memories WHERE key IN (SELECT value FROM json_each(?))", keys)
    return bereft
