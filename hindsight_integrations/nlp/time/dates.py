"""First to fourth pass of the grammar: dates, and what stands beside them.

The first pass reads dates and times relative to the reference; the others make these more exact
by the year, weekday, clock time or part that is named with them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hindsight_integrations.nlp.time import calendar, lower_case, spans_between
from hindsight_integrations.nlp.time.calendar import Recurring, Step, When
from hindsight_integrations.nlp.time.direction import Evidence, is_moved_from
from hindsight_integrations.nlp.time.grammar import Grammar, Match
from hindsight_integrations.nlp.time.idioms import (
    COUNTED,
    HEAT,
    IDIOMS,
    MORE,
    OF_ANOTHER,
    is_in_a_month,
    month_of_heading,
    numbers_an_item,
)
from hindsight_integrations.nlp.time.lexer import WORDS, Token, TokenKind
from hindsight_integrations.nlp.time.numeric_dates import day_and_month, numeric_day
from hindsight_integrations.timespan import Precision, TimeSpan

DATES = Grammar()
"""Dates, and times relative to the reference: "7 May", "two weeks ago"."""

CONTAINERS = Grammar()
"""Times in a year or week: "March 2021", "7 May of last year", "next week on Tuesday"."""

NAMED_DAYS = Grammar()
"""Dates with their weekday: "Friday, 7 May"."""

DETAILS = Grammar()
"""Parts of a time: "Friday at 3 pm", "early March", "the first week of May"."""

FEW = (2, 5)
"""Least and most that "a few" may mean."""

_DAY_STARTS = ((6, 12), (12, 18), (18, 24), (18, 30))
"""Hours of morning, afternoon, evening and night; the night ends on the next day."""

_NEAREST_MONTHS = timedelta(days=75)
"""Time within which "Saturday the 11th" is meant: a day of this, the last or the next month."""

_NEAR = timedelta(days=2)
"""Time ahead within which a weekday is not called the next one."""

_WEEKEND = timedelta(days=2)
_SATURDAY = 5

_LONGEST_ABBREVIATION = len("Sept")

_MONTH_DAYS = 30.44
"""Days in a month, on average."""

_CONTAINED_IN = {
    Precision.YEAR: (Precision.YEAR,),
    Precision.MONTH: (Precision.MONTH, Precision.YEAR),
    Precision.WEEK: (Precision.WEEK,),
}
"""Periods that tell which occurrence is meant, by the cycle of the recurring time."""


DATES.rule("DATE")(numeric_day)
DATES.rule("ON DATE", only="de es fr")(numeric_day)
DATES.rule("(?<=[ON SINCE UNTIL BY FROM BEFORE AFTER WEEKDAY])DAY_MONTH")(day_and_month)


@DATES.rule("DIGITS DOT? [TO DASH UNTIL AND] ARTICLE DIGITS DOT? OF? THE? MONTH")
@DATES.rule("DIGITS IN DIGITS MONTH", only="fr")
@DATES.rule("MONTH DIGITS [TO DASH UNTIL] DIGITS", "RANK [TO UNTIL] THE? RANK OF MONTH", only="en")
def _days_of_month(match: Match) -> When | None:
    """Read days of a month: "7-9 May", "entre el 7 y el 9"; the last of "slips from 7 to 9 May"."""
    first, last = match.all(TokenKind.NUMBER, TokenKind.ORDINAL, TokenKind.RANK)
    number = last.value - first.value + 1
    if number < 2:
        return None
    month = match.value(TokenKind.MONTH)
    moved_to = calendar.yearly_day(month, last.value)  # raises if the month has no such day
    from_it = match.context.word_before(match.start).casefold() in ("from", "the")
    if from_it and is_moved_from(match.context.text, match.start):
        return moved_to
    return calendar.yearly_day(month, first.value, number)


@DATES.rule(
    "DIGITS OF? THE? MONTH",
    "ORDINAL OF? MAYBE_MONTH",
    "RANK OF MONTH",
    "(?<=[ON WEEKDAY MAYBE_WEEKDAY])NUMBER MAYBE_MONTH",
    "NUMBER MAYBE_MONTH (?=COMMA? YEAR)",
)
@DATES.rule("NUMBER DOT MONTH", only="de")
@DATES.rule("RANK MONTH", only="fr de")
@DATES.rule(
    "MONTH THE? ORDINAL",
    "(?<!IN)MONTH DOT? NUMBER",
    "MAYBE_MONTH ORDINAL",
    "(?<=[ON SINCE UNTIL BY FROM BEFORE AFTER])MAYBE_MONTH NUMBER",
    "MAYBE_MONTH NUMBER (?=COMMA? YEAR)",
    "MAYBE_MONTH NUMBER END",
    only="en",
)
def _day_of_month(match: Match) -> When | None:
    """Read a day of a month: "7 May", "May 7th", "7. Mai", "1er mai"; the year may follow."""
    month = match.all(TokenKind.MONTH, TokenKind.MAYBE_MONTH)[0]
    if match.has(TokenKind.DOT) and month is match.tokens[0] and not _abbreviated(month):
        return None
    if match.context.word_after(match.end).casefold() in WORDS["counted"] | {"of"}:
        return None
    if match.tokens[-1].kind is TokenKind.NUMBER and numbers_an_item(match):
        return None
    return calendar.yearly_day(
        month.value, match.value(TokenKind.NUMBER, TokenKind.ORDINAL, TokenKind.RANK)
    )


def _abbreviated(month: Token) -> bool:
    """Return True if a dot after a month's name abbreviates it, and ends no sentence."""
    return month.end - month.start <= _LONGEST_ABBREVIATION


