"""What times a question asks for: windows it names, and events whose time has to be remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from hindsight_integrations.language.time.calendar import EARLIEST, LATEST, Hemisphere, plus
from hindsight_integrations.language.time.grammar import UNITS
from hindsight_integrations.language.time.languages import EVENT_KINDS
from hindsight_integrations.language.time.lexer import Token
from hindsight_integrations.language.time.reading import Reading, expressions, readings
from hindsight_integrations.language.time.relations import widened
from hindsight_integrations.language.time.words import Kind, word_set
from hindsight_integrations.timespan import Precision, TimeSpan, as_utc

Relation = Literal["before", "after", "since", "until", "during", "around"]

AROUND_MARGIN = timedelta(weeks=1)
"""Least time on each side of an event that counts as around it."""

_TICK = timedelta.resolution

_RELATIONS: dict[Kind, Relation] = {
    Kind.BEFORE: "before",
    Kind.AFTER: "after",
    Kind.SINCE: "since",
    Kind.UNTIL: "until",
    Kind.DURING: "during",
    Kind.AROUND_EVENT: "around",
}

_DAYS_IN = {
    Precision.MINUTE: 1 / 1440,
    Precision.HOUR: 1 / 24,
    Precision.DAY: 1,
    Precision.WEEK: 7,
    Precision.MONTH: 30,
    Precision.QUARTER: 91,
    Precision.YEAR: 365,
    Precision.DECADE: 3652,
    Precision.CENTURY: 36524,
}

_QUANTITIES = frozenset({Kind.NUMBER, Kind.COUNT, Kind.ONE, Kind.FEW})
_TIMES = frozenset({Kind.NUMBER, Kind.COUNT, Kind.FEW, Kind.CLOCK, Kind.OCLOCK, Kind.TIME})

_CLAUSE = re.compile(r"(?:[^,;:?!.\n()]|[.:,](?=\w)){1,300}+")
_QUESTION_WORD = re.compile(r"\s(?:who|whom|what|where|which|how|why|when)\b", re.IGNORECASE)
_PHRASAL_VERBS = word_set("look looks looked looking name named names")
"""Verbs that take "after" without a thought of time."""

_NO_EVENT = word_set(
    """
    about above across all and as at below but by for from in into it now of off on onto or out
    so than that them then these this those to too under up us when with you yet
    """
)
"""Words that begin no event: "what did I say before about ...?", "after that"."""

_HABITS = word_set(
    """
    work school class lunch dinner breakfast supper bed sleep dark noon midnight sunset sunrise
    while day days daytime night nights week weeks weekdays month year hours
    """
)
"""What comes every day is no event that a memory could date."""

_STATES = re.compile(
    r"\b(?:is|are|am|has|have|likes?|loves?|hates?|needs?|wants?|knows?|can|can['’]t|does|doesn['’]t"
    r"|do|don['’]t|will|won['’]t)\b"
)
"""Beside these, "since" gives a reason."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time that a question names, and the words that name it."""

    span: TimeSpan
    text: str


@dataclass(frozen=True, slots=True)
class EventAnchor:
    """A time that a question gives by an event: "before Alice joined Google".

    `offset` is the distance, if one is named: "two weeks after the launch" is that far from it,
    and with `within`, "the week after the launch" is anywhere up to there.
    """

    relation: Relation
    event: str
    offset: timedelta | None
    text: str
    within: bool = False


@dataclass(frozen=True, slots=True)
class QueryTimes:
    """All the times that a question asks for."""

    windows: tuple[TimeWindow, ...] = ()
    anchors: tuple[EventAnchor, ...] = ()


def parse_query(
    question: str, reference: datetime, *, hemisphere: Hemisphere = "north"
) -> QueryTimes:
    """The times a question asks for, resolved against the moment it is asked.

    Open ends reach to the first or last moment of the calendar. A time inside the words of an
    event ("before Alice moved in 2019") belongs to the event and is no window.

    Args:
        question: any text.
        reference: when it is asked; its zone is the one the question's days are in.
        hemisphere: whose seasons "spring" and the others are.
    """
    found = readings(question, reference, hemisphere, "past", events=True)
    anchors: list[tuple[int, EventAnchor]] = []
    for reading in found:
        for index, token in enumerate(reading.tokens):
            if token.kind in EVENT_KINDS and (anchor := _anchor(reading, index)):
                anchors.append(anchor)
    anchors.sort(key=lambda placed: placed[0])
    windows = tuple(
        TimeWindow(time.span, time.text)
        for time in expressions(found)
        if not any(start <= time.start_char < start + len(anchor.text) for start, anchor in anchors)
    )
    return QueryTimes(windows, tuple(anchor for _, anchor in anchors))


