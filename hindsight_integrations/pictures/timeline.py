"""`BankTimeline`: memories of a bank where they happened in time, a lane for each entity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from hindsight_integrations import display
from hindsight_integrations.models import Memory, MemoryType
from hindsight_integrations.pictures.drawing import (
    SMALL,
    TITLE_SIZE,
    Drawing,
    clean,
    cut,
    width,
)
from hindsight_integrations.pictures.picture import InteractivePicture, page
from hindsight_integrations.rendering import as_json
from hindsight_integrations.timespan import TimeSpan

LANES = 8
"""Entities with a lane of their own, those most often mentioned."""

OTHERS = "other"
"""Name of the lane of memories that mention none of them."""

TYPES = {
    MemoryType.WORLD: ("blue", "circle"),
    MemoryType.EXPERIENCE: ("orange", "square"),
    MemoryType.OPINION: ("pink", "diamond"),
    MemoryType.OBSERVATION: ("green", "hexagon"),
}
"""Colour and shape of each type of memory."""

WIDTH, LANE, HEAD, STRIP, LEFT, RIGHT = 1000.0, 58.0, 66.0, 44.0, 120.0, 30.0
"""Sizes in units of the drawing: all of it, a lane, the title, the counts, and the margins."""

BINS = 80
"""Bars of the strip that counts memories."""

JOINED = 9.0
"""Marks of a lane nearer than this are drawn as one, with their number."""

LABEL, LEAST_LABEL = 165.0, 60.0
"""Widest text beside a mark, and the least room in which one is written."""

LISTED, TEXT_CUT = 20, 70
"""Memories in the text, and characters of each."""

QUOTED = 240
"""Characters of a memory in an interactive picture."""

OUTLYING, STRETCH = 0.02, 4.0
"""Share of the earliest and of the latest memories that stand at the edges, if the others take
less than a `STRETCH`th of the time: one date in 1900 leaves no room for this year."""

FEW = 12
"""Times from which the earliest and the latest alone may stand at the edges."""

_BARS = "▁▂▃▄▅▆▇█"


class Event(NamedTuple):
    """A memory at one of its times.

    Attributes:
        at: start of `span`, or when it was said.
        span: a time that the text names; None if it names none.
        memory: the memory.
    """

    at: datetime
    span: TimeSpan | None
    memory: Memory

    @property
    def end(self) -> datetime:
        """End of the time, or when it was said."""
        return self.span.end if self.span else self.at


@dataclass(frozen=True, repr=False)
class BankTimeline(InteractivePicture):
    """Memories of a bank in time: a picture, and the events themselves.

    Attributes:
        bank_id: the bank.
        memories: those shown, in the order of storing.
        chosen: number of memories that the filters choose; if more than are shown, these are
            spread evenly over them.
    """

    bank_id: str
    memories: tuple[Memory, ...]
    chosen: int

    @property
    def title(self) -> str:
        """Title of the picture."""
        return f"Timeline of {self.bank_id}"

    @property
    def note(self) -> str:
        """Sentence that says what is shown, and what is not."""
        shown, counted = len(self.memories), display.counted(self.chosen, "memory")
        if shown < self.chosen:
            step = round(self.chosen / shown)
            counted += f", of which {shown} are shown, about every {step}th as they were stored"
        if not self.events:
            return f"{counted}."
        low, high = self._range
        outside = sum(not low <= event.at <= high for event in self.events)
        edges = f" {display.counted(outside, 'time')} beyond stand at the edges." if outside else ""
        return f"{counted}, {display.moment(low)} to {display.moment(high)}.{edges}"

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The memories at each of their times, oldest first."""
        found = (
            Event(span.start if span else memory.mentioned_at, span, memory)
            for memory in self.memories
            for span in memory.occurred or (None,)
        )
        return tuple(sorted(found, key=lambda event: (event.at, event.memory.id)))

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """Names of the entities most often mentioned, then `OTHERS` if memories mention none."""
        counts = Counter(name for memory in self.memories for name in memory.entities)
        names = sorted(counts, key=lambda name: (-counts[name], name))[:LANES]
        others = any(not {*memory.entities} & {*names} for memory in self.memories)
        return (*names, OTHERS) if others else tuple(names)

    def to_json(self) -> str:
        """Return JSON: the bank, and each memory at each of its times."""
        events = [
            {
                "at": event.at.isoformat(),
                "end": event.end.isoformat(),
                "named": event.span is not None,
                "id": event.memory.id,
                "text": event.memory.text,
                "type": event.memory.type,
                "entities": list(event.memory.entities),
            }
            for event in self.events
        ]
        return as_json({"bank": self.bank_id, "events": events}, indent=2) + "\n"

    def _forms(self) -> dict[str, object]:
        return {**super()._forms(), ".json": self.to_json}

    # Text

    def __str__(self) -> str:
        lines = [clean(f"{self.title}: {self.note}")]
        if self.events:
            lines.append(f"  {_sparkline(self._counts(60))}")
        lines += [
            f"  {_when(event):28}  {display.shorten(clean(event.memory.text), TEXT_CUT)}"
            for event in self.events[:LISTED]
        ]
        if len(self.events) > LISTED:
            lines.append(f"  … and {len(self.events) - LISTED} later")
        return "\n".join(lines)

    def _table(self) -> str:
        rows = [
            {
                "when": _when(event),
                "memory": event.memory.text,
                "entities": ", ".join(event.memory.entities),
            }
            for event in self.events
        ]
        return display.table(rows, "Oldest first", 500)

    # Drawing

    @cached_property
    def _range(self) -> tuple[datetime, datetime]:
        """The times at the edges of the picture."""
        times = [event.at for event in self.events]
        low, high = times[0], max(times[-1], *(event.end for event in self.events))
        aside = max(len(times) >= FEW, int(len(times) * OUTLYING))
        inner_low, inner_high = times[aside], times[-1 - aside]
        if aside and (high - low) > STRETCH * (inner_high - inner_low):
            low, high = inner_low, inner_high
        return low, max(high, low + timedelta(hours=1))

    def _x(self, time: datetime) -> float:
        low, high = self._range
        share = (time - low) / (high - low)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    def _counts(self, bins: int) -> list[int]:
        counts = [0] * bins
        for event in self.events:
            share = (self._x(event.at) - LEFT) / (WIDTH - LEFT - RIGHT)
            counts[min(bins - 1, int(share * bins))] += 1
        return counts

    def html(self) -> str:
        """Return the picture as one HTML page that works without a network."""
        return page(
            self.title, self.svg(), self._table(), script="timeline.js", data=self._content()
        )

    def _content(self) -> object:
        """Return the values of the page's script, times in milliseconds since 1970."""
        lane = {name: number for number, name in enumerate(self.lanes)}
        low, high = self._range if self.events else (_NOW, _NOW)
        return {
            "title": clean(self.title),
            "note": clean(self.note),
            "lanes": [clean(name) for name in self.lanes],
            "low": low.timestamp() * 1000,
            "high": high.timestamp() * 1000,
            "types": {
                kind: {"colour": colour, "shape": shape} for kind, (colour, shape) in TYPES.items()
            },
            "events": [
                {
                    "at": event.at.timestamp() * 1000,
                    "end": event.end.timestamp() * 1000,
                    "named": event.span is not None,
                    "when": clean(str(event.span) if event.span else display.moment(event.at)),
                    "said": display.moment(event.memory.mentioned_at),
                    "gone": event.memory.invalidated_at is not None,
                    "type": event.memory.type,
                    "text": clean(event.memory.text[:QUOTED])
                    + ("…" if len(event.memory.text) > QUOTED else ""),
                    "speaker": clean(event.memory.speaker or ""),
                    "lanes": self._lanes_of(event.memory, lane),
                }
                for event in self.events
            ],
        }

    def _lanes_of(self, memory: Memory, lane: dict[str, int]) -> list[int]:
        return [lane[name] for name in memory.entities if name in lane] or [lane[OTHERS]]

    def _drawing(self) -> Drawing:
        height = HEAD + STRIP + LANE * max(1, len(self.lanes)) + 56
        drawing = Drawing(WIDTH, height, self.title, self.note)
        drawing.text(24, 32, cut(self.title, WIDTH - 48, TITLE_SIZE), size=TITLE_SIZE,
                     font_weight=600)  # fmt: skip
        drawing.text(24, 51, cut(self.note, WIDTH - 48, SMALL), size=SMALL, fill="soft")
        if not self.events:
            return drawing
        self._draw_axis(drawing, height - 50)
        self._draw_counts(drawing)
        lane = {name: number for number, name in enumerate(self.lanes)}
        by_lane: dict[int, list[Event]] = {number: [] for number in lane.values()}
        for event in self.events:
            for number in self._lanes_of(event.memory, lane):
                by_lane[number].append(event)
        for name, number in lane.items():
            y = HEAD + STRIP + LANE * (number + 0.5)
            drawing.path(f"M{LEFT:.0f},{y:.1f}H{WIDTH - RIGHT:.0f}", stroke="line")
            drawing.text(LEFT - 14, y + 4, cut(name, LEFT - 30), anchor="end", font_weight=600)
            self._draw_lane(drawing, by_lane[number], y)
        _legend(drawing, self.events, height - 14)
        return drawing

    def _draw_axis(self, drawing: Drawing, bottom: float) -> None:
        for time, name in ticks(*self._range):
            x = self._x(time)
            drawing.path(f"M{x:.1f},{HEAD:.0f}V{bottom:.0f}", stroke="line", stroke_dasharray="2 4")
            drawing.text(x, bottom + 16, name, size=SMALL, fill="soft", anchor="middle")

    def _draw_counts(self, drawing: Drawing) -> None:
        counts, base = self._counts(BINS), HEAD + STRIP - 8
        most, wide = max(counts), (WIDTH - LEFT - RIGHT) / BINS
        for number, count in enumerate(counts):
            tall = (STRIP - 16) * count / most
            drawing.rect(LEFT + number * wide, base - tall, wide - 1, tall, fill="grey")
        drawing.text(LEFT - 14, base - 4, "memories", size=SMALL, fill="soft", anchor="end")

    def _draw_lane(self, drawing: Drawing, events: Sequence[Event], y: float) -> None:
        free = {
            -16.0: LEFT - 8,
            24.0: LEFT - 8,
        }  # offset of each row of texts, and where it is free
        for event in events:
            colour, _ = TYPES[event.memory.type]
            start, end = self._x(event.at), self._x(event.end)
            if end - start > JOINED:
                drawing.path(f"M{start:.1f},{y:.1f}H{end:.1f}", stroke=colour, stroke_width=5,
                             stroke_opacity=0.35, stroke_linecap="round")  # fmt: skip
        for together in self._together(events):
            first = together[0]
            x, count = self._x(first.at), len(together)
            colour, shape = TYPES[first.memory.type]
            filled = first.span is not None and first.memory.invalidated_at is None
            radius = min(11.0, 4.5 + 1.2 * (count - 1) ** 0.5)
            drawing.mark(x, y, shape, radius, fill=colour if filled else "paper", stroke=colour,
                         stroke_width=1.6)  # fmt: skip
            more = f" (+{count - 1})" if count > 1 else ""
            for offset, end in free.items():
                right, before = WIDTH - 10 - x, x - end
                aside = right < LABEL / 2 and before > right
                room = min(LABEL, before if aside else right)
                if before >= 5 and room >= LEAST_LABEL:
                    label = cut(first.memory.text, room - width(more, SMALL), SMALL) + more
                    drawing.text(x + 5 if aside else x - 4, y + offset, label, size=SMALL,
                                 anchor="end" if aside else "start")  # fmt: skip
                    free[offset] = x + (13 if aside else width(label, SMALL) * 1.05 + 8)
                    break

    def _together(self, events: Sequence[Event]) -> Iterator[list[Event]]:
        """Yield the events of each mark."""
        joined: list[Event] = []
        for event in events:
            if joined and self._x(event.at) - self._x(joined[0].at) >= JOINED:
                yield joined
                joined = []
            joined.append(event)
        if joined:
            yield joined


