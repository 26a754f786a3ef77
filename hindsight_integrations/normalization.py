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

_POSSESSIVE = re.compile(r"['’]s$")
_NOT_WORD = re.compile(r"[^\w+#]+")


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
    not count; a name of symbols only keeps them.
    """
    folded = unicodedata.normalize("NFKD", name.strip().casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c))
    plain = _POSSESSIVE.sub("", plain)
    return _NOT_WORD.sub(" ", plain.replace("_", " ")).strip() or folded


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


_WORD = re.compile(r"[\w+#]+(?:[-.@/'’][\w+#]+)*")

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
