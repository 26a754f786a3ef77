"""Find the sentence around a time: lines end it, but one that is wrapped goes on in the next."""

from __future__ import annotations

import re

_ITEM = re.compile(r"\s*(?:[-*+•#>]|\d+[.)]\s|\[|☐|☑|✅)")
_SENTENCE_END = re.compile(r"[.!?;](?=\s|\Z)|\s[-–—]\s")
_NEWLINE = re.compile(r"\n")
_REACH = 400
"""Characters on each side of a time that can be of its sentence."""

_WRAPPED = 50  # characters of a line that is wrapped rather than ended, at least


def sentence_bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the ends of the sentence around these offsets, within `_REACH` of them."""
    first = max(0, start - _REACH)
    for line in _NEWLINE.finditer(text, first, start):
        if _ends_line(text, line.start()):
            first = line.end()
    last = min(len(text), end + _REACH)
    for line in _NEWLINE.finditer(text, end, last):
        if _ends_line(text, line.start()):
            last = line.start()
            break
    for mark in _SENTENCE_END.finditer(text, first, start):
        first = mark.end()
    stop = _SENTENCE_END.search(text, end, last)
    return first, stop.start() if stop else last


def _ends_line(text: str, newline: int) -> bool:
    """Return True unless the line is wrapped and its sentence goes on in the next."""
    line = text[text.rfind("\n", 0, newline) + 1 : newline]
    following = text[newline + 1 : newline + 40]
    wrapped = len(line) >= _WRAPPED and bool(following.strip())
    return not wrapped or _ITEM.match(following) is not None or following[:1] == "\n"
