"""Names that are written, not spoken: invoice numbers, rooms, versions, handles, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hindsight_integrations.retain import lexicon
from hindsight_integrations.retain.spans import NameSpan

_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_HANDLE = re.compile(r"(?<![\w@./])@\w(?:[\w.-]*\w)?")
_HASHTAG = re.compile(r"(?<![\w#/&])#\w+")
_CODE = re.compile(r"(?<![\w.,:/@#-])(?=[\w./-]*\d)(?=[\w./-]*[^\W\d_])\w+(?:[-./]\w+)*")
_NUMBERED = re.compile(
    rf"\b(?:{'|'.join(sorted(lexicon.NUMBERED))}) (?:no\.? ?|#)?"
    r"(?:[a-z]{1,2}-?)?\d{1,6}(?:[.-]\d+)*[a-z]?\b(?!,\d|:\d)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"""
    \d[\d.,]*[-/]?(?:st|nd|rd|th|s|am|pm|a|p|h|hrs?|min|mins|sec|ms|x|k|m|bn|b|d|w|y|yo|km|kg|g|mg
        |ml|l|cm|mm|mi|ft|in|lbs?|oz|mph|kph|kb|mb|gb|tb|hz|khz|mhz|ghz|px|fps|eur|usd|c|f|p|ish
        |er|ers|e|ème )
    | \d+(?:\.\d+)?(?:-\w+)+                 # 3-year-old, 10-day
    | \d+[-/.](?:\d+|[^\W\d_]+)[-/.]\d+.*    # dates
    | \d+t\d[\d:]*z?                         # times
    | [qhw]\d\d? | \w+\.\d{1,2}(?:am|pm)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def identifiers(text: str) -> Iterator[NameSpan]:
    """Addresses, @handles, #hashtags, codes with digits in them, and numbered nouns."""
    for match in _ADDRESS.finditer(text):
        yield NameSpan(match.start(), match.end(), match.group(), "person")
    for match in _HANDLE.finditer(text):
        yield NameSpan(match.start(), match.end(), match.group(), "person")
    for match in _HASHTAG.finditer(text):
        tag = match.group()
        name = tag if tag[1:].isdigit() else tag[1:]
        yield NameSpan(match.start(), match.end(), name, "concept")
    for match in _CODE.finditer(text):
        if not _MEASURE.fullmatch(match.group()):
            yield NameSpan(match.start(), match.end(), match.group(), "concept")
    for match in _NUMBERED.finditer(text):
        yield NameSpan(match.start(), match.end(), match.group(), "concept")
