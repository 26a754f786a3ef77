"""First pass of the grammar: dates, and times that are told from now."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from hindsight_integrations.language.time import calendar
from hindsight_integrations.language.time.calendar import When
from hindsight_integrations.language.time.grammar import Grammar, Match
from hindsight_integrations.language.time.lexer import Token
from hindsight_integrations.language.time.words import COUNTED, Kind
from hindsight_integrations.timespan import Precision, TimeSpan

LEAVES = Grammar()

FEW = (2, 5)
"""What "a few" may be, from and to."""

_DAY_STARTS = ((6, 12), (12, 18), (18, 24), (18, 30))
"""Hours of morning, afternoon, evening and night; the night ends on the next day."""

_LONGEST_ABBREVIATION = len("Sept")

_HEAT = re.compile(r"\b(?:temperatures?|degrees|heat|humidity)\b")
"""Beside these words "the 90s" are degrees."""

_INTRODUCING = frozenset({"", "the", "these", "in", "over", "for", "during", "within"})
"""After these words "last two weeks" is a time; batteries last two weeks, too."""

_IDIOMS = re.compile(r"\b(?:can|could|able|takes?|within|once|twice|times|usually|always|every)\b")
"""Beside these words "in two weeks" is how long something takes."""


@LEAVES.rule("DATE")
@LEAVES.rule("ON DATE", only="de es fr")
def _numeric_date(match: Match) -> When:
    """2023-05-07, with or without a time; 7.5.2023; 5/7/2023, month first if both could be."""
    date = match.all(Kind.DATE)[0]
    text = match.scene.text[date.start : date.end]
    if text[4:5] == "-":
        moment = datetime.fromisoformat(text)
        if len(text) == len("2023-05-07"):
            return calendar.period(Precision.DAY, moment.replace(tzinfo=UTC))
        if moment.tzinfo is not None:
            moment = moment.astimezone(match.scene.zone)
        return calendar.period(Precision.MINUTE, moment.replace(tzinfo=UTC))
    first, second, third = (int(number) for number in re.findall(r"[0-9]+", text))
    if first > 31:
        year, month, day = first, second, third
    else:
        year = third if third > 99 else third + (1900 if third >= 69 else 2000)
        english = match.scene.language.code == "en" and "." not in text
        month, day = (first, second) if english else (second, first)
        if month > 12:
            month, day = day, month
    return calendar.period(Precision.DAY, datetime(year, month, day, tzinfo=UTC))


@LEAVES.rule("DIGITS DOT? [TO DASH UNTIL AND] ARTICLE DIGITS DOT? OF? THE? MONTH")
@LEAVES.rule("DIGITS IN DIGITS MONTH", only="fr")
@LEAVES.rule("MONTH DIGITS [TO DASH UNTIL] DIGITS", only="en")
def _days_of_month(match: Match) -> When | None:
    """7-9 May, "entre el 7 y el 9 de mayo", May 7 to 9."""
    first, last = match.all(Kind.NUMBER, Kind.ORDINAL)
    number = last.value - first.value + 1
    if number < 2:
        return None
    month = match.value(Kind.MONTH)
    calendar.yearly_day(month, last.value)  # raises if the month has no such day
    return calendar.yearly_day(month, first.value, number)


@LEAVES.rule(
    "DIGITS OF? THE? MONTH",
    "ORDINAL OF? MAYBE_MONTH",
    "RANK OF MONTH",
    "(?<=ON)NUMBER MAYBE_MONTH",
    "NUMBER MAYBE_MONTH (?=COMMA? YEAR)",
)
@LEAVES.rule("NUMBER DOT MONTH", only="de")
@LEAVES.rule("RANK MONTH", only="fr de")
@LEAVES.rule(
    "MONTH THE? ORDINAL",
    "(?<!IN)MONTH DOT? NUMBER",
    "MAYBE_MONTH ORDINAL",
    "(?<=[ON SINCE UNTIL BY FROM BEFORE AFTER])MAYBE_MONTH NUMBER",
    "MAYBE_MONTH NUMBER (?=COMMA? YEAR)",
    "MAYBE_MONTH NUMBER END",
    only="en",
)
def _day_of_month(match: Match) -> When | None:
    """7 May, "the 7th of May", May 7th, "7. Mai", "7 de mayo", "1er mai"; the year may follow."""
    month = match.all(Kind.MONTH, Kind.MAYBE_MONTH)[0]
    if match.has(Kind.DOT) and month is match.tokens[0] and not abbreviated(month):
        return None
    if match.scene.word_after(match.end).casefold() in COUNTED | {"of"}:
        return None
    return calendar.yearly_day(month.value, match.value(Kind.NUMBER, Kind.ORDINAL, Kind.RANK))


def abbreviated(month: Token) -> bool:
    """Whether a dot after the month's name belongs to it, and ends no sentence."""
    return month.end - month.start <= _LONGEST_ABBREVIATION


