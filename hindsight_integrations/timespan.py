"""Time spans, at the precision of their source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, time, timedelta, timezone, tzinfo
from enum import StrEnum

from hindsight_integrations.errors import InvalidInputError


class Precision(StrEnum):
    """Precision of a time: "2023" is a year, not the first of January."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    SEASON = "season"
    QUARTER = "quarter"
    YEAR = "year"
    DECADE = "decade"
    CENTURY = "century"
    RANGE = "range"


_CLOCK = frozenset({Precision.MINUTE, Precision.HOUR, Precision.RANGE})
"""Precisions of spans that need not begin at midnight."""

_SUMMER_TIME = timedelta(hours=1)
"""Difference in length between other days and one on which the clocks change."""

_EASTERNMOST = timedelta(hours=13)
"""Largest offset that the midnight of a day is read with: New Zealand's in summer. A midnight at
11:00 UTC could also be that of Samoa, on the other side of the date line."""


def as_utc(timestamp: datetime) -> datetime:
    """Return the timestamp in UTC; a naive one is read as UTC."""
    if timestamp.tzinfo is None:
        return timestamp.replace(tzinfo=UTC)
    try:
        return timestamp.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, west or east of Greenwich
        return timestamp.replace(tzinfo=UTC)


def with_offset(timestamp: datetime) -> datetime:
    """Return a time with the offset from UTC that its zone has then; a naive one is read as UTC.

    Times with an offset compare and subtract as the moments they are. Python compares two of one
    zone by their clocks, which is wrong when summer time begins or ends.
    """
    if timestamp.tzinfo is UTC:
        return timestamp
    return at_offset(timestamp, utc_offset(timestamp))


def at_offset(timestamp: datetime, seconds: int) -> datetime:
    """Return a time as clocks show it that are so many seconds ahead of UTC."""
    zone = timezone(timedelta(seconds=seconds)) if seconds else UTC
    try:
        return as_utc(timestamp).astimezone(zone)
    except OverflowError:  # the first or last day of the calendar
        return as_utc(timestamp)


def utc_offset(timestamp: datetime) -> int:
    """Return how many seconds the zone of a time is ahead of UTC then; 0 for a naive time."""
    return int((timestamp.utcoffset() or timedelta()).total_seconds())


def in_zone(timestamp: datetime, zone: tzinfo) -> datetime:
    """Return a time that a machine noted in the zone of the people it is about.

    File systems and logs note UTC, which says nothing about people's days. A time in another zone
    stays in it.
    """
    return timestamp if timestamp.utcoffset() else timestamp.astimezone(zone)


def _shifted(timestamp: datetime, by: timedelta) -> datetime:
    try:
        return with_offset(timestamp) + by
    except OverflowError:
        edge = datetime.max if by > timedelta() else datetime.min
        return edge.replace(tzinfo=UTC)


def day_text(timestamp: datetime) -> str:
    """Return a day as people write it: 7 May 2025."""
    return f"{timestamp.day} {timestamp:%b} {timestamp.year}"


def zone_of(spans: Iterable[TimeSpan], default: tzinfo = UTC) -> tzinfo:
    """Return the zone whose days the spans are: of the first that begins at a midnight.

    Args:
        spans: times of one text.
        default: the zone if no span tells it, or if it has the same midnight.
    """
    for span in spans:
        if span._is_of_calendar():
            midnight, _ = span.wall_clock()
            offset = midnight.replace(tzinfo=UTC) - span.start
            same = midnight.replace(tzinfo=default).utcoffset() == offset
            return default if same else timezone(offset)
    return default


def where_said(timestamp: datetime, spans: Iterable[TimeSpan], default: tzinfo = UTC) -> datetime:
    """Return a stored time in the zone of the people it is about.

    Args:
        timestamp: when it was said. Stored in UTC, its zone is that of the days of `spans`.
        spans: times that the text names.
        default: a zone that knows summer time, preferred where it has the same offset.
    """
    if not timestamp.utcoffset():
        return timestamp.astimezone(zone_of(spans, default))
    known = timestamp.astimezone(default)
    return known if known.utcoffset() == timestamp.utcoffset() else timestamp


