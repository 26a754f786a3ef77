"""Normal forms under which names and texts count as the same. Shared by all stores."""

from __future__ import annotations

import hashlib
import re
import unicodedata
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

ID_DIGITS = 20
"""Hexadecimal digits of an id: 80 bits, in which no two of a million million are likely alike."""

UNFINISHED = "(unfinished import)"
"""Stands after the id of a bank until all is there that is imported into it."""

_POSSESSIVE = re.compile(r"['’]s$")
_NOT_WORD = re.compile(r"[^\w+#]+")


def new_id(prefix: str) -> str:
    """An id that nothing else has: the prefix, which tells of what it is, and random digits."""
    return prefix + uuid.uuid4().hex[:ID_DIGITS]


@lru_cache(maxsize=65_536)
def entity_norm(name: str) -> str:
    """The form under which two spellings of a name are one: "  Café-Möbius’s" is "cafe mobius".

    Case, accents, punctuation and a final possessive do not count, save for `+` and `#`
    ("C++" is not "C"); a name of nothing else keeps its symbols.
    """
    folded = unicodedata.normalize("NFKD", name.strip().casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c))
    plain = _POSSESSIVE.sub("", plain)
    return _NOT_WORD.sub(" ", plain.replace("_", " ")).strip() or folded


def text_fingerprint(text: str, speaker: str | None = None) -> str:
    """Hash of a statement under which repetitions of it are found.

    Case, punctuation and white space do not count; who said it does.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = " ".join(_NOT_WORD.sub(" ", folded).split()) or folded
    digest = hashlib.blake2b(f"{speaker or ''}\x1f{words}".encode(errors="replace"), digest_size=16)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class WordRun:
    """A run of successive words that may be a name.

    `norm` is its normal form, `places` the numbers of its words; `is_plain_word` marks a single
    word, written small, that is an ordinary word of English before it is anybody's name.
    """

    norm: str
    places: tuple[int, ...]
    is_plain_word: bool


_WORD = re.compile(r"[\w+#]+(?:[-.@/'’][\w+#]+)*")

_PLAIN_WORDS = frozenset(
    "a an and april are art as at august be bill but by can chase did do does drew faith for "
    "frank from grace had has have he her him his home hope how i in is it jack june june's mark "
    "may me might mine my no not of on or our pat read rose rich she should so sue summer that "
    "the their them they this to us was we were what when where which who whom whose why will "
    "with would you your".split()
)


def word_runs(text: str, longest: int) -> Iterator[WordRun]:
    """All runs of one to `longest` words of a text."""
    words = [match.group() for match in _WORD.finditer(text)]
    norms = [entity_norm(word) for word in words]
    for start in range(len(words)):
        for length in range(1, min(longest, len(words) - start) + 1):
            places = tuple(range(start, start + length))
            norm = " ".join(norms[start : start + length]).strip()
            plain = length == 1 and words[start].islower() and norm in _PLAIN_WORDS
            if norm:
                yield WordRun(norm, places, plain)