DATES.rule(lower_case.IN_MONTH, only="en")(lower_case.lower_case_month)
DATES.rule(lower_case.ON_DAY, only="en")(lower_case.lower_case_day)
DATES.rule(spans_between.SINCE, only="en")(spans_between.since_when)


@DATES.rule(
    "[RANK ORDINAL] UNIT (?=OF? THE? YEAR|OF THE? WHICH UNIT|OF THE? UNIT WHICH)",
    "NUMBER DOT UNIT (?=YEAR)",
)
def _ranked_quarter(match: Match) -> When | None:
    """Read a quarter by its number: "the third quarter of 2022"; a later pass adds the year."""
    if match.unit() is not Precision.QUARTER:
        return None
    number = match.value(TokenKind.RANK, TokenKind.ORDINAL, TokenKind.NUMBER)
    return calendar.yearly_quarter(number) if number <= 4 else None


@DATES.rule("[RANK ORDINAL] UNIT", "NUMBER DOT UNIT")
def _century(match: Match) -> When | None:
    """Read a century: "the 19th century"; not the name "20th Century Fox"."""
    if match.unit() is not Precision.CENTURY or match.context.word_after(match.end).istitle():
        return None
    return _whole(
        Precision.CENTURY,
        100 * (match.value(TokenKind.RANK, TokenKind.ORDINAL, TokenKind.NUMBER) - 1),
    )


@DATES.rule("DECADE")
def _decade(match: Match) -> When | None:
    """Read a decade: "the 1990s"; "the 1800s" are a century."""
    first = match.value(TokenKind.DECADE)
    if first < 1000:
        return None
    century = first % 100 == 0 and first != 2000
    return _whole(Precision.CENTURY if century else Precision.DECADE, first)


@DATES.rule("THE DECADE", "(?<=THE EDGE)DECADE", "(?<=THE EDGE DASH)DECADE")
def _decade_of_this_age(match: Match) -> When | None:
    """Read a decade of two digits: "the 90s", "the late nineties"; not "in his 30s"."""
    first = match.value(TokenKind.DECADE)
    return _short_decade(match, first) if first < 100 else None


@DATES.rule("UNITS [NUMBER YEAR]", only="es fr")
def _decade_of_years(match: Match) -> When | None:
    """Read a decade in Spanish or French: "los años 90", "les années 1990"."""
    first = match.value(TokenKind.NUMBER, TokenKind.YEAR)
    if match.unit() is not Precision.YEAR or first % 10:
        return None
    return _whole(Precision.DECADE, first) if first >= 1000 else _short_decade(match, first)


