"""Last pass: ranges, open ends, distances, and the prepositions that make a word a time."""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.language.time import calendar
from hindsight_integrations.language.time.calendar import EARLIEST, LATEST, Recurring, When
from hindsight_integrations.language.time.grammar import Grammar, Match
from hindsight_integrations.language.time.words import CHANGES, Kind, word_set
from hindsight_integrations.timespan import Precision, TimeSpan

RELATIONS = Grammar()

_RECENT = range(1900, 2100)
"""Years likely enough to need no preposition: "2004 to 2005", but not "1500 to 2000"."""

_NOT_THE_DAY = word_set(
    """
    all the a one first second third fourth last black good ash cyber easter palm holy fat shrove
    ruby man
    """
)
"""Before a weekday, these make it a name or any of its kind: "Black Friday", "the Monday"."""


@RELATIONS.rule(
    "[FROM SINCE OF IN] ARTICLE WHEN [TO UNTIL DASH] ARTICLE WHEN",
    "BETWEEN ARTICLE WHEN AND ARTICLE WHEN",
    "(?<=OPEN)WHEN DASH WHEN",
    "TIME [TO UNTIL DASH] ARTICLE TIME",
    "(IN MONTH AND|MONTH [TO UNTIL DASH]) TIME",
)
def _range(match: Match) -> When | None:
    """From 2004 to 2005, between May and July 2021, (2 November 1932 - 21 October 1987)."""
    if match.scene.word_before(match.start).casefold() in CHANGES:
        return None
    last_words = match.scene.text[match.tokens[-1].start : match.end]
    if match.has(Kind.DASH) and not any(character.isdigit() for character in last_words):
        return None  # a dash between clauses: "we met last Friday - next week we go on"
    first, last = match.whens()
    return _between(match, first, last)


@RELATIONS.rule("YEAR [TO UNTIL DASH] YEAR", "TIME [TO UNTIL DASH] YEAR", "YEAR [TO DASH] TIME")
def _range_of_years(match: Match) -> When | None:
    """2004 to 2005, with no word before."""
    likely = all(token.value in _RECENT for token in match.all(Kind.YEAR))
    return _range(match) if likely else None


def _between(match: Match, first: When, last: When) -> TimeSpan:
    """From the start of one to the end of the other; what recurs is taken next to the other."""
    if isinstance(first, Recurring) and isinstance(last, Recurring):
        if (match.tense() or match.scene.prefer) == "future":
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
def _since(match: Match) -> When | None:
    """Since March, "seit 2019", 2019 to present: up to the reference."""
    (when,) = match.whens()
    start = (when.past(match.now) if isinstance(when, Recurring) else when).start
    end = match.now if match.now > start else LATEST
    return None if _named_for_a_month(match) else TimeSpan(start, end, Precision.RANGE)


@RELATIONS.rule("[BEFORE EARLIER] ARTICLE WHEN")
def _before(match: Match) -> When | None:
    """Before 2020: all time up to it."""
    if _named_for_a_month(match):
        return None
    return TimeSpan(EARLIEST, match.span().start, Precision.RANGE)


@RELATIONS.rule("[AFTER LATER] ARTICLE WHEN")
def _after(match: Match) -> When | None:
    """After May 2021: all time from its end."""
    if _named_for_a_month(match):
        return None
    return TimeSpan(match.span().end, LATEST, Precision.RANGE)


@RELATIONS.rule("UNTIL ARTICLE WHEN")
def _until(match: Match) -> When | None:
    """Until Friday: from the reference if that is to come, else from the start of time."""
    (when,) = match.whens()
    if isinstance(when, Recurring) and match.tense() != "past":
        when = when.coming(match.now)
    end = match.settle(when).end
    start = match.now if end > match.now else EARLIEST
    return None if _named_for_a_month(match) else TimeSpan(start, end, Precision.RANGE)


def _named_for_a_month(match: Match) -> bool:
    """Whether a month is somebody's name: "before June joined the team"."""
    if match.tokens[-1].kind is not Kind.MONTH or match.scene.language.code != "en":
        return False
    following = match.scene.word_after(match.end)
    return following in ("is", "has") or match.scene.language.past.match(following) is not None


@RELATIONS.rule("[NUMBER COUNT ONE] ANY_UNIT [BEFORE AFTER EARLIER LATER FROM] ARTICLE WHEN")
def _at_distance(match: Match) -> When:
    """Two weeks before 7 May: the same length of time, so much earlier; a week from Monday."""
    (when,) = match.whens()
    if match.has(Kind.FROM) and isinstance(when, Recurring):
        when = when.ahead(match.now)
    span = match.settle(when)
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
    span, unit = match.span(), match.unit()
    precision = Precision.DAY if unit is Precision.DAY else Precision.RANGE
    if match.has(Kind.BEFORE, Kind.EARLIER):
        return TimeSpan(calendar.shift(span.start, unit, -1), span.start, precision)
    return TimeSpan(span.end, calendar.shift(span.end, unit, 1), precision)


@RELATIONS.rule("AROUND ARTICLE WHEN")
def _around(match: Match) -> When:
    """Around 2019: as much again on each side."""
    return widened(match.span(), timedelta(0))


def widened(span: TimeSpan, least: timedelta) -> TimeSpan:
    """The span with its own length, or at least so much, added on each side."""
    margin = max(span.duration, least)
    return TimeSpan(
        calendar.plus(span.start, -margin), calendar.plus(span.end, margin), Precision.RANGE
    )


@RELATIONS.rule("[IN DURING FROM BY] YEAR", "BORN [IN COMMA]? YEAR", "(?<=IN YEAR AND)YEAR")
@RELATIONS.rule("YEAR BORN", only="de")
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
@RELATIONS.rule("[IN AT ON TO OVER FOR DURING] THE? HOLIDAY")
@RELATIONS.rule("[ON BY FOR] WEEKDAY", "[AT OVER ON FOR DURING] THE WEEKDAY")
def _in_context(match: Match) -> When | None:
    """During the summer, "im Sommer", at Christmas, on Monday, over the weekend."""
    return match.whens()[0]


@RELATIONS.rule("WEEKDAY (?!THE ORDINAL)", only="en fr")
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
