"""Values of rows beside memories that are not what was stored: find them, and make them readable.

A bank's number stands in the key of each row too, and is restored from it. What stands nowhere else
gets a value that can be read: the first moment of 1970, an empty list, the usual number. A mental
model whose sources are lost may quote any memory: it names one that does not exist, and so is
written again once a memory is forgotten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.importing import UNFINISHED
from hindsight_integrations.stores.integrity import DamagedText, Decoders, text_of
from hindsight_integrations.stores.sqlite.rows import (
    NO_OFFSET,
    NO_TIME,
    PROFILE,
    SEQUENCE_BITS,
    SUMMARY,
    time_or_null,
)

_KEYED = ("entities", "names", "documents", "chunks", "history", "mental_models", "audit")

_TEXTS = {"banks": "no", **dict.fromkeys(_KEYED, "key"), "sources": "unit, ordinal"}
"""Tables with texts that nothing else holds, besides those of memories, and their primary keys."""


def check_texts(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
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
    default: str


_NO_NUMBER = "typeof({0}) <> 'integer'"
_NO_TEXTS = (
    "CASE WHEN NOT json_valid({0}) THEN TRUE WHEN json_type({0}) <> 'array' THEN TRUE "
    "ELSE EXISTS (SELECT 1 FROM json_each({0}) WHERE type <> 'text') END"
)

_SAID_OF_MEMORY = (
    f"coalesce((SELECT {time_or_null('m.mentioned_at')} FROM memories m WHERE m.key = unit), 0)"
)
_LAST_SEQUENCE = (
    "(SELECT coalesce(max(key), 0) - no * (1 << {0}) FROM ({1}) WHERE key >> {0} = no)".format(
        SEQUENCE_BITS,
        " UNION ALL ".join(f"SELECT key FROM {table}" for table in ("memories", *_KEYED)),
    )
)
_OF_VECTORS = (
    f"(SELECT length(vector) / 4 FROM vectors WHERE unit BETWEEN no << {SEQUENCE_BITS} "
    f"AND (no + 1 << {SEQUENCE_BITS}) - 1 GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)"
)
_NO_DIMENSION = f"{_NO_NUMBER} OR {{0}} IS NOT ifnull({_OF_VECTORS}, {{0}})"
_NO_LAST = f"{_NO_NUMBER} OR {{0}} < {_LAST_SEQUENCE} OR {{0}} >> {SEQUENCE_BITS}"
_NEXT = (
    "(SELECT coalesce(max(o.ordinal), -1) + 1 FROM {0} o "
    "WHERE o.unit = {0}.unit AND typeof(o.ordinal) = 'integer')"
)
_NO_IMPORT = f"{{0}} IS NOT NULL AND id NOT GLOB '{UNFINISHED}*'"
_NO_EVIDENCE = (
    "{0} NOT IN (SELECT key FROM memories) "
    "AND (document_id IS NOT NULL OR chunk_id IS NOT NULL)"  # said there, and not concluded
)

_RULES = (
    *(
        _Rule(table, "bank", f"{{0}} IS NOT key >> {SEQUENCE_BITS}", f"key >> {SEQUENCE_BITS}")
        for table in ("memories", *_KEYED)
    ),
    _Rule("banks", "revision", _NO_NUMBER, "0"),
    _Rule("banks", "edition", _NO_NUMBER, "0"),
    _Rule("banks", "dimension", _NO_DIMENSION, f"ifnull({_OF_VECTORS}, 0)"),
    _Rule("banks", "last_sequence", _NO_LAST, _LAST_SEQUENCE),
    _Rule("banks", "deleted", "{0} NOT IN (0, 1)", "0"),
    _Rule("banks", "importing", _NO_IMPORT, "NULL"),
    _Rule("memories", "derived", _NO_NUMBER, "0"),
    _Rule("memories", "pinned", _NO_NUMBER, "0"),
    _Rule("sources", "bank", f"{{0}} IS NOT unit >> {SEQUENCE_BITS}", f"unit >> {SEQUENCE_BITS}"),
    *(
        _Rule(table, "ordinal", _NO_NUMBER, _NEXT.format(table))
        for table in ("mentions", "sources")
    ),
    _Rule("sources", "evidence", f"{{0}} IS NOT NULL AND {_NO_NUMBER}", "-1"),  # then it is lost
    _Rule("sources", "evidence", _NO_EVIDENCE, "NULL"),
    _Rule("sources", "position", _NO_NUMBER, "0"),
    _Rule("sources", "mentioned_at", NO_TIME, _SAID_OF_MEMORY),
    _Rule("sources", "supports", _NO_NUMBER, "1"),
    _Rule("sources", "utc_offset", NO_OFFSET, "0"),
    _Rule("documents", "created_at", NO_TIME, "0"),
    _Rule("documents", "updated_at", NO_TIME, "0"),
    _Rule("documents", "is_record", _NO_NUMBER, "0"),
    _Rule("documents", "is_conversation", f"{{0}} IS NOT NULL AND {_NO_NUMBER}", "NULL"),
    _Rule("chunks", "position", _NO_NUMBER, "0"),
    _Rule("entities", "edited", _NO_NUMBER, "1"),
    _Rule("names", "ordinal", _NO_NUMBER, "0"),
    _Rule("history", "at", NO_TIME, "0"),
    _Rule("history", "of_model", _NO_NUMBER, "0"),
    _Rule("audit", "at", NO_TIME, "0"),
    _Rule("audit", "fields", _NO_TEXTS, "'[]'"),
)


_DECODED = (("banks", "no", PROFILE), ("mental_models", "key", SUMMARY))
"""Table, its key, and how the columns are read that a reader replaces if they are lost."""


def check_values(cursor: sqlite3.Cursor, repair: bool) -> Iterator[StoreFault]:
    """Yield columns with values that their readers cannot use, each with whether repaired."""
    for table, key, decoders in _DECODED:
        yield from _undecodable(cursor, table, key, decoders, repair)
    for table, column, is_wrong, default in _RULES:
        where = f"FROM {table} WHERE {is_wrong.format(column)}"
        (count,) = cursor.execute(f"SELECT count(*) {where}").fetchone()
        if count:
            if repair:
                cursor.execute(
                    f"UPDATE OR IGNORE {table} SET {column} = {default} "
                    f"WHERE {is_wrong.format(column)}"
                )
            yield StoreFault(table, f"{column} cannot be read", count, repair)


def _undecodable(
    cursor: sqlite3.Cursor, table: str, key: str, decoders: Decoders, repair: bool
) -> Iterator[StoreFault]:
    for column, decoder in decoders.items():
        rows = cursor.execute(f"SELECT {key}, {column} FROM {table}").fetchall()
        lost = [number for number, value in rows if decoder.is_damaged(value)]
        if lost and repair:
            cursor.executemany(
                f"UPDATE {table} SET {column} = ? WHERE {key} = ?",
                [(decoder.default, number) for number in lost],
            )
        if lost:
            yield StoreFault(table, f"{column} cannot be read", len(lost), repair)
