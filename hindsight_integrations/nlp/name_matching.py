"""Compare two names: can they belong to one thing, and how similar are they?

Strict, since a wrong merge is hard to undo and a missed one is a click. Names are compared word
by word; a part of a word is never enough, so "Al" is not "Alice" and "Tigran" is not "Iran".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from rapidfuzz.distance import OSA

from hindsight_integrations.nlp.data import table, word_sets
from hindsight_integrations.nlp.word_classes import AMBIGUOUS_NAMES, TITLES
from hindsight_integrations.normalization import entity_norm

_MENS_NAMES: Mapping[str, str] = table("given_names")["mens"]
_WOMENS_NAMES: Mapping[str, str] = table("given_names")["womens"]
_SHORT_FORMS = {**_MENS_NAMES, **_WOMENS_NAMES}
_FORMAL: defaultdict[str, set[str]] = defaultdict(set)
for _formal, _shorts in _SHORT_FORMS.items():
    for _short in _shorts.split():
        _FORMAL[_short].add(_formal)
_NO_NAMES: frozenset[str] = frozenset()
_PLAIN_NAMES = word_sets("given_names")["plain"]

_SHARED_LETTERS = 3


def formal_names(word: str) -> Set[str]:
    """Return the given names that a lower-cased word is short for."""
    return _FORMAL.get(word, _NO_NAMES)


def short_forms(word: str) -> tuple[str, ...]:
    """Return the short forms of a lower-cased given name."""
    return tuple(_SHORT_FORMS.get(word, "").split())


def same_given_name(one: str, other: str) -> bool:
    """Return True if two lower-cased given names may be the same person's.

    One is short for the other ("bob", "robert"), or both are for the same name and similar
    ("kate", "katie"): a Bob is hardly ever called Rob as well.
    """
    if one in formal_names(other) or other in formal_names(one):
        return True
    alike = one[:_SHARED_LETTERS] == other[:_SHARED_LETTERS]
    return alike and not formal_names(one).isdisjoint(formal_names(other))


_MENS = word_sets("genders")["mens"].union(_MENS_NAMES)
_WOMENS = word_sets("genders")["womens"].union(_WOMENS_NAMES)


@lru_cache(maxsize=16384)
def gender_of(word: str) -> str:
    """Return "man" or "woman" for a given name that only one of them has; "" if not known."""
    names = {word, *formal_names(word)}
    of_man, of_woman = not names.isdisjoint(_MENS), not names.isdisjoint(_WOMENS)
    if of_man == of_woman:
        return ""
    return "man" if of_man else "woman"


@lru_cache(maxsize=16384)
def is_given_name(word: str) -> bool:
    """Return True if the tables know this word, or its half, as a given name: "Mei-Ling"."""
    plain = entity_norm(word)
    if plain in _SHORT_FORMS or plain in _FORMAL or plain in _PLAIN_NAMES:
        return True
    return "-" in word and plain.split()[0] in _PLAIN_NAMES


class Relation(StrEnum):
    """Relation of a name to another name of the same thing."""

    SAME = "same"
    """Equal, apart from titles, company suffixes and spaces."""
    SHORTER = "shorter"
    """Part of a person's full name, an initial or a nickname."""
    FULLER = "fuller"
    """More of a person's name than was known."""
    ACRONYM = "acronym"
    """The initials of all words, or what they stand for."""
    VARIANT = "variant"
    """Spelled a little differently."""
    ADDRESSED = "addressed"
    """Another spelling by which the conversation addresses a participant."""
    STATED = "stated"
    """The text says that they are the same."""


class Gate(StrEnum):
    """Reason why two names are not one thing's."""

    WORDS = "a word of one has no match in the other"
    NUMBERS = "their numbers differ"
    KINDS = "they are of different kinds"
    TITLES = "their titles differ, or one is called as a man, the other as a woman"
    FAMILY = "another of the family, a place or a firm may be meant"
    DENIED = "the text tells them apart"
    TOGETHER = "the same statement mentions both"
    SCORE = "the score is below the threshold"
    AMBIGUOUS = "another fits as well"
    APART = "the user keeps them apart"


@dataclass(frozen=True, slots=True)
class Match:
    """A relation between two names, with their similarity from 0 to 1."""

    relation: Relation
    similarity: float


