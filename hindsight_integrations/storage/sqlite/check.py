"""Rows that contradict each other: finding them, and putting right what can be computed.

Memories, sources, mentions, names, links and lexemes are believed; what is made of them (search
tables, counts, the full-text index) is made anew where it differs. Rows that belong to nothing
go, and so does a conclusion that nothing supports. A lost text, vector, lexeme list or name can
only be reported.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

from hindsight_integrations.storage.likeness import grams_of
from hindsight_integrations.storage.requests import (
    StoreFault,
)
from hindsight_integrations.storage.sqlite import banks, mentions, removal
from hindsight_integrations.storage.sqlite.codec import CONTENT_COLUMNS, MEMORY_COLUMNS, memory_of
from hindsight_integrations.storage.sqlite.derived import DERIVED, DerivedTable
from hindsight_integrations.storage.sqlite.keys import BankRange, Row
from hindsight_integrations.storage.sqlite.lexemes import lexemes_of
from hindsight_integrations.storage.values import added_up

_PAGE = 1000
"""Memories compared at a time."""

_CHILDREN = (
    ("contents", "unit", "memories"),
    ("sources", "unit", "memories"),
    ("times", "unit", "memories"),
    ("tags", "unit", "memories"),
    ("metadata", "unit", "memories"),
    ("lexemes", "unit", "memories"),
    ("vectors", "unit", "memories"),
    ("staged", "unit", "memories"),
    ("waiting", "unit", "memories"),
    ("mentions", "unit", "memories"),
    ("mentions", "entity", "entities"),
    ("links", "source", "memories"),
    ("links", "target", "memories"),
    ("names", "entity", "entities"),
    ("grams", "name", "names"),
)
"""Table, its column that holds a key, and the table that has to have that key."""

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
    WHERE e.key BETWEEN ?1 AND ?2 GROUP BY e.key"""

_COOCCURRENCE = """
    SELECT a.entity, b.entity, count(*) FROM mentions a
    JOIN mentions b ON b.unit = a.unit AND b.entity <> a.entity
    WHERE a.unit BETWEEN ?1 AND ?2 GROUP BY a.entity, b.entity"""


def check_file(cursor: sqlite3.Cursor) -> list[StoreFault]:
    """What SQLite finds wrong with the file itself; rows are not worth checking then."""
    try:
        lines = [line for (line,) in cursor.execute("PRAGMA quick_check")]
    except sqlite3.DatabaseError as error:
        _raise_unless_corrupt(error)
        lines = [str(error)]
    return [StoreFault("file", line, 1, repaired=False) for line in lines if line != "ok"]


def check_rows(cursor: sqlite3.Cursor, *, repair: bool) -> list[StoreFault]:
    """Faults found, each with whether it was put right.

    It belongs in a write transaction even if nothing is to be repaired, because SQLite checks
    its full-text index by a statement that counts as writing.
    """
    faults = [
        *_text_index(cursor, repair),
        *_orphans(cursor, repair),
        *_outbox(cursor, repair),
    ]
    for no, id, revision, dimension in cursor.execute(
        "SELECT no, id, revision, dimension FROM banks WHERE deleted = 0"
    ).fetchall():
        bank = BankRange(no, id, revision, dimension)
        faults += _evidence(cursor, bank, repair)
        faults += _lacking(cursor, bank)
        for table in DERIVED:
            faults += _derived(cursor, bank, table, repair)
        faults += _grams(cursor, bank, repair)
        faults += _mention_counts(cursor, bank, repair)
        faults += _cooccurrence(cursor, bank, repair)
        faults += _lexeme_counts(cursor, bank, repair)
        if repair:
            banks.alter(cursor, bank)
    return added_up(faults)


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
        (count,) = cursor.execute(f"SELECT count(*) {where}").fetchone()
        if count:
            if repair:
                cursor.execute(f"DELETE {where}")
            yield StoreFault(table, f"{column} is none of the {parent}", count, repair)


def _evidence(cursor: sqlite3.Cursor, bank: BankRange, repair: bool) -> Iterator[StoreFault]:
    lost = [key for (key,) in cursor.execute(_LOST_EVIDENCE, bank.bounds)]
    unsupported: dict[str, int] = dict(cursor.execute(_UNSUPPORTED, bank.bounds).fetchall())
    if repair:
        removal.withdraw(cursor, lost)
        _, bereft = removal.remove(cursor, bank, unsupported)
        mentions.settle(cursor, bereft)
    if lost:
        yield StoreFault("sources", "evidence is none of the memories", len(lost), repair)
    if unsupported:
        yield StoreFault("memories", "nothing supports the conclusion", len(unsupported), repair)


