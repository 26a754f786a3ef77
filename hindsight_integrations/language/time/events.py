"""Times told by an event: "before Alice joined Google", "the week after the launch"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from hindsight_integrations.language.time.calendar import EARLIEST, LATEST, plus
from hindsight_integrations.language.time.grammar import UNITS
from hindsight_integrations.language.time.languages import EVENT_KINDS
from hindsight_integrations.language.time.leaves import FEW
from hindsight_integrations.language.time.lexer import Token
from hindsight_integrations.language.time.reading import Reading
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

_LONGEST_EVENT = 300
"""Characters after which a clause is cut."""

_CLAUSE = re.compile(
    rf"[\s\"'“”‘’«»]*+ (?P<event> (?: [^,;:?!.\n()] | [.:,](?=\w) ){{1,{_LONGEST_EVENT}}}+ )",
    re.VERBOSE,
)
_QUESTION_WORD = re.compile(r"\s(?:who|whom|what|where|which|how|why|when)\b", re.IGNORECASE)
_AMOUNTS = frozenset({Kind.NUMBER, Kind.COUNT, Kind.FEW, Kind.CLOCK, Kind.OCLOCK})

_PHRASAL_VERBS = word_set("look looks looked looking name named names")
"""Verbs that take "after" without a thought of time."""

_ARTICLES = word_set("the a my your")

_NO_EVENT = word_set(
    """
    about above across all and another as at below but by for from in into it now of off on onto
    or out so than that them then these this those to too under up us when with you yet
    """
)
"""Words that begin no event: "what did I say before about ...?", "after that"."""

_NOTHING_DATED = word_set(
    """
    work school class lunch dinner breakfast supper bed sleep dark noon midnight sunset sunrise
    while date day days daytime night nights week weeks weekdays month year hours time other me him
    her us
    """
)
"""What comes every day, and whom no memory could date."""

_STATES = re.compile(
    r"\b(?:is|are|am|has|have|likes?|loves?|hates?|needs?|wants?|knows?|can|can['’]t|does|doesn['’]t"
    r"|do|don['’]t|will|won['’]t)\b"
)
"""Beside these, "since" gives a reason."""


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


def anchors(reading: Reading) -> Iterator[tuple[int, EventAnchor]]:
    """The anchors of a text, each with the offset at which its words start."""
    for index, token in enumerate(reading.tokens):
        if token.kind in EVENT_KINDS and (event := _event(reading, index)):
            yield _anchor(reading, index, event)


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


def _anchor(reading: Reading, index: int, event: slice) -> tuple[int, EventAnchor]:
    scene, tokens = reading
    relation = _RELATIONS[tokens[index].kind]
    start, offset, within = tokens[index].start, None, False
    if relation in ("before", "after"):
        start, offset, within = _distance(tokens[max(0, index - 2) : index]) or (start, None, False)
    text = scene.text[start : event.stop]
    return start, EventAnchor(relation, scene.text[event], offset, text, within)


def _event(reading: Reading, index: int) -> slice | None:
    """Where the event after the preposition at `index` stands, if it is one to remember."""
    scene, tokens = reading
    word = tokens[index]
    after = tokens[index + 1 : index + 1 + _LONGEST_EVENT]
    clause = _CLAUSE.match(scene.text, word.end)
    if clause is None or scene.word_before(word.start).casefold() in _PHRASAL_VERBS:
        return None
    start, event = clause.start("event"), clause["event"]
    if index == 0:  # "Before joining Google where did she work?"
        event = _QUESTION_WORD.split(event, 1)[0]
    event = event.rstrip(" \t\"'“”‘’«»")
    time = next((token.start for token in after if token.kind is Kind.TIME), len(scene.text))
    words = event[: max(0, time - start)].casefold().split()
    plain = [word for word in words if word not in _ARTICLES]
    kinds = [token.kind for token in after[:2]]
    if (
        not plain
        or words[0] in _NO_EVENT
        or (len(plain) == 1 and plain[0] in _NOTHING_DATED)
        or (kinds and kinds[0] in _AMOUNTS)
        or kinds == [Kind.ONE, Kind.UNIT]
        or (word.kind is Kind.SINCE and _STATES.search(event))
        or (scene.language.code != "en" and not _opens(scene.language.openers, event))
    ):
        return None
    return slice(start, start + len(event))


def _opens(openers: frozenset[str], event: str) -> bool:
    """Whether an event in another language begins as one does: "le mariage", "Ana se mudó"."""
    return event[0].isupper() or event.casefold().split()[0] in openers


def _distance(before: list[Token]) -> tuple[int, timedelta, bool] | None:
    """Two weeks, or the week, before a preposition: where it starts, how long, if up to it."""
    if len(before) < 2 or before[1].kind not in (Kind.UNIT, Kind.UNITS):
        return None
    number, unit = before
    match number.kind:
        case Kind.THE if unit.kind is Kind.UNIT:
            amount = 1
        case Kind.ONE:
            amount = 1
        case Kind.FEW:
            amount = FEW[1]
        case Kind.NUMBER | Kind.COUNT:
            amount = number.value
        case _:
            return None
    within = number.kind in (Kind.THE, Kind.FEW)
    return number.start, timedelta(days=amount * _DAYS_IN[UNITS[unit.value]]), within