def _short_decade(match: Match, first: int) -> When | None:
    """Return the latest decade of these digits that has begun; None for degrees."""
    if HEAT.search(match.sentence()):
        return None
    return _whole(Precision.DECADE, match.now.year - (match.now.year - first) % 100)


def _whole(unit: Precision, year: int) -> TimeSpan:
    return calendar.period(unit, datetime(year, 1, 1, tzinfo=UTC))


@DATES.rule("ANY_UNIT YEAR")
def _year_named(match: Match) -> When | None:
    """Read a year after its noun: "the year 2019", "im Jahr 2019"."""
    return match.whens()[0] if match.unit() is Precision.YEAR else None


@DATES.rule("YEAR DASH NUMBER")
def _winter_season(match: Match) -> When | None:
    """Read a season of a league or school: "2012-13"; not "2004-05", which may be a month."""
    first, dash, second = match.tokens
    text = match.context.text
    if second.value <= 12 and text[dash.start] == "-":
        return None
    if (first.value + 1) % 10 ** (second.end - second.start) != second.value:
        return None
    return calendar.months(first.value, 1, 24, Precision.RANGE)


@DATES.rule("[NUMBER YEAR] ERA", only="en")
def _year_of_era(match: Match) -> When:
    """Read a year with an era: "476 AD"."""
    return calendar.year(match.value(TokenKind.NUMBER, TokenKind.YEAR))


@DATES.rule(
    "WEEKDAY COMMA? THE? ORDINAL (?=$|[STOP DOT COMMA CLOSE TO AND AT IN FOR UNKNOWN])",
    "WEEKDAY COMMA? THE RANK (?=$|[STOP DOT COMMA CLOSE AT FOR UNKNOWN])",
    only="en",
)
def _named_day_of_month(match: Match) -> When | None:
    """Read a weekday with a day, "Saturday the 11th", as the only such date near, by the tense."""
    weekday, number = match.value(TokenKind.WEEKDAY), match.value(TokenKind.ORDINAL, TokenKind.RANK)
    counted = match.has(TokenKind.RANK) and number < 5  # "on Monday the second meeting"
    if weekday == calendar.WEEKEND or (counted and match.context.is_in_a_phrase(match.end)):
        return None

    def checked(day: TimeSpan) -> TimeSpan:
        if day.start.weekday() != weekday:
            raise ValueError("that day is another weekday in this month")
        return day

    days = calendar.monthly_day(number).change(checked, Precision.DAY)
    past, coming = days.past(match.now), days.coming(match.now)
    meant = [coming] if (tense := match.tense()) == "future" else [past, coming]
    if match.context.statement is None:
        meant = [days.nearest(match.now)]
    near = [day for day in meant if abs(day.start - match.now) < _NEAREST_MONTHS]
    return near[0] if len(near) == 1 or (near and tense == "past") else None


@DATES.rule(
    "(?<!THE)WEEKDAY UNIT (?=$|[STOP DOT COMMA CLOSE AT IN FOR AND TO])",
    "(?<![NUMBER COUNT FEW])ONE UNIT ON WEEKDAY",
    only="en",
)
def _weekday_after_next(match: Match) -> When | None:
    """Read a weekday a week ahead: "Saturday week", "a week on Saturday"."""
    if match.unit() is not Precision.WEEK or match.tense() == "past" or match.is_rate():
        return None
    coming = calendar.weekly(match.value(TokenKind.WEEKDAY)).coming(match.now)
    week = timedelta(weeks=1)
    return TimeSpan(coming.start + week, coming.end + week, coming.precision)


@DATES.rule("ON THE ORDINAL (?=$|[STOP DOT COMMA CLOSE TO AND AT IN FOR])", only="en")
@DATES.rule(
    "(?<=[BY SINCE UNTIL FROM FOR TO BEFORE AFTER BETWEEN])THE ORDINAL "
    "(?=$|[STOP DOT COMMA CLOSE TO UNTIL DASH AND AT])",
    "(?<=ON THE ORDINAL AND)THE? ORDINAL END",
    "(?<=ON THE ORDINAL COMMA UNKNOWN COMMA)THE ORDINAL END",
    "(?<=BETWEEN THE ORDINAL AND)THE? ORDINAL END",
    only="en",
)
def _day_of_this_month(match: Match) -> When:
    """Read a day without a month: "on the 15th", "from the 3rd to the 7th"."""
    month, day = month_of_heading(match), match.value(TokenKind.ORDINAL)
    return calendar.monthly_day(day) if month is None else calendar.yearly_day(month, day)


