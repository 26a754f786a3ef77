"""Lines of a text under the dates on which they were said, and the tokens they take."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache

from hindsight_integrations.nlp.tokens import line_cost


def date_header(when: datetime) -> str:
    """Return a day with its clock time, where it was said; without one at midnight.

    Midnight stands for no time.
    """
    return _header(when.replace(tzinfo=None))  # times of one moment are equal in all zones


@lru_cache(1024)
def _header(when: datetime) -> str:
    if (when.hour, when.minute) == (0, 0):
        return _day_header(when.date())
    return f"[{when:%d %b %Y, %H:%M}]"


@lru_cache(1024)
def _day_header(day: date) -> str:
    return f"[{day:%d %b %Y}]"


class DatedLines:
    """Lines under headers, one for each day, in the order in which the days came.

    The header has the clock time if all lines of its day share it. Else it is the day alone, under
    which the lines stand in the order in which they were said: clock times for each line would
    take a third of the text of a chat.

    Args:
        count: returns the tokens of a text.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._lines: list[tuple[datetime, str]] = []
        self._headers: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def cost(self, when: datetime, line: str) -> int:
        """Return the tokens that a line would add, its header included; at least 1."""
        cost = line_cost(line, self._count)
        day, header = _day_header(when.date()), date_header(when)
        shown = self._headers.get(day)
        if shown is None:
            return cost + line_cost(header, self._count)
        if shown in (day, header):
            return cost
        saved = line_cost(shown, self._count) - line_cost(day, self._count)
        return max(1, cost - saved)

    def add(self, when: datetime, line: str) -> None:
        """Add a line said at this time."""
        self._lines.append((when, line))
        day, header = _day_header(when.date()), date_header(when)
        if self._headers.setdefault(day, header) != header:
            self._headers[day] = day

    def drop_last(self) -> None:
        """Remove the line that was added last, from the text; `cost` still counts its header."""
        self._lines.pop()

    def text(self) -> str:
        """Return the lines under their headers."""
        days: dict[str, list[tuple[datetime, str]]] = {}
        for when, line in self._lines:
            days.setdefault(_day_header(when.date()), []).append((when, line))
        return "\n".join(_section(day, said) for day, said in days.items())


def _section(day: str, said: list[tuple[datetime, str]]) -> str:
    headers = {date_header(when) for when, _ in said}
    header = headers.pop() if len(headers) == 1 else day
    return "\n".join([header, *(line for _, line in sorted(said, key=lambda each: each[0]))])
