"""Lexemes: which memories hold one, and how many do.

Each lexeme is indexed with its bank's number before it ("17:alice"), so that a posting list is of
one bank only; those of invalidated memories have another sign ("17!alice") and so cost a search
of valid ones nothing.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from sys import intern

from hindsight_integrations.storage.requests import (
    LexemeStats,
)
from hindsight_integrations.storage.sqlite.keys import BankRange, key_list, select_in

VALID, INVALID = ":", "!"
"""Sign between the bank's number and the lexeme."""

_BLANKS = {code: 0xE000 + code for code in (*range(33), 127)}
_BLANKS_BACK = {private: code for code, private in _BLANKS.items()}
"""White space and control characters would split a lexeme; they are kept as characters of Unicode's
private use area, which no text has a use for."""


_PREFIX = re.compile(r"[0-9]+[:!]")


def index_term(bank: BankRange, sign: str, lexeme: str) -> str:
    """A lexeme as it stands in the index."""
    return f"{bank.no}{sign}{lexeme.translate(_BLANKS)}"


@lru_cache(maxsize=8192)
def lexemes_of(terms: str) -> tuple[str, ...]:
    """The lexemes of a row of the index, equal ones the same object: ranking counts thousands."""
    prefix = _PREFIX.match(terms)
    if prefix is None:
        return ()
    bare = terms[prefix.end() :].replace(f" {prefix.group()}", " ").split(" ")
    if not terms.isascii():
        bare = [lexeme.translate(_BLANKS_BACK) for lexeme in bare]
    return tuple(map(intern, bare))


def add(
    cursor: sqlite3.Cursor, bank: BankRange, rows: Sequence[tuple[int, bool, Sequence[str]]]
) -> None:
    """Index memories: (key, whether valid, lexemes)."""
    cursor.executemany(
        "INSERT INTO lexemes (unit, valid, terms) VALUES (?, ?, ?)",
        [
            (
                key,
                valid,
                " ".join(index_term(bank, VALID if valid else INVALID, each) for each in lexemes),
            )
            for key, valid, lexemes in rows
        ],
    )
    _count(cursor, bank, [lexemes for _, valid, lexemes in rows if valid], 1)


def remove(cursor: sqlite3.Cursor, bank: BankRange, keys: Iterable[int]) -> None:
    """Take memories out of the index."""
    chosen = (key_list(keys),)
    valid = [
        lexemes_of(terms)
        for (terms,) in cursor.execute(
            "SELECT terms FROM lexemes WHERE valid AND unit IN (SELECT value FROM json_each(?))",
            chosen,
        )
    ]
    cursor.execute("DELETE FROM lexemes WHERE unit IN (SELECT value FROM json_each(?))", chosen)
    _count(cursor, bank, valid, -1)
    cursor.executemany(
        "DELETE FROM lexeme_counts WHERE bank = ? AND lexeme = ? AND memories <= 0",
        [(bank.no, lexeme) for lexeme in set().union(*valid)],
    )


def read(cursor: sqlite3.Cursor, keys: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Lexemes of the memories of these keys."""
    rows = cursor.execute(
        "SELECT unit, terms FROM lexemes WHERE unit IN (SELECT value FROM json_each(?))",
        (key_list(keys),),
    )
    return {key: lexemes_of(terms) for key, terms in rows}


def stats(cursor: sqlite3.Cursor, bank: BankRange, lexemes: Sequence[str]) -> LexemeStats:
    """Statistics over the bank's valid memories; a lexeme it lacks has frequency 0."""
    documents, total = cursor.execute(
        "SELECT valid_memories, valid_lexemes FROM banks WHERE no = ?", (bank.no,)
    ).fetchone()
    counted = select_in(
        cursor,
        "SELECT lexeme, memories FROM lexeme_counts WHERE bank = ? AND lexeme IN (*)",
        (bank.no,),
        lexemes,
    )
    frequency = dict.fromkeys(lexemes, 0) | dict(counted)
    return LexemeStats(documents, total / documents if documents else 0.0, frequency)


def _count(
    cursor: sqlite3.Cursor, bank: BankRange, added: Sequence[Sequence[str]], sign: int
) -> None:
    counts = Counter(lexeme for lexemes in added for lexeme in set(lexemes))
    cursor.executemany(
        "INSERT INTO lexeme_counts (bank, lexeme, memories) VALUES (?, ?, ?) "
        "ON CONFLICT (bank, lexeme) DO UPDATE SET memories = memories + excluded.memories",
        [(bank.no, lexeme, sign * count) for lexeme, count in sorted(counts.items())],
    )
    cursor.execute(
        "UPDATE banks SET valid_memories = valid_memories + ?, valid_lexemes = valid_lexemes + ? "
        "WHERE no = ?",
        (sign * len(added), sign * sum(map(len, added)), bank.no),
    )
