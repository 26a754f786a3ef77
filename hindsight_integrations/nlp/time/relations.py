"""Last pass of the grammar, and times given by an event.

Ranges ("from May to July"), open ends ("since 2019"), distances ("two weeks before 7 May"), the
prepositions that make a word a time ("in March"); and "before Alice joined Google", "the week
after the launch", where a memory has to tell the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import EARLIEST, LATEST, Recurring, When, plus
from hindsight_integrations.nlp.time.dates import FEW
from hindsight_integrations.nlp.time.direction import is_dated, is_habit, is_moved_from
from hindsight_integrations.nlp.time.grammar import UNITS, Grammar, Match, ParsedText
from hindsight_integrations.nlp.time.idioms import is_the_most
from hindsight_integrations.nlp.time.lexer import WORDS, Token, TokenKind
from hindsight_integrations.timespan import Precision, TimeSpan, as_utc

RELATIONS = Grammar()
"""The last pass."""

_SHORT_WEEKDAYS = frozenset({"Mon", "Tue", "Tues", "Thu", "Thurs", "Fri", "tues", "thurs"})

_POSSESSIVE = re.compile(r"['’]s\b")

_YEAR = timedelta(days=365)

_RECENT = range(1900, 2100)
"""Years likely enough to need no preposition: "2004 to 2005", but not "1500 to 2000"."""


@RELATIONS.rule(
    "[FROM SINCE OF IN] ARTICLE WHEN [TO UNTIL DASH] ARTICLE WHEN",
    "BETWEEN ARTICLE WHEN AND ARTICLE WHEN",
    "(?<=OPEN)WHEN DASH WHEN",
    "TIME [TO UNTIL DASH] ARTICLE TIME",
    "(IN MONTH AND|MONTH [TO UNTIL DASH]) TIME",
)
def _range(match: Match) -> When | None:
    """Read a range of two times: "from 2004 to 2005", "between May and July 2021"."""
    weekly = match.has(TokenKind.WEEKDAY)
    if weekly and is_habit(match.context.text, match.start, match.end):
        return None
    if match.has(TokenKind.FROM) and is_moved_from(match.context.text, match.start):
        return _moved_to(match)
    if match.context.word_before(match.start).casefold() in WORDS["changes"]:
        return None
    last_words = match.context.text[match.tokens[-1].start : match.end]
    if match.has(TokenKind.DASH) and not any(character.isdigit() for character in last_words):
        return None  # a dash between clauses: "we met last Friday - next week we go on"
    return _between(match, *match.whens())


def _moved_to(match: Match) -> When | None:
    """Read the new time of a move, "moves from October to January"; None for two numbers."""
    whens, years = match.whens(), match.all(TokenKind.YEAR)
    return whens[-1] if len(years) < len(whens) else None


@RELATIONS.rule("YEAR [TO UNTIL DASH] YEAR", "TIME [TO UNTIL DASH] YEAR", "YEAR [TO DASH] TIME")
def _range_of_years(match: Match) -> When | None:
    """Read a range of years without preposition: "2004 to 2005"."""
    likely = all(token.value in _RECENT for token in match.all(TokenKind.YEAR))
    of_things = match.has(TokenKind.TO) and match.context.tag_after(match.end)[:2] == "NN"
    return _range(match) if likely and not of_things else None  # "2019 to 2021 models"


def _between(match: Match, first: When, last: When) -> TimeSpan:
    """Return the span from the start of one time to the end of the other, nearest if one recurs."""
    if isinstance(first, Recurring) and isinstance(last, Recurring):
        tense = match.tense() or match.context.prefer
        yearly = first.cycle is Precision.YEAR
        if yearly and last.cycle is Precision.YEAR and not match.is_past():
            return match.resolve(_from_to(first, last))
        if tense is None and not yearly:
            start = match.context.occurrence(first, "past").start
            return TimeSpan(start, match.context.occurrence(last, "future").end, Precision.RANGE)
        if tense == "future":
            first = match.resolve(first)
        else:
            last = match.context.occurrence(last, "past")
    if isinstance(first, Recurring) and isinstance(last, TimeSpan):
        first = first.past(last.start)
    if isinstance(first, TimeSpan) and isinstance(last, Recurring):
        last = last.ahead(first.start)
    first, last = match.resolve(first), match.resolve(last)
    if first.start >= last.start:
        raise ValueError("a range begins before it ends")
    return TimeSpan(first.start, last.end, Precision.RANGE)


def _from_to(first: Recurring, last: Recurring) -> Recurring:
    """Return the spans from each occurrence of one time to the next of the other."""

    def to_last(span: TimeSpan) -> TimeSpan:
        end = last.ahead(span.start).end
        if end - span.start >= _YEAR:
            raise ValueError("it ends before it begins")
        return TimeSpan(span.start, end, Precision.RANGE)

    return first.change(to_last, Precision.RANGE)


@RELATIONS.rule("(?<!FROM)WEEKDAY [TO UNTIL DASH] WEEKDAY", only="en")
def _days_of_week(match: Match) -> When | None:
    """Read a range of weekdays: "Monday to Thursday", "Mon-Thu"."""
    first, mark, last = match.tokens
    text = match.context.text
    spaced = (
        mark.kind is TokenKind.DASH and text[first.end : last.start] != text[mark.start : mark.end]
    )
    if match.context.statement is None or spaced or is_habit(text, match.start, match.end):
        return None
    if _is_timetable(text, match.start, match.end):
        return None
    return _between(match, match.context.when(first), match.context.when(last))


def _is_timetable(text: str, start: int, end: int) -> bool:
    """Return True for weekdays of every week: "Open Wed-Sun", "Mon-Fri 9-5", "(Tues & Thurs)"."""
    hours = _HOURS_AFTER.match(text, end)
    reach = text[max(0, start - _TIMETABLE_REACH) : start]
    return bool(hours) or _HOURS_BEFORE.search(reach) is not None


_TIMETABLE_REACH = 24
_HOURS_AFTER = re.compile(r":?,? ?\d{1,2}(?:[.:]\d\d)?(?: ?[ap]m)? ?(?:[-–]|to) ?\d")
_HOURS_BEFORE = re.compile(
    r"(?:\b(?:open|closed|hours|clinic|surgery)\W{0,3}(?:\w{3,9}[-–])?"
    r"|\(\w{3,9} ?(?:&|/|,|and) ?)\Z",
    re.IGNORECASE,
)


def _is_of_opening_hours(match: Match) -> bool:
    """Return True for each day of "ring 555 0142, Monday to Saturday, 8 to 18"."""
    text = match.context.text
    to_another = _TO_A_DAY.match(text, match.end)
    if to_another is None:
        before = text[max(0, match.start - _TIMETABLE_REACH) : match.start]
        return bool(_A_DAY_TO.search(before) and _HOURS_AFTER.match(text, match.end))
    return _HOURS_AFTER.match(text, to_another.end()) is not None


_TO_A_DAY = re.compile(r" (?:to|till|until) (?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.I)
_A_DAY_TO = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:to|till|until) \Z", re.I)


@RELATIONS.rule("YEAR COMMA IN MONTH", only="en")
def _month_behind_its_year(match: Match) -> When:
    """Read a month after the year it is of: "It was 1985, in May"."""
    year, month = match.value(TokenKind.YEAR), match.value(TokenKind.MONTH)
    return calendar.months(year, month, 1, Precision.MONTH)


@RELATIONS.rule("[FROM SINCE]? WHEN [TO UNTIL DASH] NOW", "SINCE ARTICLE WHEN")
def _since(match: Match) -> When | None:
    """Read a time up to the reference: "since March", "seit 2019", "2019 to present"."""
    (when,) = match.whens()
    if match.context.statement is not None and is_the_most(match):
        return None
    start = (when.past(match.now) if isinstance(when, Recurring) else when).start
    end = match.now if match.now > start else LATEST
    return None if _named_for_a_month(match) else TimeSpan(start, end, Precision.RANGE)


@RELATIONS.rule("[BEFORE EARLIER] ARTICLE WHEN")
def _before(match: Match) -> When | None:
    """Read all time up to a date: "before 2020"."""
    if _named_for_a_month(match):
        return None
    return TimeSpan(EARLIEST, match.span().start, Precision.RANGE)


@RELATIONS.rule("[AFTER LATER] ARTICLE WHEN")
def _after(match: Match) -> When | None:
    """Read all time after a date: "after May 2021"."""
    if _named_for_a_month(match):
        return None
    return TimeSpan(match.span().end, LATEST, Precision.RANGE)


@RELATIONS.rule("UNTIL ARTICLE WHEN")
def _until(match: Match) -> When | None:
    """Read a time up to a date, "until Friday": from the reference if the date is to come."""
    (when,) = match.whens()
    if isinstance(when, Recurring) and match.tense() != "past":
        when = when.coming(match.now)
    end = match.resolve(when).end
    start = match.now if end > match.now else EARLIEST
    return None if _named_for_a_month(match) else TimeSpan(start, end, Precision.RANGE)


def _named_for_a_month(match: Match) -> bool:
    """Return True if a month is a person's name: "before June joined the team"."""
    if match.tokens[-1].kind is not TokenKind.MONTH or match.context.language.code != "en":
        return False
    following = match.context.word_after(match.end)
    return following in ("is", "has") or match.context.language.past.match(following) is not None


