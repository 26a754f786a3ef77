"""Find what has capitals and is no name: web addresses, feasts, days, marks of tests, menus."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.nlp.data import table
from hindsight_integrations.nlp.name_matching import is_given_name
from hindsight_integrations.retain.name_words import Word

_URL = re.compile(r"(?:https?://|ftp://|www\.)\S+", re.IGNORECASE)
_FEASTS = (
    entry.strip(" !\n").partition("=")[0].replace(" s ", "['’]?s ")
    for entry in table("times")["en"]["words"]["HOLIDAY"].split(",")
)
_FEAST = re.compile(
    rf"\b(?:{'|'.join(feast for feast in _FEASTS if ' ' in feast)})\b", re.IGNORECASE
)
"""A day of the year of several words, which is a time and no name: "New Year's Eve"."""

_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?s?"
_DAYS = re.compile(rf"\b(?:(?:Open|Closed) )?{_DAY}[-–]{_DAY}\b")
"""Days of opening: "Open Wed-Sun"."""

_FAILED = re.compile(r"^E {2,}(?=\S)", re.MULTILINE)
"""Matches the mark of pytest before the lines of an error: "E  AssertionError: ..."."""

_MENU = re.compile(r"\b[A-Z]\w{0,40}(?: > [A-Z]\w{0,40}){1,9}")


def without_no_names(text: str) -> str:
    """Return the text with spaces in place of what is no name by its spelling."""
    for no_name in (_URL, _FEAST, _DAYS, _FAILED):
        text = no_name.sub(lambda match: " " * len(match.group()), text)
    return text


def in_menus(text: str, words: Sequence[Word]) -> set[int]:
    """Return the offsets of the words in paths through menus: "Reports > Vouchers".

    Every word of a path is in the dictionary, and none is a given name: "Anna > Ben" compares two.
    """
    if " > " not in text:
        return set()
    at = {word.start: word for word in words}
    found: set[int] = set()
    for menu in _MENU.finditer(text):
        starts = [menu.start() + part.start() for part in re.finditer(r"\w+", menu[0])]
        entries = [at[start] for start in starts if start in at]
        if all(word.listed and not is_given_name(word.lower) for word in entries):
            found.update(starts)
    return found
