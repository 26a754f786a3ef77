"""Bring the normal forms of names that an older release stored up to those of this one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.normalization import entity_norm
from hindsight_integrations.stores.names import grams_of, spellings
from hindsight_integrations.stores.neo4j.connection import WRITE_BATCH, Database, Transaction
from hindsight_integrations.stores.neo4j.filters import indexed
from hindsight_integrations.stores.neo4j.nodes import BankTransaction, lock_bank
from hindsight_integrations.stores.neo4j.relating import say_again

_Page: TypeAlias = Callable[[BankTransaction, str], str | None]
"""Changes a page of nodes after this key; returns the key of its last, None if it was empty."""

_SPELT = """
    MATCH (e:Entity) WHERE e.key STARTS WITH $prefix AND e.key > $after AND e.name IS NOT NULL
    RETURN e.key AS key, [e.name] + e.aliases,
        COLLECT { MATCH (n:Name)-[:NAMES]->(e) RETURN n.norm ORDER BY n.seq }
    ORDER BY key LIMIT $size"""

# The key of the new form is free: it tells more names apart than the old one did.
_RENAME = """
    UNWIND $rows AS row MATCH (n:Name {key: row.old})-[:NAMES]->(e:Entity)
    WHERE NOT EXISTS { MATCH (:Name {key: row.key}) }
    SET n.key = row.key, n.norm = row.norm, n.grams = row.grams
    WITH row, e
    CALL (row) { MATCH (:Speaker {key: row.old})-[is:IS]->() DELETE is }
    WITH row, e MATCH (s:Speaker {key: row.key}) MERGE (s)-[:IS]->(e)"""

_SPOKEN = """
    MATCH (m:Memory) WHERE m.key STARTS WITH $prefix AND m.key > $after AND m.speaker IS NOT NULL
    RETURN m.key AS key, m.speaker, [(m)-[:SAID_BY]->(s) | s.key] ORDER BY key LIMIT $size"""


def normalise_names(database: Database) -> None:
    """Store names and speakers under their normal forms; may be interrupted and run again."""
    for (bank_id,) in database.reads.run("MATCH (b:Bank) RETURN b.id"):
        with suppress(BankNotFoundError):  # deleted meanwhile
            for page in (_rename_page, _say_page):
                after: str | None = ""
                while after is not None:
                    after = database.write(partial(_in_bank, bank_id, page, after))


def _in_bank(bank_id: str, page: _Page, after: str, tx: Transaction) -> str | None:
    bank = lock_bank(tx, bank_id)
    last = page(bank, after)
    bank.finish()
    return last


def _rename_page(tx: BankTransaction, after: str) -> str | None:
    rows = tx.run(_SPELT, after=after, size=WRITE_BATCH)
    renamed: list[dict[str, str]] = []
    for _, names, stored in rows:
        norms = spellings(names).keys()
        old = [norm for norm in stored if norm not in norms]
        new = [norm for norm in norms if norm not in stored]
        renamed += (
            {"old": tx.of(one), "key": tx.of(norm), "norm": norm, "grams": indexed(grams_of(norm))}
            for one, norm in zip(old, new, strict=False)
        )
    tx.run_each(_RENAME, renamed)
    return rows[-1][0] if rows else None


def _say_page(tx: BankTransaction, after: str) -> str | None:
    rows = tx.run(_SPOKEN, after=after, size=WRITE_BATCH)
    wrong = [(key, name) for key, name, said in rows if said != [tx.of(entity_norm(name))]]
    if wrong:
        say_again(tx, wrong)
    return rows[-1][0] if rows else None