@RELATIONS.rule("[NUMBER COUNT] ANY_UNIT [BEFORE AFTER EARLIER LATER FROM] ARTICLE WHEN")
@RELATIONS.rule("ONE ANY_UNIT [BEFORE AFTER EARLIER LATER] ARTICLE WHEN")
@RELATIONS.rule("(?<![NUMBER COUNT])ONE ANY_UNIT FROM ARTICLE WHEN")
def _at_distance(match: Match) -> When | None:
    """Read a time at a distance from another: "two weeks before 7 May", "a week from Monday".

    "Three years from 1 April" may as well be how long something lasts that begins then.
    """
    (when,) = match.whens()
    if match.has(TokenKind.FROM) and (match.is_rate() or _lasts(match, when)):
        return None
    if match.has(TokenKind.FROM) and isinstance(when, Recurring):
        when = when.ahead(match.now)
    span = match.resolve(when)
    number = match.all(TokenKind.NUMBER, TokenKind.COUNT, TokenKind.ONE)[0]
    distance = 1 if number.kind is TokenKind.ONE else number.value
    sign = -1 if match.has(TokenKind.BEFORE, TokenKind.EARLIER) else 1
    start = calendar.shift(span.start, match.unit(), sign * distance)
    if span.precision is Precision.RANGE:
        return TimeSpan(start, start + span.duration, Precision.RANGE)
    return calendar.period(span.precision, start)


