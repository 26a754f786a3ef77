"""Last pass: ranges, open ends, distances, and the prepositions that make a word a time."""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.language.time import calendar
from hindsight_integrations.language.time.calendar import EARLIEST, LATEST, Recurring, When
from hindsight_integrations.language.time.grammar import WHEN_KINDS, Grammar, Match
from hindsight_integrations.language.time.words import CHANGES, Kind, word_set
from hindsight_integrations.timespan import Precision, TimeSpan

RELATIONS = Grammar()

_RECENT = range(1900, 2100)
"""Years likely enough to need no preposition: "2004 to 2005", but not "1500 to 2000"."""

_NOT_THE_DAY = word_set(
    """
    all the a one black good ash cyber easter palm holy fat shrove
    ruby man
    """
)
"""Before a weekday, these make it a name or any of its kind: "Black Friday", "the Monday"."""


@RELATIONS.rule("[FROM SINCE OF IN BETWEEN]? ARTICLE WHEN [TO UNTIL DASH AND] ARTICLE WHEN")
def _range(match: Match) -> When | None:
    """From 2004 to 2005, between May and July 2021, (2 November 1932 - 21 October 1987)."""
    opened = match.tokens[0].kind in (Kind.FROM, Kind.SINCE, Kind.OF, Kind.IN, Kind.BETWEEN)
    ends = match.all(*WHEN_KINDS)
    two_months = [token.kind for token in ends] == [Kind.MONTH, Kind.TIME]
    if match.has(Kind.AND) and not (match.has(Kind.BETWEEN) or (opened and two_months)):
        return None
    if match.scene.word_before(match.start).casefold() in CHANGES:
        return None
    bare = [token for token in ends if token.kind is not Kind.TIME]
    if not opened and not _parenthesised(match):
        years = all(token.kind is Kind.YEAR and token.value in _RECENT for token in bare)
        if not years and not two_months:
            return None
    first, last = match.whens()
    return _between(match, first, last)


def _parenthesised(match: Match) -> bool:
    text = match.scene.text
    return text[: match.start].rstrip()[-1:] == "("


def _between(match: Match, first: When, last: When) -> TimeSpan:
    """From the start of one to the end of the other; what recurs is taken next to the other."""
    if isinstance(first, Recurring) and isinstance(last, Recurring):
        if match.scene.speaks_of_future(match.start, match.end):
            first = match.settle(first)
        else:
            last = match.settle(last)
    if isinstance(first, Recurring) and isinstance(last, TimeSpan):
        first = first.past(last.start)
    if isinstance(first, TimeSpan) and isinstance(last, Recurring):
        last = last.ahead(first.start)
    first, last = match.settle(first), match.settle(last)
    if first.start >= last.start:
        raise ValueError("a range begins before it ends")
    return TimeSpan(first.start, last.end, Precision.RANGE)


@RELATIONS.rule("[FROM SINCE]? WHEN [TO UNTIL DASH] NOW", "SINCE ARTICLE WHEN")
def _since(match: Match) -> When:
    """Since March, "seit 2019", 2019 to present: up to the reference."""
    (when,) = match.whens()
    start = (when.past(match.now) if isinstance(when, Recurring) else when).start
    return TimeSpan(start, match.now if match.now > start else LATEST, Precision.RANGE)


@RELATIONS.rule("QUANTITY ANY_UNIT [BEFORE AFTER EARLIER LATER] ARTICLE WHEN")
def _at_distance(match: Match) -> When:
    """Two weeks before 7 May: the same length of time, so much earlier."""
    span = match.settle(match.whens()[0])
    number = match.all(Kind.NUMBER, Kind.COUNT, Kind.ONE)[0]
    distance = 1 if number.kind is Kind.ONE else number.value
    sign = -1 if match.has(Kind.BEFORE, Kind.EARLIER) else 1
    start = calendar.shift(span.start, match.unit(), sign * distance)
    if span.precision is Precision.RANGE:
        return TimeSpan(start, start + span.duration, Precision.RANGE)
    return calendar.period(span.precision, start)


