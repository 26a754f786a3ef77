"""Queries of the full-text indexes. What is searched stands in quotes, so it is never syntax.

The indexes split at white space and do nothing else: terms were analysed before they came here.
Every query demands the bank's key, so that no other bank's hits are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import intern

from hindsight_integrations.storage.neo4j.keys import BankKey

_SPACES = (
    *range(33),
    127,
    0x1680,
    *range(0x2000, 0x2007),
    *range(0x2008, 0x200B),
    0x2028,
    0x2029,
    0x205F,
    0x3000,
)
"""What Java takes for white space, and control characters."""

_BLANKS = {code: 0xE000 + place for place, code in enumerate(_SPACES)}
_BLANKS_BACK = {private: code for code, private in _BLANKS.items()}
"""They would split a term; they are kept as characters of Unicode's private use area, which no
text has a use for."""

_QUOTED = str.maketrans({'"': '\\"', "\\": "\\\\"})


def indexed(terms: Iterable[str]) -> str:
    """Terms as one text for an index."""
    return " ".join(map(term, terms))


def term(text: str) -> str:
    """One term as it stands in an index."""
    return text.translate(_BLANKS)


def terms_of(text: str) -> tuple[str, ...]:
    """The terms that `indexed` was given, equal ones the same object: ranking counts thousands."""
    if not text:
        return ()
    bare = text.split(" ")
    if not text.isascii():
        bare = [each.translate(_BLANKS_BACK) for each in bare]
    return tuple(map(intern, bare))


def query(bank: BankKey, **fields: Iterable[str]) -> str:
    """What holds, in each of these fields, any of the terms given for it."""
    return " ".join([f"+bank:{bank.key}", *(any_of(field, fields[field]) for field in fields)])


def any_of(field: str, terms: Iterable[str]) -> str:
    """A clause that asks for any of the terms."""
    quoted = " ".join(f'"{term(each).translate(_QUOTED)}"' for each in terms)
    return f"+{field}:({quoted})"