def _outbox(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    where = "FROM outbox WHERE operation = 'upsert' AND unit NOT IN (SELECT unit FROM vectors)"
    (count,) = cursor.execute(f"SELECT count(*) {where}").fetchone()
    if count:
        if repair:
            cursor.execute(f"DELETE {where}")
        yield StoreFault("outbox", "the vector to write is lost", count, repair)


def _lacking(cursor: sqlite3.Cursor, bank: BankRange) -> Iterator[StoreFault]:
    for table, problem, parent, having in _LACKING:
        (count,) = cursor.execute(
            f"SELECT count(*) FROM {parent} WHERE key BETWEEN ? AND ? AND key NOT IN ({having})",
            bank.bounds,
        ).fetchone()
        if count:
            yield StoreFault(table, problem, count, repaired=False)


def _derived(
    cursor: sqlite3.Cursor, bank: BankRange, table: DerivedTable, repair: bool
) -> Iterator[StoreFault]:
    columns = ", ".join(f'"{column}"' for column in table.columns)
    for page in _pages(cursor, bank):
        memories = {key: memory_of(tuple(row), bank_id=bank.id) for key, *row in page}
        wanted = {row for key, each in memories.items() for row in table.rows(key, bank.no, each)}
        there = set(
            cursor.execute(
                f"SELECT {columns} FROM {table.name} WHERE unit BETWEEN ? AND ?",
                (page[0][0], page[-1][0]),
            )
        )
        if wrong := {row[0] for row in wanted ^ there}:
            if repair:
                cursor.executemany(
                    f"DELETE FROM {table.name} WHERE unit = ?", [(key,) for key in wrong]
                )
                table.write(cursor, [row for row in wanted if row[0] in wrong])
            yield StoreFault(table.name, "differs from the memories", len(wrong), repair)


def _pages(cursor: sqlite3.Cursor, bank: BankRange) -> Iterator[Sequence[Row]]:
    after, high = bank.bounds
    while page := cursor.execute(
        f"SELECT key, {MEMORY_COLUMNS}, {CONTENT_COLUMNS} FROM memories "
        "JOIN contents ON unit = key WHERE key > ? AND key <= ? "
        "ORDER BY key LIMIT ?",
        (after, high, _PAGE),
    ).fetchall():
        yield page
        after = page[-1][0]


def _grams(cursor: sqlite3.Cursor, bank: BankRange, repair: bool) -> Iterator[StoreFault]:
    norms = dict(
        cursor.execute("SELECT key, norm FROM names WHERE key BETWEEN ? AND ?", bank.bounds)
    )
    wanted = {(key, bank.no, gram) for key, norm in norms.items() for gram in grams_of(norm)}
    there = set(
        cursor.execute("SELECT name, bank, gram FROM grams WHERE name BETWEEN ? AND ?", bank.bounds)
    )
    if wrong := wanted ^ there:
        if repair:
            cursor.execute("DELETE FROM grams WHERE name BETWEEN ? AND ?", bank.bounds)
            cursor.executemany("INSERT INTO grams (name, bank, gram) VALUES (?, ?, ?)", wanted)
        yield StoreFault("grams", "differs from the names", len(wrong), repair)


def _mention_counts(cursor: sqlite3.Cursor, bank: BankRange, repair: bool) -> Iterator[StoreFault]:
    wrong = cursor.execute(
        f"{_MENTION_COUNTS} EXCEPT SELECT key, mention_count, first_seen, last_seen FROM entities "
        "WHERE key BETWEEN ?1 AND ?2",
        bank.bounds,
    ).fetchall()
    if wrong:
        if repair:
            cursor.executemany(
                "UPDATE entities SET mention_count = ?2, first_seen = ?3, last_seen = ?4 "
                "WHERE key = ?1",
                wrong,
            )
        yield StoreFault("entities", "mention counts differ from the mentions", len(wrong), repair)


def _cooccurrence(cursor: sqlite3.Cursor, bank: BankRange, repair: bool) -> Iterator[StoreFault]:
    wanted = set(cursor.execute(_COOCCURRENCE, bank.bounds))
    there = set(
        cursor.execute(
            "SELECT entity, other, count FROM cooccurrence WHERE entity BETWEEN ? AND ?",
            bank.bounds,
        )
    )
    if wrong := {row[:2] for row in wanted ^ there}:
        if repair:
            cursor.execute("DELETE FROM cooccurrence WHERE entity BETWEEN ? AND ?", bank.bounds)
            cursor.executemany(
                "INSERT INTO cooccurrence (entity, other, count) VALUES (?, ?, ?)", sorted(wanted)
            )
        yield StoreFault("cooccurrence", "differs from the mentions", len(wrong), repair)


def _lexeme_counts(cursor: sqlite3.Cursor, bank: BankRange, repair: bool) -> Iterator[StoreFault]:
    wanted: Counter[str] = Counter()
    memories = length = 0
    for (terms,) in cursor.execute(
        "SELECT terms FROM lexemes WHERE valid AND unit BETWEEN ? AND ?", bank.bounds
    ):
        lexemes = lexemes_of(terms)
        wanted.update(set(lexemes))
        memories, length = memories + 1, length + len(lexemes)
    there = dict(
        cursor.execute("SELECT lexeme, memories FROM lexeme_counts WHERE bank = ?", (bank.no,))
    )
    totals = cursor.execute(
        "SELECT valid_memories, valid_lexemes FROM banks WHERE no = ?", (bank.no,)
    ).fetchone()
    wrong = len(wanted.items() ^ there.items()) + (totals != (memories, length))
    if wrong:
        if repair:
            cursor.execute("DELETE FROM lexeme_counts WHERE bank = ?", (bank.no,))
            cursor.executemany(
                "INSERT INTO lexeme_counts (bank, lexeme, memories) VALUES (?, ?, ?)",
                [(bank.no, lexeme, count) for lexeme, count in sorted(wanted.items())],
            )
            cursor.execute(
                "UPDATE banks SET valid_memories = ?, valid_lexemes = ? WHERE no = ?",
                (memories, length, bank.no),
            )
        yield StoreFault("lexeme_counts", "differs from the lexemes", wrong, repair)
