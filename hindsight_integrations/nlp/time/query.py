"""Find the times in a text or question, in every language it may hold.

A text is cut into tokens (`lexer`) and reduced by the grammars in the order of `_PASSES`. A
statement gives the times it names; a question also gives windows with open ends, and events
whose time a memory has to tell.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hindsight_integrations.nlp.spacy_pipeline import Token as Word
from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import EARLIEST, LATEST, Recurring, When
from hindsight_integrations.nlp.time.dates import CONTAINERS, DATES, DETAILS, NAMED_DAYS
from hindsight_integrations.nlp.time.direction import Evidence, is_habit, is_regular
from hindsight_integrations.nlp.time.expressions import Reading, TimeExpression, in_zone
from hindsight_integrations.nlp.time.grammar import Context, ParsedText, Statement
from hindsight_integrations.nlp.time.lexer import (
    LANGUAGES,
    WORDS,
    Language,
    Tense,
    Token,
    fold,
    pieces,
    read,
)
from hindsight_integrations.nlp.time.misleading import (
    are_alternatives,
    is_denied,
    is_doubted,
    is_in_a_name,
    is_unreal,
    of_this_zone,
)
from hindsight_integrations.nlp.time.quotes import Quotation, is_title, quotations
from hindsight_integrations.nlp.time.relations import RELATIONS, EventAnchor, anchors
from hindsight_integrations.nlp.time.sequence import in_sequence
from hindsight_integrations.nlp.time.spans_between import counts_from_day
from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.timespan import Precision, TimeSpan

_PASSES = (DATES, CONTAINERS, NAMED_DAYS, DETAILS, RELATIONS)
_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"[0-9]")
_EVERY = re.compile(
    rf"\b(?:{'|'.join(sorted(WORDS['every']))})\s+(?:other|second|third|single|first|last|zweiten)?"
    r"\s*(?:[^\W\d_]+\s*(?:,|/|and|or|und|y|et)\s*(?:on\s+)?)*\Z",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"\S.*?(?:[.!?。！？…]+[\"'”’»)]*(?=\s|\Z)|(?=\n)|\Z)")
_CLOSING = " \"'”’»)"
_NAMED_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")
_YEAR_OF = re.compile(r"\b(?:of|the)\s+((?:1\d|20)\d\d)(?!\d)(?!,\d)", re.IGNORECASE)
_YOUTH = re.compile(
    r"\b(?:when|while) (?:i|we|he|she|they|you) (?:was|were) (?:still )?(?:an? )?"
    r"(?:little |small )?(?:kid|child|boy|girl|teen(?:ager)?|student|children|young|little|small"
    r"|growing up"
    r"|in (?:(?:high|primary|middle|secondary|elementary) )?(?:school|college|university))s?\b"
    r"|\bas an? (?:little |small |young )?(?:kid|child|boy|girl|teen(?:ager)?)\b|\bgrowing up\b"
    r"|\bin (?:my|our|his|her|their) (?:childhood|youth|teens|school days)\b",
    re.IGNORECASE,
)
_TIMETABLE = re.compile(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}/(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\b",
    re.IGNORECASE,
)
"""Weekdays of every week, or of which only one is meant: "Football Tues/Thurs"."""
_TWO_WEEKDAYS = re.compile(
    r"\b(?:is|are) (?:now |on |always ){0,2}(mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}"
    r"(?: and | & )(mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\b",
    re.IGNORECASE,
)
_DEADLINE = re.compile(r"\bby (?:the )?\d{1,2}(?:st|nd|rd|th)\b", re.IGNORECASE)
_WEEK_ORDER = "montuewedthufrisatsunmon"
_BARE_DAY = re.compile(r"(?:[a-z]+\s)?(?:the\s)?\d{1,2}(?:st|nd|rd|th)", re.IGNORECASE)
_MONTH_AND_DAY = re.compile(r"\d[^\W\d_]{0,2}\s(?:of\s)?[^\W\d_]{3}|[^\W\d_]{3}\.?\s\d|\d[./-]\d")
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_LISTED = re.compile(r"(?:,|,? and| &| or) (?:on )?")
_WEEK = re.compile(r"day\b.*\bweek\b")
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"[.!?;](?=\s)")
_DAYS = frozenset({Precision.DAY, Precision.HOUR, Precision.MINUTE})
_TURN_REACH = 2000
"""Last characters of the turn before a reply that are searched for the day it speaks of."""
_YEAR_REACH = 300
"""Characters after a year in which the text may still tell of it: about two sentences."""
_HABIT_REACH = 60
"""Characters before a weekday that are searched for "every"."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time that a question names, with the words that name it.

    Attributes:
        asked: False if it stands in a statement beside a question: "We fly to Rome next week. What
            should we see?" names a time and asks for none.
        yearly: True if the words name no year ("in March"): the span is that of the latest one.
    """

    span: TimeSpan
    text: str
    asked: bool = True
    yearly: bool = False


@dataclass(frozen=True, slots=True)
class QueryTimes:
    """The times that a question asks for: windows, and events that a memory has to date."""

    windows: tuple[TimeWindow, ...] = ()
    anchors: tuple[EventAnchor, ...] = ()


def find_times(
    text: str,
    reference: datetime,
    *,
    hemisphere: Hemisphere = "north",
    prefer: Tense | None = None,
    words: Sequence[Word] = (),
    setting: Sequence[str] = (),
) -> tuple[TimeExpression, ...]:
    """Return every time that a statement names, in order, resolved against its timestamp.

    English, German, Spanish and French. What could be a time but need not ("may", "room 2023")
    is left alone, and so is a time with an open end ("before 2020"), which locates nothing.

    Args:
        text: any text.
        reference: when it was said; its zone is that of the text's days (naive is UTC).
        hemisphere: where its seasons are.
        prefer: the direction of "on Monday" where the text does not show it. By default the span
            then holds both Mondays, and "in March" and a date without its year are the nearest.
        words: the text's words with their tags, as `Pipeline.annotate` gives them; without them
            word lists tell the tense.
        setting: the title of the text and the question it answers, as far as known.
    """
    times = _expressions(
        _parsed(text, reference, hemisphere, prefer, statement=Statement(words, setting))
    )
    if times and (quoted := quotations(text)):
        times = list(_requoted(text, times, quoted, hemisphere, words))
    return tuple(time for time in times if not _is_open(time.span))


def without_days_of_another_month(
    times: Sequence[TimeExpression], preceding: str, said: datetime
) -> tuple[TimeExpression, ...]:
    """Return the times of a reply without the days that may be of the month told just before it.

    "See you on the 6th" may mean that of the next month, or that of "the concert is on 6 January";
    and after "the 6th suits me" it means the one that was told before, whichever that was.

    Args:
        times: those that the reply names.
        preceding: the turn before it.
        said: when it was said.
    """
    if not any(_BARE_DAY.fullmatch(time.text) for time in times):
        return tuple(times)
    preceding = preceding[-_TURN_REACH:]
    before = find_times(preceding, said)
    told = [
        time.span.start
        for time in before
        if time.span.precision in _DAYS and _MONTH_AND_DAY.search(time.text)
    ]
    unread = {
        day[1]
        for day in _ORDINAL.finditer(preceding)
        if not any(time.start_char <= day.start() < time.end_char for time in before)
    }

    def is_sure(time: TimeExpression) -> bool:
        day = time.span.end - timedelta.resolution
        others = [one for one in told if (one > said) == (day > said)]
        months = {(one.year, one.month) for one in others}
        of_another = bool(months) and (day.year, day.month) not in months
        return not of_another and unread.isdisjoint(_ORDINAL.findall(time.text))

    return tuple(time for time in times if not _BARE_DAY.fullmatch(time.text) or is_sure(time))


def _requoted(
    text: str,
    times: Sequence[TimeExpression],
    quoted: Sequence[Quotation],
    hemisphere: Hemisphere,
    words: Sequence[Word],
) -> Iterator[TimeExpression]:
    """Yield the times of a text, those in its quotations resolved against the day of each.

    That is the one day named in the sentence around it. Without one, only what names its year or
    recurs with it stays: who said "tomorrow", and when, is not told.
    """
    starts = [quotation.start for quotation in quoted]
    said: dict[int, list[TimeExpression]] = {}
    outside: list[TimeExpression] = []
    for time in times:
        index = bisect_right(starts, time.start_char) - 1
        inside = index >= 0 and time.end_char <= quoted[index].end
        if inside and not _NAMED_YEAR.search(time.text):
            said.setdefault(index, []).append(time)
        else:
            outside.append(time)
    begins = [time.start_char for time in outside]
    result = list(outside)
    for index, inner in said.items():
        start, end, first, last = quoted[index]
        alone = [time.text for time in inner] == [text[start:end].strip(".,!?")]
        if alone or is_title(text[start:end]):
            continue
        around = outside[bisect_left(begins, first) : bisect_left(begins, last)]
        around = [time for time in around if not start <= time.start_char < end]
        if not around:
            result += [time for time in inner if time.yearly]
        elif len(around) == 1 and around[0].span.precision in _DAYS:
            low, high = (bisect_left(words, at, key=lambda word: word.start) for at in (start, end))
            own = [replace(word, start=word.start - start) for word in words[low:high]]
            day = around[0].span.start
            for time in find_times(text[start:end], day, hemisphere=hemisphere, words=own):
                offsets = (time.start_char + start, time.end_char + start)
                result.append(replace(time, start_char=offsets[0], end_char=offsets[1]))
    yield from sorted(result, key=lambda time: time.start_char)


def parse_query(
    question: str, reference: datetime, *, hemisphere: Hemisphere = "north"
) -> QueryTimes:
    """Return the times a question asks for, resolved against the time it is asked.

    Open ends reach to the first or last timestamp of the calendar. A time inside the words of an
    event ("before Alice moved in 2019") belongs to the event and is no window.

    Args:
        question: any text.
        reference: when it is asked; its zone is that of the question's days (naive is UTC).
        hemisphere: where its seasons are.
    """
    parsed = _parsed(question, reference, hemisphere, "past")
    by_start = sorted(
        (anchor for text in parsed for anchor in anchors(text)), key=lambda pair: pair[0]
    )
    in_event = bytearray(len(question))
    for start, anchor in by_start:
        in_event[start : start + len(anchor.text)] = b"\x01" * len(anchor.text)
    incidental = _statements_beside_a_question(question)
    windows = [
        TimeWindow(time.span, time.text, not incidental[time.start_char], time.yearly)
        for time in _expressions(parsed)
        if not in_event[time.start_char]
    ]
    return QueryTimes(tuple(windows), tuple(anchor for _, anchor in by_start))


def _statements_beside_a_question(text: str) -> bytearray:
    """Return 1 for each character of a sentence that asks nothing, if another one asks."""
    sentences = [match.span() for match in _SENTENCE.finditer(text)]
    asking = [text[start:end].rstrip(_CLOSING).endswith(("?", "？")) for start, end in sentences]
    marks = bytearray(len(text))
    one_asks = any(asking)
    for (start, end), asks in zip(sentences, asking, strict=True):
        if one_asks and not asks:
            marks[start:end] = b"\x01" * (end - start)
    return marks


def _parsed(
    text: str,
    reference: datetime,
    hemisphere: Hemisphere,
    prefer: Tense | None,
    *,
    statement: Statement | None = None,
) -> list[ParsedText]:
    """Parse the text in each language that it has words of.

    In a question, which is no `statement`, words that relate to an event count.
    """
    languages = _languages(text, events=statement is None)
    if not languages:
        return []
    parts = pieces(text)
    parsed = []
    for language in languages:
        context = Context(
            text=text,
            reference=reference.replace(tzinfo=UTC, fold=0),
            zone=reference.tzinfo or UTC,
            hemisphere=hemisphere,
            prefer=prefer,
            language=language,
            statement=statement,
        )
        tokens = read(language, parts)
        for grammar in _PASSES:
            tokens = grammar.reduce(tokens, context)
        parsed.append(ParsedText(context, tokens))
    return parsed


def _expressions(parsed: list[ParsedText]) -> list[TimeExpression]:
    """Return the times in all languages; of two that overlap the longer, or the first.

    What a language reads but takes for no certain time is none in the others either: "in April" is
    German, too.
    """
    readings = [reading for text in parsed for reading in in_sequence(text, _readings(text))]
    readings.sort(key=lambda reading: reading.token.start - reading.token.end)
    kept: list[TimeExpression] = []
    taken = bytearray(len(parsed[0].context.text)) if parsed else bytearray()
    for token, time in readings:
        if not any(taken[token.start : token.end]):
            taken[token.start : token.end] = b"\x01" * (token.end - token.start)
            kept += [time] if time else []
    return sorted(kept, key=lambda time: time.start_char)


def _languages(text: str, *, events: bool) -> list[Language]:
    """Return the languages worth reading the text in; none for most sentences."""
    words = set(_WORD.findall(fold(text)))
    digits = _DIGIT.search(text) is not None
    return [
        language
        for number, language in enumerate(LANGUAGES)
        if not language.time_names.isdisjoint(words)
        or (digits and (number == 0 or not language.leading.isdisjoint(words)))
        or (events and not language.relating.isdisjoint(words))
    ]


def _readings(parsed: ParsedText) -> Iterator[Reading]:
    """Yield what one language reads as times."""
    context = parsed.context
    named: TimeExpression | None = None
    dated: TimeExpression | None = None
    denied_until = -1
    times = [(token, token.when) for token in parsed.tokens if token.when is not None]
    either = {
        token.start
        for (first, _), (second, _) in pairwise(times)
        if are_alternatives(context, first.end, second.start)
        for token in (first, second)
    }
    for token, when in _in_shared_week(times, context.text):
        if token.start in either or is_doubted(context, token.start, token.end):
            yield Reading(token, None)
            continue
        if is_denied(context, token.start, token.end, denied_until):
            denied_until = token.end
            yield Reading(token, None)
            continue
        time = None
        counted = counts_from_day(context, token.start, token.end)
        if not (counted or is_unreal(context, token.start, token.end)):
            time = _time(token, when, context)
        if time and named and isinstance(when, Recurring) and time.yearly:
            time = _in_named_year(time, when, named, context)
        elif time and _NAMED_YEAR.search(time.text):
            named = time
        if time and time.yearly and _is_of_an_earlier_year(time, context):
            time = None
        if time and _BARE_DAY.fullmatch(time.text) and dated and not _share_a_month(dated, time):
            time = _in_its_month(dated, time, when, context)
        elif time and _is_dated(time, when):
            dated = time
        yield Reading(token, time)


def _in_shared_week(times: Sequence[tuple[Token, When]], text: str) -> Iterator[tuple[Token, When]]:
    """Yield the times, a weekday in the week of the next one: "Thursday and Friday next week"."""
    for index, (token, when) in enumerate(times):
        after, told = times[index + 1] if index + 1 < len(times) else (token, None)
        if (
            isinstance(when, Recurring)
            and isinstance(told, TimeSpan)
            and when.cycle is Precision.WEEK
            and _LISTED.fullmatch(text, token.end, after.start)
            and _WEEK.search(text, after.start, after.end)
        ):
            yield token, when.within(calendar.period(Precision.WEEK, told.start))
        else:
            yield token, when


def _is_dated(time: TimeExpression, when: When) -> bool:
    """Return True for a day told by its month, as "Friday 10 May" is."""
    weekly = isinstance(when, Recurring) and when.cycle is Precision.WEEK
    counted = _DIGIT.search(time.text) is not None and " ago" not in time.text
    return counted and not weekly and time.span.precision in _DAYS


def _share_a_month(dated: TimeExpression, time: TimeExpression) -> bool:
    """Return True if a day without its month may be of the month of the date told before it.

    "We land on 10 May and stay until the 19th", said in April, tells of the 19th of May.
    """
    day, last = dated.span.start, time.span.end - timedelta.resolution
    first = last if time.text.casefold().startswith(("until", "till")) else time.span.start
    return (first.year, first.month) <= (day.year, day.month) <= (last.year, last.month)


def _in_its_month(
    dated: TimeExpression, time: TimeExpression, when: When, context: Context
) -> TimeExpression | None:
    """Return a later day of the month told before it in its sentence, in the same tense.

    "We flew on 2 February and came home on the 9th", said in March, tells of the 9th of February.
    """
    between = context.text[dated.end_char : time.start_char]
    day = dated.span.start
    if not isinstance(when, Recurring) or _SENTENCE_END.search(between) or "\n" in between:
        return None
    try:
        span = when.within(calendar.period(Precision.MONTH, day.replace(tzinfo=UTC)))
    except ValueError:
        return None  # a month without such a day
    shown = context.direction(time.start_char, time.end_char)
    told = "past" if span.end <= context.reference else "future"
    if told == "future" and _DEADLINE.search(context.text, dated.end_char, time.end_char):
        return None  # "the trip is on 2 May, pay by the 25th"
    if span.start <= day.replace(tzinfo=UTC) or shown is None or shown.tense != told:
        return None
    return replace(time, span=in_zone(span, context))


def _in_named_year(
    time: TimeExpression, when: Recurring, named: TimeExpression, context: Context
) -> TimeExpression | None:
    """Return a time of the year in a text that tells of an earlier year.

    "In 2016 he married on 1 April" tells of 2016. Of what is told a sentence later ("Founded in
    May 1999. On 4 June it closed.") nobody can tell the year.

    Args:
        time: the time as its sentence alone has it.
        when: all its occurrences.
        named: the last time before it whose words have a year.
        context: the text.
    """
    apart = time.start_char - named.end_char > _YEAR_REACH
    if context.statement is None or apart or named.span.start.year >= time.span.start.year:
        return time
    between = context.text[named.end_char : time.start_char]
    if _PARAGRAPH.search(between):
        return time
    shown = context.direction(time.start_char, time.end_char)
    if shown is None or (shown.tense == "future" and shown.evidence is not Evidence.ASIDE):
        return time
    if named.span.precision is not Precision.YEAR or _SENTENCE_END.search(between):
        return None
    try:
        span = when.within(calendar.year(named.span.start.year))
    except ValueError:
        return None
    return replace(time, span=in_zone(span, context))


def _is_of_an_earlier_year(time: TimeExpression, context: Context) -> bool:
    """Return True if the sentence tells of a youth, or told before of an earlier year.

    "The battle of 1805 began on 21 October": no time reads "of 1805", and the day is not this
    year's. Last year is left out, since "the 2024 report came out on 3 March" is of the year after.
    "When I was a kid we sailed every August" is of no year that the text names.
    """
    if context.statement is None:
        return False
    if _YOUTH.search(context.sentence(time.start_char, time.end_char)):
        return True
    before = context.text[max(0, time.start_char - _YEAR_REACH) : time.start_char]
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    offset = time.start_char - len(before)
    counting = {word.start for word in _before_plurals(context.statement.words)}
    return any(
        int(year[1]) < time.span.start.year - 1 and offset + year.start(1) not in counting
        for year in _YEAR_OF.finditer(before, ends[-1] if ends else 0)
    )


def _before_plurals(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the numbers that count something: "2000" in "2000 people"."""
    for word, following in pairwise(words):
        if word.text.isdecimal() and following.tag == "NNS":
            yield word


def _time(token: Token, when: When, context: Context) -> TimeExpression | None:
    """Return the time of a token; None for a habit or name, or if it could be one or the other."""
    if _habit(token, context) or is_in_a_name(context, token.start, token.end):
        return None
    try:
        span = context.resolve(when, token.start, token.end)
        span = in_zone(of_this_zone(context, token.end, span, context.zone), context)
    except (ValueError, OverflowError):
        return None  # it falls outside the calendar, or may be past or to come
    text = context.text[token.start : token.end]
    yearly = isinstance(when, Recurring) and when.cycle is Precision.YEAR
    return TimeExpression(text, token.start, token.end, span, yearly)


def _habit(token: Token, context: Context) -> bool:
    """Return True if every occurrence is meant: "every Monday", "usually on Monday"."""
    if context.statement and _TIMETABLE.search(context.text, token.start, token.end):
        return True
    if not isinstance(token.when, Recurring):
        return False
    if context.word_before(token.start).casefold() in WORDS["every"]:
        return True
    if context.statement is None or token.when.cycle is not Precision.WEEK:
        return False
    if context.word_after(token.end).casefold() in WORDS["day_parts"]:
        return True
    if _is_of_each_week(token, context.text):
        return True
    every = _EVERY.search(context.text, max(0, token.start - _HABIT_REACH), token.start)
    shown = context.direction(token.start, token.end)
    past = shown is not None and shown.tense == "past"
    if every is not None or past:
        return every is not None
    words = context.statement.words if context.language.code == "en" else ()
    place = (context.text, token.start, token.end)
    return is_habit(*place) or is_regular(*place, words)


def _is_of_each_week(token: Token, text: str) -> bool:
    """Return True for one of two weekdays apart that something "is": "Choir is Monday and Friday".

    "The fair is Saturday and Sunday" is of one weekend.
    """
    first, last = max(0, token.start - _HABIT_REACH), token.end + _HABIT_REACH
    return any(
        days.start() <= token.start < days.end()
        and (days[1] + days[2]).casefold() not in _WEEK_ORDER
        for days in _TWO_WEEKDAYS.finditer(text, first, last)
    )


def _is_open(span: TimeSpan) -> bool:
    """Return True for a range without a start or an end."""
    reaches_far = span.start == EARLIEST or span.end == LATEST
    return reaches_far and span.precision is Precision.RANGE
