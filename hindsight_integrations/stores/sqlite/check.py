"""Rows that contradict each other: find them, and repair what can be computed.

Memories, sources, mentions, names, links and lexemes are trusted. Tables made of these (for filters
and searches, counts) are computed again beside the stored ones, and replaced if they differ. Rows
that belong to nothing are removed, and so is a conclusion that nothing supports. A lost text,
vector, lexeme list or name can only be reported.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeAlias

from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.integrity import DECODING_ERRORS, log_unreadable, merge_faults
from hindsight_integrations.stores.lexemes import lexeme_counts
from hindsight_integrations.stores.names import grams_of
from hindsight_integrations.stores.reads import SCAN_PAGE
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
    key_bounds,
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

_REMOVABLE = (
    *(
        (
            *(table, f"{column} is none of the {parent}"),
            f"NOT EXISTS (SELECT 1 FROM {parent} p WHERE p.key = {table}.{column})",
        )
        for table, column, parent in _CHILDREN
    ),
    (
        *("outbox", "the vector to write is lost"),
        "operation = 'upsert' AND unit NOT IN (SELECT unit FROM vectors)",
    ),
    ("links", "a kind or a weight cannot be read", f"NOT coalesce({IS_LINK}, FALSE)"),
)
"""Table, problem, and a condition of a row of it that is to be removed."""

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

Begin: TypeAlias = Callable[[], AbstractContextManager[sqlite3.Cursor]]
"""Opens a transaction."""

BankCheck: TypeAlias = Callable[[BankTransaction, bool], Iterable[StoreFault]]
"""Finds faults in a bank, and repairs them if its second argument is True."""

_TURN_SECONDS = 0.25
"""Seconds in transactions after which a check pauses."""

_PAUSE_SECONDS = 0.06
"""Seconds of a pause: processes that wait for the lock file try it 20 times a second."""


def check_file(cursor: sqlite3.Cursor) -> list[StoreFault]:
    """Return what SQLite finds wrong with the file itself; rows are not worth checking then."""
    try:
        lines = [line for (line,) in cursor.execute("PRAGMA quick_check")]
    except sqlite3.DatabaseError as error:
        _raise_unless_corrupt(error)
        lines = [str(error)]
    return [StoreFault("file", line, 1, repaired=False) for line in lines if line != "ok"]


def check_rows(begin: Begin, *, repair: bool) -> list[StoreFault]:
    """Return the faults found, each with whether it was repaired.

    It takes many short transactions, and others write in between. `begin` opens one that writes,
    even if nothing is to be repaired: SQLite checks its full-text index by a statement that counts
    as writing, and computed tables are temporary.
    """
    begin = _with_pauses(begin)
    faults: list[StoreFault] = []
    for check in (_text_index, check_texts, check_values, _removable):
        with begin() as cursor:
            faults += check(cursor, repair)
    with begin() as cursor:
        banks = cursor.execute("SELECT no FROM banks WHERE deleted = 0").fetchall()
    for (no,) in banks:
        for check_bank in _bank_checks(begin, no):
            with begin() as cursor:
                tx = _bank(cursor, no)
                if tx is None:  # deleted meanwhile
                    break
                faults += check_bank(tx, repair)
                if repair:
                    writing.raise_version(tx)
    return merge_faults(faults)


def _with_pauses(begin: Begin) -> Begin:
    """Return `begin` with a pause before a transaction once earlier ones have taken long.

    Without it a writer that waits might never find the lock free.
    """
    taken = 0.0

    @contextmanager
    def paused() -> Iterator[sqlite3.Cursor]:
        nonlocal taken
        if taken > _TURN_SECONDS:
            time.sleep(_PAUSE_SECONDS)
            taken = 0.0
        started = time.monotonic()
        with begin() as cursor:
            yield cursor
        taken += time.monotonic() - started

    return paused


def _bank(cursor: sqlite3.Cursor, no: int) -> BankTransaction | None:
    sql = "SELECT no, id, revision, dimension FROM banks WHERE no = ? AND deleted = 0"
    row = cursor.execute(sql, (no,)).fetchone()
    return None if row is None else BankTransaction(cursor.connection, *row)


def _bank_checks(begin: Begin, no: int) -> Iterator[BankCheck]:
    """Yield the checks of a bank, in order; those of single memories once for each page."""
    for bounds in _pages(begin, no):
        yield partial(check_cells, bounds=bounds)
    yield from (_evidence, _lacking, _mention_counts)
    for bounds in _pages(begin, no):
        yield partial(_derived, bounds=bounds)
    yield from (_grams, _cooccurrence, _lexeme_counts, _totals)


def _pages(begin: Begin, no: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of keys that together are all of a bank, each of about as many memories."""
    low, high = key_bounds(no)
    while low <= high:
        with begin() as cursor:
            last = cursor.execute(
                "SELECT key FROM memories WHERE key BETWEEN ? AND ? ORDER BY key LIMIT 1 OFFSET ?",
                (low, high, SCAN_PAGE - 1),
            ).fetchone()
        end = high if last is None else last[0]
        yield low, end
        low = end + 1


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


