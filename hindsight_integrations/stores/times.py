"""Times as stored: microseconds since 1970, and the intervals by which memories are searched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hindsight_integrations.models import Memory, Precision, TimeSpan
from hindsight_integrations.timespan import as_utc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

_DAY = 86_400_000_000
LENGTH_CLASSES = (_DAY, 31 * _DAY, 366 * _DAY, 36_525 * _DAY, 1 << 60)
"""Longest times of each class, in microseconds. Those of a class that overlap a window lie no
further from its middle than half the window and half this."""


def micros(timestamp: datetime) -> int:
    """Return microseconds since 1970 in UTC; exact for the years 1 to 9999."""
    return (as_utc(timestamp) - _EPOCH) // _MICROSECOND


def micros_or_none(timestamp: datetime | None) -> int | None:
    """Return `micros` of a timestamp that may be absent."""
    return None if timestamp is None else micros(timestamp)


def timestamp(value: int) -> datetime:
    """Return the timestamp that `micros` was given."""
    return _EPOCH + value * _MICROSECOND


def timestamp_or_none(value: int | None) -> datetime | None:
    """Return `timestamp` of a value that may be absent."""
    return None if value is None else timestamp(value)


class TimeRow(NamedTuple):
    """A time of a memory, in microseconds since 1970, as searches in time read it.

    Attributes:
        ordinal: 0 for the time the memory was said, from 1 for those its text names.
        length_class: index into `LENGTH_CLASSES`.
        middle: sum of start and end: twice the midpoint, without rounding.
    """

    ordinal: int
    length_class: int
    middle: int
    start: int
    end: int
    precision: Precision


def time_rows(memory: Memory) -> list[TimeRow]:
    """Return all times of a memory."""
    said = min(micros(memory.mentioned_at), _LAST - 1)
    spans = [(said, said + 1, Precision.MINUTE)]
    spans += [(micros(s.start), micros(s.end), s.precision) for s in memory.occurred]
    return [
        TimeRow(ordinal, _length_class(end - start), start + end, start, end, precision)
        for ordinal, (start, end, precision) in enumerate(spans)
    ]


class MiddleRange(NamedTuple):
    """Bounds of the middles of one length class that can overlap a window; see `TimeRow`."""

    length_class: int
    low: int
    middle: int
    high: int


def middle_ranges(window: TimeSpan) -> list[MiddleRange]:
    """Return where the times that overlap a window have their middles, by length class."""
    start, end = micros(window.start), micros(window.end)
    return [
        MiddleRange(number, start + end - reach, start + end, start + end + reach)
        for number, longest in enumerate(LENGTH_CLASSES)
        for reach in (end - start + longest,)
    ]


def _length_class(duration: int) -> int:
    return next(n for n, longest in enumerate(LENGTH_CLASSES) if duration <= longest)