SAME = Match(Relation.SAME, 1.0)
SHORT_FORM = 0.9
"""Similarity of a part of a name: as often another person's as the same one's."""
SURNAME_ALONE = 0.85
INITIAL = 0.8
NICKNAME = 0.85
"""Not enough without other evidence: a bank with a Robert may know another man as Bob."""
SAME_SOUND = 0.8

_WORDS = word_sets("names")
MENS_TITLES = frozenset(map(entity_norm, _WORDS["mens_titles"]))
WOMENS_TITLES = frozenset(map(entity_norm, _WORDS["womens_titles"]))
_TITLES = frozenset(map(entity_norm, TITLES))
KIN_TITLES = frozenset(map(entity_norm, _WORDS["kin_titles"]))
"""Titles that stand before a given name rather than a surname."""
_SAME_TITLE: Mapping[str, str] = {
    entity_norm(other): title
    for title, others in table("names")["same_titles"].items()
    for other in others.split()
}
_CALLINGS = _TITLES | _WORDS["personal_nouns"]
_SPELLED_OUT: Mapping[str, str] = table("names")["spelled_out"]
_IGNORED = frozenset({"the", "and"})
_NEVER_PERSONS = frozenset({"place", "event", "work", "product"})
_SHORTEST_MISSPELT = 5
_SHORTEST_HEARD = 3
_LONG_WORD = 8
_SHORTEST_ACRONYM = 3


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is compared.

    Attributes:
        norm: its normal form.
        words: words of the normal form, without titles, company suffixes, "the" and "and".
        numbers: words with a digit in them, and "Jr.", "III": these must agree.
        title: the title it begins with, or "".
        is_address: True for an e-mail address, which is no form of any other name.
        in_capitals: True if it is written in capitals, as acronyms are.
    """

    norm: str
    words: tuple[str, ...]
    numbers: frozenset[str]
    title: str
    is_address: bool
    in_capitals: bool

    @property
    def is_full(self) -> bool:
        """True if it has more than one word."""
        return len(self.words) > 1


@lru_cache(maxsize=16384)
def parse(name: str) -> Name:
    """Return the parts of a name that are compared."""
    norm = entity_norm(name)
    words = [_SPELLED_OUT.get(word, word) for word in norm.split()] or [norm]
    is_titled = len(words) > 1 and words[0] in _TITLES and not _SHIP.match(name)
    title = words[0] if is_titled else ""
    core = words[1:] if title else words
    core = [word for word in core if word not in _IGNORED] or core
    if len(core) > 1 and core[0] in _WORDS["numbered"] and _is_code(core[1:]):
        core = core[1:]
    while len(core) > 1 and core[-1] in _WORDS["company_suffixes"]:
        core.pop()
    numbers = frozenset(
        word for word in core if word in _WORDS["generations"] or any(map(str.isdigit, word))
    )
    return Name(
        norm=norm,
        words=tuple(core),
        numbers=numbers,
        title=title,
        is_address="@" in name.strip()[1:],
        in_capitals=name.isupper(),
    )


_SHIP = re.compile(r"MS (?=\w*[a-z])")
"""Begins a ship's name, where "Ms" and "MS MARPLE" are titles."""


def _is_code(words: list[str]) -> bool:
    """Return True if they identify a thing without a noun: "INV-20417", not "101" or "B12"."""
    letters = sum(character.isalpha() for word in words for character in word)
    return letters > 1 and any(character.isdigit() for character in words[-1])


@lru_cache(maxsize=65536)
def compare(one: str, one_kind: str, other: str, other_kind: str) -> Match | Gate:
    """Return the relation of name `one` to name `other`, or the reason why there is none.

    The kind "concept" is only a guess, and agrees with any.
    """
    a, b = parse(one), parse(other)
    kinds = {one_kind, other_kind}
    if a.norm == b.norm:
        return SAME
    if gate := _gate(a, b, kinds):
        return gate
    if "".join(a.words) == "".join(b.words):
        one_letter = len(a.words) != len(b.words) and 1 in (len(a.words[-1]), len(b.words[-1]))
        return Gate.WORDS if one_letter else SAME  # "Kanto S" is not "Kantos"
    if "person" in kinds and not a.numbers:
        if ("&" in one) != ("&" in other):
            return Gate.KINDS  # two names joined: "Ernst" is not short for "Ernst & Young"
        both_personal = _is_personal(a, one_kind, b) and _is_personal(b, other_kind, a)
        return _compare_either_way(a, b) if both_personal else Gate.KINDS
    if acronym := _compare_acronym(a, b):
        return acronym
    if len(a.words) != len(b.words):
        return Gate.WORDS
    return _variant([_word(x, y) for x, y in zip(a.words, b.words, strict=True)])


