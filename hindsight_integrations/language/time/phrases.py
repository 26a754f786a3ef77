"""Second to fourth pass: times made more exact by what stands beside them."""

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

NAMED_DAYS = Grammar()
"""Which weekday: "Friday, 7 May"."""

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
    "(?<=IN)YEAR COMMA? IN MONTH",
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


@NAMED_DAYS.rule("WEEKDAY COMMA? ARTICLE TIME")
def _weekday_of_date(match: Match) -> When | None:
    """Friday, 7 May 2023; without the year, the nearest in which that is a Friday."""
    weekday, date = match.value(Kind.WEEKDAY), match.whens()[1]
    if date.precision is not Precision.DAY or isinstance(date, TimeSpan):
        return date if date.precision is Precision.DAY else None

    def checked(day: TimeSpan) -> TimeSpan:
        if day.start.weekday() != weekday:
            raise ValueError("that day is another weekday in this year")
        return day

    return date.change(checked, Precision.DAY).nearest(match.now)


@DETAILS.rule("[TIME WEEKDAY HOLIDAY] COMMA? [AT TO AROUND ON]? [CLOCK OCLOCK]")
@DETAILS.rule("[CLOCK OCLOCK] COMMA? [ON OF]? THE? [TIME WEEKDAY HOLIDAY]")
def _clock_time(match: Match) -> When:
    """Friday at 3 pm, "15:30 on 7 May", "morgen um 15 Uhr"."""
    clock = match.all(Kind.CLOCK, Kind.OCLOCK)[0]
    precision = Precision.MINUTE if clock.kind is Kind.CLOCK else Precision.HOUR

    def at(day: TimeSpan) -> TimeSpan:
        moment = calendar.period(Precision.DAY, day.start).start + timedelta(minutes=clock.value)
        if moment < day.start:
            moment += timedelta(days=1)  # one o'clock of last night
        if day.precision not in (Precision.DAY, Precision.HOUR) or not day.contains(moment):
            raise ValueError("only a day, or a part of it, has clock times")
        return calendar.period(precision, moment)

    return _each(match.whens()[-1], at, precision)


@DETAILS.rule("[TIME WEEKDAY] DAY_PART", "THE DAY_PART OF THE? TIME")
def _part_of_named_day(match: Match) -> When:
    """Friday night, "the morning of 7 May"."""
    part = match.value(Kind.DAY_PART)
    return _each(match.whens()[-1], lambda day: part_of_day(day, part), Precision.HOUR)


@DETAILS.rule("EDGE DASH? OF? THE? [TIME YEAR MONTH SEASON QUARTER]")
def _edge(match: Match) -> When:
    """Early March, mid-2021, "Ende Mai": a third of the time, in whole months or days."""
    third = match.value(Kind.EDGE)
    return _each(match.whens()[0], lambda span: _third(span, third), Precision.RANGE)


@DETAILS.rule("(?<=[SINCE UNTIL BY] THE)EDGE THE UNIT", only="en")
def _edge_of_this(match: Match) -> When:
    """Since the beginning of the year."""
    return _third(calendar.period(match.unit(), match.now), match.value(Kind.EDGE))


def _third(span: TimeSpan, third: int) -> TimeSpan:
    if span.duration < timedelta(weeks=1):
        raise ValueError("too short to have a beginning and an end")
    in_days = span.duration < timedelta(days=60)
    unit = Precision.DAY if in_days else Precision.MONTH
    number = span.duration.days if in_days else round(span.duration.days / _MONTH_DAYS)
    start, end = (
        calendar.shift(span.start, unit, number * part // 3) for part in (third, third + 1)
    )
    return TimeSpan(start, end, Precision.RANGE)


@DETAILS.rule("THE? [UNIT WEEKDAY] OF THE? TIME")
def _week_of(match: Match) -> When | None:
    """The week of 7 May; the weekend of 7 May."""
    named, day = match.all(Kind.UNIT, Kind.WEEKDAY)[0], match.span()
    if day.precision is not Precision.DAY:
        return None
    week = calendar.period(Precision.WEEK, day.start)
    if named.kind is Kind.UNIT:
        return week if match.unit() is Precision.WEEK else None
    return calendar.weekly(named.value).within(week) if named.value == calendar.WEEKEND else None


@DETAILS.rule("[RANK WHICH] [UNIT WEEKDAY] [OF IN] THE? [TIME MONTH]")
def _counted_in_month(match: Match) -> When | None:
    """The first week of May, the last Friday in June, the second day of March."""
    month = match.span()
    last = match.has(Kind.WHICH)
    if month.precision is not Precision.MONTH or (last and match.value(Kind.WHICH) >= 0):
        return None
    weeks = 0 if last else match.value(Kind.RANK) - 1
    if match.has(Kind.WEEKDAY):
        weekday = calendar.weekly(match.value(Kind.WEEKDAY))
        found = weekday.over(month.end) if last else weekday.ahead(month.start)
        found = calendar.days(found.start + timedelta(weeks=weeks), 1, Precision.DAY)
    elif match.unit() in (Precision.DAY, Precision.WEEK):
        number = 1 if match.unit() is Precision.DAY else 7
        ahead = -number if last else match.value(Kind.RANK) * number - number
        start = (month.end if last else month.start) + timedelta(days=ahead)
        found = calendar.days(start, number, match.unit())
    else:
        return None
    return found if month.contains(found.start) else None


def _each(when: When, step: calendar.Step, precision: Precision) -> When:
    return when.change(step, precision) if isinstance(when, Recurring) else step(when)