def anchor_window(anchor: EventAnchor, event: TimeSpan, reference: datetime) -> TimeSpan:
    """The window that an anchor means, once its event's time is known.

    "Since" ends at the reference, "around" adds the event's length or `AROUND_MARGIN` on each
    side; the rest follow from the words. Ends are clamped to the calendar.
    """
    if anchor.offset is not None:
        return _at_distance(anchor, anchor.offset, event)
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


def _at_distance(anchor: EventAnchor, offset: timedelta, event: TimeSpan) -> TimeSpan:
    """So long before or after the event, or anywhere up to there."""
    before = anchor.relation == "before"
    if not anchor.within:
        step = -offset if before else offset
        return _clamped(plus(event.start, step), plus(event.end, step), event.precision)
    if before:
        return _clamped(plus(event.start, -offset), event.start)
    return _clamped(event.end, plus(event.end, offset))


def _clamped(start: datetime, end: datetime, precision: Precision = Precision.RANGE) -> TimeSpan:
    """The span, or its nearest moment where the calendar has no more."""
    start = min(start, LATEST - _TICK)
    return TimeSpan(start, max(end, start + _TICK), precision)


def _anchor(reading: Reading, index: int) -> tuple[int, EventAnchor] | None:
    """The anchor that the preposition at `index` opens, and where its words start."""
    scene, tokens = reading
    token = tokens[index]
    event = _event(reading, index)
    if not event or scene.word_before(token.start).casefold() in _PHRASAL_VERBS:
        return None
    relation = _RELATIONS[token.kind]
    if relation == "since" and _STATES.search(event):
        return None
    start, offset, within = token.start, None, False
    if relation in ("before", "after"):
        start, offset, within = _distance(tokens[max(0, index - 2) : index]) or (start, None, False)
    end = scene.text.index(event, token.end) + len(event)
    return start, EventAnchor(relation, event, offset, scene.text[start:end], within)


def _event(reading: Reading, index: int) -> str:
    """The clause after the preposition at `index`; empty where it tells of no event."""
    scene, tokens = reading
    token = tokens[index]
    if _tells_a_time([after.kind for after in tokens[index + 1 : index + 3]]):
        return ""
    clause = _CLAUSE.match(scene.text, token.end)
    event = clause[0] if clause else ""
    if not scene.text[: token.start].strip():
        event = _QUESTION_WORD.split(event, 1)[0]
    event = event.strip(" \t\"'“”‘’«»")
    words = event.casefold().split()
    first = words[0] if words else ""
    plain = [word for word in words if word not in ("the", "a", "my", "your")]
    if not plain or first in _NO_EVENT or (len(plain) == 1 and plain[0] in _HABITS):
        return ""
    if scene.language.code != "en" and not (first in scene.language.openers or event[0].isupper()):
        return ""
    return event


def _tells_a_time(kinds: list[Kind]) -> bool:
    """Whether what follows is a time or an amount of it: "after 5 pm", "after a week"."""
    if kinds[:1] == [Kind.THE]:
        return kinds[1:] == [Kind.TIME]
    return kinds == [Kind.ONE, Kind.UNIT] or not _TIMES.isdisjoint(kinds[:1])


def _distance(before: list[Token]) -> tuple[int, timedelta, bool] | None:
    """Two weeks, or the week, before a preposition: where it starts, how long, if up to it."""
    if len(before) < 2 or before[1].kind not in (Kind.UNIT, Kind.UNITS):
        return None
    number, unit = before
    if number.kind is Kind.THE:
        amount = 1
    elif number.kind in _QUANTITIES:
        amount = 1 if number.kind is Kind.ONE else max(number.value, 1)
    else:
        return None
    length = timedelta(days=amount * _DAYS_IN[UNITS[unit.value]])
    return number.start, length, number.kind is Kind.THE
