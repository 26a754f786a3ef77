"""Where sentences end, by rule, in most scripts.

Fast and linear; a missed boundary only makes a sentence longer, a false one tears it apart, so
the rule leans towards missing.
"""

from __future__ import annotations

import re

_END = re.compile(
    r"""
    (?<![.!?…؟۔։።]) [.!?…؟۔։።]++ ["'”’»)\]*_]*+ (?=\s|\Z)  # followed by white space
    | [。！？｡।॥។]++ ["'”’»）」』】]*+                          # white space or not
    | \n (?= [^\S\n]* (?: [-*•‣–] | \d{1,3}[.)] | \#{1,6} ) [^\S\n] )  # before an item of a list
    """,
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«]*\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.-?)*[^\W\d_]\Z")
_ITEM_NUMBER = re.compile(r"(?:\A|\n)[^\S\n]*\d{1,3}\Z")
_NEXT_VISIBLE = re.compile(r"\s*(\S?)")

_ABBREVIATIONS = frozenset(
    """
    adm approx apt ave blvd bros ca capt cf cmdr col cpl dept dr e.g est fig figs fr gen gov
    hon i.e lt maj messrs mr mrs ms mt nr op pp pres prof rep rev sen sgt sr sra srta st supt
    univ viz vol vols vs
    bzw d.h dipl evtl ggf hr inkl o.ä str u.a usw z.b z.t
    av mme mlle mgr p.ex ud uds
    """.split()
)
_BEFORE_NUMBERS = frozenset("art ch eq no nos nr num p para sec".split())
_LOOK_BACK = 24


def sentence_ends(text: str) -> list[int]:
    """Offsets just after each sentence; the last is the length of the text.

    White space between two sentences belongs to the earlier one.
    """
    ends: list[int] = []
    for match in _END.finditer(text):
        if _is_boundary(text, match):
            following = _NEXT_VISIBLE.match(text, match.end())
            ends.append(following.start(1) if following else len(text))
    if text and (not ends or ends[-1] != len(text)):
        ends.append(len(text))
    return ends


def _is_boundary(text: str, end: re.Match[str]) -> bool:
    mark = end.group()
    if mark == "\n":
        return True
    following = _NEXT_VISIBLE.match(text, end.end())
    next_visible = following.group(1) if following else ""
    if next_visible.islower():
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = text[max(0, end.start() - _LOOK_BACK) : end.start()]
    word_match = _WORD_BEFORE.search(before)
    word = word_match.group() if word_match else ""
    if word.casefold() in _ABBREVIATIONS or _ITEM_NUMBER.search(before):
        return False
    if word.casefold() in _BEFORE_NUMBERS:
        return not next_visible.isdigit()
    return word == "I" or not (_INITIALS.match(word) and word[-1].isupper())