@DATES.rule("[ON BY UNTIL FOR] THE ORDINAL", "(?<=UNKNOWN)THE ORDINAL END", only="en")
def _tagged_day_of_this_month(match: Match) -> When | None:
    """Read a bare ordinal that is a day by its tag: "rent due the 1st"; not a floor's."""
    context = match.context
    if len(match.tokens) == 2 and context.word_before(match.start).casefold() not in ("due", "is"):
        return None
    tag = context.tag_after(match.end)
    noun = tag[:1] in ("N", "J", "C", "") and tag != "CC" and len(match.tokens) > 2
    if OF_ANOTHER.match(context.text, match.end):
        return None
    return None if noun else calendar.monthly_day(match.value(TokenKind.ORDINAL))


@DATES.rule("DAY_WORD UNIT", only="en")
def _week_from_day(match: Match) -> When | None:
    """Tomorrow week: a week after tomorrow."""
    offset = match.value(TokenKind.DAY_WORD)
    if match.unit() is not Precision.WEEK or offset < 0:
        return None
    return _day(match.now, offset + 7)


@DATES.rule("DAY_WORD DAY_PART?")
def _day_word(match: Match) -> When | None:
    """Read a word for a day: "yesterday", "heute Abend", "ayer por la mañana"."""
    day = _day(match.now, match.value(TokenKind.DAY_WORD))
    if match.has(TokenKind.DAY_PART):
        return _part_of_day(day, match.value(TokenKind.DAY_PART))
    if match.context.text[match.start : match.end].casefold() == "hier" and not match.in_language():
        return None  # German for "here"
    return day


@DATES.rule("PART_OF_DAY", "WHICH DAY_PART")
def _named_part_of_day(match: Match) -> When | None:
    """Read a part of today or yesterday: "tonight", "last night", "esta tarde"."""
    if match.has(TokenKind.WHICH) and match.value(TokenKind.WHICH) < 0 and _is_somebodys(match):
        return None
    if match.has(TokenKind.PART_OF_DAY):
        offset, part = divmod(match.value(TokenKind.PART_OF_DAY), 10)
    else:
        offset, part = match.value(TokenKind.WHICH), match.value(TokenKind.DAY_PART)
    return _part_of_day(_day(match.now, offset), part)


def _is_somebodys(match: Match) -> bool:
    """Return True for a night of a stay or a run: "her last night", "the last night of ..."."""
    before = match.context.word_before(match.start).casefold()
    own = _possessed(match) or before in ("the", "s")
    return own or spans_between.ends_a_stay(match)


def _part_of_day(day: TimeSpan, part: int) -> TimeSpan:
    """Return the morning (0), afternoon, evening or night of a day.

    Raises:
        ValueError: the span is not a day.
    """
    if day.precision is not Precision.DAY:
        raise ValueError("only a day has a morning")
    first, last = _DAY_STARTS[part]
    start, end = (calendar.plus(day.start, timedelta(hours=hour)) for hour in (first, last))
    return TimeSpan(start, end, Precision.HOUR)


@DATES.rule("WHICH UNIT")
@DATES.rule("UNIT WHICH", only="es fr")
def _this_or_next(match: Match) -> When | None:
    """Read a neighbouring period: "last week", "nächstes Jahr", "la semaine prochaine"."""
    which, unit = match.value(TokenKind.WHICH), match.unit()
    if unit in (Precision.MINUTE, Precision.HOUR, Precision.DAY) or _possessed(match):
        return None  # "this minute", "the last day", "my last year there" are told of a story
    if which != 0 and match.context.word_before(match.start) == "the":
        return _latest(match, unit, 1) if which < 0 else None
    return calendar.period(unit, calendar.shift(match.now, unit, which))