def _lasts(match: Match, when: When) -> bool:
    """Return True if a phrase may be a duration: "away three weeks from Monday"."""
    named = match.context.text[match.tokens[-1].start : match.end]
    dated = isinstance(when, TimeSpan) and any(character.isdigit() for character in named)
    dated = dated or (isinstance(when, Recurring) and when.cycle is Precision.YEAR)
    return dated or match.context.word_before(match.start).casefold() in WORDS["lasting"]


@RELATIONS.rule("THE UNIT [BEFORE AFTER EARLIER LATER] ARTICLE WHEN")
def _next_to(match: Match) -> When:
    """Read the unit before or after a time: "the week after 7 May", "the day before"."""
    span, unit = match.span(), match.unit()
    precision = Precision.DAY if unit is Precision.DAY else Precision.RANGE
    if match.has(TokenKind.BEFORE, TokenKind.EARLIER):
        return TimeSpan(calendar.shift(span.start, unit, -1), span.start, precision)
    return TimeSpan(span.end, calendar.shift(span.end, unit, 1), precision)


@RELATIONS.rule("AROUND ARTICLE WHEN")
def _around(match: Match) -> When:
    """Read an approximate time, widened by its own length on each side: "around 2019"."""
    return widened(match.span(), timedelta(0))


def widened(span: TimeSpan, least: timedelta) -> TimeSpan:
    """Return the span extended on each side by its own length, or at least by `least`."""
    margin = max(span.duration, least)
    return TimeSpan(plus(span.start, -margin), plus(span.end, margin), Precision.RANGE)


