"""Find what a text quotes: "tomorrow" in a quotation is not the day after the text was written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_QUOTED = re.compile(
    r"""
    (?<!\w) " (?=\S) ([^"\n]{2,2000}) (?<=\S) " (?!\w)
    | “ ([^“”\n]{2,2000}) ” | « ([^«»\n]{2,2000}) » | „ ([^„“”\n]{2,2000}) [“”]
    """,
    re.VERBOSE,
)
_FRAME_REACH = 150
"""Characters on each side of a quotation that may tell when it was said."""
_SENTENCE_END = re.compile(r"[.!?]\s|\n")


class Quotation(NamedTuple):
    """A quotation in a text.

    Attributes:
        start: offset of its first character within the marks.
        end: offset after its last one.
        frame_start: offset of the sentence that it stands in.
        frame_end: offset after that sentence, or after what may still belong to it.
    """

    start: int
    end: int
    frame_start: int
    frame_end: int


_LETTERS = re.compile(r"[^\W\d_][\w'’]*")
_SMALL = 4
"""Letters of a word that a title may write small: "of", "the", "with"."""
_LONGEST_TITLE = 80


def is_title(quoted: str) -> bool:
    """Return True for several words with capitals, as a title has them: "Saturday Night Fever"."""
    if len(quoted) > _LONGEST_TITLE or quoted[-1] in ".!?,":
        return False
    words = _LETTERS.findall(quoted)
    capitals = sum(word[0].isupper() for word in words)
    return capitals > 1 and all(word[0].isupper() or len(word) <= _SMALL for word in words)


def quotations(text: str) -> Sequence[Quotation]:
    """Return the quotations in a text, less one that is all of it, in order."""
    found = []
    for match in _QUOTED.finditer(text):
        if not text[: match.start()].strip() and not text[match.end() :].strip():
            return ()
        first = max(0, match.start() - _FRAME_REACH)
        ends = [one.end() for one in _SENTENCE_END.finditer(text, first, match.start())]
        closes = text[match.end() - 2] in ".!?"
        last = match.end() + (0 if closes else _FRAME_REACH)
        after = _SENTENCE_END.search(text, match.end(), last)
        group = next(number for number in (1, 2, 3, 4) if match[number] is not None)
        found.append(
            Quotation(
                match.start(group),
                match.end(group),
                ends[-1] if ends else first,
                after.start() if after else min(last, len(text)),
            )
        )
    return found