def _gate(a: Name, b: Name, kinds: set[str]) -> Gate | None:
    """Return the reason why two different names cannot be one thing's, whatever their words."""
    if a.is_address or b.is_address:
        return Gate.WORDS
    if a.numbers != b.numbers:
        return Gate.NUMBERS
    if "person" in kinds and kinds & _NEVER_PERSONS:
        return Gate.KINDS
    return None if _titles_agree(a, b) else Gate.TITLES


def _compare_either_way(a: Name, b: Name) -> Match | Gate:
    """Compare two persons' names, of which either may be the longer."""
    if len(a.words) <= len(b.words):
        return _compare_persons(a, b)
    match = _compare_persons(b, a)
    if isinstance(match, Match) and match.relation is Relation.SHORTER:
        return Match(Relation.FULLER, match.similarity)
    return match


def gender_of_title(name: Name) -> str:
    """Return "man" or "woman" for a name with a title that only one of them has; else ""."""
    if name.title in MENS_TITLES:
        return "man"
    return "woman" if name.title in WOMENS_TITLES else ""


def titles_differ(a: Name, b: Name) -> bool:
    """Return True if two names have titles that are not forms of one: "Mrs", "Dr."."""
    return bool(a.title and b.title) and _title(a) != _title(b)


def _title(name: Name) -> str:
    """Return the title of a name in one spelling: "doctor" for "Dr."."""
    return str(_SAME_TITLE.get(name.title, name.title))


def _titles_agree(a: Name, b: Name) -> bool:
    """Return False if the titles of two names are hardly one person's.

    That is if one is titled as a man, and the other titled or named as a woman, and if nothing but
    a surname or a given name speaks for one: "Mrs Klein" is not "Dr. Klein".
    """
    for one, other in ((a, b), (b, a)):
        title = gender_of_title(one)
        given = gender_of(other.words[0]) if other.is_full else ""
        if title and {gender_of_title(other), given} - {title, ""}:
            return False
    return not titles_differ(a, b) or (a.is_full and b.is_full)


def _is_personal(name: Name, kind: str, other: Name) -> bool:
    """Return True for a person's name: by its kind, its first word, or as a part of the other."""
    if kind == "person":
        return True
    if name.words[0] in AMBIGUOUS_NAMES:
        return False
    is_part = not name.is_full and name.words[0] in (other.words[0], other.words[-1])
    return is_given_name(name.words[0]) or (is_part and kind == "concept")


def _compare_persons(a: Name, b: Name) -> Match | Gate:
    """Compare a person's name with one of as many words or more."""
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
    if _is_variant(a.words[0], b.words[0]) or _is_variant(a.words[-1], b.words[-1]):
        return Match(Relation.VARIANT, similarity)
    return Match(Relation.SHORTER, similarity)