@RELATIONS.rule("[IN DURING FROM BY] YEAR", "BORN [IN COMMA]? YEAR", "(?<=IN YEAR AND)YEAR")
@RELATIONS.rule("YEAR BORN", only="de")
def _year(match: Match) -> When | None:
    """Read a year: "in 2023", "born 1932", "in 2019 and 2020"."""
    amount = (
        match.has(TokenKind.FROM)
        and match.context.word_before(match.start).casefold() in WORDS["changes"]
    )
    return None if amount else match.whens()[0]


@RELATIONS.rule("[IN DURING FROM BY] THE YEAR", "(?<=OPEN)YEAR (?=CLOSE)")
def _recent_year(match: Match) -> When | None:
    """Read a recent year as a modifier: "the 2019 election", "(1983)"; not "1500 metres"."""
    return match.whens()[0] if match.value(TokenKind.YEAR) in _RECENT else None


@RELATIONS.rule("[IN DURING FROM BY] [MONTH QUARTER]")
def _month(match: Match) -> When | None:
    """Read a month or quarter: "in March", "by Q3"; not with "of that year"."""
    return None if match.context.word_after(match.end) == "of" else match.whens()[0]


@RELATIONS.rule("[FOR TO] MONTH", only="en")
def _dated_month(match: Match) -> When | None:
    """Read a month that something is set for: "deferred to January", "booked it for August"."""
    statement, context = match.context.statement, match.context
    if statement is None or _POSSESSIVE.match(context.text, match.end) or _named_for_a_month(match):
        return None
    (when,) = match.whens()
    over = isinstance(when, Recurring) and when.nearest(match.now).end <= match.now
    if over and match.has(TokenKind.FOR):
        return None  # "planned a lot for June", said in July
    return when if is_dated(context.text, match.start, match.end, statement.words) else None


@RELATIONS.rule("MONTH END", only="en")
def _due_month(match: Match) -> When | None:
    """Read a month after "due": "MOT due June"."""
    due = match.context.word_before(match.start).casefold() == "due"
    return match.whens()[0] if due and match.context.statement is not None else None


@RELATIONS.rule("[IN FOR] THE SEASON END", "[DURING OVER] THE SEASON")
@RELATIONS.rule("IN SEASON", only="de es fr")
@RELATIONS.rule("[IN AT ON TO OVER FOR DURING] THE? HOLIDAY")
@RELATIONS.rule(
    "[ON BY FOR] WEEKDAY (?!COMMA? THE? ORDINAL|THE RANK)",
    "[AT OVER ON FOR DURING] THE WEEKDAY (?!ORDINAL)",
)
def _in_context(match: Match) -> When | None:
    """Read a recurring time after a preposition: "during the summer", "at Christmas"."""
    beside_another = match.context.word_after(match.end) in ("before", "after")
    if match.has(TokenKind.THE) and match.has(TokenKind.HOLIDAY):
        return None  # "in the New Year", "at the Christmas party"
    if match.has(TokenKind.THE) and match.has(TokenKind.WEEKDAY):
        beside_another |= _ON_A_DATE.match(match.context.text, match.end) is not None
        told = match.has(TokenKind.ON) and match.value(TokenKind.WEEKDAY) != calendar.WEEKEND
        if told or beside_another:
            return (
                None  # of a week that is told of: "on the Friday we left", "on the Friday before"
            )
    return match.whens()[0]


