"""Numbers of weeks or years that tell how long it is between two events, or how long none was.

"Six weeks today since Al left" dates his leaving, "the first frost in three weeks" dates nothing.
"""

from __future__ import annotations

import re

from hindsight_integrations.nlp.time import calendar
from hindsight_integrations.nlp.time.calendar import When
from hindsight_integrations.nlp.time.grammar import Context, Match
from hindsight_integrations.nlp.time.idioms import MOST
from hindsight_integrations.nlp.time.lexer import TokenKind
from hindsight_integrations.timespan import Precision

SINCE = "[NUMBER COUNT ONE] ANY_UNIT DAY_WORD (?=SINCE)"

_FINITE = frozenset({"VBD", "VBP", "VBZ", "MD"})
_NOUNS = frozenset({"NN", "NNS", "VB"})
"""With the verb that a tagger takes a noun for in a note: "First roast"."""
_REACH = 60
"""Characters before a time that are read."""

_ONE_IN_ORDER = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|only|last|[2-9]nd|[1-9]st|[1-9]rd|[1-9]th)\s"
    r"(?:[\w'’-]+\s){1,4}\Z",
    re.IGNORECASE,
)
_DISTANCE = re.compile(
    r"(?:\A|(\w+)\s|\W)(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
    r"\s(?:days?|weeks?|months?|years?)\s\Z",
    re.IGNORECASE,
)
_OF_A_STAY = re.compile(r"\s(?:here|there)\s*(?:[.!;\n]|\Z)")
_TO_DAY = re.compile(r"(?:today|tomorrow|yesterday)\Z", re.IGNORECASE)
_LASTING = frozenset({"in", "after", "within", "for", "per", "times", "twice", "once"})
"""Before a number of weeks, these leave the day after it alone: "the first in two weeks today"."""


def since_when(match: Match) -> When | None:
    """Read how long ago an event was to the day: "six weeks today since", "a year today since"."""
    unit = match.unit()
    if unit in (Precision.MINUTE, Precision.HOUR):
        return None
    number = match.all(TokenKind.NUMBER, TokenKind.COUNT, TokenKind.ONE)[0]
    distance = 1 if number.kind is TokenKind.ONE else number.value
    day = calendar.shift(match.now, Precision.DAY, match.value(TokenKind.DAY_WORD))
    return calendar.period(Precision.DAY, calendar.shift(day, unit, -distance))


def tells_how_long(match: Match) -> bool:
    """Return True if "in two weeks" may tell how long there was no other: "first win in a year"."""
    if MOST.search(match.sentence()):
        return True
    context = match.context
    if context.statement is None:
        return False
    before = _ONE_IN_ORDER.search(context.text, max(0, match.start - _REACH), match.start)
    if before is None:
        return False
    tags = [w.tag for w in context.statement.words if before.start() < w.start < match.start]
    return bool(tags) and tags[-1] in _NOUNS and _FINITE.isdisjoint(tags)


def ends_a_stay(match: Match) -> bool:
    """Return True for the final night of a stay or run: "Last night here. House full"."""
    opens = not match.context.word_before(match.start)
    return opens and _OF_A_STAY.match(match.context.text, match.end, match.end + _REACH) is not None


def counts_from_day(context: Context, start: int, end: int) -> bool:
    """Return True for a day from which weeks or years are counted: "a week tomorrow we leave".

    Whether forward or backward, the text does not say; the day itself is not meant.

    Args:
        context: the text.
        start: offset of the time.
        end: offset after it.
    """
    if context.statement is None or not _TO_DAY.fullmatch(context.text, start, end):
        return False
    distance = _DISTANCE.search(context.text, max(0, start - _REACH), start)
    return distance is not None and (distance[1] or "").casefold() not in _LASTING
