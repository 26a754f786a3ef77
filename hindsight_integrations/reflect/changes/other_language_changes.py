"""Changes told in German, French and Spanish, whose grammar is not parsed.

Two sentences that begin with the same subject are compared word by word: the later one has to say,
with a cue of ending, all of what it speaks of in the words of the earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from hindsight_integrations.nlp.data import word_sets
from hindsight_integrations.nlp.language import OTHER_FUNCTION_WORDS
from hindsight_integrations.reflect.changes.claim_model import ValueChange
from hindsight_integrations.reflect.other_languages import words_of

_WORDS = word_sets("other_languages")
_ENDINGS = re.compile(
    r"""
    \bnicht \s mehr\b | \bkeine?[nmrs]? \b .* \b mehr\b
    | \b(?:aufgehört|aufgegeben|gekündigt|verlassen|abgeschafft|verkauft)\b
    | \b(?:ne|n['’]\s?)\b .* \b plus\b
    | \ba \s (?:arrêté|quitté|vendu|abandonné|cessé) (?: \s de\b)?
    | \bai \s (?:arrêté|quitté|vendu|abandonné)\b
    | \bya \s no\b | \b(?:ha|he) \s (?:dejado|vendido|abandonado) (?: \s de\b)?
    | \b(?:dejó|vendió|abandonó) (?: \s de\b)?
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Cues that something ended; a sentence without one tells no change."""

_FROM_TO = re.compile(
    r"""
    \bvon \s (?P<a>[\w.-]+) \s (?:nach|zu|auf) \s (?P<b>[\w.-]+) \s .*
        (?:gezogen|gewechselt|umgestiegen|verlegt|verschoben|geändert|erhöht|gesenkt|umgestellt)\b
    | \bde \s (?P<c>[\w.-]+) \s (?:à|au|chez|pour|a) \s (?P<d>[\w.-]+)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Two values, of which the later one took the place of the earlier."""

_SHIFTS = re.compile(
    r"""\b(?: déménagé | passée? | changé | reportée? | déplacée? | augmenté | baissé
    | mudado | mudó | cambió | cambiado | pasó | pasado | trasladó | trasladado | subió | bajó
    | gezogen | gewechselt | umgestiegen | verlegt | verschoben | geändert | erhöht | gesenkt
    | umgestellt )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_CLAUSES = re.compile(r"[,;.]\s*|\s(?:und|sondern|et|mais|y|e|pero|sino)\s")
_NO_STATEMENT = re.compile(r"[?¿\"“”«»„]")
_ARTICLES = frozenset("der die das ein eine le la les l un une el los las una ma mon mes".split())
_OTHERS = _WORDS["third_person"]
_MINE = frozenset("ich wir je j nous yo nosotros mein meine unser unsere mon ma mi nuestro".split())


@lru_cache(maxsize=8192)
def tells_ending(text: str) -> bool:
    """Return True if a text in German, French or Spanish may tell a change."""
    if _NO_STATEMENT.search(text) or _WORDS["unsure"].intersection(words_of(text)):
        return False
    return bool(_ENDINGS.search(text)) or bool(_FROM_TO.search(text) and _SHIFTS.search(text))


def other_language_change(older: str, newer: str, *, same_speaker: bool) -> ValueChange | None:
    """Return how a later sentence changes an earlier one; None unless it is certain."""
    if not tells_ending(newer) or tells_ending(older):
        return None
    first, *further = _CLAUSES.split(newer.rstrip(". !"), maxsplit=1)
    known, said = words_of(older), words_of(first)
    shared = _shared(known, said)
    if not _is_subject(known[:shared], same_speaker=same_speaker):
        return None
    rest = [word for word in known[shared:] if word not in OTHER_FUNCTION_WORDS]
    if (both := _FROM_TO.search(newer)) is not None and _SHIFTS.search(newer):
        before, after = both["a"] or both["c"], both["b"] or both["d"]
        if before.casefold() in rest:
            return ValueChange(_subject(older), before, after)
        return None
    spoken = [w for w in said[shared:] if w not in OTHER_FUNCTION_WORDS | _WORDS["cue_words"]]
    if not _ENDINGS.search(first) or not set(spoken) <= {*known}:
        return None
    value = spoken[1:] if len(spoken) > 1 and spoken[0] == rest[0] else spoken
    if not value or value[-1] not in rest:
        return None
    after = _after(further[0], known) if further else None
    return ValueChange(_subject(older), _as_written(value[-1], older), after)


def _shared(known: Sequence[str], said: Sequence[str]) -> int:
    """Return the number of words that both begin with."""
    pairs = zip(known, said, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(known), len(said)))


def _is_subject(words: Sequence[str], *, same_speaker: bool) -> bool:
    """Return True for words that are a single subject: a name, or an article and a noun."""
    if not words or words[0] in _OTHERS:
        return False
    if words[0] in _MINE:
        return same_speaker
    return words[0] not in _ARTICLES or len(words) > 1


def _subject(text: str) -> str:
    words = text.split()
    return " ".join(words[: 2 if words[0].casefold() in _ARTICLES | _MINE else 1])


def _after(clause: str, known: Sequence[str]) -> str | None:
    """Return the only new word of a clause that otherwise repeats the statement."""
    words = words_of(clause)
    content = [w for w in words if w not in OTHER_FUNCTION_WORDS | _WORDS["now"] | _OTHERS]
    fresh = [word for word in content if word not in known]
    goes_on = len(fresh) < len(content) or bool(_WORDS["now"].intersection(words))
    return _as_written(fresh[0], clause) if goes_on and len(fresh) == 1 else None


def _as_written(word: str, text: str) -> str:
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)
    return match.group() if match else word
