"""Layouts of small banks: the ids of all valid memories, and their order within each document.

A recall of a small bank ranks all of it. A layout is cached per version of the bank and extended
by newly stored memories only: to list a thousand memories takes a server longer than a search.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from threading import Lock

from hindsight_integrations.stores.base import GraphStore, Neighbour, Place, StoredBank
from hindsight_integrations.stores.neighbours import (
    DocumentPosition,
    document_positions,
    in_documents,
    neighbours_in,
)

MAX_LAYOUTS = 16
"""Layouts cached: a megabyte each at most."""

_FIRST = -1
"""Sequence number below that of any memory."""


@dataclass(frozen=True)
class Layout:
    """The valid memories of a bank, in storing order."""

    places: tuple[Place, ...] = ()

    @cached_property
    def positions(self) -> Mapping[str, DocumentPosition]:
        """The position of each memory in its document."""
        return document_positions(in_documents(self.places))

    def extended(self, places: Iterable[Place]) -> Layout:
        """Return the layout with memories that were stored later."""
        added = tuple(places)
        return Layout((*self.places, *added)) if added else self

    @property
    def last(self) -> int:
        """Number of the memory stored last."""
        return self.places[-1].number if self.places else _FIRST

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(place.memory_id for place in self.places)

    @cached_property
    def _any_expires(self) -> bool:
        return any(place.expires_at is not None for place in self.places)

    def unexpired_ids(self, now: datetime | None) -> list[str]:
        """Return the ids of the memories that have not expired, in storing order."""
        if not self._any_expires:
            return list(self._ids)
        return [
            place.memory_id
            for place in self.places
            if now is None or place.expires_at is None or place.expires_at > now
        ]

    def neighbours(
        self, ids: Iterable[str], distance: int, now: datetime | None
    ) -> list[Neighbour]:
        """Return the neighbours that have not expired; see `GraphStore.neighbours`."""
        neighbours = neighbours_in(self.positions, ids, distance)
        if not self._any_expires:
            return neighbours
        unexpired = {*self.unexpired_ids(now)}
        return [neighbour for neighbour in neighbours if neighbour.neighbour_id in unexpired]


class LayoutCache:
    """The layouts of the banks recalled last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, int], Layout] = OrderedDict()

    def read(self, graph: GraphStore, bank: StoredBank, limit: int) -> Layout | None:
        """Return the layout of a bank, or None if it has more than `limit` memories.

        `bank` must be at its current version: the layout is cached under it.
        """
        key = (bank.key, bank.version)
        with self._lock:
            layout = self._known.get(key, Layout())
        if len(layout.places) <= limit:
            missing = limit + 1 - len(layout.places)
            layout = layout.extended(graph.places(bank.bank.id, layout.last, missing))
            self._keep(key, layout)
        return layout if len(layout.places) <= limit else None

    def known_size(self, bank: StoredBank) -> float:
        """Return the number of memories of a bank if its layout is cached, else infinity."""
        with self._lock:
            layout = self._known.get((bank.key, bank.version))
        return math.inf if layout is None else len(layout.places)

    def forget(self, bank: StoredBank) -> None:
        """Drop the cached layout of a bank, which has turned out to be incomplete."""
        with self._lock:
            self._known.pop((bank.key, bank.version), None)

    def _keep(self, key: tuple[str, int], layout: Layout) -> None:
        with self._lock:
            self._known[key] = max(layout, self._known.get(key, layout), key=_size)
            self._known.move_to_end(key)
            while len(self._known) > MAX_LAYOUTS:
                self._known.popitem(last=False)


def _size(layout: Layout) -> int:
    return len(layout.places)
