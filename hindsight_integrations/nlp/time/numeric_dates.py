"""Read dates of three numbers: 2023-05-07, 7.5.2023, and 5/7/2023, which may be two days."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import When
from hindsight_integrations.nlp.time.direction import Evidence
from hindsight_integrations.nlp.time.grammar import Match
from hindsight_integrations.nlp.time.lexer import TokenKind, full_year
from hindsight_integrations.timespan import Precision, TimeSpan

_NEAR = timedelta(days=31)
"""Distance at which the other reading of a date is likelier than one twice as far."""

_SLASHED = re.compile(r"(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d\d)(?![\d/-])")
"""A date of three numbers, of which the first or the second is the day."""


def numeric_day(match: Match) -> When | None:
    """Return the day or minute that a date of three numbers means; None if it may be two days."""
    date = match.all(TokenKind.DATE)[0]
    text = match.context.text[date.start : date.end]
    if text[4:5] == "-":
        timestamp = datetime.fromisoformat(text)
        if len(text) == len("2023-05-07"):
            return calendar.period(Precision.DAY, timestamp.replace(tzinfo=UTC))
        if timestamp.tzinfo is not None:
            timestamp = timestamp.astimezone(match.context.zone)
        return calendar.period(Precision.MINUTE, timestamp.replace(tzinfo=UTC))
    first, second, third = (int(number) for number in re.findall(r"[0-9]+", text))
    if first > 31:
        return _day_of(first, second, third)
    year = third if third > 99 else full_year(third)
    if match.context.language.code != "en" or "." in text:
        return _day_of(year, second, first) if second <= 12 else _day_of(year, first, second)
    if first == second or max(first, second) > 12:
        return _day_of(year, min(first, second), max(first, second))
    return _told_day(match, _day_of(year, second, first), _day_of(year, first, second))


def day_and_month(match: Match) -> When | None:
    """Return the day of the year that "28/4" means; None if it may be two days, or something else.

    Raises:
        ValueError: no year has such a day.
    """
    first, second = divmod(match.value(TokenKind.DAY_MONTH), 100)
    counts = match.context.tag_after(match.end)[:2] in ("NN", "JJ", "CD")
    if counts or (first, second) in _NO_DAYS or max(first, second) > 31:
        return None
    by_month = match.context.language.code == "en" and first <= 12
    if by_month and second <= 12 and first != second:
        order = _order_of_dates(match.context.text)
        if not order:
            return None
        by_month = order == "month"
    return calendar.yearly_day(first, second) if by_month else calendar.yearly_day(second, first)


_NO_DAYS = frozenset({(24, 7), (16, 9)})
"""All day of all days, and the shape of a screen."""


def _day_of(year: int, month: int, day: int) -> TimeSpan:
    return calendar.period(Precision.DAY, datetime(year, month, day, tzinfo=UTC))


def _told_day(match: Match, day_first: TimeSpan, month_first: TimeSpan) -> TimeSpan | None:
    """Return the one of two days that 5/7/2023 means, if anything tells it.

    That is the weekday before it, another date of the text in which the order shows, or the tense:
    what took place is not to come.
    """
    context = match.context
    order = _order_of_dates(context.text)
    if order:
        return day_first if order == "day" else month_first
    before = context.entries_before(match.start)
    weekdays = {entry.value for entry in before if entry.kind is TokenKind.WEEKDAY}
    if weekdays:
        days = [day for day in (day_first, month_first) if day.start.weekday() in weekdays]
        return days[0] if len(days) == 1 else None
    earlier, later = sorted((day_first, month_first))
    if not earlier.end <= match.now < later.start:
        return None  # both are over, or to come
    shown = context.direction(match.start, match.end)
    if shown is None or shown.evidence is not Evidence.TENSE:
        return None
    told, other = (earlier, later) if shown.tense == "past" else (later, earlier)
    distances = [abs(day.start - match.now) for day in (told, other)]
    return None if distances[1] < _NEAR and distances[0] > 2 * _NEAR else told


@lru_cache(maxsize=8)
def _order_of_dates(text: str) -> str:
    """Return "day" or "month", which all dates such as 25/4/2025 in a text have first; else ""."""
    orders = {
        "day" if int(date[1]) > int(date[3]) else "month"
        for date in _SLASHED.finditer(text)
        if 12 < max(int(date[1]), int(date[3])) <= 31 and min(int(date[1]), int(date[3])) <= 12
    }
    return orders.pop() if len(orders) == 1 else ""