def _nearest_midnight(timestamp: datetime) -> datetime:
    """Return the midnight, without a zone, that this time is in a zone where it is one."""
    return datetime.combine(_shifted(timestamp, _EASTERNMOST).date(), time())


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """A half-open interval `[start, end)`; both ends have the offset from UTC given with them.

    A day or a longer period of the calendar is that of the zone in which it was said. Its ends are
    midnights there; in UTC they are at other times if the zone is not UTC.

    Raises:
        InvalidInputError: `end` is not after `start`, or one of them is no datetime.
    """

    start: datetime
    end: datetime
    precision: Precision = Precision.RANGE

    def __post_init__(self) -> None:
        for end in (self.start, self.end):
            if not isinstance(end, datetime):
                raise InvalidInputError(
                    f"a time span starts and ends at datetimes; got {end!r}, a {type(end).__name__}"
                )
        object.__setattr__(self, "start", with_offset(self.start))
        object.__setattr__(self, "end", with_offset(self.end))
        if self.end <= self.start:
            raise InvalidInputError(
                f"a time span must end after it starts; got start {self.start.isoformat()} and "
                f"end {self.end.isoformat()}"
            )

    def __str__(self) -> str:
        """Return the days, both ends included, or the minutes if it is shorter than one."""
        start, end = self.wall_clock()
        last = end - timedelta(microseconds=1)
        if end.year == MAXYEAR:
            return f"since {day_text(start)}" if start.year > MINYEAR else "any time"
        if start.year == MINYEAR:
            return f"until {day_text(last)}"
        if end - start < timedelta(days=1):
            return f"{day_text(start)}, {start:%H:%M} to {end:%H:%M}"
        if start.date() == last.date():
            return day_text(last)
        return f"{day_text(start)} to {day_text(last)}"

    def wall_clock(self) -> tuple[datetime, datetime]:
        """Return start and end as a person says them, without a zone.

        A day or a longer period of the calendar goes from midnight to midnight in its zone: of an
        end in UTC, which does not tell its zone, the nearest midnight is returned. Otherwise such
        an end is of the zone of the other.
        """
        offset = utc_offset(self.start) or utc_offset(self.end)
        start, end = (
            _nearest_midnight(time)
            if self._is_of_calendar() and not time.utcoffset()
            else at_offset(time, utc_offset(time) or offset).replace(tzinfo=None)
            for time in (self.start, self.end)
        )
        return start, end

    def _is_of_calendar(self) -> bool:
        """Return True for whole days, of which one may have an hour more or less."""
        uneven = (self.duration + _SUMMER_TIME) % timedelta(days=1)
        return self.precision not in _CLOCK and uneven <= 2 * _SUMMER_TIME

    @classmethod
    def of_day(cls, timestamp: datetime) -> TimeSpan:
        """Return the day of a timestamp, as the clocks of its zone have it."""
        start = with_offset(timestamp).replace(hour=0, minute=0, second=0, microsecond=0)
        return cls(start, _shifted(start, timedelta(days=1)), Precision.DAY)

    @classmethod
    def between(cls, start: datetime | None, end: datetime | None) -> TimeSpan:
        """Return the span from `start` to `end`; None stands for the calendar's first or last day.

        Raises:
            InvalidInputError: `end` is not after `start`.
        """
        first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
        return cls(first if start is None else start, last if end is None else end)

    @classmethod
    def around(cls, first: datetime, last: datetime, reach: timedelta) -> TimeSpan:
        """Return `reach` before `first` to `reach` after `last`, within the calendar."""
        return cls(_shifted(first, -reach), _shifted(last, reach))

    @property
    def duration(self) -> timedelta:
        """Length of the span."""
        return self.end - self.start

    @property
    def midpoint(self) -> datetime:
        """Timestamp half way through."""
        return self.start + self.duration / 2

    def contains(self, timestamp: datetime) -> bool:
        """Return True if the timestamp lies inside the span."""
        return self.start <= as_utc(timestamp) < self.end

    def overlaps(self, other: TimeSpan) -> bool:
        """Return True if the two share any time."""
        return self.start < other.end and other.start < self.end
