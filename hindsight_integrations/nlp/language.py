"""Tell English from other languages, for what was written or measured for English alone."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
