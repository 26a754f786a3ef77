"""Taking memories away, with all that hangs on them, and the histories that may quote them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain

from hindsight_integrations.storage.requests import ChangeSet
from hindsight_integrations.storage.sqlite import (
    conclusions,
    documents,
    lexemes,
    mental_models,
    mentions,
    sources,
    vectors,
)
from hindsight_integrations.storage.sqlite.derived import DERIVED
from hindsight_integrations.storage.sqlite.keys import (
    BankRange,
    key_list,
    memory_keys,
    select_in,
)
from hindsight_integrations.storage.values import DRAWN, RESTED


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
        _forget_history(cursor, bank, list(leaving))
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


def _forget_history(cursor: sqlite3.Cursor, bank: BankRange, leaving: Sequence[str]) -> None:
    """Delete what was told of memories so far, and of all that rests on them or ever did.

    What the engine drew from others says no more than these, so where it goes nothing else does.
    """
    stated = [id for id in leaving if not id.startswith(DRAWN)]
    sql = "SELECT old FROM history WHERE bank = ? AND field = ? AND memory_id IN (*)"
    models = mental_models.read(cursor, bank)
    further = {*stated, *chain.from_iterable(conclusions.resting_on(cursor, bank, stated).values())}
    told = {*leaving, *further}
    while further:
        rested = {id for (id,) in select_in(cursor, sql, (bank.no, RESTED), further)}
        rested |= {model.id for model in models if not further.isdisjoint(model.sources)}
        further = rested - told
        told |= further
    cursor.executemany(
        "DELETE FROM history WHERE bank = ? AND memory_id = ?", [(bank.no, id) for id in told]
    )


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
