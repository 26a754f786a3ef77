"""Names in a sentence, compared with those in a question by whole words and as whole names.

"Simone" is not "Simon", though their stems are equal, and the "Anna" of "Anna Brandt" is not that
of "Anna Lindqvist". Part of a name stands for all of it if nobody else in the memory has that part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.name_matching import (
    MENS_TITLES,
    WOMENS_TITLES,
    gender_of,
    is_given_name,
)
from hindsight_integrations.nlp.syntax import Word
from hindsight_integrations.nlp.word_classes import OCCUPATIONS, PERSONS, TITLES
from hindsight_integrations.normalization import entity_norm

_OF_ANYBODY = frozenset(map(entity_norm, word_sets("names")["degrees"]))
"""Titles that somebody has beside another one: "Dr Hall" may be "Mrs Hall"."""
_PERSON_NOUNS = PERSONS | OCCUPATIONS | (TITLES - {"general", "major", "coach"})
_OF_MEN, _OF_WOMEN = word_sets("questions")["of_men"], word_sets("questions")["of_women"]
_NO_PARTS = ("PRP", "PRP$", "DT", "IN", "CC", "TO", "MD", "WP", "WRB")


def words_of(name: str) -> frozenset[str]:
    """Return the words of a name, without titles."""
    return frozenset(entity_norm(name).split()) - TITLES


def whole_name(word: Word) -> frozenset[str]:
    """Return the words of the name that a word belongs to: adjacent capitalised words."""
    name = [*_name_before(word), word]
    while (after := name[-1].after) and _is_part(after):
        name.append(after)
    return frozenset(entity_norm(part.text) for part in name) - TITLES


def titles_of(word: Word) -> frozenset[str]:
    """Return the folded titles before the name that a word belongs to: "mr" of "Mr Hall".

    Of "Mr and Mrs Hall" both are.
    """
    name = _name_before(word)
    found = {entity_norm(part.text) for part in name} & TITLES
    joint = name[0].before if name else None
    if found and joint and joint.before and entity_norm(joint.text) in ("and", "or"):
        found |= {entity_norm(joint.before.text)} & TITLES
    return frozenset(found)


def _name_before(word: Word) -> list[Word]:
    """Return the words of a name that stand before this one, in order."""
    found: list[Word] = []
    while word.before and _is_part(word.before):
        word = word.before
        found.insert(0, word)
    return found


def may_share(asked: Set[str], told: Set[str]) -> bool:
    """Return True unless titles, or a title and a given name, distinguish two people.

    Args:
        asked: titles of one of them, folded.
        told: titles of the other, or all words of that name, folded.
    """
    one, other = asked & TITLES - _OF_ANYBODY, told & TITLES - _OF_ANYBODY
    unlike = gender_in(one) and {gender_in(one), gender_in(told - other)} == {"man", "woman"}
    return not unlike and (not one or not other or bool(one & other))


def gender_in(words: Iterable[str]) -> str:
    """Return "man" or "woman" if folded titles and given names show a gender; else ""."""
    found = set()
    for word in words:
        titled = "man" if word in MENS_TITLES | _OF_MEN else ""
        titled = titled or ("woman" if word in WOMENS_TITLES | _OF_WOMEN else "")
        found.add(titled or gender_of(word))
    found.discard("")
    return found.pop() if len(found) == 1 else ""


def may_be(asked: frozenset[str], told: frozenset[str]) -> bool:
    """Return True if one name contains all words of the other: "Anna", "Anna B.", "Anna Brandt"."""
    return bool(told) and (asked <= told or _without_initials(told, asked) <= asked)


def is_anothers(asked: frozenset[str], told: frozenset[str], entities: Iterable[str]) -> bool:
    """Return True if two names belong to different entities: "Shell" and "Shell Beach"."""
    known = {words_of(entity) for entity in entities}
    return asked != told and asked in known and told in known


def aliases(asked: frozenset[str], words: Sequence[Word], entities: Iterable[str]) -> set[Word]:
    """Return words of other names of the person asked about: "Bob" for "Tanaka"."""
    known = {words_of(entity): entity.split()[0] for entity in entities if entity.split()}
    whole = {name for name, first in known.items() if asked <= name and is_given_name(first)}
    return {
        word
        for word in words
        if word.is_proper
        if any(_is_only(whole_name(word), name, known) for name in whole)
    }


def is_person(word: Word) -> bool:
    """Return True for a word that is taken for a person's name."""
    return word.label == "PERSON" or (word.is_proper and is_given_name(word.text))


def is_person_noun(word: Word) -> bool:
    """Return True for a common noun for a person: "brother", "dentist"."""
    common = word.tag == "NN" or (word.is_proper and word.text.islower())
    return common and word.lemma in _PERSON_NOUNS


def _is_only(told: frozenset[str], name: frozenset[str], known: Iterable[frozenset[str]]) -> bool:
    """Return True if words are part of exactly one of the known names."""
    others = (each for each in known if each != name)
    return (
        bool(told) and _without_initials(told, name) <= name and not any(told <= o for o in others)
    )


def _without_initials(told: frozenset[str], name: frozenset[str]) -> frozenset[str]:
    """Return the words of a name without the initials of words of another, fuller one."""
    rest = {word[0] for word in name - told}
    return frozenset(word for word in told if len(word) > 1 or word not in rest)


def _is_part(word: Word) -> bool:
    """Return True for a word of a name, which may be tagged as an adjective or verb."""
    if word.is_time or not word.text[:1].isupper():
        return False
    return word.is_proper or (word.index > 0 and word.tag not in _NO_PARTS and word.text.istitle())
