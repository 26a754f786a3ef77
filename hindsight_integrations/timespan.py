"""A stretch of time at the precision its source had."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from hindsight_integrations.errors import InvalidInputError


class Precision(StrEnum):
    """How exactly a time was given: "2023" is a year, not the first of January."""

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


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC; a naive datetime is read as UTC."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar, west or east of Greenwich
        return moment.replace(tzinfo=UTC)


def _shifted(moment: datetime, by: timedelta) -> datetime:
    try:
        return as_utc(moment) + by
    except OverflowError:
        edge = datetime.max if by > timedelta() else datetime.min
        return edge.replace(tzinfo=UTC)


def day_text(moment: datetime) -> str:
    """A day as people write it: 7 May 2025."""
    return f"{moment.day} {moment:%b} {moment.year}"


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
                f"a time span ends after it starts; got start {self.start.isoformat()} "
                f"and end {self.end.isoformat()}"
            )

    @classmethod
    def of_day(cls, moment: datetime) -> TimeSpan:
        """The day, in UTC, that `moment` lies in."""
        start = as_utc(moment).replace(hour=0, minute=0, second=0, microsecond=0)
        last = datetime.max.replace(tzinfo=UTC)
        end = last if start.date() == last.date() else start + timedelta(days=1)
        return cls(start, end, Precision.DAY)

    @classmethod
    def around(cls, first: datetime, last: datetime, reach: timedelta) -> TimeSpan:
        """From `reach` before `first` to `reach` after `last`, as far as the calendar goes."""
        return cls(_shifted(first, -reach), _shifted(last, reach))

    @property
    def duration(self) -> timedelta:
        """Length of the span."""
        return self.end - self.start

    @property
    def midpoint(self) -> datetime:
        """The moment half way through."""
        return self.start + self.duration / 2

    def contains(self, moment: datetime) -> bool:
        """Whether `moment` lies inside the span."""
        return self.start <= as_utc(moment) < self.end

    def overlaps(self, other: TimeSpan) -> bool:
        """Whether the two share any time."""
        return self.start < other.end and other.start < self.end
