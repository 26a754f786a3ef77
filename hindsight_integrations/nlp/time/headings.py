"""Read the headings and the title above an entry of a note, and the box of a to-do before it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.time.lexer import Language, Tense

_WORDS = word_sets("directions")

BOX = re.compile(r"\s*(?:[-*+•]\s+|\d+[.)]\s+)?(?:\[(?P<mark>[ xX✓✔*-]?)\]|(?P<sign>[☐☑✅✔✓]))\s*")
_DONE = frozenset("xX✓✔☑✅")
_HEADING = re.compile(r"\s*(?:#{1,6}\s.*|\*\*.+\*\*:?|.*:)\s*\Z")
_LETTERS = re.compile(r"[^\W\d_][\w'’-]*")

_MOST_HEADINGS = 20
"""Nearest headings above a time that may tell if it is past."""


def tense_of_setting(
    text: str, start: int, language: Language, setting: Sequence[str]
) -> Tense | None:
    """Return the tense given by the heading, the title, or the question answered."""
    for above in (*_headings(text, start), *setting):
        if above.rstrip().endswith("?"):
            if tense := language.tense(above):
                return tense
            continue
        words = _LETTERS.findall(above.casefold())
        ahead = not _WORDS["headings_ahead"].isdisjoint(words) or "to do" in above.casefold()
        back = not _WORDS["headings_back"].isdisjoint(words)
        if ahead != back:
            return "future" if ahead else "past"
    return None


def _headings(text: str, start: int) -> Iterator[str]:
    """Yield the lines above an offset that are headings or introductions, nearest first."""
    headings = _all_headings(text)
    above = bisect_left(headings, text.rfind("\n", 0, start) + 1, key=itemgetter(0))
    nearest = headings[max(0, above - _MOST_HEADINGS) : above]
    yield from (line for _, line in reversed(nearest))


@lru_cache(maxsize=4)
def _all_headings(text: str) -> Sequence[tuple[int, str]]:
    """Return the headings and introductions of a text with their offsets.

    They are kept for the next times of the same text: a long list would else be read for each.
    """
    starts = accumulate((len(line) + 1 for line in text.split("\n")), initial=0)
    lines = zip(starts, text.split("\n"), strict=False)
    return tuple((start, line) for start, line in lines if _HEADING.match(line))


def is_ticked(text: str, start: int) -> bool | None:
    """Return True if the line is a ticked entry of a list, False for an open one, else None."""
    box = BOX.match(text, text.rfind("\n", 0, start) + 1)
    if box is None:
        return None
    return (box["mark"] or box["sign"] or " ") in _DONE
