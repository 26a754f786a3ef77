"""Names of entities: their spellings, and the search for similar ones."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from rapidfuzz import fuzz

from hindsight_integrations.normalization import entity_norm

K = TypeVar("K")

RAREST_TRIGRAMS = 8
"""Trigrams of a name that a store looks up, the rarest; others add candidates but no results."""

COMMON_NAMES = 500
"""Names that a store reads per trigram or word; one shared by more names narrows nothing."""


def trigrams(norm: str) -> frozenset[str]:
    """Return the runs of three characters of a normalised name, its ends marked by blanks."""
    padded = f" {norm} "
    return frozenset(padded[n : n + 3] for n in range(max(1, len(padded) - 2)))


def grams_of(norm: str) -> list[str]:
    """Return the sorted keys that find a name in another spelling: its trigrams, and "=word"."""
    return sorted(trigrams(norm).union(f"={word}" for word in norm.split()))


def name_similarity(first: str, second: str) -> float:
    """Return the similarity of two normalised names, 0 to 100, by edits and by shared words.

    The mean of rapidfuzz's `ratio`, which a shared first name alone does not satisfy, and its
    `token_set_ratio`, which "Alice" and "Alice Smith" satisfy fully.
    """
    return (fuzz.ratio(first, second) + fuzz.token_set_ratio(first, second)) / 2


def names_sharing(norm: str, sharing: Mapping[str, Collection[K]]) -> set[K]:
    """Return the names worth comparing with a normalised one: they share a rare trigram or a word.

    `sharing` gives for each of its `grams_of` the names that have it too.
    """
    runs = trigrams(norm)
    shared = [gram for gram in sharing if sharing[gram] and gram in runs]
    rarest = heapq.nsmallest(RAREST_TRIGRAMS, shared, key=lambda gram: len(sharing[gram]))
    chosen = [*rarest, *(gram for gram in sharing if gram not in runs)]
    return {name for gram in chosen for name in sharing[gram]}


def most_similar(norm: str, names: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """Return the ids of the `limit` entities most similar to a normalised name, ties by id.

    `names` are pairs of an entity's id and one of its normalised names.
    """
    best: defaultdict[str, float] = defaultdict(float)
    for id, name in names:
        best[id] = max(best[id], name_similarity(norm, name))
    return heapq.nsmallest(max(limit, 0), best, key=lambda id: (-best[id], id))


def spellings(names: Iterable[str]) -> dict[str, str]:
    """Return normalised names to their first spelling, in order."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(entity_norm(name), name)
    return first
