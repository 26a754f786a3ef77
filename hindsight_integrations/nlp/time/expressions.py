"""Times as a text names them, with their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from hindsight_integrations.nlp.time.calendar import EARLIEST, LATEST
from hindsight_integrations.nlp.time.grammar import Context
from hindsight_integrations.nlp.time.lexer import Token
from hindsight_integrations.timespan import TimeSpan


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time that a text names: its words, their offsets, and the span they mean.

    Attributes:
        yearly: True if the words name no year: the span is that of one of them.
    """

    text: str
    start_char: int
    end_char: int
    span: TimeSpan
    yearly: bool = False


class Reading(NamedTuple):
    """A token that one language reads as a time; `time` is None if it is not certain."""

    token: Token
    time: TimeExpression | None


def in_zone(span: TimeSpan, context: Context) -> TimeSpan:
    """Put a span of wall-clock time into the zone of the reference; open ends stay open."""
    start, end = (
        time if time in (EARLIEST, LATEST) else time.replace(tzinfo=context.zone)
        for time in (span.start, span.end)
    )
    return TimeSpan(start, end, span.precision)
