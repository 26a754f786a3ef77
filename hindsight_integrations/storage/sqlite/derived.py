"""Tables made of memories alone, for filters to search by: times, tags and metadata."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hindsight_integrations.model import Memory
from hindsight_integrations.storage.sqlite.filters import metadata_value
from hindsight_integrations.storage.sqlite.keys import SqlValue
from hindsight_integrations.storage.sqlite.times import time_rows

Rows = Sequence[tuple[SqlValue, ...]]


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """A table with a row for each part of a memory; its first column is the memory's key."""

    name: str
    columns: tuple[str, ...]
    rows: Callable[[int, int, Memory], Rows]
    """Of a memory's key, its bank's number, and the memory."""

    def insert(self, cursor: sqlite3.Cursor, bank_no: int, memories: Mapping[int, Memory]) -> None:
        """Add the rows of memories, by key."""
        self.write(
            cursor,
            [row for key, memory in memories.items() for row in self.rows(key, bank_no, memory)],
        )

    def write(self, cursor: sqlite3.Cursor, rows: Rows) -> None:
        """Add rows."""
        columns = ", ".join(f'"{column}"' for column in self.columns)
        marks = ", ".join("?" * len(self.columns))
        cursor.executemany(f"INSERT INTO {self.name} ({columns}) VALUES ({marks})", rows)


def _tag_rows(key: int, bank_no: int, memory: Memory) -> Rows:
    return [(key, bank_no, tag) for tag in dict.fromkeys(memory.tags)]


def _metadata_rows(key: int, bank_no: int, memory: Memory) -> Rows:
    return [
        (key, bank_no, field, *metadata_value(value)) for field, value in memory.metadata.items()
    ]


DERIVED = (
    DerivedTable(
        "times",
        ("unit", "ordinal", "bank", "length_class", "middle", "start", "end", "precision"),
        time_rows,
    ),
    DerivedTable("tags", ("unit", "bank", "tag"), _tag_rows),
    DerivedTable("metadata", ("unit", "bank", "field", "kind", "value"), _metadata_rows),
)
