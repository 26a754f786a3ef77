"""Second and third pass: times made more exact by what stands beside them."""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.language.time import calendar
from hindsight_integrations.language.time.calendar import Recurring, When
from hindsight_integrations.language.time.grammar import Grammar, Match
from hindsight_integrations.language.time.leaves import abbreviated, part_of_day
from hindsight_integrations.language.time.words import Kind
from hindsight_integrations.timespan import Precision, TimeSpan

CONTAINERS = Grammar()
"""Which year, or week: "March 2021", "7 May of last year", "next week on Tuesday"."""

DETAILS = Grammar()
"""Which hour, or part: "Friday at 3 pm", "early March", "the first week of May"."""

_MONTH_DAYS = 30.44
"""Days in a month, on average."""

_CONTAINED_IN = {
    Precision.YEAR: (Precision.YEAR,),
    Precision.MONTH: (Precision.MONTH, Precision.YEAR),
    Precision.WEEK: (Precision.WEEK,),
}
"""By the cycle of what recurs, the periods that tell which one is meant."""


@CONTAINERS.rule(
    "[TIME MONTH SEASON QUARTER HOLIDAY WEEKDAY] [COMMA OF DOT DASH]? ARTICLE [YEAR TIME]",
    "YEAR DASH? QUARTER",
    "TIME COMMA? [IN ON]? [MONTH SEASON QUARTER WEEKDAY TIME]",
)
def _contained(match: Match) -> When | None:
    """Something that recurs, and the year or week it is in, in either order."""
    first, second = match.whens()
    if isinstance(first, TimeSpan):
        first, second = second, first
    if not isinstance(first, Recurring) or isinstance(second, Recurring):
        return None
    if match.has(Kind.DOT) and not abbreviated(match.tokens[0]):
        return None
    if match.has(Kind.DASH) and not match.has(Kind.QUARTER):
        return None
    if second.precision not in _CONTAINED_IN[first.cycle]:
        return None
    return first.within(second)


@DETAILS.rule("(WEEKDAY COMMA?)? [TIME WEEKDAY HOLIDAY] COMMA? [AT TO AROUND ON]? [CLOCK OCLOCK]")
@DETAILS.rule("[CLOCK OCLOCK] COMMA? [ON OF]? THE? (WEEKDAY COMMA?)? [TIME WEEKDAY HOLIDAY]")
def _clock_time(match: Match) -> When:
    """Friday at 3 pm, "15:30 on 7 May", "morgen um 15 Uhr"."""
    clock = match.all(Kind.CLOCK, Kind.OCLOCK)[0]
    precision = Precision.MINUTE if clock.kind is Kind.CLOCK else Precision.HOUR

    def at(day: TimeSpan) -> TimeSpan:
        if day.precision is not Precision.DAY:
            raise ValueError("only a day has clock times")
        return calendar.period(precision, day.start + timedelta(minutes=clock.value))

    return _each(match.whens()[-1], at, precision)


@DETAILS.rule("(WEEKDAY COMMA?)? TIME DAY_PART", "WEEKDAY DAY_PART", "THE DAY_PART OF THE? TIME")
def _part_of_named_day(match: Match) -> When:
    """Friday night, "the morning of 7 May"."""
    part = match.value(Kind.DAY_PART)
    return _each(match.whens()[-1], lambda day: part_of_day(day, part), Precision.HOUR)


@DETAILS.rule("WEEKDAY COMMA? ARTICLE TIME")
def _weekday_of_date(match: Match) -> When | None:
    """Friday, 7 May 2023: the date decides."""
    date = match.whens()[1]
    return date if date.precision is Precision.DAY else None


@DETAILS.rule("EDGE DASH? OF? THE? [TIME YEAR MONTH SEASON QUARTER]")
def _edge(match: Match) -> When:
    """Early March, mid-2021, "Ende Mai": a third of the time, in whole months or days."""
    third = match.value(Kind.EDGE)

    def cut(span: TimeSpan) -> TimeSpan:
        if span.duration < timedelta(weeks=1):
            raise ValueError("too short to have a beginning and an end")
        in_days = span.duration < timedelta(days=60)
        unit = Precision.DAY if in_days else Precision.MONTH
        number = span.duration.days if in_days else round(span.duration.days / _MONTH_DAYS)
        start, end = (
            calendar.shift(span.start, unit, number * part // 3) for part in (third, third + 1)
        )
        return TimeSpan(start, end, Precision.RANGE)

    return _each(match.whens()[0], cut, Precision.RANGE)


@DETAILS.rule("THE? UNIT OF THE? TIME", "[RANK WHICH] UNIT OF THE? [TIME MONTH]")
def _week_of(match: Match) -> When | None:
    """The week of 7 May; the first (second, last) week of May."""
    if match.unit() is not Precision.WEEK:
        return None
    span = match.settle(match.whens()[0])
    if not match.has(Kind.RANK, Kind.WHICH):
        return calendar.period(Precision.WEEK, span.start) if _is_day(span) else None
    if match.has(Kind.WHICH) and match.value(Kind.WHICH) >= 0:
        return None
    if match.has(Kind.WHICH):
        start = span.end - timedelta(weeks=1)
    else:
        start = span.start + timedelta(weeks=match.value(Kind.RANK) - 1)
    return calendar.days(start, 7, Precision.WEEK) if span.contains(start) else None


def _is_day(span: TimeSpan) -> bool:
    return span.precision is Precision.DAY


def _each(when: When, step: calendar.Step, precision: Precision) -> When:
    return when.change(step, precision) if isinstance(when, Recurring) else step(when)
