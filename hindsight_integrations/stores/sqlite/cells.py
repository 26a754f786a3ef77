"""Single values of memories that are not what was stored: find them, and restore what is possible.

Tags, metadata and times stand a second time in the tables that filters search. What stands nowhere
else gets the value of a memory that has none. A lost text is reported by who reads memories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from hindsight_integrations.models import MemoryType, Precision
from hindsight_integrations.normalization import text_fingerprint
from hindsight_integrations.stores.base import StoreFault
from hindsight_integrations.stores.integrity import DECODING_ERRORS, DamagedText
from hindsight_integrations.stores.sqlite.rows import (
    CONTENT_COLUMNS,
    MEMORY_COLUMNS,
    BankTransaction,
    Row,
    SqlValue,
    spans_of,
)
from hindsight_integrations.stores.times import timestamp
from hindsight_integrations.timespan import at_offset

_IN_MEMORIES = MEMORY_COLUMNS.split(", ")


def check_cells(tx: BankTransaction, repair: bool, bounds: tuple[int, int]) -> Iterator[StoreFault]:
    """Yield the faults of single values of memories, those whose keys lie within the bounds."""
    columns = f"{MEMORY_COLUMNS}, {CONTENT_COLUMNS}".split(", ")
    for key, *values in tx.execute(
        f"SELECT key, {', '.join(columns)} FROM memories JOIN contents ON unit = key "
        "WHERE key BETWEEN ? AND ? ORDER BY key",
        bounds,
    ).fetchall():
        memory = _Memory(tx, key, dict(zip(columns, values, strict=True)))
        for column, cell in _CELLS.items():
            if not _fits(cell, memory.row[column]):
                if repair:
                    table, name = (
                        ("memories", "key") if column in _IN_MEMORIES else ("contents", "unit")
                    )
                    tx.execute(
                        f"UPDATE {table} SET {column} = ? WHERE {name} = ?",
                        (cell.restored(memory), key),
                    )
                yield StoreFault("memories", f"{column} cannot be read", 1, repair)


class _Memory(NamedTuple):
    """The row of a memory, with its key and a transaction on its bank."""

    tx: BankTransaction
    key: int
    row: Mapping[str, SqlValue]

    def select(self, sql: str) -> list[Row]:
        """Return rows of a query that has the key for its parameter."""
        return self.tx.execute(sql, (self.key,)).fetchall()


class _Cell(NamedTuple):
    """The test of a column's values (one that raises has failed), and the value for a lost one."""

    is_valid: Callable[[SqlValue], bool]
    restored: Callable[[_Memory], SqlValue]


def _fits(cell: _Cell, value: SqlValue) -> bool:
    try:
        return type(value) is not DamagedText and cell.is_valid(value)
    except DECODING_ERRORS:
        return False


def _is_text(value: SqlValue) -> bool:
    return isinstance(value, str)


def _is_time(value: SqlValue) -> bool:
    return isinstance(value, int) and bool(timestamp(value))


def _is_share(value: SqlValue) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1


def _is_offset(value: SqlValue) -> bool:
    return isinstance(value, int) and bool(at_offset(timestamp(0), value))


def _are_tags(value: SqlValue) -> bool:
    tags = json.loads(str(value))
    return isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)


def _are_metadata(value: SqlValue) -> bool:
    fields = json.loads(str(value))
    return isinstance(fields, dict) and all(
        isinstance(each, str | int | float) for each in fields.values()
    )


def _or_none(is_valid: Callable[[SqlValue], bool]) -> Callable[[SqlValue], bool]:
    return lambda value: value is None or is_valid(value)


def _type(memory: _Memory) -> SqlValue:
    drawn = memory.select("SELECT 1 FROM sources WHERE unit = ? AND evidence IS NOT NULL LIMIT 1")
    return (MemoryType.OBSERVATION if drawn else MemoryType.WORLD).value


def _said(memory: _Memory) -> SqlValue:
    found = memory.select("SELECT start FROM times WHERE unit = ? AND ordinal = 0")
    known = (*(start for (start,) in found), memory.row["created_at"], memory.row["updated_at"])
    return next((value for value in known if _fits(_TIME, value)), 0)


def _since(memory: _Memory) -> SqlValue:
    """Return when an invalidated memory was changed last: it stays invalidated."""
    updated_at = memory.row["updated_at"]
    return updated_at if _fits(_TIME, updated_at) else _said(memory)


def _occurred(memory: _Memory) -> SqlValue:
    spans = memory.select(
        'SELECT start, "end", precision FROM times WHERE unit = ? AND ordinal > 0 ORDER BY ordinal'
    )
    precisions = {precision.value for precision in Precision}
    return json.dumps([span for span in spans if span[2] in precisions])


def _fingerprint(memory: _Memory) -> SqlValue:
    speaker = memory.row["speaker"]
    text = str(memory.row["text"])
    return text_fingerprint(text, speaker if isinstance(speaker, str) else None)


def _tags(memory: _Memory) -> SqlValue:
    found = memory.select("SELECT tag FROM tags WHERE unit = ? ORDER BY tag")
    return json.dumps([tag for (tag,) in found], ensure_ascii=False, separators=(",", ":"))


def _metadata(memory: _Memory) -> SqlValue:
    found = memory.select("SELECT field, kind, value FROM metadata WHERE unit = ?")
    fields = {field: bool(value) if kind == "b" else value for field, kind, value in found}
    return json.dumps(fields, ensure_ascii=False)


_TIME = _Cell(_is_time, _said)
_NOTE = _Cell(_or_none(_is_text), lambda _: None)

_CELLS: Mapping[str, _Cell] = {
    # The readable part of an id, and a number that no other memory has.
    "id": _Cell(_is_text, lambda memory: f"{memory.row['id']!s}-{memory.key}"),
    "type": _Cell(lambda value: bool(MemoryType(str(value))), _type),
    "mentioned_at": _TIME,
    "expires_at": _Cell(_or_none(_is_time), lambda _: None),
    "invalidated_at": _Cell(_or_none(_is_time), _since),
    "scope": _NOTE,
    "occurred": _Cell(lambda value: spans_of(str(value)) is not None, _occurred),
    "fingerprint": _Cell(_is_text, _fingerprint),
    "confidence": _Cell(_or_none(_is_share), lambda _: None),
    "created_at": _TIME,
    "updated_at": _TIME,
    "speaker": _NOTE,
    "tags": _Cell(_are_tags, _tags),
    "metadata": _Cell(_are_metadata, _metadata),
    "invalidated_because": _NOTE,
    "context": _NOTE,
    "kind": _NOTE,
    "reasoning": _NOTE,
    "utc_offset": _Cell(_is_offset, lambda _: 0),
}
"""Columns in the order of the row."""