@LEAVES.rule("(?<=[IN SINCE UNTIL FROM])MAYBE_MONTH", "MAYBE_MONTH (?=OF? YEAR)", only="en")
def _lower_case_month(match: Match) -> When:
    """Chat's "in may", "may 2021"."""
    return match.scene.when(match.tokens[0])


@LEAVES.rule(
    "[RANK ORDINAL] UNIT (?=OF? THE? YEAR|OF THE? WHICH UNIT|OF THE? UNIT WHICH)",
    "NUMBER DOT UNIT (?=YEAR)",
)
def _ranked_quarter(match: Match) -> When | None:
    """The third quarter of 2022, "3. Quartal 2022"; the year is read by the next pass."""
    if match.unit() is not Precision.QUARTER:
        return None
    number = match.value(Kind.RANK, Kind.ORDINAL, Kind.NUMBER)
    return calendar.yearly_quarter(number) if number <= 4 else None


@LEAVES.rule("[RANK ORDINAL] UNIT", "NUMBER DOT UNIT")
def _century(match: Match) -> When | None:
    """The 19th century; not 20th Century Fox."""
    if match.unit() is not Precision.CENTURY or match.scene.word_after(match.end).istitle():
        return None
    return _whole(Precision.CENTURY, 100 * (match.value(Kind.RANK, Kind.ORDINAL, Kind.NUMBER) - 1))


@LEAVES.rule("DECADE")
def _decade(match: Match) -> When | None:
    """The 1990s; the 1800s are a century."""
    first = match.value(Kind.DECADE)
    if first < 1000:
        return None
    century = first % 100 == 0 and first != 2000
    return _whole(Precision.CENTURY if century else Precision.DECADE, first)


@LEAVES.rule("THE DECADE", "(?<=THE EDGE)DECADE", "(?<=THE EDGE DASH)DECADE")
def _decade_of_this_age(match: Match) -> When | None:
    """The 90s, "the late nineties"; but not "in his 30s"."""
    first = match.value(Kind.DECADE)
    return _short_decade(match, first) if first < 100 else None


@LEAVES.rule("UNITS [NUMBER YEAR]", only="es fr")
def _decade_of_years(match: Match) -> When | None:
    """The 90s as "los años 90", "les années 1990"."""
    first = match.value(Kind.NUMBER, Kind.YEAR)
    if match.unit() is not Precision.YEAR or first % 10:
        return None
    return _whole(Precision.DECADE, first) if first >= 1000 else _short_decade(match, first)


def _short_decade(match: Match, first: int) -> When | None:
    """The latest decade of that number to have begun, unless they are degrees."""
    if _HEAT.search(match.sentence()):
        return None
    return _whole(Precision.DECADE, match.now.year - (match.now.year - first) % 100)


def _whole(unit: Precision, year: int) -> TimeSpan:
    return calendar.period(unit, datetime(year, 1, 1, tzinfo=UTC))


@LEAVES.rule("ANY_UNIT YEAR")
def _year_named(match: Match) -> When | None:
    """The year 2019, "im Jahr 2019"."""
    return match.whens()[0] if match.unit() is Precision.YEAR else None


