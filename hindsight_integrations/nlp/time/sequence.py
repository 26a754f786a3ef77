"""Times counted from the one told before them: "two years later", "the following month"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, timedelta
from itertools import zip_longest

from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import Recurring
from hindsight_integrations.nlp.time.expressions import Reading, TimeExpression, in_zone
from hindsight_integrations.nlp.time.grammar import (
    UNITS,
    WHEN_KINDS,
    Context,
    Match,
    ParsedText,
    compiled,
)
from hindsight_integrations.nlp.time.lexer import WORDS, Token, TokenKind, kind_set
from hindsight_integrations.nlp.time.misleading import is_doubted, is_unreal
from hindsight_integrations.timespan import Precision, TimeSpan

_DISTANCE = "[NUMBER COUNT ONE] ANY_UNIT"
_EN_DE = (
    f"{_DISTANCE} (STEP|[BEFORE AFTER] END)",
    "[THE IN ON] UNIT (STEP|[BEFORE AFTER] END)",
    "[THE IN ON] FOLLOWING (UNIT|WHEN)",
    "THE WHICH UNIT",
)
_ES_FR = (f"{_DISTANCE} STEP", "[THE IN ON TO] UNIT FOLLOWING")
_PATTERNS = {
    code: compiled("|".join(patterns))
    for code, patterns in (("en", _EN_DE), ("de", _EN_DE), ("es", _ES_FR), ("fr", _ES_FR))
}
_QUANTITY = kind_set("NUMBER COUNT ONE")
_LENGTH = {
    Precision.DAY: timedelta(days=1),
    Precision.WEEK: timedelta(days=7),
    Precision.MONTH: timedelta(days=31),
    Precision.QUARTER: timedelta(days=92),
    Precision.YEAR: timedelta(days=366),
    Precision.DECADE: timedelta(days=3653),
}
"""Largest lengths. A time longer than a unit is not counted on in it: "in 2019, two days later"."""

_LONGEST = 100
"""Largest distance, in units."""

_REACH = 200
"""Characters between a time and the words that count from it."""

_SENTENCE_END = re.compile(r"[.!?;](?=\s)")
_APPOSITION = re.compile(r"\s*+[,(–—-]?+\s*+(?:(?:on|in|at)\s)?", re.IGNORECASE)
_OPENING = re.compile(r"[\s\"'“(]*(?:(?:and|but|then|so|und|dann|y|et|puis)[\s,]+)?", re.IGNORECASE)


def in_sequence(parsed: ParsedText, readings: Iterable[Reading]) -> Iterator[Reading]:
    """Yield the readings of a text, with those counted from the reading before them.

    "We met in May 2019 and married two years later" tells of 2021 as well. What counts from a time
    that is not certain, or from none, is not certain either.
    """
    steps = list(_steps(parsed))
    if not steps:
        yield from readings
        return
    counting = bytearray(len(parsed.context.text))
    for step in steps:
        counting[step.start : step.end] = b"\x01" * (step.end - step.start)
    in_order: list[Reading | Match] = [
        *(each for each in readings if not counting[each.token.start]),
        *steps,
    ]
    in_order.sort(key=_start)
    last: TimeExpression | None = None
    for each, following in zip_longest(in_order, in_order[1:]):
        if isinstance(each, Reading):
            last = each.time
            yield each
            continue
        time = None
        if not _is_restated(parsed.context.text, each, last, following):
            time = last = _counted(parsed.context, each, last)
        yield Reading(Token(TokenKind.TIME, each.start, each.end), time)


def _first(step: Match, kinds: Iterable[TokenKind]) -> Token | None:
    return next(iter(step.all(*kinds)), None)


def _start(each: Reading | Match) -> int:
    return each.start if isinstance(each, Match) else each.token.start


def _steps(parsed: ParsedText) -> Iterator[Match]:
    """Yield the phrases that may count from another time."""
    kinds = "".join(token.kind for token in parsed.tokens)
    for match in _PATTERNS[parsed.context.language.code].finditer(kinds):
        step = Match(parsed.context, parsed.tokens[match.start() : match.end()])
        which = _first(step, (TokenKind.WHICH,))
        dated = _first(step, (TokenKind.TIME,))
        if which and which.value != 1:  # "the last week"
            continue
        if not (dated and isinstance(dated.when, TimeSpan)):  # "the following 3 May 2019 slots"
            yield step


def _counted(context: Context, step: Match, last: TimeExpression | None) -> TimeExpression | None:
    """Return the time of a step from the last time told; None if it is not certain."""
    if last is None or not _belongs(context, last, step) or _is_compared(context, step):
        return None
    if is_doubted(context, step.start, step.end) or is_unreal(context, step.start, step.end):
        return None
    try:
        span = _moved(context, step, last.span)
    except (ValueError, OverflowError):
        return None
    if span is None:
        return None
    text = context.text[step.start : step.end]
    return TimeExpression(text, step.start, step.end, in_zone(span, context), last.yearly)


def _moved(context: Context, step: Match, span: TimeSpan) -> TimeSpan | None:
    """Return the calendar unit that is so far from the span; None if the span is too vague."""
    start, end = span.start.replace(tzinfo=UTC), span.end.replace(tzinfo=UTC)
    unit_token = _first(step, (TokenKind.UNIT, TokenKind.UNITS))
    if unit_token is None:
        named = _first(step, WHEN_KINDS)
        when = context.when(named) if named else None
        if not isinstance(when, Recurring) or span.duration > _LENGTH[Precision.YEAR]:
            return None
        return when.ahead(end)
    unit = UNITS[unit_token.value]
    if unit not in _LENGTH or span.duration > _LENGTH[unit]:
        return None
    quantity = _first(step, _QUANTITY)
    number = 1 if quantity is None or quantity.kind is TokenKind.ONE else quantity.value
    if number > _LONGEST:
        return None
    directed = _first(step, (TokenKind.STEP,))
    back = directed.value < 0 if directed else _first(step, (TokenKind.BEFORE,)) is not None
    return calendar.period(unit, calendar.shift(start, unit, -number if back else number))


def _is_restated(
    text: str, step: Match, last: TimeExpression | None, following: Reading | Match | None
) -> bool:
    """Return True if the time beside the step is the one that it counts to.

    "He died in 1960, ten years later", "Two days later, on 7 June, we left".
    """
    if last is not None and _APPOSITION.fullmatch(text, last.end_char, step.start):
        return True
    if not isinstance(following, Reading) or following.time is None:
        return False
    return _APPOSITION.fullmatch(text, step.end, following.token.start) is not None


def _belongs(context: Context, last: TimeExpression, step: Match) -> bool:
    """Return True if the step is in the sentence of the time, or begins the next one."""
    between = context.text[last.end_char : step.start]
    if len(between) > _REACH or "\n" in between:
        return False
    ends = [match.end() for match in _SENTENCE_END.finditer(between)]
    return not ends or (len(ends) == 1 and _OPENING.fullmatch(between, ends[0]) is not None)


def _is_compared(context: Context, step: Match) -> bool:
    """Return True for a distance that is not told of the last time, or is only about so long.

    "Three years later than planned", "about ten years later".
    """
    if context.word_after(step.end).casefold() in WORDS["compared"]:
        return True
    english = context.language.code == "en"
    if english and _first(step, (TokenKind.UNIT,)) and context.tag_after(step.end) in ("NN", "NNS"):
        return True  # "the following week plan"
    return context.word_before(step.start).casefold() in WORDS["approximate"]
