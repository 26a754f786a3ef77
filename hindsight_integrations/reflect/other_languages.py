"""Questions in languages whose grammar is not parsed: answered by sentences with all their words.

What is asked for is not understood, so that only a sentence that speaks of everything the question
names, and of something else besides, counts as an answer.
"""

from __future__ import annotations

import re
from collections.abc import Set

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.language import OTHER_FUNCTION_WORDS
from hindsight_integrations.nlp.sentences import sentences

_WORDS = word_sets("other_languages")
_COPULA = re.compile(
    r"\b(?:ist|war|sind|waren|est|était|sont|es|era|son)\s+"
    r"(?:(?:sehr|wirklich|einfach|so|ganz|très|vraiment|si|muy|realmente|tan)\s+)*(?P<adjective>[^\W\d_]+)"
)
_PRAISE, _BLAME = (
    frozenset(word.casefold() for word in _WORDS[name]) for name in ("praise", "blame")
)
_DOUBTS = _WORDS["doubts"]
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_ELISION = re.compile(r"^(?:l|d|qu|n|s|j|m|t|c)['’]", re.IGNORECASE)


def content_of(question: str) -> frozenset[str]:
    """Return the content words of a German, French or Spanish question; else an empty set."""
    words = words_of(question)
    asks = question.rstrip().endswith("?")
    openings = [word for word in words[:2] if word in _WORDS["question_words"]]
    if openings == ["was"] and not _WORDS["german_only"].intersection(words):
        return frozenset()  # "Was Alice there?"
    if not asks or not openings:
        return frozenset()
    return frozenset(word for word in words if word not in OTHER_FUNCTION_WORDS)


def stating(text: str, wanted: Set[str]) -> list[str]:
    """Return the statements of a text that have all these words, and others in addition."""
    found = []
    for sentence in sentences(text):
        own = set(words_of(sentence)) - OTHER_FUNCTION_WORDS
        if not sentence.endswith("?") and wanted < own:
            found.append(sentence)
    return found


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without elided articles."""
    return [_ELISION.sub("", word).casefold() for word in _WORD.findall(text)]


def other_language_sign(text: str, topic: str) -> int | None:
    """Return the sign of a judgement, "La panadería es fantástica"; None if unclear."""
    copula = _COPULA.search(text)
    if copula is None or _DOUBTS.intersection(words_of(text)):
        return None
    named = " ".join(words_of(text[: copula.start()]))
    if (
        not re.search(rf"(?:\A|(?<!\w)){re.escape(topic.casefold())}(?!\w)", named)
        or "," in text[: copula.start()]
    ):
        return None
    adjective = copula["adjective"].casefold()
    signs = {_sign(adjective)} | {_sign(word) for word in words_of(text[copula.end() :])}
    signs.discard(0)
    return signs.pop() if len(signs) == 1 and _sign(adjective) else None


def _sign(word: str) -> int:
    return (word in _PRAISE) - (word in _BLAME)