@LEAVES.rule("YEAR DASH NUMBER")
def _winter_season(match: Match) -> When | None:
    """The year and the next, of a league or school: 2012-13; but 2004-05 is a month, too."""
    first, dash, second = match.tokens
    text = match.scene.text
    if second.value <= 12 and text[dash.start] == "-":
        return None
    if (first.value + 1) % 10 ** (second.end - second.start) != second.value:
        return None
    return calendar.months(first.value, 1, 24, Precision.RANGE)


@LEAVES.rule("[NUMBER YEAR] ERA", only="en")
def _year_of_era(match: Match) -> When:
    """476 AD."""
    return calendar.year(match.value(Kind.NUMBER, Kind.YEAR))


@LEAVES.rule("ON THE ORDINAL (?=$|[STOP DOT COMMA CLOSE TO AND AT IN FOR])", only="en")
def _day_of_this_month(match: Match) -> When:
    """On the 15th."""
    return calendar.monthly_day(match.value(Kind.ORDINAL))


@LEAVES.rule("DAY_WORD DAY_PART?")
def _day_word(match: Match) -> When | None:
    """Yesterday, "heute Abend", "ayer por la mañana"."""
    day = _day(match.now, match.value(Kind.DAY_WORD))
    if match.has(Kind.DAY_PART):
        return part_of_day(day, match.value(Kind.DAY_PART))
    if match.scene.text[match.start : match.end].casefold() == "hier" and not match.in_language():
        return None  # German for "here"
    return day


@LEAVES.rule("PART_OF_DAY", "WHICH DAY_PART")
def _part_of_day(match: Match) -> When | None:
    """Tonight, last night, this morning, "esta tarde", "ce soir"."""
    if match.has(Kind.PART_OF_DAY):
        offset, part = divmod(match.value(Kind.PART_OF_DAY), 10)
    else:
        offset, part = match.value(Kind.WHICH), match.value(Kind.DAY_PART)
    return part_of_day(_day(match.now, offset), part)


def part_of_day(day: TimeSpan, part: int) -> TimeSpan:
    """The morning (0), afternoon, evening or night of a day.

    Raises:
        ValueError: the span is not a day.
    """
    if day.precision is not Precision.DAY:
        raise ValueError("only a day has a morning")
    first, last = _DAY_STARTS[part]
    start, end = (calendar.plus(day.start, timedelta(hours=hour)) for hour in (first, last))
    return TimeSpan(start, end, Precision.HOUR)


@LEAVES.rule("WHICH UNIT")
@LEAVES.rule("UNIT WHICH", only="es fr")
def _this_or_next(match: Match) -> When | None:
    """Last week, this month, "nächstes Jahr", "la semaine prochaine"."""
    which, unit = match.value(Kind.WHICH), match.unit()
    if unit in (Precision.MINUTE, Precision.HOUR, Precision.DAY) or _possessed(match):
        return None  # "this minute", "the last day", "my last year there" are told of a story
    if which != 0 and match.scene.word_before(match.start) == "the":
        return _latest(match, unit, 1) if which < 0 else None
    return calendar.period(unit, calendar.shift(match.now, unit, which))


@LEAVES.rule("WHICH [MONTH SEASON WEEKDAY QUARTER HOLIDAY]")
@LEAVES.rule("[MONTH SEASON WEEKDAY HOLIDAY] WHICH", only="es fr")
@LEAVES.rule("WHICH MAYBE_MONTH END", only="en")
def _which_recurring(match: Match) -> When | None:
    """Last spring, this Friday, "próximo lunes", "le printemps dernier".

    "Last" is the latest that is over, "this" the one around the reference or else in its year
    or week, "next" the first to begin.
    """
    which = match.value(Kind.WHICH)
    named = next(token for token in match.tokens if token.kind is not Kind.WHICH)
    recurring = match.scene.when(named)
    if isinstance(recurring, TimeSpan) or _possessed(match):
        return None
    if which == 0:
        return recurring.current(match.now)
    if which > 0:
        return recurring.ahead(match.now)
    return recurring.over(match.now)


