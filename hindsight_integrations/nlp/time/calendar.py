"""Units of time, and periods that recur every year, month or week.

All arithmetic is on wall-clock time labelled UTC; `query` moves the results to the zone of the
reference. Ends beyond the year 9999 are clamped, starts outside the calendar raise `ValueError`
or `OverflowError`, which the grammar takes for "no such date".
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice

from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.timespan import Precision, TimeSpan

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)

_MONTHS_IN = {
    Precision.MONTH: 1,
    Precision.QUARTER: 3,
    Precision.YEAR: 12,
    Precision.DECADE: 120,
    Precision.CENTURY: 1200,
}
_LENGTH = {
    Precision.MINUTE: timedelta(minutes=1),
    Precision.HOUR: timedelta(hours=1),
    Precision.DAY: timedelta(days=1),
    Precision.WEEK: timedelta(weeks=1),
}
_LONGEST_GAP = 9
"""Years searched for an occurrence: 29 February can be eight years away."""
_LONGEST_GAP_OF_MONTHS = 20
"""Months, and weeks, searched: Friday the 13th can be 14 months away, Friday the 31st 20."""

_FIRST_MONTH = {"north": (3, 6, 9, 12), "south": (9, 12, 3, 6)}
"""First months of the meteorological seasons, from spring to winter."""

WEEKEND = 7
"""The "weekday" that stands for Saturday and Sunday."""


def period(unit: Precision, timestamp: datetime) -> TimeSpan:
    """Return the calendar minute, hour, day, week (from Monday), ... or century of a timestamp.

    Decades and centuries are counted the everyday way: the 20th century is 1900 to 1999.
    """
    if unit in _MONTHS_IN:
        size = _MONTHS_IN[unit]
        first = _month_index(timestamp) // size * size
        return TimeSpan(_month_start(max(first, 12)), _month_start(first + size), unit)
    length = _LENGTH[unit]
    start = EARLIEST + (timestamp - EARLIEST) // length * length  # 1 January 0001 is a Monday
    return TimeSpan(start, plus(start, length), unit)


def shift(timestamp: datetime, unit: Precision, number: int) -> datetime:
    """Move a timestamp by a number of units; 31 March less a month is 28 or 29 February."""
    if unit in _LENGTH:
        return timestamp + number * _LENGTH[unit]
    start = _month_start(_month_index(timestamp) + number * _MONTHS_IN[unit])
    day = min(timestamp.day, monthrange(start.year, start.month)[1])
    return timestamp.replace(year=start.year, month=start.month, day=day)


def plus(timestamp: datetime, length: timedelta) -> datetime:
    """Return `timestamp + length`, clamped to the calendar."""
    try:
        return timestamp + length
    except OverflowError:
        return LATEST if length > timedelta(0) else EARLIEST


def months(year: int, month: int, number: int, precision: Precision) -> TimeSpan:
    """Return a run of whole months."""
    first = year * 12 + month - 1
    return TimeSpan(_month_start(first), _month_start(first + number), precision)


def days(start: datetime, number: int, precision: Precision) -> TimeSpan:
    """Return a run of whole days from a midnight."""
    return TimeSpan(start, plus(start, timedelta(days=number)), precision)


def year(number: int) -> TimeSpan:
    """Return the calendar year."""
    return months(number, 1, 12, Precision.YEAR)


@dataclass(frozen=True, slots=True)
class Recurring:
    """A period that recurs, as "March" does; the context tells which occurrence is meant.

    Attributes:
        occurrence: maps the number of a cycle (years, months or weeks from the calendar's start)
            to a span; raises `ValueError` where there is none.
        cycle: year, month or week.
        precision: of each occurrence.
    """

    occurrence: Callable[[int], TimeSpan]
    cycle: Precision
    precision: Precision

    def change(self, step: Step, precision: Precision) -> Recurring:
        """Map each occurrence: "March" to "early March"."""
        return Recurring(lambda number: step(self.occurrence(number)), self.cycle, precision)

    def past(self, timestamp: datetime) -> TimeSpan:
        """Return the latest that has begun at the timestamp."""
        return self._first(self._backward(timestamp), lambda span: span.start <= timestamp)

    def over(self, timestamp: datetime) -> TimeSpan:
        """Return the latest that has ended at the timestamp."""
        return self._first(self._backward(timestamp), lambda span: span.end <= timestamp)

    def coming(self, timestamp: datetime) -> TimeSpan:
        """Return the earliest that has not ended at the timestamp."""
        return self._first(self._forward(timestamp), lambda span: span.end > timestamp)

    def ahead(self, timestamp: datetime) -> TimeSpan:
        """Return the earliest that begins at or after the timestamp."""
        return self._first(self._forward(timestamp), lambda span: span.start >= timestamp)

    def nearest(self, timestamp: datetime) -> TimeSpan:
        """Return the one that is nearest to the timestamp, before or after, or around it."""
        middle = self._number(timestamp)
        near = self._existing(range(middle - self._reach, middle + self._reach + 1))
        return min(near, key=lambda span: max(span.start - timestamp, timestamp - span.end))

    def current(self, timestamp: datetime) -> TimeSpan:
        """Return the one around the timestamp, or else that of its year, month or week."""
        around = self.past(timestamp)
        return around if around.contains(timestamp) else self.occurrence(self._number(timestamp))

    def within(self, container: TimeSpan) -> TimeSpan:
        """Return the first that begins in `container`.

        Raises:
            ValueError: none does.
        """
        span = self.ahead(container.start)
        if span.start >= container.end:
            raise ValueError("it does not occur in that time")
        return span

    @property
    def _reach(self) -> int:
        return _LONGEST_GAP if self.cycle is Precision.YEAR else _LONGEST_GAP_OF_MONTHS

    def _number(self, timestamp: datetime) -> int:
        if self.cycle is Precision.YEAR:
            return timestamp.year
        if self.cycle is Precision.MONTH:
            return _month_index(timestamp)
        return (timestamp - EARLIEST) // _LENGTH[Precision.WEEK]

    def _backward(self, timestamp: datetime) -> Iterable[int]:
        return islice(count(self._number(timestamp) + 1, -1), self._reach + 2)

    def _forward(self, timestamp: datetime) -> Iterable[int]:
        return islice(count(self._number(timestamp) - 1), self._reach + 2)

    def _first(self, numbers: Iterable[int], wanted: Callable[[TimeSpan], bool]) -> TimeSpan:
        for span in self._existing(numbers):
            if wanted(span):
                return span
        raise ValueError("it does not occur near that time")

    def _existing(self, numbers: Iterable[int]) -> Iterator[TimeSpan]:
        for number in numbers:
            try:
                yield self.occurrence(number)
            except (ValueError, OverflowError):
                continue  # no 29 February this year, or beyond the calendar


When = TimeSpan | Recurring
Step = Callable[[TimeSpan], TimeSpan]


def yearly_day(month: int, day: int, number: int = 1) -> Recurring:
    """Return a day of the year, or a run of days from it.

    Raises:
        ValueError: no year has such a day.
    """
    datetime(2000, month, day)  # a leap year has them all
    precision = Precision.DAY if number == 1 else Precision.RANGE
    return Recurring(
        lambda year: days(datetime(year, month, day, tzinfo=UTC), number, precision),
        Precision.YEAR,
        precision,
    )


_FROM_EASTER = 2000
"""Number of Easter Sunday; 1998 is the Friday before it, 2001 the Monday after."""
_EASTER_DAYS = 2100
"""Number of the days from Good Friday to Easter Monday."""


def holiday(number: int) -> Recurring:
    """Return a holiday by its number in the word tables.

    1225 is the 25th of December; numbers from 1300 on are days counted from Easter.
    """
    if number < 1300:
        return yearly_day(*divmod(number, 100))
    whole = number == _EASTER_DAYS
    first, length = (-2, 4) if whole else (number - _FROM_EASTER, 1)
    precision = Precision.RANGE if whole else Precision.DAY
    return Recurring(
        lambda year: days(_easter_sunday(year) + timedelta(days=first), length, precision),
        Precision.YEAR,
        precision,
    )


def _easter_sunday(year: int) -> datetime:
    """Return Easter Sunday of the Gregorian calendar, by its golden number and epact."""
    century = year // 100
    golden = year % 19
    solar, lunar = century - century // 4, (8 * century + 13) // 25
    epact = (solar - lunar + 19 * golden + 15) % 30
    epact -= epact == 29 or (epact == 28 and golden > 10)
    full_moon = datetime(year, 3, 21, tzinfo=UTC) + timedelta(days=epact)
    return full_moon + timedelta(days=7 - (full_moon.weekday() + 1) % 7)


def yearly_month(month: int) -> Recurring:
    """Return a month of the year."""
    return Recurring(
        lambda year: months(year, month, 1, Precision.MONTH), Precision.YEAR, Precision.MONTH
    )


def yearly_quarter(quarter: int) -> Recurring:
    """Return a calendar quarter, from 1 to 4."""
    return Recurring(
        lambda year: months(year, 3 * quarter - 2, 3, Precision.QUARTER),
        Precision.YEAR,
        Precision.QUARTER,
    )


def yearly_season(season: int, hemisphere: Hemisphere) -> Recurring:
    """Return a meteorological season, 0 (spring) to 3; it belongs to the year it begins in."""
    month = _FIRST_MONTH[hemisphere][season]
    return Recurring(
        lambda year: months(year, month, 3, Precision.SEASON), Precision.YEAR, Precision.SEASON
    )


def monthly_day(day: int) -> Recurring:
    """Return a day of the month."""
    return Recurring(
        lambda index: days(_month_start(index).replace(day=day), 1, Precision.DAY),
        Precision.MONTH,
        Precision.DAY,
    )


def weekly(weekday: int) -> Recurring:
    """Return a weekday, from 0 (Monday), or the `WEEKEND`."""
    first, number = (5, 2) if weekday == WEEKEND else (weekday, 1)
    precision = Precision.DAY if number == 1 else Precision.RANGE
    return Recurring(
        lambda week: days(EARLIEST + timedelta(days=7 * week + first), number, precision),
        Precision.WEEK,
        precision,
    )


def _month_index(timestamp: datetime) -> int:
    return timestamp.year * 12 + timestamp.month - 1


def _month_start(index: int) -> datetime:
    if index >= 10000 * 12:
        return LATEST
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)
