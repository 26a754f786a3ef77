"""The lines of a note that contain a memory, whatever the white space between its words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

SHORT = 8
"""Most words of a text that counts as found only if it fills its lines; a longer one may be a part
of a line."""


class Lines(NamedTuple):
    """First and last line, counted from 1."""

    start: int
    end: int


class _Span(NamedTuple):
    """Words [start, end) of a text."""

    start: int
    end: int


class LineIndex:
    """The words of a note and their lines, for finding texts in it."""

    def __init__(self, text: str) -> None:
        rows = [line.split() for line in text.split("\n")]
        words = [word for row in rows for word in row]
        self._lines = [number for number, row in enumerate(rows, start=1) for _ in row]
        self._joined = " ".join(words)
        self._starts = [0, *accumulate(len(word) + 1 for word in words)]

    def locate(self, text: str, chunk: str | None, chunks: Iterable[str]) -> Lines | None:
        """Return the lines of a text, or of the chunk it is from; None if it is not there.

        Args:
            text: what is looked for.
            chunk: the chunk it is from; a memory that a model worded is not in it verbatim.
            chunks: all chunks of the note, in order, to choose among several places with the same
                words.
        """
        after = 0
        for candidate in chunks:
            span = self._find(candidate, after)
            if candidate == chunk:
                if span is not None:
                    inner = self._find(text, span.start, span.end, inside=True)
                    return self._range(inner or span)
                break
            after = span.end if span else after
        found = self._find(text, 0)
        return self._range(found) if found else None

    def _find(
        self, text: str, start: int, end: int | None = None, *, inside: bool = False
    ) -> _Span | None:
        """Return the words that are the text, among words [start, end)."""
        needle = " ".join(text.split())
        if not needle:
            return None
        stop = len(self._joined) if end is None else self._starts[end] - 1
        offset = self._joined.find(needle, self._starts[start], stop)
        while offset >= 0:
            first = bisect_right(self._starts, offset) - 1
            last = bisect_right(self._starts, offset + len(needle) - 1) - 1
            span = _Span(first, last + 1)
            whole = self._joined[self._starts[first] : self._starts[last + 1] - 1] == needle
            if inside or needle.count(" ") >= SHORT or (whole and self._fills_lines(span)):
                return span
            offset = self._joined.find(needle, offset + 1, stop)
        return None

    def _fills_lines(self, span: _Span) -> bool:
        lines = self._lines
        begins = span.start == 0 or lines[span.start - 1] != lines[span.start]
        ends = span.end == len(lines) or lines[span.end - 1] != lines[span.end]
        return begins and ends

    def _range(self, span: _Span) -> Lines:
        return Lines(self._lines[span.start], self._lines[span.end - 1])
