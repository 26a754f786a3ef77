"""Rows that contradict each other: find them, and repair what can be computed.

Memories, sources, mentions, names, links and lexemes are trusted. Tables made of these (for filters
and searches, counts) are computed again beside the stored ones, and replaced if they differ. Rows
that belong to nothing are removed, and so is a conclusion that nothing supports. A lost text,
vector, lexeme list or name can only be reported.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.common import (
    SCAN_PAGE,
    grams_of,
    lexeme_counts,
    merge_faults,
)
from hindsight_integrations.stores.soundness import (
    UNREADABLE,
    set_aside,
)
from hindsight_integrations.stores.sqlite import writing
from hindsight_integrations.stores.sqlite.cells import check_cells
from hindsight_integrations.stores.sqlite.entities import SqliteEntities
from hindsight_integrations.stores.sqlite.filters import DERIVED, derived_rows
from hindsight_integrations.stores.sqlite.rows import (
    CONTENT_COLUMNS,
    IS_LINK,
    MEMORY_COLUMNS,
    BankTransaction,
    SqlValue,
    insert_sql,
    lexemes_of,
    memory_of,
)
from hindsight_integrations.stores.sqlite.values import check_texts, check_values

_CHILDREN = (
    *((table, "unit", "memories") for table in ("contents", "sources", *DERIVED, "lexemes")),
    *((table, "unit", "memories") for table in ("vectors", "staged", "waiting", "mentions")),
    ("mentions", "entity", "entities"),
    ("links", "source", "memories"),
    ("links", "target", "memories"),
    ("names", "entity", "entities"),
    ("grams", "name", "names"),
)
"""Table, its column that holds a key, and the table that must have that key."""

_LACKING = (
    ("contents", "no text", "memories", "SELECT unit FROM contents"),
    ("vectors", "no vector", "memories", "SELECT unit FROM vectors"),
    ("lexemes", "no lexemes", "memories", "SELECT unit FROM lexemes"),
    ("names", "no name", "entities", "SELECT entity FROM names WHERE ordinal = 0"),
)
"""Table that lost a row, problem, the table whose keys are looked for, and where."""

_LOST_EVIDENCE = """
    SELECT evidence FROM sources WHERE unit BETWEEN ? AND ? AND evidence IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.key = evidence)"""

_UNSUPPORTED = """
    SELECT c.id, c.key FROM memories c JOIN sources s ON s.unit = c.key
    LEFT JOIN memories m ON m.key = s.evidence
    WHERE c.key BETWEEN ? AND ? GROUP BY c.key
    HAVING max(s.evidence IS NOT NULL)
    AND NOT max(s.supports AND (s.evidence IS NULL OR m.key IS NOT NULL))"""

_MENTION_COUNTS = """
    SELECT e.key, count(m.key), min(m.mentioned_at), max(m.mentioned_at) FROM entities e
    LEFT JOIN mentions x ON x.entity = e.key LEFT JOIN memories m ON m.key = x.unit
    WHERE e.key BETWEEN ?1 AND ?2 GROUP BY e.key
    EXCEPT SELECT key, mention_count, first_seen, last_seen FROM entities
    WHERE key BETWEEN ?1 AND ?2"""

_COOCCURRENCE = """
    SELECT a.entity, b.entity, count(*) FROM mentions a
    JOIN mentions b ON b.unit = a.unit AND b.entity <> a.entity
    WHERE a.unit BETWEEN ? AND ? GROUP BY a.entity, b.entity"""

Rows: TypeAlias = Iterable[tuple[SqlValue, ...]]


def check_file(cursor: sqlite3.Cursor) -> list[StoreFault]:
    """Return what SQLite finds wrong with the file itself; rows are not worth checking then."""
    try:
        lines = [line for (line,) in cursor.execute("PRAGMA quick_check")]
    except sqlite3.DatabaseError as error:
        _raise_unless_corrupt(error)
        lines = [str(error)]
    return [StoreFault("file", line, 1, repaired=False) for line in lines if line != "ok"]


def check_rows(cursor: sqlite3.Cursor, *, repair: bool) -> list[StoreFault]:
    """Return the faults found, each with whether it was repaired.

    It belongs in a write transaction even if nothing is to be repaired: SQLite checks its
    full-text index by a statement that counts as writing, and computed tables are temporary.
    """
    faults = [
        *_text_index(cursor, repair),
        *check_texts(cursor, repair=repair),
        *check_values(cursor, repair=repair),
        *_orphans(cursor, repair),
        *_outbox(cursor, repair),
        *_links(cursor, repair),
    ]
    for row in cursor.execute(
        "SELECT no, id, revision, dimension FROM banks WHERE deleted = 0"
    ).fetchall():
        tx = BankTransaction(cursor.connection, *row)
        faults += check_cells(tx, repair=repair)
        faults += _evidence(tx, repair)
        faults += _lacking(tx)
        faults += _mention_counts(tx, repair)
        faults += _computed(tx, repair)
        if repair:
            writing.raise_version(tx)
    return merge_faults(faults)


def _text_index(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    try:
        cursor.execute(
            "INSERT INTO lexeme_index (lexeme_index, rank) VALUES ('integrity-check', 1)"
        )
    except sqlite3.DatabaseError as error:
        _raise_unless_corrupt(error)
        if repair:
            cursor.execute("INSERT INTO lexeme_index (lexeme_index) VALUES ('rebuild')")
        yield StoreFault("lexeme_index", "differs from the lexemes", 1, repair)


def _raise_unless_corrupt(error: sqlite3.DatabaseError) -> None:
    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
        raise error


def _orphans(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    for table, column, parent in _CHILDREN:
        where = (
            f"FROM {table} WHERE NOT EXISTS "
            f"(SELECT 1 FROM {parent} p WHERE p.key = {table}.{column})"
        )
        yield from _removable(cursor, where, table, f"{column} is none of the {parent}", repair)


def _outbox(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    where = "FROM outbox WHERE operation = 'upsert' AND unit NOT IN (SELECT unit FROM vectors)"
    yield from _removable(cursor, where, "outbox", "the vector to write is lost", repair)


def _links(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    where = f"FROM links WHERE NOT coalesce({IS_LINK}, FALSE)"
    yield from _removable(cursor, where, "links", "a kind or a weight cannot be read", repair)


def _removable(
    cursor: sqlite3.Cursor, where: str, table: str, problem: str, repair: bool
) -> Iterator[StoreFault]:
    (count,) = cursor.execute(f"SELECT count(*) {where}").fetchone()
    if count:
        if repair:
            cursor.execute(f"DELETE {where}")
        yield StoreFault(table, problem, count, repair)


def _evidence(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    lost = [key for (key,) in tx.execute(_LOST_EVIDENCE, tx.bounds)]
    unsupported: dict[str, int] = dict(tx.execute(_UNSUPPORTED, tx.bounds).fetchall())
    if repair:
        writing.withdraw(tx, lost)
        _, affected = writing.remove(tx, unsupported)
        SqliteEntities(tx).recount(affected)
    if lost:
        yield StoreFault("sources", "evidence is none of the memories", len(lost), repair)
    if unsupported:
        yield StoreFault("memories", "nothing supports the conclusion", len(unsupported), repair)


def _lacking(tx: BankTransaction) -> Iterator[StoreFault]:
    for table, problem, parent, having in _LACKING:
        (count,) = tx.execute(
            f"SELECT count(*) FROM {parent} WHERE key BETWEEN ? AND ? AND key NOT IN ({having})",
            tx.bounds,
        ).fetchone()
        if count:
            yield StoreFault(table, problem, count, repaired=False)


def _mention_counts(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    wrong = tx.execute(_MENTION_COUNTS, tx.bounds).fetchall()
    if wrong:
        if repair:
            tx.executemany(
                "UPDATE entities SET mention_count = ?2, first_seen = ?3, last_seen = ?4 "
                "WHERE key = ?1",
                wrong,
            )
        yield StoreFault("entities", "mention counts differ from the mentions", len(wrong), repair)


# Tables that are computed


def _computed(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    """Compute each derived table again in a temporary one, and exchange its rows if they differ."""
    low, high = tx.bounds
    for table, columns, within, rows in (
        *((t, c, f"unit BETWEEN {low} AND {high}", _rows_of(t)) for t, c in DERIVED.items()),
        ("grams", "name, bank, gram", f"name BETWEEN {low} AND {high}", _grams),
        ("cooccurrence", "entity, other, count", f"entity BETWEEN {low} AND {high}", _pairs),
        ("lexeme_counts", "bank, lexeme, memories", f"bank = {tx.no}", _lexeme_counts),
        ("banks", "no, valid_memories, valid_lexemes", f"no = {tx.no}", _lexeme_totals),
    ):
        temporary = f"temp.computed_{table}"
        stored = f"SELECT {columns} FROM {table} WHERE {within}"
        tx.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS computed_{table} AS "
            f"SELECT {columns} FROM {table} WHERE FALSE"
        )
        tx.executemany(insert_sql(temporary, columns), rows(tx))
        (wrong,) = tx.execute(
            f"SELECT (SELECT count(*) FROM (SELECT * FROM {temporary} EXCEPT {stored})) "
            f"+ (SELECT count(*) FROM ({stored} EXCEPT SELECT * FROM {temporary}))"
        ).fetchone()
        if wrong and repair and table == "banks":
            tx.execute(
                f"UPDATE banks SET (valid_memories, valid_lexemes) = "
                f"(SELECT valid_memories, valid_lexemes FROM {temporary}) WHERE {within}"
            )
        elif wrong and repair:
            tx.execute(f"DELETE FROM {table} WHERE {within}")
            tx.execute(f"INSERT INTO {table} ({columns}) SELECT * FROM {temporary}")
        tx.execute(f"DELETE FROM {temporary}")
        if wrong:
            yield StoreFault(table, "differs from what it is computed from", wrong, repair)


def _rows_of(table: str) -> Callable[[BankTransaction], Rows]:
    """Return a function that computes the rows of one of the `DERIVED` tables."""

    def rows(tx: BankTransaction) -> Rows:
        after, high = tx.bounds
        while page := tx.execute(
            f"SELECT key, {MEMORY_COLUMNS}, {CONTENT_COLUMNS} FROM memories "
            "JOIN contents ON unit = key WHERE key > ? AND key <= ? ORDER BY key LIMIT ?",
            (after, high, SCAN_PAGE),
        ).fetchall():
            for key, *row in page:
                try:
                    memory = memory_of(tuple(row), bank_id=tx.id)
                except UNREADABLE as error:
                    set_aside(tx.id, row[0], error)
                else:
                    yield from derived_rows(key, tx.no, memory)[table]
            after = page[-1][0]

    return rows


def _grams(tx: BankTransaction) -> Rows:
    names = tx.execute("SELECT key, norm FROM names WHERE key BETWEEN ? AND ?", tx.bounds)
    return ((key, tx.no, gram) for key, norm in names for gram in grams_of(norm))


def _pairs(tx: BankTransaction) -> Rows:
    return tx.execute(_COOCCURRENCE, tx.bounds)


def _lexeme_counts(tx: BankTransaction) -> Rows:
    counts = lexeme_counts(_valid_lexemes(tx))
    return ((tx.no, lexeme, count) for lexeme, count in sorted(counts.items()))


def _lexeme_totals(tx: BankTransaction) -> Rows:
    lengths = [len(lexemes) for lexemes in _valid_lexemes(tx)]
    return [(tx.no, len(lengths), sum(lengths))]


def _valid_lexemes(tx: BankTransaction) -> Iterator[tuple[str, ...]]:
    rows = tx.execute("SELECT terms FROM lexemes WHERE valid AND unit BETWEEN ? AND ?", tx.bounds)
    return (lexemes_of(terms) for (terms,) in rows)
