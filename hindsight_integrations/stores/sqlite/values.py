"""Values of rows beside memories that are not what was stored: find them, and make them readable.

A bank's number stands in the key of each row too, and is restored from it. What stands nowhere else
gets a value that can be read: the first moment of 1970, an empty list, the usual number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.common import micros
from hindsight_integrations.stores.soundness import DamagedText, text_of
from hindsight_integrations.stores.sqlite.rows import PROFILE, SEQUENCE_BITS, is_unreadable

_KEYED = ("entities", "names", "documents", "chunks", "history", "mental_models", "audit")

_TEXTS = {
    "banks": "no",
    **dict.fromkeys(_KEYED, "key"),
    "sources": "unit, ordinal",
}
"""Tables with texts that nothing else holds, besides those of memories, and their primary keys."""


def check_texts(cursor: sqlite3.Cursor, *, repair: bool) -> Iterator[StoreFault]:
    """Yield tables with texts that are no UTF-8; repaired, U+FFFD stands for what was lost."""
    for table, keys in _TEXTS.items():
        described = cursor.execute(f"SELECT name, type FROM pragma_table_info('{table}')")
        columns = [name for name, type_ in described if type_ == "TEXT"]
        width = len(columns)
        rows = cursor.execute(f"SELECT {', '.join(columns)}, {keys} FROM {table}")
        damaged = [
            tuple(text_of(value) if isinstance(value, bytes) else value for value in row)
            for row in rows
            if any(type(value) in (DamagedText, bytes) for value in row)
        ]
        if damaged and repair:
            cursor.executemany(
                f"UPDATE OR IGNORE {table} SET {', '.join(f'{name} = ?' for name in columns)} "
                f"WHERE ({keys}) = ({', '.join('?' * (len(damaged[0]) - width))})",
                damaged,
            )
        if damaged:
            yield StoreFault(table, "a text is no UTF-8", len(damaged), repair)


class _Rule(NamedTuple):
    """A column, the condition of values that cannot be read, and what takes their place, as SQL."""

    table: str
    column: str
    is_wrong: str
    instead: str


_NO_NUMBER = "typeof({0}) <> 'integer'"
_FIRST, _LAST = (micros(end.replace(tzinfo=UTC)) for end in (datetime.min, datetime.max))
_NO_TIME = f"typeof({{0}}) <> 'integer' OR {{0}} NOT BETWEEN {_FIRST} AND {_LAST}"
NO_SAID = _NO_TIME.format("mentioned_at")
"""Condition of a `mentioned_at` that is no time."""
_NO_TEXTS = (
    "CASE WHEN NOT json_valid({0}) THEN TRUE WHEN json_type({0}) <> 'array' THEN TRUE "
    "ELSE EXISTS (SELECT 1 FROM json_each({0}) WHERE type <> 'text') END"
)

_SAID_OF_MEMORY = (
    "coalesce((SELECT m.mentioned_at FROM memories m WHERE m.key = unit "
    f"AND NOT ({_NO_TIME.format('m.mentioned_at')})), 0)"
)
_LAST_SEQUENCE = (
    "(SELECT coalesce(max(key), 0) - no * (1 << {0}) FROM ({1}) WHERE key >> {0} = no)".format(
        SEQUENCE_BITS,
        " UNION ALL ".join(f"SELECT key FROM {table}" for table in ("memories", *_KEYED)),
    )
)

_RULES = (
    *(
        _Rule(table, "bank", f"{{0}} IS NOT key >> {SEQUENCE_BITS}", f"key >> {SEQUENCE_BITS}")
        for table in ("memories", *_KEYED)
    ),
    _Rule("banks", "revision", _NO_NUMBER, "0"),
    _Rule("banks", "edition", _NO_NUMBER, "0"),
    _Rule("banks", "last_sequence", _NO_NUMBER, _LAST_SEQUENCE),
    _Rule("memories", "derived", _NO_NUMBER, "0"),
    _Rule("memories", "pinned", _NO_NUMBER, "0"),
    _Rule("sources", "bank", f"{{0}} IS NOT unit >> {SEQUENCE_BITS}", f"unit >> {SEQUENCE_BITS}"),
    _Rule("sources", "position", _NO_NUMBER, "0"),
    _Rule("sources", "mentioned_at", _NO_TIME, _SAID_OF_MEMORY),
    _Rule("sources", "supports", _NO_NUMBER, "1"),
    _Rule("documents", "created_at", _NO_TIME, "0"),
    _Rule("documents", "updated_at", _NO_TIME, "0"),
    _Rule("documents", "is_record", _NO_NUMBER, "0"),
    _Rule("chunks", "position", _NO_NUMBER, "0"),
    _Rule("entities", "edited", _NO_NUMBER, "1"),
    _Rule("names", "ordinal", _NO_NUMBER, "0"),
    _Rule("history", "at", _NO_TIME, "0"),
    _Rule("history", "of_model", _NO_NUMBER, "0"),
    _Rule("audit", "at", _NO_TIME, "0"),
    _Rule("audit", "fields", _NO_TEXTS, "'[]'"),
    _Rule("mental_models", "created_at", _NO_TIME, "0"),
    _Rule("mental_models", "refreshed_at", _NO_TIME, "0"),
    _Rule("mental_models", "tags", _NO_TEXTS, "'[]'"),
    _Rule("mental_models", "sources", _NO_TEXTS, "'[]'"),
    _Rule("mental_models", "auto_refresh", _NO_NUMBER, "0"),
    _Rule("mental_models", "max_tokens", "typeof({0}) <> 'integer' OR {0} < 0", "1024"),
)


def check_values(cursor: sqlite3.Cursor, *, repair: bool) -> Iterator[StoreFault]:
    """Yield columns with values that their readers cannot use, each with whether repaired."""
    yield from _profiles(cursor, repair)
    for table, column, is_wrong, instead in _RULES:
        where = f"FROM {table} WHERE {is_wrong.format(column)}"
        (count,) = cursor.execute(f"SELECT count(*) {where}").fetchone()
        if count:
            if repair:
                cursor.execute(
                    f"UPDATE OR IGNORE {table} SET {column} = {instead} "
                    f"WHERE {is_wrong.format(column)}"
                )
            yield StoreFault(table, f"{column} cannot be read", count, repair)


def _profiles(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    """Yield columns of banks' profiles that cannot be read; repaired, they are as in a new bank."""
    for column, (_, instead) in PROFILE.items():
        rows = cursor.execute(f"SELECT no, {column} FROM banks").fetchall()
        lost = [no for no, value in rows if is_unreadable(column, value)]
        if lost and repair:
            cursor.executemany(
                f"UPDATE banks SET {column} = ? WHERE no = ?", [(instead, no) for no in lost]
            )
        if lost:
            yield StoreFault("banks", f"{column} cannot be read", len(lost), repair)
