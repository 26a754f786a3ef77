"""Tell English from other languages, for what was written or measured for English alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from hindsight_integrations.nlp.data import table, word_sets

_LANGUAGES = table("reflection")["languages"]
_FOREIGN, _ENGLISH = (
    re.compile(rf"\b(?:{_LANGUAGES[name].strip().replace(chr(10), '|')})\b", re.IGNORECASE)
    for name in ("other", "english")
)

_ELSEWHERE = word_sets("other_languages")
OTHER_FUNCTION_WORDS = _ELSEWHERE["question_words"] | _ELSEWHERE["function_words"]
"""Function words of German, French and Spanish."""
_ASKING = frozenset(
    "what who whom whose when where which why how does did do can could should would "
    "me tell show give find suggest recommend remind help write explain translate sort "
    "please about into".split()
)
_WORD = re.compile(r"\w+")


def asks_in_english(question: str) -> bool:
    """Return True if a question has more frequent English words than those of other languages.

    Of a question of names alone the language is not known: it is not held to be English.
    """
    words = _WORD.findall(question.casefold())
    english = sum(word in _ASKING or _ENGLISH.fullmatch(word) is not None for word in words)
    return english > sum(word in OTHER_FUNCTION_WORDS for word in words)


def is_english(texts: Sequence[str]) -> bool:
    """Return True for Latin letters, and as many frequent English words as others."""
    joined = " ".join(texts)
    latin = sum(letter.isascii() for letter in joined if letter.isalpha())
    letters = sum(letter.isalpha() for letter in joined)
    return 10 * latin >= 9 * letters and (
        len(_ENGLISH.findall(joined)) >= len(_FOREIGN.findall(joined))
    )


Capitals = Literal["names", "nouns", "nothing"]
"""Use of capitals within a sentence: for names, for every noun (German), or for nothing, in a
script without them."""

_GERMAN = _ELSEWHERE["german"]
_ELSEWHERE_ONLY = (_GERMAN | _ELSEWHERE["romance_and_others"]) - _ELSEWHERE["shared"]
_FREQUENT_ENGLISH = (
    frozenset(_LANGUAGES["english"].replace("|", " ").split()) | _ASKING
) - _ELSEWHERE["shared"]
_ASKING_ELSEWHERE = (_ELSEWHERE_ONLY | _ELSEWHERE["question_words"]) - {"was"}
_LAST_LATIN = "\u024f"
_SHOWS = 2_000
"""Characters of a text that its language is told from."""


def capitals_elsewhere(text: str) -> Capitals | None:
    """Return what capitals mark in a text that is surely not English; None for any other.

    It is not if most of its letters are not Latin. Otherwise two or more different words speak for
    another language, and more than twice as many as for English: frequent words, and those in lower
    case with a letter that English does not have.
    """
    shown = text[:_SHOWS]
    letters = [letter for letter in shown if letter.isalpha()]
    others = [letter for letter in letters if letter > _LAST_LATIN]
    if 2 * len(others) > len(letters):
        cased = sum(letter.lower() != letter.upper() for letter in others)
        return "names" if 2 * cased > len(others) else "nothing"
    said = frozenset(_WORD.findall(shown))
    words = frozenset(word.casefold() for word in said)
    foreign = words & _ELSEWHERE_ONLY | _words_with_other_letters(said)
    in_names = said & _ELSEWHERE["in_names"]
    if not foreign or len(foreign | in_names) < max(2, 2 * len(words & _FREQUENT_ENGLISH) + 1):
        return None
    return "nouns" if 2 * len(words & _GERMAN) > len(words & _ELSEWHERE_ONLY) else "names"


def asks_in_another_language(question: str) -> bool:
    """Return True if a question is surely not English; of names alone it is not known.

    A question is short: besides what `capitals_elsewhere` takes for another language, one word of
    another language shows it if there is no frequent English word.
    """
    shown = question[:_SHOWS]
    if capitals_elsewhere(shown) is not None:
        return True
    said = frozenset(_WORD.findall(shown))
    words = frozenset(word.casefold() for word in said)
    foreign = words & _ASKING_ELSEWHERE | _words_with_other_letters(said)
    return bool(foreign) and not words & _FREQUENT_ENGLISH


def _words_with_other_letters(words: frozenset[str]) -> frozenset[str]:
    """Return those in lower case with a letter that English does not have."""
    return frozenset(word for word in words if word[0].islower() and not word.isascii())
