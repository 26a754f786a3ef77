"""Time spans, at the precision of their source."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
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


def as_utc(timestamp: datetime) -> datetime:
    """Return the timestamp in UTC; a naive one is read as UTC."""
    if timestamp.tzinfo is None:
        return timestamp.replace(tzinfo=UTC)
    try:
        return timestamp.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, west or east of Greenwich
        return timestamp.replace(tzinfo=UTC)


def _shifted(timestamp: datetime, by: timedelta) -> datetime:
    try:
        return as_utc(timestamp) + by
    except OverflowError:
        edge = datetime.max if by > timedelta() else datetime.min
        return edge.replace(tzinfo=UTC)


def day_text(timestamp: datetime) -> str:
    """Return a day as people write it: 7 May 2025."""
    return f"{timestamp.day} {timestamp:%b} {timestamp.year}"


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """A half-open interval `[start, end)` in UTC.

    Raises:
        InvalidInputError: `end` is not after `start`.
    """

    start: datetime
    end: datetime
    precision: Precision = Precision.RANGE

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", as_utc(self.start))
        object.__setattr__(self, "end", as_utc(self.end))
        if self.end <= self.start:
            raise InvalidInputError(
                f"a time span must end after it starts; got start {self.start.isoformat()} and "
                f"end {self.end.isoformat()}"
            )

    def __str__(self) -> str:
        """Return the days, both ends included, or the minutes if it is shorter than one."""
        last = self.end - timedelta(microseconds=1)
        if self.end.year == MAXYEAR:
            return f"since {day_text(self.start)}" if self.start.year > MINYEAR else "any time"
        if self.start.year == MINYEAR:
            return f"until {day_text(last)}"
        if self.duration < timedelta(days=1):
            return f"{day_text(self.start)}, {self.start:%H:%M} to {self.end:%H:%M}"
        if self.start.date() == last.date():
            return day_text(last)
        return f"{day_text(self.start)} to {day_text(last)}"

    @classmethod
    def of_day(cls, timestamp: datetime) -> TimeSpan:
        """Return the day, in UTC, of a timestamp."""
        start = as_utc(timestamp).replace(hour=0, minute=0, second=0, microsecond=0)
        last = datetime.max.replace(tzinfo=UTC)
        end = last if start.date() == last.date() else start + timedelta(days=1)
        return cls(start, end, Precision.DAY)

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