@DATES.rule("WHICH [MONTH SEASON WEEKDAY QUARTER HOLIDAY]")
@DATES.rule("[MONTH SEASON WEEKDAY HOLIDAY] WHICH", only="es fr")
@DATES.rule("WHICH MAYBE_MONTH END", only="en")
def _which_recurring(match: Match) -> When | None:
    """Read a recurring period with "last", "this" or "next": "last spring", "this Friday".

    "Last" is the latest that is over, "this" the one around the reference or else in its year
    or week, "next" the first to begin.
    """
    which = match.value(TokenKind.WHICH)
    named = next(token for token in match.tokens if token.kind is not TokenKind.WHICH)
    recurring = match.context.when(named)
    if isinstance(recurring, TimeSpan) or _possessed(match):
        return None
    if which == 0:
        return _this(match, recurring)
    if which > 0:
        return _next(match, recurring)
    return recurring.over(match.now)


def _next(match: Match, recurring: Recurring) -> TimeSpan:
    """Return the first occurrence to begin; in a statement not today, tomorrow or the day after it.

    Of these people say "tomorrow" or "this Thursday": next Thursday is then a week later.
    """
    first = recurring.ahead(match.now)
    near = first.start - match.now < _NEAR and recurring.cycle is Precision.WEEK
    if match.context.statement is None or not near or first.precision is not Precision.DAY:
        return first
    return recurring.ahead(first.end)


def _this(match: Match, recurring: Recurring) -> TimeSpan:
    """Return the current occurrence, or the one by the statement's tense: "this weekend"."""
    current = recurring.current(match.now)
    if match.context.statement is None:
        return current
    tense = match.tense()
    if tense == "past" and current.start > match.now:
        return recurring.past(match.now)
    if tense == "future" and current.end <= match.now and recurring.cycle is Precision.WEEK:
        return recurring.coming(match.now)
    return current


def _possessed(match: Match) -> bool:
    """Return True for a period of a story: "my last year at school", "last week of the term"."""
    context = match.context
    of_another = context.word_after(match.end) in ("of", "de", "del", "du", "des")
    if context.is_owned(match.start) or of_another:
        return True
    return context.language.code == "en" and is_in_a_month(match)


@DATES.rule("[ROLLING WHICH] QUANTITY ANY_UNIT", "ROLLING UNIT")
@DATES.rule("QUANTITY WHICH ANY_UNIT", only="es fr")
@DATES.rule("SINCE QUANTITY ANY_UNIT", only="de fr")
def _rolling(match: Match) -> When | None:
    """Read a span up to or from now: "the past two weeks", "the next 10 days"."""
    which = match.value(TokenKind.WHICH) if match.has(TokenKind.WHICH) else -1
    if which == 0 or _possessed(match) or not _introduced(match):
        return None
    number = 1 if len(match.tokens) == 2 else _quantity(match)[1]
    if which > 0:
        end = calendar.shift(match.now, match.unit(), number)
        return TimeSpan(match.now, end, Precision.RANGE)
    return _latest(match, match.unit(), number)


def _introduced(match: Match) -> bool:
    """Return True unless the word before makes "last two weeks" a duration."""
    context = match.context
    return context.language.code != "en" or context.word_before(match.start).casefold() in WORDS[
        "before_last"
    ] | {""}


def _latest(match: Match, unit: Precision, number: int) -> TimeSpan:
    """Return the latest units up to now; days and longer units begin at midnight."""
    start = calendar.shift(match.now, unit, -number)
    if unit not in (Precision.MINUTE, Precision.HOUR):
        start = calendar.period(Precision.DAY, start).start
    return TimeSpan(start, match.now, Precision.RANGE)


@DATES.rule("[NUMBER COUNT ONE] ANY_UNIT AGO DAY_WORD", "FORTNIGHT AGO DAY_WORD", only="en")
def _to_the_day(match: Match) -> When:
    """Read an exact distance: "a year ago today", "two weeks ago yesterday"."""
    day = calendar.shift(match.now, Precision.DAY, match.value(TokenKind.DAY_WORD))
    if match.has(TokenKind.FORTNIGHT):
        day = calendar.shift(day, Precision.WEEK, -2)
    else:
        day = calendar.shift(day, match.unit(), -_quantity(match)[0])
    return calendar.period(Precision.DAY, day)