def _removable(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    for table, problem, test in _REMOVABLE:
        (count,) = cursor.execute(f"SELECT count(*) FROM {table} WHERE {test}").fetchone()
        if count:
            if repair:
                cursor.execute(f"DELETE FROM {table} WHERE {test}")
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


def _lacking(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
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


def _derived(tx: BankTransaction, repair: bool, bounds: tuple[int, int]) -> Iterator[StoreFault]:
    """Compare the `DERIVED` rows of the memories in a range of keys."""
    rows: dict[str, list[tuple[SqlValue, ...]]] = {table: [] for table in DERIVED}
    for key, *row in tx.execute(
        f"SELECT key, {MEMORY_COLUMNS}, {CONTENT_COLUMNS} FROM memories "
        "JOIN contents ON unit = key WHERE key BETWEEN ? AND ? ORDER BY key",
        bounds,
    ):
        try:
            memory = memory_of(tuple(row), bank_id=tx.id)
        except DECODING_ERRORS as error:
            log_unreadable(tx.id, row[0], error)
        else:
            for table, made in derived_rows(key, tx.no, memory).items():
                rows[table] += made
    low, high = bounds
    for table, columns in DERIVED.items():
        within = f"unit BETWEEN {low} AND {high}"
        yield from _compared(tx, table, columns, within, rows[table], repair)


def _compared(
    tx: BankTransaction, table: str, columns: str, within: str, rows: Rows, repair: bool
) -> Iterator[StoreFault]:
    """Put computed rows into a temporary table, and exchange the stored ones if they differ."""
    temporary = f"temp.computed_{table}"
    stored = f"SELECT {columns} FROM {table} WHERE {within}"
    tx.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS computed_{table} AS "
        f"SELECT {columns} FROM {table} WHERE FALSE"
    )
    tx.executemany(insert_sql(temporary, columns), rows)
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


def _within(tx: BankTransaction, column: str) -> str:
    low, high = tx.bounds
    return f"{column} BETWEEN {low} AND {high}"


def _grams(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    names = tx.execute("SELECT key, norm FROM names WHERE key BETWEEN ? AND ?", tx.bounds)
    rows = ((key, tx.no, gram) for key, norm in names for gram in grams_of(norm))
    return _compared(tx, "grams", "name, bank, gram", _within(tx, "name"), rows, repair)


def _cooccurrence(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    rows = tx.execute(_COOCCURRENCE, tx.bounds)
    columns = "entity, other, count"
    return _compared(tx, "cooccurrence", columns, _within(tx, "entity"), rows, repair)


def _lexeme_counts(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    counts = sorted(lexeme_counts(_valid_lexemes(tx)).items())
    rows = ((tx.no, lexeme, count) for lexeme, count in counts)
    columns = "bank, lexeme, memories"
    return _compared(tx, "lexeme_counts", columns, f"bank = {tx.no}", rows, repair)


def _totals(tx: BankTransaction, repair: bool) -> Iterator[StoreFault]:
    lengths = [len(lexemes) for lexemes in _valid_lexemes(tx)]
    rows = [(tx.no, len(lengths), sum(lengths))]
    columns = "no, valid_memories, valid_lexemes"
    return _compared(tx, "banks", columns, f"no = {tx.no}", rows, repair)


def _valid_lexemes(tx: BankTransaction) -> Iterator[tuple[str, ...]]:
    rows = tx.execute("SELECT terms FROM lexemes WHERE valid AND unit BETWEEN ? AND ?", tx.bounds)
    return (lexemes_of(terms) for (terms,) in rows)
