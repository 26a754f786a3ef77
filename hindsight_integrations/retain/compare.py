"""Whether two names can be one thing's, and how alike they are.

Strict, since a wrong merge is hard to undo and a missed one is a click. Names are compared word
by word; a part of a word is never enough, so "Al" is not "Alice" and "Tigran" is not "Iran".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from rapidfuzz.distance import OSA

from hindsight_integrations.naming import entity_norm
from hindsight_integrations.retain import lexicon
from hindsight_integrations.retain.nicknames import (
    is_given_name,
    may_be_mans,
    may_be_womans,
    same_given_name,
)


class Relation(StrEnum):
    """How a name that may be another's relates to it."""

    SAME = "same"
    """Equal, but for titles, company suffixes and spaces."""
    SHORTER = "shorter"
    """A person by a part of the full name, an initial or a nickname."""
    FULLER = "fuller"
    """A person by more of the name than was known."""
    ACRONYM = "acronym"
    """The initials of all words, or what they stand for."""
    VARIANT = "variant"
    """Spelled a little differently."""
    STATED = "stated"
    """The text says that they are the same."""


class Gate(StrEnum):
    """Why two names are not one thing's."""

    WORDS = "a word of one has no match in the other"
    NUMBERS = "their numbers differ"
    KINDS = "they are of different kinds"
    TITLES = "one is called as a man, the other as a woman"
    TOGETHER = "the same statement mentions both"
    SCORE = "the score is below the threshold"
    AMBIGUOUS = "another fits as well"


@dataclass(frozen=True, slots=True)
class Match:
    """A relation that holds between two names, with their similarity from 0 to 1."""

    relation: Relation
    similarity: float


SAME = Match(Relation.SAME, 1.0)
SHORT_FORM = 0.9
"""Similarity of a part of a name: two such names are as often two persons' as one's."""
SURNAME_ALONE = 0.8
INITIAL = 0.8
NICKNAME = 0.9

