"""Labelled text of our own: how much of it the engine understands, and what it makes up.

A module of this package measures one subject (changes, entities, times, ...). Its cases lie in
`data/<subject>.jsonl`, one a line, each marked with the part it belongs to: rules are written
against "dev"; "held_out" was written before them and is only measured, though some of its errors
were read; "unseen" is by somebody who knew no rule, and was measured once they were written;
"read" was unseen, until its errors were read and rules mended with it.
"plain" is by such an author too, in the plainest turns of phrase; rules were mended with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
HALVES = ("dev", "held_out", "read", "unseen", "plain")
_folder = ContextVar("_folder", default=DATA)


@dataclass(slots=True)
class Score:
    """Count of what the engine concluded on one set of cases.

    Attributes:
        name: the subject and the half, such as "changes, held out".
        right: conclusions that the labels hold.
        wrong: a line for each conclusion that they do not hold.
        missed: a line for each labelled conclusion that was not drawn.
    """

    name: str
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the conclusions drawn that are right; 1.0 if none was drawn."""
        drawn = self.right + len(self.wrong)
        return self.right / drawn if drawn else 1.0

    @property
    def recall(self) -> float:
        """Share of the labelled conclusions that were drawn; 1.0 if none is labelled."""
        labelled = self.right + len(self.missed)
        return self.right / labelled if labelled else 1.0


def load(subject: str, half: str) -> list[dict[str, Any]]:
    """Return the cases of one half of a subject's file, in its order; none if there is no file.

    The file lies in `data/`, or in the folder given to `reading_from`.
    """
    path = _folder.get() / f"{subject}.jsonl"
    return [case for case in _cases(path) if case["half"] == half] if path.exists() else []


@contextmanager
def reading_from(folder: Path) -> Iterator[None]:
    """Let `load` read sets from another folder for the time of the context."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def table(scores: Iterable[Score]) -> str:
    """Return the scores as a Markdown table."""
    rows = ["| set | precision | recall | right | wrong | missed |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {one.name} | {one.precision:.2f} | {one.recall:.2f} | {one.right} "
        f"| {len(one.wrong)} | {len(one.missed)} |"
        for one in scores
    ]
    return "\n".join(rows)


def _cases(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())