@RELATIONS.rule(
    "THE? [UNIT WEEKDAY] [BEFORE AFTER] WHICH "
    "(?![MONTH SEASON WEEKDAY QUARTER HOLIDAY UNIT UNITS])",
    only="en",
)
def _last_but_one(match: Match) -> When | None:
    """Read a period beside the last or next: "the weekend before last", "the week after next"."""
    which = match.value(TokenKind.WHICH)
    if which != (-1 if match.has(TokenKind.BEFORE) else 1):
        return None
    if match.context.tag_after(match.end)[:2] in ("NN", "JJ"):
        return None
    if match.has(TokenKind.UNIT):
        unit = match.unit()
        if unit in (Precision.MINUTE, Precision.HOUR, Precision.DAY):
            return None
        return calendar.period(unit, calendar.shift(match.now, unit, 2 * which))
    weekly = calendar.weekly(match.value(TokenKind.WEEKDAY))
    nearest = weekly.over(match.now) if which < 0 else weekly.ahead(match.now)
    start = nearest.start + timedelta(weeks=which)
    return TimeSpan(start, start + nearest.duration, nearest.precision)


@RELATIONS.rule("HOLIDAY", only="en de")
def _bare_holiday(match: Match) -> When | None:
    """Read a feast that is named as a day: "closed Good Friday", not a "Christmas card"."""
    context = match.context
    spelled = context.text[match.start : match.end].casefold()
    named_as_day = spelled.endswith(("day", "eve", "night", "tag", "abend"))
    before, tag = context.word_before(match.start), context.tag_after(match.end)
    attribute = tag[:2] in ("NN", "PO", "CD") or before.casefold() in WORDS["not_the_day"]
    if context.statement is None or not named_as_day or attribute:
        return None
    return match.whens()[0]


_ON_A_DATE = re.compile(r" [a-z]+ on (?:the )?\d")  # "read at the Friday round on 28 April"


@RELATIONS.rule("(?<![NUMBER COUNT])WEEKDAY (?!THE? ORDINAL|THE RANK)", only="en fr")
def _bare_weekday(match: Match) -> When | None:
    """Read a weekday without preposition, "see you Monday"; no habit, no part of a name."""
    context = match.context
    spelled = context.text[match.start : match.end]
    if context.statement is not None and (_is_attribute(match) or _owns(match)):
        return None
    if context.statement is not None and _is_of_opening_hours(match):
        return None
    if len(spelled) < len("Monday") - (context.language.code == "fr"):
        return None
    if match.tokens[0].value == calendar.WEEKEND:
        return None
    before, after = context.word_before(match.start), context.word_after(match.end)
    if before.casefold() in WORDS["not_the_day"] or (after.istitle() and after != "I"):
        return None
    if context.language.code == "fr" and (before in ("le", "chaque") or not match.in_language()):
        return None
    return context.when(match.tokens[0])


@RELATIONS.rule("WEEKDAY END", only="en")
def _short_weekday(match: Match) -> When | None:
    """Read an abbreviated weekday, "call Ana Fri"; "sat", "sun" and "wed" are words."""
    spelled = match.context.text[match.start : match.end]
    if match.context.statement is None or spelled not in _SHORT_WEEKDAYS:
        return None
    text = match.context.text
    if _heads_the_note(match) or _is_timetable(text, match.start, match.end):
        return None
    return match.context.when(match.tokens[0])


def _heads_the_note(match: Match) -> bool:
    """Return True for the weekday of the note itself: "Mon. Boiler out", written on a Monday."""
    opens = not match.context.text[: match.start].strip()
    return opens and match.tokens[0].value == match.now.weekday()


