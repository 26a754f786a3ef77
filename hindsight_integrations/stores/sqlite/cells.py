"""Single values of memories that are not what was stored: find them, and restore what is possible.

Tags, metadata and times stand a second time in the tables that filters search. What stands nowhere
else gets the value of a memory that has none. A lost text is reported by who reads memories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from hindsight_integrations.models import MemoryType, Precision
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.integrity import DECODING_ERRORS, DamagedText
from hindsight_integrations.stores.sqlite.rows import (
    CONTENT_COLUMNS,
    MEMORY_COLUMNS,
    BankTransaction,
    SqlValue,
    spans_of,
)
from hindsight_integrations.stores.times import timestamp
from hindsight_integrations.timespan import at_offset

_IN_MEMORIES = MEMORY_COLUMNS.split(", ")


def check_cells(tx: BankTransaction, repair: bool, bounds: tuple[int, int]) -> Iterator[StoreFault]:
    """Yield the faults of single values of memories, each with whether it was repaired.

    Args:
        tx: a transaction on their bank.
        repair: False to look only.
        bounds: the lowest and the highest key of the memories.
    """
    columns = f"{MEMORY_COLUMNS}, {CONTENT_COLUMNS}".split(", ")
    for key, *values in tx.execute(
        f"SELECT key, {', '.join(columns)} FROM memories JOIN contents ON unit = key "
        "WHERE key BETWEEN ? AND ? ORDER BY key",
        bounds,
    ).fetchall():
        row = dict(zip(columns, values, strict=True))
        yield from _check_row(tx, key, row, repair=repair)


def _check_row(
    tx: BankTransaction, key: int, row: Mapping[str, SqlValue], *, repair: bool
) -> Iterator[StoreFault]:
    for column, value in row.items():
        if column in _RESTORED and not _fits(column, value):
            if repair:
                table, name = (
                    ("memories", "key") if column in _IN_MEMORIES else ("contents", "unit")
                )
                tx.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {name} = ?",
                    (_RESTORED[column](tx, key, row), key),
                )
            yield StoreFault("memories", f"{column} cannot be read", 1, repair)


def _fits(column: str, value: SqlValue) -> bool:
    try:
        return type(value) is not DamagedText and _TESTS[column](value)
    except DECODING_ERRORS:
        return False


def _is_time(value: SqlValue) -> bool:
    return isinstance(value, int) and bool(timestamp(value))


def _is_optional_time(value: SqlValue) -> bool:
    return value is None or _is_time(value)


def _is_note(value: SqlValue) -> bool:
    return value is None or isinstance(value, str)


def _are_tags(value: SqlValue) -> bool:
    tags = json.loads(str(value))
    return isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)


def _are_metadata(value: SqlValue) -> bool:
    fields = json.loads(str(value))
    return isinstance(fields, dict) and all(
        isinstance(each, str | int | float) for each in fields.values()
    )


def _is_share(value: SqlValue) -> bool:
    return value is None or (isinstance(value, int | float) and 0 <= value <= 1)


def _is_offset(value: SqlValue) -> bool:
    return isinstance(value, int) and bool(at_offset(timestamp(0), value))


_NOTES = ("scope", "speaker", "context", "kind", "reasoning", "invalidated_because")

_TESTS: Mapping[str, Callable[[SqlValue], bool]] = {
    "id": lambda value: isinstance(value, str),
    "type": lambda value: bool(MemoryType(str(value))),
    "mentioned_at": _is_time,
    "created_at": _is_time,
    "updated_at": _is_time,
    "expires_at": _is_optional_time,
    "invalidated_at": _is_optional_time,
    "occurred": lambda value: spans_of(str(value)) is not None,
    "fingerprint": lambda value: isinstance(value, str),
    "tags": _are_tags,
    "metadata": _are_metadata,
    "confidence": _is_share,
    "utc_offset": _is_offset,
    **dict.fromkeys(_NOTES, _is_note),
}
"""Tests of the values of columns; one that raises has failed."""


# Restoring

_Restore = Callable[[BankTransaction, int, Mapping[str, SqlValue]], SqlValue]


def _id(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    return str(row["id"]) + f"-{key}"  # the readable part, and a number that no other memory has


def _type(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    sql = "SELECT 1 FROM sources WHERE unit = ? AND evidence IS NOT NULL LIMIT 1"
    drawn = tx.execute(sql, (key,)).fetchone() is not None
    return (MemoryType.OBSERVATION if drawn else MemoryType.WORLD).value


def _said(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    sql = "SELECT start FROM times WHERE unit = ? AND ordinal = 0"
    found = tx.execute(sql, (key,)).fetchone()
    known = (found[0] if found else None, row["created_at"], row["updated_at"])
    return next((value for value in known if _fits("created_at", value)), 0)


def _occurred(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    sql = (
        'SELECT start, "end", precision FROM times WHERE unit = ? AND ordinal > 0 ORDER BY ordinal'
    )
    precisions = {precision.value for precision in Precision}
    return json.dumps([span for span in tx.execute(sql, (key,)) if span[2] in precisions])


def _tags(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    found = tx.execute("SELECT tag FROM tags WHERE unit = ? ORDER BY tag", (key,))
    return json.dumps([tag for (tag,) in found], ensure_ascii=False, separators=(",", ":"))


def _metadata(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    found = tx.execute("SELECT field, kind, value FROM metadata WHERE unit = ?", (key,))
    fields = {field: bool(value) if kind == "b" else value for field, kind, value in found}
    return json.dumps(fields, ensure_ascii=False)


def _none(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    return None


def _no_offset(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    return 0


def _since(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    """Return when an invalidated memory was changed last: it stays invalidated."""
    return row["updated_at"] if _fits("updated_at", row["updated_at"]) else _said(tx, key, row)


def _fingerprint(tx: BankTransaction, key: int, row: Mapping[str, SqlValue]) -> SqlValue:
    speaker = row["speaker"]
    return text_fingerprint(str(row["text"]), speaker if isinstance(speaker, str) else None)


_RESTORED: Mapping[str, _Restore] = {
    "id": _id,
    "type": _type,
    "mentioned_at": _said,
    "created_at": _said,
    "updated_at": _said,
    "expires_at": _none,
    "invalidated_at": _since,
    "occurred": _occurred,
    "fingerprint": _fingerprint,
    "tags": _tags,
    "metadata": _metadata,
    "confidence": _none,
    "utc_offset": _no_offset,
    **dict.fromkeys(_NOTES, _none),
}
"""Replacements for values that cannot be read, by column."""
