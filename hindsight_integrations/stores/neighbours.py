"""Memories before and after others in the same document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hindsight_integrations.stores.base import Neighbour, Place


def in_documents(places: Iterable[Place]) -> list[list[str]]:
    """Return the ids of the memories of each document, in the order of its text."""
    documents: dict[str, list[str]] = {}
    for place in sorted(places, key=lambda place: (place.position, place.number)):
        if place.document_id is not None:
            documents.setdefault(place.document_id, []).append(place.memory_id)
    return list(documents.values())


class DocumentPosition(NamedTuple):
    """The ids of the memories of a document, in order, and the position of one among them."""

    ids: Sequence[str]
    position: int


def document_positions(documents: Iterable[Sequence[str]]) -> dict[str, DocumentPosition]:
    """Return the position of each memory, given the ids in each document in order."""
    return {id: DocumentPosition(ids, n) for ids in documents for n, id in enumerate(ids)}


def neighbours_in(
    positions: Mapping[str, DocumentPosition], ids: Iterable[str], distance: int
) -> list[Neighbour]:
    """Return the neighbours of memories in their documents."""
    size = max(distance, 0)
    found: list[Neighbour] = []
    for id in dict.fromkeys(ids):
        if id in positions:
            group, n = positions[id]
            before = group[max(n - size, 0) : n][::-1]
            found += neighbours_around(id, before, group[n + 1 : n + 1 + size])
    return found


def neighbours_around(id: str, before: Sequence[str], after: Sequence[str]) -> list[Neighbour]:
    """Return a memory's neighbours by offset, given the ids on either side, nearest first."""
    return [
        *(Neighbour(id, before[-offset - 1], offset) for offset in range(-len(before), 0)),
        *(Neighbour(id, other, offset) for offset, other in enumerate(after, start=1)),
    ]