def _owns(match: Match) -> bool:
    """Return True for "Monday's child", in the present tense: that Monday may be any."""
    if not _POSSESSIVE.match(match.context.text, match.end):
        return False
    shown = match.context.direction(match.start, match.end)
    return shown is not None and shown.tense == "future"


def _is_attribute(match: Match) -> bool:
    """Return True for a weekday that modifies a noun: "his Sunday best", "Sunday school"."""
    context = match.context
    idiom = context.word_after(match.end).casefold() in WORDS["weekday_idioms"]
    return idiom or context.is_owned(match.start)


Relation = Literal["before", "after", "since", "until", "during", "around"]

AROUND_MARGIN = timedelta(weeks=1)
"""Least time on each side of an event that counts as around it."""

_RELATION_OF: dict[TokenKind, Relation] = {
    TokenKind.BEFORE: "before",
    TokenKind.AFTER: "after",
    TokenKind.SINCE: "since",
    TokenKind.UNTIL: "until",
    TokenKind.DURING: "during",
    TokenKind.AROUND_EVENT: "around",
}

_DAYS_IN = {
    Precision.MINUTE: 1 / 1440, Precision.HOUR: 1 / 24, Precision.DAY: 1, Precision.WEEK: 7,
    Precision.MONTH: 30, Precision.QUARTER: 91, Precision.YEAR: 365, Precision.DECADE: 3652,
    Precision.CENTURY: 36524,
}  # fmt: skip

_LONGEST_EVENT = 300
"""Characters after which a clause is cut."""

_CLAUSE = re.compile(
    rf"[\s\"'“”‘’«»]*+ (?P<event> (?: [^,;:?!.\n()] | [.:,](?=\w) ){{1,{_LONGEST_EVENT}}}+ )",
    re.VERBOSE,
)
_QUESTION_WORD = re.compile(r"\s(?:who|whom|what|where|which|how|why|when)\b", re.IGNORECASE)
_AMOUNTS = frozenset(
    {TokenKind.NUMBER, TokenKind.COUNT, TokenKind.FEW, TokenKind.CLOCK, TokenKind.OCLOCK}
)

_STATES = re.compile(
    r"\b(?:is|are|am|has|have|likes?|loves?|hates?|needs?|wants?|knows?|can|can['’]t|does|doesn['’]t"
    r"|do|don['’]t|will|won['’]t)\b"
)
"""Beside these, "since" gives a reason."""


@dataclass(frozen=True, slots=True)
class EventAnchor:
    """A time that a question gives by an event: "before Alice joined Google".

    Attributes:
        relation: how the time relates to the event.
        event: the words that name the event.
        offset: distance from the event, if one is named: "two weeks after the launch".
        text: all words of the expression.
        within: the time is anywhere up to the offset: "the week after the launch".
    """

    relation: Relation
    event: str
    offset: timedelta | None
    text: str
    within: bool = False


def anchors(parsed: ParsedText) -> Iterator[tuple[int, EventAnchor]]:
    """Yield the anchors of a text, each with the offset of its first word."""
    for index, token in enumerate(parsed.tokens):
        if token.kind in _RELATION_OF and (event := _event(parsed, index)):
            yield _anchor(parsed, index, event)


def anchor_window(anchor: EventAnchor, event: TimeSpan, reference: datetime) -> TimeSpan:
    """Return the window that an anchor means, given its event's time.

    "Since" ends at the reference, "around" adds the event's length or `AROUND_MARGIN` on each
    side; the rest follow from the words. Ends are clamped to the calendar.
    """
    if anchor.offset is not None:
        return _far_from_event(anchor, anchor.offset, event)
    match anchor.relation:
        case "during":
            return event
        case "around":
            return widened(event, AROUND_MARGIN)
        case "until":
            return _clamped(EARLIEST, event.end)
        case "since":
            now = as_utc(reference)
            return _clamped(event.start, now if now > event.start else LATEST)
        case "before":
            return _clamped(EARLIEST, event.start)
        case "after":
            return _clamped(event.end, LATEST)


