"""What times a question asks for: windows it names, and events whose time has to be remembered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.language.time.events import EventAnchor, anchors
from hindsight_integrations.language.time.reading import expressions, readings
from hindsight_integrations.settings import Hemisphere
from hindsight_integrations.timespan import TimeSpan


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """A time that a question names, and the words that name it."""

    span: TimeSpan
    text: str


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
        reference: when it is asked; its zone is the one the question's days are in (naive is UTC).
        hemisphere: whose seasons "spring" and the others are.
    """
    found = readings(question, reference, hemisphere, "past", events=True)
    placed = sorted(
        (anchor for reading in found for anchor in anchors(reading)), key=lambda pair: pair[0]
    )
    told = bytearray(len(question))
    for start, anchor in placed:
        told[start : start + len(anchor.text)] = b"\x01" * len(anchor.text)
    windows = [
        TimeWindow(time.span, time.text) for time in expressions(found) if not told[time.start_char]
    ]
    return QueryTimes(tuple(windows), tuple(anchor for _, anchor in placed))