@DATES.rule("QUANTITY ANY_UNIT AGO", "AGO_BEFORE QUANTITY ANY_UNIT")
@DATES.rule("EARLIER QUANTITY ANY_UNIT", only="de")
def _ago(match: Match) -> When | None:
    """Read a distance into the past: "two weeks ago", "vor zwei Wochen", "hace dos semanas".

    The calendar unit that lies so many units back, as TimeML reads it: a day, week, month, year.
    """
    before = match.context.text[max(0, match.start - 30) : match.start]
    return None if MORE.search(before) else _away(match, -1)


@DATES.rule("[NUMBER COUNT] WEEKDAYS AGO")
def _weekdays_ago(match: Match) -> When:
    """Read a distance in weekdays: "two Fridays ago"."""
    latest = calendar.weekly(match.value(TokenKind.WEEKDAYS)).over(match.now)
    weeks = timedelta(weeks=_quantity(match)[0] - 1)
    return TimeSpan(latest.start - weeks, latest.end - weeks, latest.precision)


@DATES.rule("QUANTITY ANY_UNIT HENCE", "HENCE_BEFORE QUANTITY ANY_UNIT")
def _hence(match: Match) -> When:
    """Read a distance into the future: "two weeks from now", "dans deux semaines"."""
    return _away(match, 1)


@DATES.rule("IN QUANTITY ANY_UNIT", only="en de")
def _in_some_time(match: Match) -> When | None:
    """Read "in two weeks" as a distance into the future; None if it is a duration.

    After a number it is one, as in "four tracks in two days" and "drinks ten cups in a day".
    """
    short = match.unit() in (Precision.MINUTE, Precision.HOUR)
    before = match.context.word_before(match.start).casefold()
    long = before in WORDS["in_so_long"] or spans_between.tells_how_long(match)
    if short or long or IDIOMS.search(match.sentence()):
        return None
    shown = match.context.direction(match.start, match.end)
    is_present = match.has(TokenKind.ONE) and shown and shown.evidence < Evidence.TENSE
    is_counted = COUNTED.search(match.context.sentence_before(match.start)) is not None
    if (shown and shown.tense == "past") or (is_counted and (shown is None or is_present)):
        return None
    return _away(match, 1)


@DATES.rule("FORTNIGHT [AGO HENCE]", "IN FORTNIGHT", only="en")
def _fortnight(match: Match) -> When | None:
    """Read a fortnight as two weeks: "a fortnight ago", "in a fortnight"."""
    direction = -1 if match.has(TokenKind.AGO) else 1
    if match.has(TokenKind.IN) and match.tense() == "past":
        return None  # "read it in a fortnight"
    week = calendar.shift(match.now, Precision.WEEK, 2 * direction)
    return calendar.period(Precision.WEEK, week)


def _away(match: Match, direction: int) -> TimeSpan:
    """Return the calendar unit at the matched distance, before (-1) or after (1) now."""
    low, high = _quantity(match)
    unit = match.unit()
    ends = [
        calendar.period(unit, calendar.shift(match.now, unit, direction * number))
        for number in (low, high)
    ]
    if low == high:
        return ends[0]
    return TimeSpan(min(ends).start, max(ends).end, Precision.RANGE)


def _quantity(match: Match) -> tuple[int, int]:
    """Return the smallest and largest number that a quantity can mean."""
    token = match.all(TokenKind.NUMBER, TokenKind.COUNT, TokenKind.FEW, TokenKind.ONE)[0]
    known = {TokenKind.FEW: FEW, TokenKind.ONE: (1, 1)}
    return known.get(token.kind) or (token.value, token.value)


def _day(timestamp: datetime, offset: int) -> TimeSpan:
    return calendar.period(Precision.DAY, calendar.shift(timestamp, Precision.DAY, offset))


