"""Normal forms under which names and texts count as equal, shared by all stores."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

ID_DIGITS = 20
"""Hexadecimal digits of an id: 80 bits, so that collisions among 10^12 ids are unlikely."""


def _class_of_marks() -> str:
    """Return the combining marks and vowel signs as ranges of a class of a regular expression."""
    marks = (
        code
        for code in range(0x0300, 0x1F000)
        if unicodedata.category(chr(code)) in ("Mn", "Mc") and not 0xFE00 <= code <= 0xFE0F
    )  # without variation selectors, which are no part of a spelling
    ranges: list[tuple[int, int]] = []
    for code in marks:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


MARKS = _class_of_marks()
"""Marks that are part of a word, though `\\w` does not match them: the vowel signs of Indic
scripts and of Thai, for instance. For use inside the brackets of a regular expression."""

_POSSESSIVE = re.compile(r"['’]s$")
_NOT_WORD = re.compile(r"[^\w+#]+")
_NOT_IN_NAME = re.compile(rf"(?:[^\w+#{MARKS}]|(?<![\w+#{MARKS}])[{MARKS}]+)+")
_OPTIONAL_MARKS = frozenset({"LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW"})
"""Scripts in which a name is the same without its accents or points, by the names of letters."""


def new_id(prefix: str) -> str:
    """Return an id that nothing else has: a prefix and random digits.

    The prefix is for people who read ids. No code may conclude anything from it: callers choose
    ids of any form.
    """
    return prefix + uuid.uuid4().hex[:ID_DIGITS]


@lru_cache(maxsize=65_536)
def entity_norm(name: str) -> str:
    """Return the form in which spellings of a name are equal: "  Café-Möbius’s", "cafe mobius".

    Case, accents, punctuation except `+` and `#` ("C++" is not "C"), and a final possessive do
    not count; a name of symbols only keeps them. Marks count in scripts where they tell words
    apart, such as the vowel signs of Devanagari or the voiced kana. The graph
    stores keep this form: a change of it needs a new schema version of each.
    """
    folded = unicodedata.normalize("NFKD", name.strip().casefold())
    plain = unicodedata.normalize("NFC", _without_accents(folded))
    plain = _POSSESSIVE.sub("", plain)
    return _NOT_IN_NAME.sub(" ", plain.replace("_", " ")).strip() or folded


def _without_accents(decomposed: str) -> str:
    """Return a decomposed text without the marks on letters whose script may omit them."""
    if decomposed.isascii():
        return decomposed
    kept: list[str] = []
    is_bare = False
    for character in decomposed:
        if unicodedata.combining(character):
            if is_bare:
                continue
        else:
            script = unicodedata.name(character, "").partition(" ")[0]
            is_bare = script in _OPTIONAL_MARKS
        kept.append(character)
    return "".join(kept)


def text_fingerprint(text: str, speaker: str | None = None) -> str:
    """Return a hash of a statement, equal for repetitions of it.

    Case, punctuation and white space do not count; who said it does.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = " ".join(_NOT_WORD.sub(" ", folded).split()) or folded
    digest = hashlib.blake2b(f"{speaker or ''}\x1f{words}".encode(errors="replace"), digest_size=16)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class WordRun:
    """A run of successive words that may be a name.

    `norm` is its normal form, `indexes` are those of its words; `is_plain_word` marks a single
    word in lower case that is more likely an ordinary English word than a name.
    """

    norm: str
    indexes: tuple[int, ...]
    is_plain_word: bool


def pair_digest(one: str, other: str) -> str:
    """Return a hash of two names, in whichever order and spelling they are given."""
    norms = "\x1f".join(sorted((entity_norm(one), entity_norm(other))))
    return hashlib.blake2b(norms.encode(errors="replace"), digest_size=12).hexdigest()


_WORD = re.compile(rf"[\w+#{MARKS}]+(?:[-.@/'’][\w+#{MARKS}]+)*")

_PLAIN_WORDS = frozenset(
    "a an and april are art as at august be bill but by can chase did do does drew faith for "
    "frank from grace had has have he her him his home hope how i in is it jack june june's mark "
    "may me might mine my no not of on or our pat read rose rich she should so sue summer that "
    "the their them they this to us was we were what when where which who whom whose why will "
    "with would you your".split()
)


def word_runs(text: str, longest: int) -> Iterator[WordRun]:
    """Yield all runs of one to `longest` words of a text."""
    words = [match.group() for match in _WORD.finditer(text)]
    norms = [entity_norm(word) for word in words]
    for start in range(len(words)):
        for length in range(1, min(longest, len(words) - start) + 1):
            indexes = tuple(range(start, start + length))
            norm = " ".join(norms[start : start + length]).strip()
            plain = length == 1 and words[start].islower() and norm in _PLAIN_WORDS
            if norm:
                yield WordRun(norm, indexes, plain)
