"""Text to the terms that keyword search matches.

Every store indexes the same lexemes, so that they rank alike. English words are stemmed, scripts
without spaces become pairs of characters, and what looks like an identifier is kept whole as
well as in its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING
from unicodedata import normalize

if TYPE_CHECKING:
    from Stemmer import Stemmer

LONGEST = 64
"""Characters of a lexeme; of a longer one the beginning is kept."""

# Written without spaces: Han with its iteration marks, kana, Thai, Lao, Myanmar, Khmer.
_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_HANGUL = "\uac00-\ud7a3"
# To Python, the vowel signs of Indic scripts are no part of their words.
_LETTER = rf"(?:[^\W{_UNSPACED}]|[\u0900-\u0963\u0966-\u0dff])"
_EMOJI = "[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]"
_FLAG = "[\U0001f1e6-\U0001f1ff]{2}"
# A word, or several with single signs between them: an identifier, address, number, version.
_COMPOUND = rf"{_LETTER}+(?:(?:://|[-.'@:/&=?%~+]){_LETTER}+)*(?:\+\+|\#(?!\w))?"
_CHUNK = re.compile(rf"{_COMPOUND}|[{_UNSPACED}]+|{_FLAG}|{_EMOJI}")
_PART = re.compile(
    rf"(?P<hangul>[{_HANGUL}]+)|(?P<unspaced>[{_UNSPACED}]+)|(?P<emoji>{_FLAG}|{_EMOJI})"
    rf"|(?P<word>(?:(?![_{_HANGUL}]){_LETTER})+)"
)
_ACRONYM = re.compile(r"(?:[a-z]\.)+[a-z]")

_DIGIT_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ENGLISH_ENDING = re.compile(r"'(?:s|m|d|re|ve|ll)$")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
# Accents of Latin, Greek and Cyrillic, Hebrew points, Arabic vowels: often left out in writing.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0670]")
_PLAIN_SIGNS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u02bc", "'")
    | dict.fromkeys("\u2010\u2011\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff", "")
)

# Words without a topic. Left in: negations, which tell memories apart, and what may also be a
# name, a month or a country (will, may, us).
_STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being both but
    by can could did do does doing done for from get got had has have having he her here hers
    herself him himself his how i if in into is it its itself just let me more most my myself of
    on or other our ours ourselves out over own shall she should so some such than that the their
    theirs them themselves then there these they this those through to too under until up very
    was we were what when where which while who whom whose why with would you your yours yourself
    yourselves""".split()
)


def lexemes(text: str) -> list[str]:
    """The terms of a text, in order, repetitions included.

    Case, accents and width do not count. English words are stemmed and stop words left out;
    negations stay ("don't" gives "not"). "INV-20417" gives "inv-20417", "inv" and "20417";
    "3,000" gives "3000", "7th" gives "7". Han, kana, Thai, Lao, Khmer and Myanmar give pairs of
    neighbouring characters, Hangul gives words and pairs; each emoji is a lexeme.

    A lexeme has 1 to 64 characters, none of them a space, a quotation mark or a control
    character.
    """
    found: list[str] = []
    for chunk in _CHUNK.findall(_folded(text)):
        # Long chunks are rare and would fill the cache.
        found += _analysed(chunk) if len(chunk) <= LONGEST else _analyse(chunk)
    return found


def _folded(text: str) -> str:
    """Lower case, without what people leave out or their keyboards vary."""
    if text.isascii():
        folded = text.lower()
    else:
        folded = normalize("NFKC", text).casefold().translate(_PLAIN_SIGNS)
        folded = normalize("NFC", _OPTIONAL_MARKS.sub("", normalize("NFD", folded)))
    return _DIGIT_GROUPS.sub("", folded)


def _analyse(chunk: str) -> tuple[str, ...]:
    """Lexemes of one chunk: the whole if it is a compound, and its parts."""
    if chunk.endswith("n't"):
        return ("not",)
    chunk = _ENGLISH_ENDING.sub("", chunk)
    if _ACRONYM.fullmatch(chunk):
        chunk = chunk.replace(".", "")
    parts = list(_PART.finditer(chunk))
    is_compound = bool(parts) and parts[0][0] != chunk
    whole = (chunk[:LONGEST],) if is_compound else ()
    return (*whole, *(lexeme for part in parts for lexeme in _part_lexemes(part)))


_analysed = lru_cache(maxsize=65_536)(_analyse)


def _part_lexemes(match: re.Match[str]) -> Iterator[str]:
    part, kind = match[0], match.lastgroup
    if kind == "word" and part.isascii():
        if part not in _STOP_WORDS:
            ordinal = _ORDINAL.fullmatch(part)
            yield (ordinal[1] if ordinal else _stem(part))[:LONGEST]
        return
    if kind != "unspaced" or len(part) == 1:
        yield part[:LONGEST]
    if kind == "unspaced" or (kind == "hangul" and len(part) > 2):
        yield from map("".join, pairwise(part))


_stemming = Lock()


@cache
def _stemmer() -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer("english", 0)  # its own cache off: lexemes are cached here


def _stem(word: str) -> str:
    if len(word) > LONGEST or not word.isalpha():
        return word
    with _stemming:  # a stemmer is not thread-safe
        stem: str = _stemmer().stemWord(word)
    return stem
