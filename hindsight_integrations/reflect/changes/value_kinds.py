"""Kinds of values: what may take the place of what, by word tables and by the words shared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.reflect.changes.claim_model import Value, groups_of, is_time

_CHANGES = word_sets("changes")
_ORDINAL = re.compile(r"first|second|third|[a-z]+th|\d+(?:st|nd|rd|th)", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]?\d+[A-Z]?")
"""Number of a seat, room or line: "14B"."""
_NAMES = tuple(
    (kind, frozenset(name.replace("_", " ") for name in names.split()))
    for kind, names in table("kinds")["names"].items()
)
_NOUNS = tuple(word_sets("kinds", "nouns").items())
_HOMES = frozenset({"house", "street", "room", "court"})
_VERBS = tuple(word_sets("kinds", "verbs").values())


@lru_cache(maxsize=8192)  # each memory of a topic is compared with all others
def kinds(value: Value) -> frozenset[str]:
    """Return the kinds of a value: by its name, its last word, and its nouns."""
    words = value.text.casefold().replace("’", "'").split()
    found = {f"name {kind}" for kind, names in _NAMES if _is_any(words, names)}
    found |= groups_of(value.text)
    found |= {
        kind for kind, nouns in _NOUNS if words[-1] in nouns or words[-1].removesuffix("s") in nouns
    }
    if value.kind == "name":
        found |= {kind for kind, nouns in _NOUNS if nouns.intersection(words)}
    if value.kind == "role":
        found.add("role")
    return frozenset(found)


def may_be_home(after: Value, before: Value) -> bool:
    """Return True for the name of a place to which a resident of another may move.

    Not for that of a plan, a program or a firm, nor for a street after a town.
    """
    told = kinds(after)
    words = after.text.casefold().split()
    if not told <= _HOMES or not _CHANGES["no_place"].isdisjoint(words[-1:]):
        return False
    return "street" not in told or bool(kinds(before) & _HOMES)


def _is_any(words: Sequence[str], names: frozenset[str]) -> bool:
    text = " ".join(words)
    return text in names or words[-1] in names or words[0] in names


def are_alike(value: Value, after: Value) -> bool:
    """Return True for two values with a common last word, first name or kind of number."""
    codes = [bool(_CODE.fullmatch(one.text.split()[-1])) for one in (value, after)]
    coded = all(codes) and " " not in after.text
    numbered = value.text.split()[1:] == after.text.split()[1:] != [] and all(
        _ORDINAL.fullmatch(one.text.split()[0]) for one in (value, after)
    )  # "third floor", "fifth floor"
    return (
        coded
        or numbered
        or (not is_time(value) and (value.is_sibling(after) or shares_name(value, after)))
    )


def shares_name(value: Value, after: Value) -> bool:
    """Return True for names with the same first word: "Calle Mayor", "Calle Luna"."""
    here, there = value.text.split(), after.text.split()
    if min(len(here), len(there)) < 2 or here[0] != there[0]:
        return False
    return here[0][:1].isupper() or {here[-1], there[-1]} <= _CHANGES["numbers"]


def same_verb(one: str, other: str) -> bool:
    """Return True for the same verb, or two synonyms."""
    return one == other or any({one, other} <= verbs for verbs in _VERBS)