@CONTAINERS.rule(
    "[TIME MONTH SEASON QUARTER HOLIDAY WEEKDAY] [COMMA OF DOT DASH]? ARTICLE [YEAR TIME]",
    "YEAR DASH? QUARTER",
    "TIME COMMA? [IN ON]? [MONTH SEASON QUARTER WEEKDAY TIME]",
    "(?<=IN)YEAR COMMA? IN MONTH",
)
def _contained(match: Match) -> When | None:
    """Read a recurring time with its year or week, in either order."""
    first, second = match.whens()
    if isinstance(first, TimeSpan):
        first, second = second, first
    if not isinstance(first, Recurring) or isinstance(second, Recurring):
        return None
    if match.has(TokenKind.DOT) and not _abbreviated(match.tokens[0]):
        return None
    if match.has(TokenKind.DASH) and not match.has(TokenKind.QUARTER):
        return None
    if second.precision not in _CONTAINED_IN[first.cycle]:
        return None
    return first.within(second)


@CONTAINERS.rule("[TIME MONTH] COUNT END", "TIME COMMA ONE WEEKDAY COMMA COUNT END", only="en")
def _spelled_year(match: Match) -> When | None:
    """Read a date with a spelled year, "November sixty-one": the latest that has begun."""
    date, number = match.whens()[0], match.value(TokenKind.COUNT)
    is_day = match.tokens[0].kind is TokenKind.TIME
    if not isinstance(date, Recurring) or date.cycle is not Precision.YEAR:
        return None
    if number < 20 or (not is_day and number <= 31):
        return None  # "May twenty" is a day
    return date.within(calendar.year(match.now.year - (match.now.year - number) % 100))


@NAMED_DAYS.rule("WEEKDAY COMMA? ARTICLE TIME", "MAYBE_WEEKDAY COMMA? TIME")
@NAMED_DAYS.rule("TIME COMMA ONE WEEKDAY", only="en de")
def _weekday_of_date(match: Match) -> When | None:
    """Read a date with its weekday; without a year, it is the nearest that fits."""
    weekday = match.value(TokenKind.WEEKDAY, TokenKind.MAYBE_WEEKDAY)
    date = match.context.when(match.all(TokenKind.TIME)[0])
    if weekday == calendar.WEEKEND:
        return _weekend_of_dates(date, match.now)
    if date.precision is not Precision.DAY or isinstance(date, TimeSpan):
        return date if date.precision is Precision.DAY else None

    def checked(day: TimeSpan) -> TimeSpan:
        if day.start.weekday() != weekday:
            raise ValueError("that day is another weekday in this year")
        return day

    return date.change(checked, Precision.DAY).nearest(match.now)


def _weekend_of_dates(date: When, now: datetime) -> When | None:
    """Return the days of "the weekend 14/15 September", in a year in which they are one."""

    def checked(days: TimeSpan) -> TimeSpan:
        if days.duration != _WEEKEND or days.start.weekday() != _SATURDAY:
            raise ValueError("these days are no weekend in this year")
        return days

    if isinstance(date, TimeSpan):
        return checked(date)
    return date.change(checked, Precision.RANGE).nearest(now)


@DETAILS.rule("[TIME WEEKDAY HOLIDAY] COMMA? [AT TO AROUND ON]? [CLOCK OCLOCK]")
@DETAILS.rule("[CLOCK OCLOCK] COMMA? [ON OF]? THE? [TIME WEEKDAY HOLIDAY]")
def _clock_time(match: Match) -> When:
    """Read a day with a clock time: "Friday at 3 pm", "morgen um 15 Uhr"."""
    clock = match.all(TokenKind.CLOCK, TokenKind.OCLOCK)[0]
    precision = Precision.MINUTE if clock.kind is TokenKind.CLOCK else Precision.HOUR

    def at(day: TimeSpan) -> TimeSpan:
        time = calendar.period(Precision.DAY, day.start).start + timedelta(minutes=clock.value)
        if time < day.start:
            time += timedelta(days=1)  # one o'clock of last night
        if day.precision not in (Precision.DAY, Precision.HOUR) or not day.contains(time):
            raise ValueError("only a day, or a part of it, has clock times")
        return calendar.period(precision, time)

    return _mapped(match.whens()[-1], at, precision)


