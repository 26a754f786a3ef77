"""Texts of notes, and the hits of two searches side by side, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from hindsight_integrations.workspace.results import SearchHit

_SHOWN = 200
"""Characters of a text that a row shows."""

_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|!&~])")


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
    line = " ".join(text.split())
    line = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
    return _SIGNS.sub(r"\\\1", line)