def _far_from_event(anchor: EventAnchor, offset: timedelta, event: TimeSpan) -> TimeSpan:
    """Return the time at the anchor's distance from its event, or all time up to there."""
    before = anchor.relation == "before"
    if not anchor.within:
        step = -offset if before else offset
        return _clamped(plus(event.start, step), plus(event.end, step), event.precision)
    if before:
        return _clamped(plus(event.start, -offset), event.start)
    return _clamped(event.end, plus(event.end, offset))


def _clamped(start: datetime, end: datetime, precision: Precision = Precision.RANGE) -> TimeSpan:
    """Return the span, at least a microsecond of it within the calendar."""
    start = min(start, LATEST - timedelta.resolution)
    return TimeSpan(start, max(end, start + timedelta.resolution), precision)


def _anchor(parsed: ParsedText, index: int, event: slice) -> tuple[int, EventAnchor]:
    context, tokens = parsed
    relation = _RELATION_OF[tokens[index].kind]
    start, offset, within = tokens[index].start, None, False
    if relation in ("before", "after"):
        start, offset, within = _distance(tokens[max(0, index - 2) : index]) or (start, None, False)
    text = context.text[start : event.stop]
    return start, EventAnchor(relation, context.text[event], offset, text, within)


def _event(parsed: ParsedText, index: int) -> slice | None:
    """Return the words that name the event after the preposition at `index`; None if none do."""
    context, tokens = parsed
    word = tokens[index]
    after = tokens[index + 1 : index + 1 + _LONGEST_EVENT]
    clause = _CLAUSE.match(context.text, word.end)
    if clause is None or context.word_before(word.start).casefold() in WORDS["phrasal_verbs"]:
        return None
    start, event = clause.start("event"), clause["event"]
    if index == 0:  # "Before joining Google where did she work?"
        event = _QUESTION_WORD.split(event, 1)[0]
    event = event.rstrip(" \t\"'“”‘’«»")
    time = next((token.start for token in after if token.kind is TokenKind.TIME), len(context.text))
    words = event[: max(0, time - start)].casefold().split()
    plain = [word for word in words if word not in WORDS["event_articles"]]
    kinds = [token.kind for token in after[:2]]
    if (
        not plain
        or words[0] in WORDS["no_event"]
        or (len(plain) == 1 and plain[0] in WORDS["nothing_dated"])
        or (kinds and kinds[0] in _AMOUNTS)
        or kinds == [TokenKind.ONE, TokenKind.UNIT]
        or (word.kind is TokenKind.SINCE and _STATES.search(event))
        or (context.language.code != "en" and not _opens(context.language.openers, event))
    ):
        return None
    return slice(start, start + len(event))


def _opens(openers: frozenset[str], event: str) -> bool:
    """Return True if the words may begin an event: "le mariage", "Ana se mudó"."""
    return event[0].isupper() or event.casefold().split()[0] in openers


def _distance(before: list[Token]) -> tuple[int, timedelta, bool] | None:
    """Return start, length and `within` of a distance before a preposition: "two weeks"."""
    if len(before) < 2 or before[1].kind not in (TokenKind.UNIT, TokenKind.UNITS):
        return None
    number, unit = before
    match number.kind:
        case TokenKind.THE if unit.kind is TokenKind.UNIT:
            amount = 1
        case TokenKind.ONE:
            amount = 1
        case TokenKind.FEW:
            amount = FEW[1]
        case TokenKind.NUMBER | TokenKind.COUNT:
            amount = number.value
        case _:
            return None
    within = number.kind in (TokenKind.THE, TokenKind.FEW)
    return number.start, timedelta(days=amount * _DAYS_IN[UNITS[unit.value]]), within