def _possessed(match: Match) -> bool:
    """Whether it belongs to someone's story: "my last year at school", "last week of the term"."""
    scene = match.scene
    entries = scene.language.folded.get(scene.word_before(match.start).casefold(), ())
    owned = any(entry.kind is Kind.OWN for entry in entries)
    return owned or (scene.language.code == "en" and scene.word_after(match.end) == "of")


@LEAVES.rule("[ROLLING WHICH] QUANTITY ANY_UNIT", "ROLLING UNIT")
@LEAVES.rule("QUANTITY WHICH ANY_UNIT", only="es fr")
@LEAVES.rule("SINCE QUANTITY ANY_UNIT", only="de fr")
def _rolling(match: Match) -> When | None:
    """The past two weeks, the next 10 days, "les deux dernières semaines"."""
    which = match.value(Kind.WHICH) if match.has(Kind.WHICH) else -1
    if which == 0 or _possessed(match) or not _introduced(match):
        return None
    number = 1 if len(match.tokens) == 2 else _quantity(match)[1]
    if which > 0:
        end = calendar.shift(match.now, match.unit(), number)
        return TimeSpan(match.now, end, Precision.RANGE)
    return _latest(match, match.unit(), number)


def _introduced(match: Match) -> bool:
    """Whether the words before let "last two weeks" be a time, not how long a thing lasts."""
    scene = match.scene
    return scene.language.code != "en" or scene.word_before(match.start).casefold() in _INTRODUCING


def _latest(match: Match, unit: Precision, number: int) -> TimeSpan:
    """The last so many units up to now, from the start of a day if they are days or longer."""
    start = calendar.shift(match.now, unit, -number)
    if unit not in (Precision.MINUTE, Precision.HOUR):
        start = calendar.period(Precision.DAY, start).start
    return TimeSpan(start, match.now, Precision.RANGE)


@LEAVES.rule("QUANTITY ANY_UNIT AGO", "AGO_BEFORE QUANTITY ANY_UNIT")
@LEAVES.rule("EARLIER QUANTITY ANY_UNIT", only="de")
def _ago(match: Match) -> When | None:
    """Two weeks ago, "vor zwei Wochen", "hace dos semanas", "il y a deux semaines".

    The calendar unit that lies so many units back, as TimeML reads it: a day, week, month, year.
    """
    return None if match.scene.word_before(match.start).casefold() == "half" else _away(match, -1)


@LEAVES.rule("[NUMBER COUNT] WEEKDAYS AGO")
def _weekdays_ago(match: Match) -> When:
    """Two Fridays ago."""
    latest = calendar.weekly(match.value(Kind.WEEKDAYS)).over(match.now)
    weeks = timedelta(weeks=_quantity(match)[0] - 1)
    return TimeSpan(latest.start - weeks, latest.end - weeks, latest.precision)


@LEAVES.rule("QUANTITY ANY_UNIT HENCE", "HENCE_BEFORE QUANTITY ANY_UNIT")
def _hence(match: Match) -> When:
    """Two weeks from now, "dans deux semaines", "dentro de dos semanas"."""
    return _away(match, 1)


@LEAVES.rule("IN QUANTITY ANY_UNIT", only="en de")
def _in_some_time(match: Match) -> When | None:
    """In two weeks, unless that is how long something took."""
    short = match.unit() in (Precision.MINUTE, Precision.HOUR)
    if short or _IDIOMS.search(match.sentence()) or match.tense() == "past":
        return None
    return _away(match, 1)


def _away(match: Match, direction: int) -> TimeSpan:
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
    """The least and most that the number can mean."""
    token = match.all(Kind.NUMBER, Kind.COUNT, Kind.FEW, Kind.ONE)[0]
    if token.kind is Kind.FEW:
        return FEW
    return (1, 1) if token.kind is Kind.ONE else (token.value, token.value)


def _day(moment: datetime, offset: int) -> TimeSpan:
    return calendar.period(Precision.DAY, calendar.shift(moment, Precision.DAY, offset))