@RELATIONS.rule("THE UNIT [BEFORE AFTER EARLIER LATER] ARTICLE WHEN")
def _next_to(match: Match) -> When:
    """The week after 7 May: that long, from its end; the day before: up to its start."""
    span = match.settle(match.whens()[0])
    unit = match.unit()
    precision = Precision.DAY if unit is Precision.DAY else Precision.RANGE
    if match.has(Kind.BEFORE, Kind.EARLIER):
        return TimeSpan(calendar.shift(span.start, unit, -1), span.start, precision)
    return TimeSpan(span.end, calendar.shift(span.end, unit, 1), precision)


@RELATIONS.rule("[BEFORE EARLIER] ARTICLE WHEN")
def _before(match: Match) -> When:
    """Before 2020: all time up to it."""
    return TimeSpan(EARLIEST, match.settle(match.whens()[0]).start, Precision.RANGE)


@RELATIONS.rule("[AFTER LATER] ARTICLE WHEN")
def _after(match: Match) -> When:
    """After May 2021: all time from its end."""
    return TimeSpan(match.settle(match.whens()[0]).end, LATEST, Precision.RANGE)


@RELATIONS.rule("UNTIL ARTICLE WHEN")
def _until(match: Match) -> When:
    """Until Friday: from the reference if that is to come, else from the start of time."""
    (when,) = match.whens()
    if isinstance(when, Recurring) and match.tense() != "past":
        when = when.coming(match.now)
    end = match.settle(when).end
    return TimeSpan(match.now if end > match.now else EARLIEST, end, Precision.RANGE)


@RELATIONS.rule("AROUND ARTICLE WHEN")
def _around(match: Match) -> When:
    """Around 2019: as much again on each side."""
    return widened(match.settle(match.whens()[0]), timedelta(0))


def widened(span: TimeSpan, least: timedelta) -> TimeSpan:
    """The span with its own length, or at least so much, added on each side."""
    margin = max(span.duration, least)
    return TimeSpan(
        calendar.plus(span.start, -margin), calendar.plus(span.end, margin), Precision.RANGE
    )


@RELATIONS.rule("[IN DURING FROM BY] YEAR", "BORN [IN COMMA]? YEAR", "(?<=IN YEAR AND)YEAR")
def _year(match: Match) -> When | None:
    """In 2023, born 1932, in 2019 and 2020."""
    amount = match.has(Kind.FROM) and match.scene.word_before(match.start).casefold() in CHANGES
    return None if amount else match.whens()[0]


@RELATIONS.rule("[IN DURING FROM BY] THE YEAR", "(?<=OPEN)YEAR (?=CLOSE)")
def _recent_year(match: Match) -> When | None:
    """In the 2019 election, (1983); not in the 1500 metres."""
    return match.whens()[0] if match.value(Kind.YEAR) in _RECENT else None


@RELATIONS.rule("[IN DURING FROM BY] [MONTH QUARTER]")
def _month(match: Match) -> When | None:
    """In March, by Q3; not in March of that year, which is another's to say."""
    return None if match.scene.word_after(match.end) == "of" else match.whens()[0]


@RELATIONS.rule("[IN FOR] THE SEASON END", "[DURING OVER] THE SEASON")
@RELATIONS.rule("IN SEASON", only="de es fr")
@RELATIONS.rule("[IN AT ON OVER FOR DURING] THE? HOLIDAY")
@RELATIONS.rule("[ON BY FOR] WEEKDAY", "[AT OVER ON FOR DURING] THE WEEKDAY")
def _in_context(match: Match) -> When | None:
    """During the summer, "im Sommer", at Christmas, on Monday, over the weekend."""
    return match.whens()[0]


@RELATIONS.rule("WEEKDAY", only="en fr")
def _bare_weekday(match: Match) -> When | None:
    """Monday, as in "see you Monday": the full name, no habit, no part of a name."""
    scene = match.scene
    spelled = scene.text[match.start : match.end]
    if len(spelled) < len("Monday") - (scene.language.code == "fr"):
        return None
    if match.tokens[0].value == calendar.WEEKEND:
        return None
    before, after = scene.word_before(match.start), scene.word_after(match.end)
    if before.casefold() in _NOT_THE_DAY or (after.istitle() and after != "I"):
        return None
    if scene.language.code == "fr" and (before in ("le", "chaque") or not match.in_language()):
        return None
    return scene.when(match.tokens[0])
