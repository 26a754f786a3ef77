"""Where a bank lies in the tables, and how ids become keys."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hindsight_integrations.errors import BankNotFoundError

SqlValue: TypeAlias = str | int | float | bytes | None
Row: TypeAlias = tuple[Any, ...]
"""What SQLite returns; typed again by the codecs."""

SEQUENCE_BITS = 40
"""A key is the number of its bank, and in so many bits below it a number within the bank."""

_BATCH = 500
"""Values in one `IN (...)`; well below SQLite's limit on parameters."""


@dataclass(frozen=True, slots=True)
class BankRange:
    """A live bank: its number, the key of its vector space and the range of its keys."""

    no: int
    id: str
    revision: int
    dimension: int

    @property
    def vector_key(self) -> str:
        """Name of its vector space: never used again once the bank or its embedder is gone."""
        return vector_key(self.no, self.revision)

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest key it can have."""
        return key_bounds(self.no)


def vector_key(no: int, revision: int) -> str:
    """Bank number 17 has the key "17", and "17.1" once it has changed its embedder."""
    return f"{no}.{revision}" if revision else str(no)


def key_bounds(no: int) -> tuple[int, int]:
    """The lowest and the highest key of bank number `no`."""
    low = no << SEQUENCE_BITS
    return low, low | ((1 << SEQUENCE_BITS) - 1)


def find_bank(cursor: sqlite3.Cursor, bank_id: str) -> BankRange:
    """The live bank of this id. Raises `BankNotFoundError`."""
    row = cursor.execute(
        "SELECT no, id, revision, dimension FROM banks WHERE id = ? AND deleted = 0", (bank_id,)
    ).fetchone()
    if row is None:
        raise BankNotFoundError(f"no bank {bank_id!r} exists; create it first")
    return BankRange(*row)


def new_keys(cursor: sqlite3.Cursor, bank: BankRange, count: int) -> range:
    """`count` keys that this bank never had before."""
    if not count:
        return range(0)
    (last,) = cursor.execute(
        "UPDATE banks SET last_sequence = last_sequence + ? WHERE no = ? RETURNING last_sequence",
        (count, bank.no),
    ).fetchone()
    low, _ = bank.bounds
    return range(low + last - count + 1, low + last + 1)


def key_list(keys: Iterable[int]) -> str:
    """Keys as one parameter, for `IN (SELECT value FROM json_each(?))`."""
    return json.dumps(list(keys))


def select_in(
    cursor: sqlite3.Cursor, sql: str, params: Sequence[SqlValue], values: Iterable[SqlValue]
) -> list[Row]:
    """Rows of `sql`, whose last parameters are `IN (*)`: filled with `values`, in batches."""
    distinct = list(dict.fromkeys(values))
    rows: list[Row] = []
    for start in range(0, len(distinct), _BATCH):
        batch = distinct[start : start + _BATCH]
        marks = ", ".join("?" * len(batch))
        rows += cursor.execute(sql.replace("(*)", f"({marks})"), (*params, *batch))
    return rows


def memory_keys(cursor: sqlite3.Cursor, bank: BankRange, ids: Iterable[str]) -> dict[str, int]:
    """Id to key, of the memories that exist, in the order asked for."""
    return _keys(cursor, "memories", bank, ids)


def entity_keys(cursor: sqlite3.Cursor, bank: BankRange, ids: Iterable[str]) -> dict[str, int]:
    """Id to key, of the entities that exist, in the order asked for."""
    return _keys(cursor, "entities", bank, ids)


def _keys(
    cursor: sqlite3.Cursor, table: str, bank: BankRange, ids: Iterable[str]
) -> dict[str, int]:
    wanted = list(dict.fromkeys(ids))
    sql = f"SELECT id, key FROM {table} WHERE bank = ? AND id IN (*)"
    found: dict[str, int] = dict(select_in(cursor, sql, (bank.no,), wanted))
    return {id: found[id] for id in wanted if id in found}