@DETAILS.rule("[TIME WEEKDAY] DAY_PART", "THE DAY_PART OF THE? TIME")
def _part_of_named_day(match: Match) -> When:
    """Read a part of a day: "Friday night", "the morning of 7 May"."""
    part = match.value(TokenKind.DAY_PART)
    return _mapped(match.whens()[-1], lambda day: _part_of_day(day, part), Precision.HOUR)


@DETAILS.rule("EDGE DASH? OF? THE? [TIME YEAR MONTH SEASON QUARTER]")
def _edge(match: Match) -> When:
    """Read a third of a period, in whole months or days: "early March", "Ende Mai"."""
    third = match.value(TokenKind.EDGE)
    return _mapped(match.whens()[0], lambda span: _third(span, third), Precision.RANGE)


@DETAILS.rule("(?<=[SINCE UNTIL BY] THE)EDGE THE UNIT", only="en")
def _edge_of_this(match: Match) -> When:
    """Read the time since the beginning of a period: "since the beginning of the year"."""
    return _third(calendar.period(match.unit(), match.now), match.value(TokenKind.EDGE))


@DETAILS.rule("EDGE THE? UNIT", only="en")
def _edge_of_current(match: Match) -> When | None:
    """Read the end of a period, the current one by default: "by end of month"."""
    context = match.context
    spelled = context.text[match.start : match.end].casefold()
    if context.statement is None or " of " not in spelled:
        return None
    attribute = context.tag_after(match.end)[:2] == "NN"  # "end of month figures"
    if attribute or context.word_after(match.end) == "of" or match.tense() == "past":
        return None
    return _third(calendar.period(match.unit(), match.now), match.value(TokenKind.EDGE))


def _third(span: TimeSpan, third: int) -> TimeSpan:
    """Return the first (0), second or last third of a span, in whole months or days."""
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
    """Read the week or weekend of a date: "the week of 7 May"."""
    named, when = match.all(TokenKind.UNIT, TokenKind.WEEKDAY)[0], match.whens()[-1]
    if not isinstance(when, TimeSpan) and when.cycle is not Precision.YEAR:
        when = match.span()
    if when.precision is not Precision.DAY:
        return None
    if named.kind is TokenKind.UNIT:
        return (
            _mapped(when, _whole_week, Precision.WEEK) if match.unit() is Precision.WEEK else None
        )
    if named.value != calendar.WEEKEND:
        return None
    weekend = calendar.weekly(named.value)
    return _mapped(when, lambda day: weekend.within(_whole_week(day)), weekend.precision)


def _whole_week(day: TimeSpan) -> TimeSpan:
    return calendar.period(Precision.WEEK, day.start)


@DETAILS.rule("[RANK WHICH] [UNIT WEEKDAY] [OF IN] THE? [TIME MONTH]")
def _counted_in_month(match: Match) -> When | None:
    """Read a counted part of a month: "the first week of May", "the last Friday in June"."""
    month = match.span()
    last = match.has(TokenKind.WHICH)
    if month.precision is not Precision.MONTH or (last and match.value(TokenKind.WHICH) >= 0):
        return None
    weeks = 0 if last else match.value(TokenKind.RANK) - 1
    if match.has(TokenKind.WEEKDAY):
        weekday = calendar.weekly(match.value(TokenKind.WEEKDAY))
        first = weekday.over(month.end) if last else weekday.ahead(month.start)
        span = calendar.days(first.start + timedelta(weeks=weeks), 1, Precision.DAY)
    elif match.unit() in (Precision.DAY, Precision.WEEK):
        number = 1 if match.unit() is Precision.DAY else 7
        ahead = -number if last else match.value(TokenKind.RANK) * number - number
        start = (month.end if last else month.start) + timedelta(days=ahead)
        span = calendar.days(start, number, match.unit())
    else:
        return None
    return span if month.contains(span.start) else None


def _mapped(when: When, step: Step, precision: Precision) -> When:
    """Apply a step to a span, or to each occurrence of a recurring time."""
    return when.change(step, precision) if isinstance(when, Recurring) else step(when)