_NOW = datetime(1970, 1, 1, tzinfo=UTC)
"""Both edges of a timeline without events."""


def _when(event: Event) -> str:
    return str(event.span) if event.span else f"said {display.moment(event.at)}"


def _sparkline(counts: Sequence[int]) -> str:
    most = max(counts)
    return "".join(
        _BARS[-(-count * (len(_BARS) - 1) // most)] if count else " " for count in counts
    )


def _legend(drawing: Drawing, events: Sequence[Event], y: float) -> None:
    x = LEFT
    for kind in dict.fromkeys(event.memory.type for event in events):
        colour, shape = TYPES[kind]
        drawing.mark(x, y - 4, shape, 4.5, fill=colour)
        drawing.text(x + 11, y, kind, size=SMALL, fill="soft")
        x += 34 + width(kind, SMALL)
    drawing.mark(x + 8, y - 4, "circle", 4.5, fill="paper", stroke="soft", stroke_width=1.6)
    drawing.text(x + 18, y, "open: the text names no time, and stands where it was said",
                 size=SMALL, fill="soft")  # fmt: skip


_STEPS = (
    *(timedelta(minutes=n) for n in (1, 5, 15, 30)),
    *(timedelta(hours=n) for n in (1, 3, 6, 12)),
    *(timedelta(days=n) for n in (1, 2, 7, 14)),
)
"""Distances of the lines of an axis; longer ones are months."""

_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200)

MOST_TICKS = 10


def ticks(low: datetime, high: datetime) -> list[tuple[datetime, str]]:
    """Return up to `MOST_TICKS` round times between two, with their names."""
    for step in _STEPS:
        if (high - low) / step <= MOST_TICKS:
            origin = low.replace(hour=0, minute=0, second=0, microsecond=0)
            first = origin + step * -(-(low - origin) // step)
            count = int((high - first) / step) + 1
            return [(at, _named(at, step)) for at in (first + step * n for n in range(count))]
    months = (high.year - low.year) * 12 + high.month - low.month
    step_months = next((n for n in _MONTHS if months / n <= MOST_TICKS), _MONTHS[-1])
    first_month = -(-(low.year * 12 + low.month - 1) // step_months) * step_months
    times = []
    for number in range(first_month, high.year * 12 + high.month, step_months):
        year, month = divmod(number, 12)
        at = datetime(year, month + 1, 1, tzinfo=UTC)
        if low <= at <= high:
            times.append((at, f"{year}" if step_months % 12 == 0 else f"{at:%b %Y}"))
    return times


def _named(at: datetime, step: timedelta) -> str:
    if step >= timedelta(days=1):
        return f"{at.day} {at:%b}"
    return f"{at:%H:%M}" if step < timedelta(hours=1) else f"{at.day} {at:%b %H:%M}"
