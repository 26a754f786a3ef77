"""What an exported bank consists of: a header, its parts in the order they are stored, an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, TypeVar

from hindsight_integrations.model import (
    Bank,
    BankStats,
    Change,
    Chunk,
    Document,
    Entity,
    Link,
    MentalModel,
    Source,
)
from hindsight_integrations.storage.requests import (
    EmbedderStamp,
    EntityNames,
    MemoryRecord,
)

FORMAT = "hindsight-bank"
"""Name of the format, and of its first line."""

SCHEMA = 2
"""Version of the lines: raised whenever a field of any of them comes, goes or changes.

Version 2 brought conclusions: `evidence`, `waiting`, `model`, and fields of memories and sources.
"""

BATCH = 500
"""Memories read, or parts stored, at a time: a few MB."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Evidence:
    """All sources of a conclusion. Its own line has none: it may rest on memories after it."""

    memory_id: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that waits to be reflected on."""

    memory_id: str


Part: TypeAlias = (
    Document
    | Chunk
    | Entity
    | EntityNames
    | MemoryRecord
    | Evidence
    | Waiting
    | Link
    | Change
    | MentalModel
)


@dataclass(frozen=True, slots=True)
class Header:
    """The bank itself, and what wrote it.

    Attributes:
        schema: version of the lines, see `SCHEMA`.
        package: release that wrote the file.
        embedder: what made the vectors.
        bank: its id and profile.
    """

    schema: int
    package: str
    embedder: EmbedderStamp
    bank: Bank


@dataclass(frozen=True, slots=True)
class End:
    """How many lines there are of each part, and the SHA-256 of all lines before this one."""

    counts: Mapping[str, int]
    sha256: str


LINES: Mapping[str, type] = {
    FORMAT: Header,
    "document": Document,
    "chunk": Chunk,
    "entity": Entity,
    "edited": EntityNames,  # entities that stay even if nothing mentions them
    "memory": MemoryRecord,
    "evidence": Evidence,
    "waiting": Waiting,
    "link": Link,
    "change": Change,
    "model": MentalModel,
    "end": End,
}
"""Name of a line to what it holds. A part only refers to parts that come before it."""

NAMES: Mapping[type, str] = {kind: name for name, kind in LINES.items()}


def stored_counts(stats: BankStats) -> dict[str, int]:
    """Parts of a bank by name, as far as a store counts them."""
    return {
        "document": stats.documents,
        "chunk": stats.chunks,
        "entity": stats.entities,
        "memory": stats.memories,
        "link": sum(stats.links.values()),
    }


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """The items, `BATCH` at a time."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch
