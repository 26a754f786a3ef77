"""Show values to a person: one short line in a prompt, a table in a notebook.

Tables are plain HTML without scripts or colours of their own, so that they read the same in dark
themes and in exported notebooks; all text in them is escaped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape

from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.rendering import visible
from hindsight_integrations.timespan import day_text

SHORT = 60
"""Characters of a text in a line."""

ROWS = 50
"""Rows of a table; the rest is counted below it."""

_CELL = "text-align: left; vertical-align: top; white-space: pre-wrap; padding: 2px 8px"
_BAR = (
    '<div style="height: 3px; background: currentColor; opacity: .6; width: {width}%"></div>{text}'
)


class Share(float):
    """A number from 0 to 1, shown with a bar."""


def short(text: object) -> str:
    """Return the start of a text as a literal, on one line; of anything else its representation."""
    return repr(shorten(text, SHORT) if isinstance(text, str) else text)


def shorten(text: str, most: int) -> str:
    """Return at most so many characters of a text, with "…" if it is not all."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def moment(time: object) -> str:
    """Return a day, and the time of day unless it is midnight: "1 Mar 2025, 09:30"."""
    if not isinstance(time, datetime):  # a field that holds what it should not
        return "" if time is None else repr(time)
    at_midnight = not (time.hour or time.minute)
    return day_text(time) if at_midnight else f"{day_text(time)}, {time:%H:%M}"


def inflected(noun: str, number: int) -> str:
    """Return a noun as it stands after a number: "chunk", "chunks"; "memory", "memories"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return noun if number == 1 else plural


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 chunk", "3000 memories"."""
    return f"{number} {inflected(noun, number)}"


def table(rows: Iterable[Mapping[str, object]], caption: str = "", most: int = ROWS) -> str:
    """Return an HTML table: a column for each key of the first row that has a value in any row.

    Args:
        rows: the values by column.
        caption: what stands above it.
        most: rows shown; the others are counted.
    """
    every = list(rows)
    shown = every[:most]
    columns = [key for key in (shown[0] if shown else ()) if any(row[key] != "" for row in shown)]
    headings = "".join(f'<th style="{_CELL}">{_text(column)}</th>' for column in columns)
    head = f"<thead><tr>{headings}</tr></thead>" if "".join(columns).strip() else ""
    body = "".join(f"<tr>{''.join(_cell(row[column]) for column in columns)}</tr>" for row in shown)
    rest = f"<p>and {len(every) - most} more</p>" if len(every) > most else ""
    title = f"<caption style='text-align: left'>{_text(caption)}</caption>" if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>{rest}"


def record(fields: Mapping[str, object], caption: str = "") -> str:
    """Return an HTML table of one value: a row for each field that is not empty."""
    rows = [{"": name, " ": value} for name, value in fields.items() if value != ""]
    return table(rows, caption)


def lines(title: str, items: Sequence[object], most: int = 10) -> str:
    """Return a title and the representations of the first items, one a line."""
    shown = [f"  {item!r}" for item in items[:most]]
    rest = [f"  … and {len(items) - most} more"] if len(items) > most else []
    return "\n".join([title, *shown, *rest])


class NotebookTable(JsonForm, ABC):
    """Base of values that a notebook shows as a table of their fields."""

    __slots__ = ()

    @abstractmethod
    def _table_fields(self) -> Mapping[str, object]:
        """Return the fields to show by name, "" for one that is empty."""

    def _repr_html_(self) -> str:
        return record(self._table_fields(), type(self).__name__)


def _cell(value: object) -> str:
    if isinstance(value, Share):
        inner = _BAR.format(width=round(100 * value), text=f"{value:.2f}")
        return f'<td style="{_CELL}; min-width: 4em">{inner}</td>'
    return f'<td style="{_CELL}">{_text(value)}</td>'


def _text(value: object) -> str:
    return escape(visible(str(value)))