_COMPANY_SUFFIXES = frozenset(
    {"inc", "incorporated", "corp", "corporation", "company", "co", "ltd", "limited", "llc", "llp"}
    | {"plc", "gmbh", "ag", "kg", "se", "sa", "sarl", "srl", "spa", "bv", "nv", "oy", "ab", "pty"}
)
_GENERATIONS = frozenset({"jr", "sr", "ii", "iii", "iv", "junior", "senior"})
_SPELLED_OUT = {
    "st": "saint",
    "mt": "mount",
    "ft": "fort",
    "univ": "university",
    "dept": "department",
}
_IGNORED = frozenset({"the", "and"})
_NOT_IN_ACRONYM = frozenset(
    {"of", "the", "and", "for", "in", "de", "du", "des", "la", "der", "und"}
)
_MEN = frozenset(
    "mr sir lord king prince uncle father brother grandpa herr monsieur señor signor tío".split()
)
_WOMEN = frozenset(
    "mrs ms miss lady dame madam queen princess aunt auntie sister grandma granny frau fräulein "
    "madame mme mademoiselle mlle señora señorita signora tante tía".split()
)
_NEVER_PERSONS = frozenset({"place", "event", "work", "product"})
_SHORTEST_MISSPELT = 5
_LONG_WORD = 8
_SHORTEST_ACRONYM = 3


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is compared.

    Attributes:
        norm: its normal form.
        words: words of the normal form, without titles, company suffixes, "the" and "and".
        numbers: words with a digit in them, and "Jr.", "III": these must agree.
        title: the title it began with, if any.
        is_address: it is an e-mail address, which is no form of any other name.
        in_capitals: it is written in capitals, as acronyms are.
    """

    norm: str
    words: tuple[str, ...]
    numbers: frozenset[str]
    title: str
    is_address: bool
    in_capitals: bool

    @property
    def is_full(self) -> bool:
        """Whether it has more than one word."""
        return len(self.words) > 1


@lru_cache(maxsize=16384)
def parse(name: str) -> Name:
    """Take a name apart for comparing."""
    norm = entity_norm(name)
    words = [_SPELLED_OUT.get(word, word) for word in norm.split()] or [norm]
    title = words[0] if len(words) > 1 and words[0] in _PLAIN_TITLES else ""
    core = words[1:] if title else words
    core = [word for word in core if word not in _IGNORED] or core
    if len(core) > 1 and core[0] in lexicon.NUMBERED and _is_code(core[1:]):
        core = core[1:]
    while len(core) > 1 and core[-1] in _COMPANY_SUFFIXES:
        core.pop()
    numbers = frozenset(
        word for word in core if word in _GENERATIONS or any(map(str.isdigit, word))
    )
    return Name(
        norm=norm,
        words=tuple(core),
        numbers=numbers,
        title=title,
        is_address="@" in name.strip()[1:],
        in_capitals=name.isupper(),
    )


def _is_code(words: list[str]) -> bool:
    """Whether they tell a thing without the noun before them: "INV-20417", not "101" or "B12"."""
    letters = sum(character.isalpha() for word in words for character in word)
    return letters > 1 and any(character.isdigit() for character in words[-1])


_PLAIN_TITLES = frozenset(entity_norm(title) for title in lexicon.TITLES)


@lru_cache(maxsize=65536)
def compare(one: str, one_kind: str, other: str, other_kind: str) -> Match | Gate:
    """How name `one` relates to name `other`, or the gate that keeps them apart.

    A kind of "concept" is no more than a guess, and agrees with any.
    """
    a, b = parse(one), parse(other)
    if a.norm == b.norm:
        return SAME
    if a.is_address or b.is_address:
        return Gate.WORDS
    if a.numbers != b.numbers:
        return Gate.NUMBERS
    kinds = {one_kind, other_kind}
    if "person" in kinds and kinds & _NEVER_PERSONS:
        return Gate.KINDS
    if not _titles_agree(a, b):
        return Gate.TITLES
    if "".join(a.words) == "".join(b.words):
        return SAME
    if "person" in kinds and not a.numbers:
        if not (_is_personal(a, one_kind) and _is_personal(b, other_kind)):
            return Gate.KINDS
        if len(a.words) <= len(b.words):
            return _compare_persons(a, b)
        match = _compare_persons(b, a)
        if isinstance(match, Match) and match.relation is Relation.SHORTER:
            return Match(Relation.FULLER, match.similarity)
        return match
    if acronym := _compare_acronym(a, b):
        return acronym
    if len(a.words) != len(b.words):
        return Gate.WORDS
    return _variant([_word(x, y) for x, y in zip(a.words, b.words, strict=True)])


def _titles_agree(a: Name, b: Name) -> bool:
    """Whether no title of one is the other sex's than the title or the given name of the other."""
    for one, other in ((a, b), (b, a)):
        given = other.words[0] if other.is_full else ""
        if one.title in _MEN and (other.title in _WOMEN or not may_be_mans(given)):
            return False
        if one.title in _WOMEN and (other.title in _MEN or not may_be_womans(given)):
            return False
    return True


def _is_personal(name: Name, kind: str) -> bool:
    """Whether it is a person's name, by its kind or, if that says little, its first word."""
    return kind == "person" or (
        is_given_name(name.words[0]) and name.words[0] not in lexicon.ALSO_WORDS
    )