def _middles(few: tuple[str, ...], many: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each middle name with those it may equal: its counterpart, or any of more."""
    if len(few) == len(many):
        return [(word, (other,)) for word, other in zip(few, many, strict=True)]
    return [(word, many) for word in few]


def _compare_single(a: Name, b: Name) -> Match | Gate:
    """Compare a single word with a person's name of one or more."""
    word = a.words[0]
    may_be_given = _may_be_given(a) and (b.is_full or _may_be_given(b))
    first = _given(word, b.words[0]) if may_be_given else 0.0
    if first == 1.0:
        return Match(Relation.SHORTER, SHORT_FORM)
    if b.is_full and word == b.words[-1]:
        return Match(Relation.SHORTER, SHORT_FORM if a.title else SURNAME_ALONE)
    if first == 0.0:
        return Gate.WORDS
    if not same_given_name(word, b.words[0]) and _is_variant(word, b.words[0]):
        return Gate.WORDS if b.is_full else Match(Relation.VARIANT, first)
    return Match(Relation.SHORTER, first * (SHORT_FORM if b.is_full else 1.0))


def _may_be_given(name: Name) -> bool:
    """Return True unless it is a lone initial, a surname as in "Mr. Lee", or "Mother"."""
    return len(name.words[0]) > 1 and not name.title and name.words[0] not in _CALLINGS


def _given(one: str, other: str) -> float:
    """Return the similarity of two given names, nicknames, initials and misspellings included."""
    if one != other and same_given_name(one, other):
        return NICKNAME
    return _word(one, other, initial=True)


def _word(one: str, other: str, *, initial: bool = False) -> float:
    """Return the similarity of two words, 0 for different words."""
    if one == other:
        return 1.0
    if initial and 1 in (len(one), len(other)):
        return INITIAL if one[0] == other[0] else 0.0
    if _is_misspelt(one, other):
        return 1.0 - OSA.distance(one, other) / max(len(one), len(other))
    return SAME_SOUND if sounds_same(one, other) else 0.0


_SOUNDS = (("ph", "f"), ("ck", "k"), ("x", "ks"), ("q", "k"), ("z", "s"), ("w", "v"))
_SOFT_C = re.compile(r"c(?![eiyh])")
_SILENT = re.compile(r"(?<=[^aeiouy])h|(?<=[aeiouy])h(?=[^aeiouy]|\Z)")
_VOWELS = re.compile(r"(?<!\A)[aeiouy]+")
_REPEATED = re.compile(r"(.)\1+")


@lru_cache(maxsize=16384)
def _sound(word: str) -> str:
    """Return the consonants of a name, in one spelling: "mhmd" for Mohammed and Muhhamed."""
    word = _REPEATED.sub(r"\1", _SOFT_C.sub("k", word))
    for spelled, sound in _SOUNDS:
        word = word.replace(spelled, sound)
    return _REPEATED.sub(r"\1", _VOWELS.sub("", _SILENT.sub("", word)))


def sounds_same(one: str, other: str) -> bool:
    """Return True for spellings that transliteration or habit makes of one name.

    The last letters must be equal, as for `_is_misspelt`.
    """
    shorter = min(len(one), len(other))
    if one == other or shorter < _SHORTEST_HEARD or one[-1] != other[-1]:
        return False
    sound = _sound(one)
    return len(sound) > 1 and sound == _sound(other)


def _is_variant(one: str, other: str) -> bool:
    return _is_misspelt(one, other) or sounds_same(one, other)


def _is_misspelt(one: str, other: str) -> bool:
    """Return True if two words differ by one or two typing errors.

    The last letters must be equal, for they carry inflection and gender: "Daniel" is not
    "Daniela".
    """
    shorter = min(len(one), len(other))
    if one == other or shorter < _SHORTEST_MISSPELT or (one[0], one[-1]) != (other[0], other[-1]):
        return False
    most = 1 if shorter < _LONG_WORD else 2
    return OSA.distance(one, other, score_cutoff=most) <= most


def _variant(similarities: list[float]) -> Match | Gate:
    """Return the match of two names by the similarities of their words."""
    if min(similarities) == 0.0:
        return Gate.WORDS
    return Match(Relation.VARIANT, sum(similarities) / len(similarities))


def _compare_acronym(a: Name, b: Name) -> Match | None:
    """Return a match if one name is the initials of the other."""
    short, long = sorted((a, b), key=lambda name: len(name.words))
    initials = acronym(long.norm)
    if short.is_full or not short.in_capitals or short.words[0] != initials:
        return None
    if len(initials) < _SHORTEST_ACRONYM:
        return None
    return Match(Relation.ACRONYM, SHORT_FORM if len(initials) > _SHORTEST_ACRONYM else INITIAL)


def acronym(norm: str) -> str:
    """Return the initials of the words of a normalised name; "" for a single word."""
    words = [word for word in norm.split() if word not in _WORDS["not_in_acronym"]]
    return "".join(word[0] for word in words) if len(words) > 1 else ""
