"""Results of a workspace: events of a sync, hits of a search, lines of a note; hits as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Literal

from hindsight_integrations import display
from hindsight_integrations.models import utc_now

_SHOWN = 200
"""Characters of a text that a row shows."""

_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|!&~])")


class Action(StrEnum):
    """Outcome of a note in a sync."""

    RETAINED = "retained"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    """The note is gone, blank or no longer included, and its memories left."""
    REFUSED = "refused"
    """The note is a link, too large, or not text; what was retained of it before is kept."""
    WAITING = "waiting"
    """The store is away: what changed is on disk, and is carried over when it is back."""
    FAILED = "failed"
    """The memory could not store it; the next sync tries again."""


@dataclass(frozen=True, slots=True)
class SyncEvent:
    """One note in a sync, or one summary that was flushed.

    Attributes:
        path: of the note, relative to the root.
        stored: number of memories written.
        removed: number of memories deleted.
        detail: why it was refused, waits or failed.
        error: the error of a note that failed.
        at: when.
    """

    action: Action
    path: str
    stored: int = 0
    removed: int = 0
    detail: str | None = None
    error: Exception | None = field(default=None, compare=False)
    at: datetime = field(default_factory=utc_now, compare=False)


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The events of a sync, one a note, in order of path."""

    events: tuple[SyncEvent, ...]

    def paths(self, action: Action | str) -> list[str]:
        """Return the paths of the notes with this outcome."""
        return [event.path for event in self.events if event.action == action]

    @property
    def counts(self) -> Counter[str]:
        """Notes by their outcome."""
        return Counter(str(event.action) for event in self.events)

    @property
    def ok(self) -> bool:
        """True if no note failed."""
        return not self.paths(Action.FAILED)

    def __repr__(self) -> str:
        return f"SyncResult({', '.join(f'{name}={n}' for name, n in self.counts.items())})"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A memory that a search found, and where it stands.

    Attributes:
        text: the memory.
        path: its note, relative to the root; "hindsight://facts/{type}/{id}" if it stands in none,
            or not any more. `Workspace.get` takes both.
        start_line: first line of the note that holds it, counted from 1; 0 without a note.
        end_line: last such line; 0 without a note.
        score: probability that it belongs to the answer, 0 to 1.
        entities: names of what it mentions.
        confidence: 0 to 1, for opinions and uncertain facts.
        source: "files" for a section of a note found by its words while the store is away; its
            score is then the share of the best BM25 score that its words could have.
    """

    text: str
    path: str
    start_line: int
    end_line: int
    score: float
    entities: tuple[str, ...] = ()
    confidence: float | None = None
    source: Literal["memory", "files"] = "memory"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a note, the first of them `start_line`; of a memory without a note both are 0."""

    text: str
    path: str
    start_line: int
    end_line: int


def hit_table(files: Sequence[SearchHit], memory: Sequence[SearchHit]) -> Iterator[str]:
    """Yield the hits of both searches side by side, as a Markdown table."""
    yield from ("| files | memory |", "|---|---|")
    for old, new in zip_longest(files, memory):
        yield f"| {_cell(old)} | {_cell(new)} |"


def _cell(hit: SearchHit | None) -> str:
    if hit is None:
        return ""
    lines = f":{hit.start_line}" if hit.start_line else ""
    return f"{escaped(hit.path)}{lines} {escaped(hit.text)}"


def escaped(text: str) -> str:
    """Return a text on one line, shortened, whose characters mean nothing in Markdown."""
    return _SIGNS.sub(r"\\\1", display.shorten(" ".join(text.split()), _SHOWN))