def _compare_persons(a: Name, b: Name) -> Match | Gate:
    """A person's name against one of as many words or more."""
    if not a.is_full:
        return _compare_single(a, b)
    as_long = len(a.words) == len(b.words)
    first, last = _given(a.words[0], b.words[0]), _word(a.words[-1], b.words[-1], initial=True)
    if last == 0.0 and not as_long and a.words[-1] in b.words[1:]:
        last = SHORT_FORM  # two surnames, the second left out
    middle = [
        max((_word(word, other, initial=True) for other in others), default=0.0)
        for word, others in _middles(a.words[1:-1], b.words[1:-1])
    ]
    if min(first, last, *middle, 1.0) == 0.0:
        return Gate.WORDS
    similarity = (first + last) / 2 * (1.0 if as_long else SHORT_FORM)
    if _is_misspelt(a.words[0], b.words[0]) or _is_misspelt(a.words[-1], b.words[-1]):
        return Match(Relation.VARIANT, similarity)
    return Match(Relation.SHORTER, similarity)


def _middles(few: tuple[str, ...], many: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Each middle name with those that it may be: the one in its place, or any of more."""
    if len(few) == len(many):
        return [(word, (other,)) for word, other in zip(few, many, strict=True)]
    return [(word, many) for word in few]


def _compare_single(a: Name, b: Name) -> Match | Gate:
    """A single word against a person's name of one or more."""
    word = a.words[0]
    may_be_given = _may_be_given(a) and (b.is_full or _may_be_given(b))
    first = _given(word, b.words[0]) if may_be_given else 0.0
    if first == 1.0:
        return Match(Relation.SHORTER, SHORT_FORM)
    if b.is_full and word == b.words[-1]:
        return Match(Relation.SHORTER, SHORT_FORM if a.title else SURNAME_ALONE)
    if first == 0.0:
        return Gate.WORDS
    if _is_misspelt(word, b.words[0]):
        return Gate.WORDS if b.is_full else Match(Relation.VARIANT, first)
    return Match(Relation.SHORTER, first * (SHORT_FORM if b.is_full else 1.0))


def _may_be_given(name: Name) -> bool:
    """Whether a single word may be a given name: no lone initial, nor the "Lee" of "Mr. Lee"."""
    return len(name.words[0]) > 1 and not name.title


def _given(one: str, other: str) -> float:
    """Similarity of two given names: equal, an initial, a nickname, a slip of spelling."""
    if one != other and same_given_name(one, other):
        return NICKNAME
    return _word(one, other, initial=True)


def _word(one: str, other: str, *, initial: bool = False) -> float:
    """Similarity of two words, 0 if they are different ones."""
    if one == other:
        return 1.0
    if initial and 1 in (len(one), len(other)):
        return INITIAL if one[0] == other[0] else 0.0
    if _is_misspelt(one, other):
        return 1.0 - OSA.distance(one, other) / max(len(one), len(other))
    return 0.0


def _is_misspelt(one: str, other: str) -> bool:
    """Whether two words differ by a slip or two.

    Not in their last letter, where inflection and gender are: "Daniel" is not "Daniela".
    """
    shorter = min(len(one), len(other))
    if one == other or shorter < _SHORTEST_MISSPELT or (one[0], one[-1]) != (other[0], other[-1]):
        return False
    most = 1 if shorter < _LONG_WORD else 2
    return OSA.distance(one, other, score_cutoff=most) <= most


def _variant(similarities: list[float]) -> Match | Gate:
    if min(similarities) == 0.0:
        return Gate.WORDS
    return Match(Relation.VARIANT, sum(similarities) / len(similarities))


def _compare_acronym(a: Name, b: Name) -> Match | None:
    short, long = sorted((a, b), key=lambda name: len(name.words))
    initials = acronym(long.norm)
    if short.is_full or not short.in_capitals or short.words[0] != initials:
        return None
    if len(initials) < _SHORTEST_ACRONYM:
        return None
    return Match(Relation.ACRONYM, SHORT_FORM if len(initials) > _SHORTEST_ACRONYM else INITIAL)


def acronym(norm: str) -> str:
    """The initials of the words of a normalised name; "" for a single word."""
    words = [word for word in norm.split() if word not in _NOT_IN_ACRONYM]
    return "".join(word[0] for word in words) if len(words) > 1 else ""
