"""When two names are one, and how alike they are. Shared by the stores, so that they rank alike."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz

from hindsight_integrations.naming import entity_norm

RAREST_TRIGRAMS = 8
"""Trigrams of a name that a store looks up, the rarest: the others add candidates, not hits."""


def trigrams(norm: str) -> frozenset[str]:
    """The runs of three characters of a normalised name, its ends marked by blanks."""
    padded = f" {norm} "
    return frozenset(padded[n : n + 3] for n in range(max(1, len(padded) - 2)))


def words(norm: str) -> frozenset[str]:
    """The words of a normalised name."""
    return frozenset(norm.split())


def grams_of(norm: str) -> frozenset[str]:
    """What a name is found by if it is spelt otherwise: its trigrams, and its words as "=word"."""
    return trigrams(norm) | {f"={word}" for word in words(norm)}


def likeness(one: str, other: str) -> float:
    """From 0 to 100 for two normalised names: edits between them, and words they share.

    The mean of rapidfuzz's `ratio`, which a shared first name alone does not satisfy, and its
    `token_set_ratio`, which "Alice" and "Alice Smith" satisfy fully.
    """
    return (fuzz.ratio(one, other) + fuzz.token_set_ratio(one, other)) / 2


def by_norm(names: Iterable[str]) -> dict[str, str]:
    """Normalised name to its first spelling, in order."""
    spellings: dict[str, str] = {}
    for name in names:
        spellings.setdefault(entity_norm(name), name)
    return spellings
