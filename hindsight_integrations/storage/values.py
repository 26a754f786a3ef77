"""What the stores share, to hold and to tell things alike.

Moments, spans and vectors as numbers and bytes; neighbours, faults, and what is a conclusion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from hindsight_integrations.errors import EmbedderMismatchError
from hindsight_integrations.model import Memory
from hindsight_integrations.storage.requests import Neighbour, StoreFault, Vector
from hindsight_integrations.timespan import as_utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
LAST_MOMENT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
"""Microseconds since 1970 of the last moment a datetime can hold."""

_DAY = 86_400_000_000
LENGTH_CLASSES = (_DAY, 31 * _DAY, 366 * _DAY, 36_525 * _DAY, 1 << 60)
"""Longest spans of each class of times, in microseconds. A window's overlaps in a class lie no
further from its middle than half the window and half this."""


def micros(moment: datetime) -> int:
    """Microseconds since 1970 in UTC; exact for the years 1 to 9999."""
    return (as_utc(moment) - _EPOCH) // _MICROSECOND


def micros_or_none(moment: datetime | None) -> int | None:
    """The same, of a moment that may be absent."""
    return None if moment is None else micros(moment)


def moment(value: int) -> datetime:
    """The moment that `micros` was given."""
    return _EPOCH + value * _MICROSECOND


def moment_or_none(value: int | None) -> datetime | None:
    """The same, of a moment that may be absent."""
    return None if value is None else moment(value)


def length_class(duration: int) -> int:
    """The class of times of this length, in microseconds."""
    return next(n for n, longest in enumerate(LENGTH_CLASSES) if duration <= longest)


def vector_bytes(vector: Vector, dimension: int) -> bytes:
    """Little-endian float32. Raises `EmbedderMismatchError` on another shape."""
    if vector.shape != (dimension,):
        raise EmbedderMismatchError(
            f"a vector has shape {vector.shape}, but the bank's embedder makes ({dimension},); "
            "use that embedder, or embed the bank anew"
        )
    return vector.astype("<f4", copy=False).tobytes()


def vector_of(data: bytes) -> Vector:
    """The vector that `vector_bytes` was given; read-only."""
    return np.frombuffer(data, dtype="<f4")


def around(id: str, before: Sequence[str], after: Sequence[str]) -> Iterator[Neighbour]:
    """A memory's neighbours by place, of the ids on either side of it, nearest first."""
    for offset in range(-len(before), 0):
        yield Neighbour(id, before[-offset - 1], offset)
    for offset, other in enumerate(after, start=1):
        yield Neighbour(id, other, offset)


def added_up(faults: Iterable[StoreFault]) -> list[StoreFault]:
    """Faults of one kind as one."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for fault in faults:
        counts[fault.table, fault.problem, fault.repaired] += fault.count
    return [
        StoreFault(table, problem, count, repaired)
        for (table, problem, repaired), count in counts.items()
    ]


DRAWN = "c-"
"""How the ids of conclusions begin that the engine drew."""

RESTED = "conclusion"
"""Field of a `Change` of a memory that a conclusion or mental model, named in `old`, rested on and
rests on no more. When the memory is removed, that one's history goes too: it may quote it."""


def is_conclusion(memory: Memory) -> bool:
    """Whether it rests on other memories."""
    return any(source.memory_id is not None for source in memory.sources)
