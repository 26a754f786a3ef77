"""Find the names that their spelling alone tells: addresses, codes, numbers, names in brackets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.retain import name_kinds

_WORDS = word_sets("names")


@dataclass(frozen=True, slots=True)
class NameSpan:
    """`text[start:end]` names `name` (in its best spelling), a thing of `kind`.

    Attributes:
        certain: True if more than a model's label says so.
        votes: weights of the kinds that this mention speaks for.
    """

    start: int
    end: int
    name: str
    kind: str
    certain: bool = False
    votes: Counter[str] = field(default_factory=Counter, compare=False)


_ADDRESS = re.compile(r"([\w.+-]{1,64})@((?:[\w-]+\.)+[^\W\d_][\w-]+)(:?)")
"""Matches an e-mail address, and "git@host.example:" of a command."""
_HANDLE = re.compile(r"(?<![\w@./])@\w(?:[\w.-]*\w)?")
_HASHTAG = re.compile(r"(?<![\w#/&])#\w+")
_CODE = re.compile(r"(?<![\w.,:/@#-])(?=[\w./-]*\d)(?=[\w./-]*[^\W\d_])\w+(?:[-./]\w+)*")
_NUMBERED = re.compile(
    rf"\b(?:{'|'.join(sorted(_WORDS['numbered']))}) (?:no\.? ?|#)?"
    r"(?:[a-z]{1,2}-?)?\d{1,6}(?:[.-]\d+)*[a-z]?\b(?!,\d|:\d)",
    re.IGNORECASE,
)
_MEASURE = re.compile(
    r"""
    \d[\d.,]*[-/]?(?:st|nd|rd|th|s|am|pm|a|p|h|hrs?|min|mins|sec|ms|x|k|m|bn|b|d|w|y|yo|km|kg|g|mg
        |ml|l|cm|mm|mi|ft|in|lbs?|oz|mph|kph|kb|mb|gb|tb|hz|khz|mhz|ghz|px|fps|eur|usd|c|f|p|ish
        |er|ers|e|ème|u )
    | x\d+ | \d+/[^\W\d_]{2,5}               # x3, 300/mo
    | \d+(?:\.\d+)?(?:-\w+)+                 # 3-year-old, 10-day
    | \d+[-/.](?:\d+|[^\W\d_]+)[-/.]\d+.*    # dates
    | \d+t\d[\d:]*z?                         # times
    | \d+x\d+\w*                             # 6x800, 4x4m
    | [qhw]\d\d? | \w+\.\d{1,2}(?:am|pm)
    """,
    re.VERBOSE | re.IGNORECASE,
)


_COUNTING = re.compile(r" [a-z]+s\b")


def _sure(match: re.Match[str], kind: str, name: str = "") -> NameSpan:
    """Return the span of a pattern that leaves no doubt of the kind."""
    votes = Counter({kind: name_kinds.NAME_FORM_WEIGHT})
    return NameSpan(match.start(), match.end(), name or match.group(), kind, votes=votes)


def identifiers(text: str) -> Iterator[NameSpan]:
    """Yield addresses, @handles, #hashtags, codes with digits in them, and numbered nouns."""
    for match in _ADDRESS.finditer(text):
        name, end = f"{match[1]}@{match[2]}", match.end(2)
        if match[3] or match[1].casefold() in _WORDS["role_mailboxes"]:
            no_person = Counter({name_kinds.NO_PERSON: name_kinds.STATED_WEIGHT})
            yield NameSpan(match.start(), end, name, "concept", votes=no_person)
        else:
            yield _sure(match, "person")
    for match in _HANDLE.finditer(text):
        if "." in match.group():  # a person's, or a file given to a command
            yield NameSpan(match.start(), match.end(), match.group(), "concept")
        else:
            yield _sure(match, "person")
    for match in _HASHTAG.finditer(text):
        tag = match.group()
        number = tag[1:].isdigit()  # "#4401 told her" begins a ticket's note
        votes = Counter({name_kinds.NO_PERSON: name_kinds.STATED_WEIGHT * number})
        name = tag if number else tag[1:]
        yield NameSpan(match.start(), match.end(), name, "concept", votes=votes)
    for match in _CODE.finditer(text):
        if not _MEASURE.fullmatch(match.group()):
            yield NameSpan(match.start(), match.end(), match.group(), "concept")
    for match in _NUMBERED.finditer(text):
        if match.group().split()[0].casefold() in _WORDS["note_verbs"] and _COUNTING.match(
            text, match.end()
        ):
            continue  # "Order 3 chairs"
        yield NameSpan(match.start(), match.end(), match.group(), "concept")


_HONORIFICS = "先生|女士|小姐|老师|老師|教授|医生|醫生|经理|經理|さん|さま|様|くん|ちゃん|씨|님"
_PERSON = re.compile(
    rf"(?:(?<![\u4e00-\u9fff])[\u4e00-\u9fff]{{1,4}}?|[ァ-ヴー]{{2,10}}|[가-힣]{{2,4}}?)"
    rf"(?=\s?(?:{_HONORIFICS}))"
)
_KATAKANA_NAME = re.compile(r"[ァ-ヴー]{2,}(?:・[ァ-ヴー]{2,})+")
_QUOTED_WORK = re.compile(r"《([^《》\n]{1,40})》|『([^『』\n]{1,40})』")


def unspaced_names(text: str) -> Iterator[NameSpan]:
    """Yield persons with an honorific, full names in katakana, titles of works in brackets."""
    if text.isascii():
        return
    for pattern in (_PERSON, _KATAKANA_NAME):
        for match in pattern.finditer(text):
            yield _sure(match, "person")
    for match in _QUOTED_WORK.finditer(text):
        yield _sure(match, "work", match.group(1) or match.group(2))
