"""Layouts of small banks: which memories there are, and which stand beside which in a text.

A recall of a small bank ranks all of it. What is known of a bank stays true for its version, so
only memories that are new are read: a list of a thousand takes a server longer than a search.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from hindsight_integrations.stores.base import GraphStore, Neighbour, Place, StoredBank
from hindsight_integrations.stores.common import in_documents, neighbours_in

KEPT = 16
"""Layouts kept: a megabyte each at most."""

_FIRST = -1
"""Less than the number of any memory."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The valid memories of a bank, in storing order, and the ids of each document in its order."""

    places: tuple[Place, ...] = ()
    documents: tuple[tuple[str, ...], ...] = ()

    def extended(self, places: Iterable[Place]) -> Layout:
        """Return the layout with memories that were stored later."""
        together = (*self.places, *places)
        if len(together) == len(self.places):
            return self
        return Layout(together, tuple(map(tuple, in_documents(together))))

    @property
    def last(self) -> int:
        """Number of the memory stored last."""
        return self.places[-1].number if self.places else _FIRST

    def alive(self, now: datetime | None) -> list[str]:
        """Return the ids of the memories that have not expired, in storing order."""
        return [
            place.memory_id
            for place in self.places
            if now is None or place.expires_at is None or place.expires_at > now
        ]

    def neighbours(
        self, ids: Iterable[str], distance: int, now: datetime | None
    ) -> list[Neighbour]:
        """Return those that have not expired; see `GraphStore.neighbours`."""
        alive = {*self.alive(now)}
        found = neighbours_in(self.documents, ids, distance)
        return [each for each in found if each.neighbour_id in alive]


class LayoutCache:
    """The layouts of the banks recalled last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, int], Layout] = OrderedDict()

    def read(self, graph: GraphStore, bank: StoredBank, most: int) -> Layout | None:
        """Return the layout of a bank as it is now, or None if it has more than `most` memories.

        `bank` is as it was read before, and still has that version.
        """
        key = (bank.key, bank.version)
        with self._lock:
            known = self._known.get(key, Layout())
        if len(known.places) <= most:
            missing = most + 1 - len(known.places)
            known = known.extended(graph.places(bank.bank.id, known.last, missing))
            self._keep(key, known)
        return known if len(known.places) <= most else None

    def known(self, bank: StoredBank) -> float:
        """Return the number of memories that a bank had when it was last read; else infinity."""
        with self._lock:
            layout = self._known.get((bank.key, bank.version))
        return math.inf if layout is None else len(layout.places)

    def forget(self, bank: StoredBank) -> None:
        """Forget the layout of a bank, of which something is missing."""
        with self._lock:
            self._known.pop((bank.key, bank.version), None)

    def _keep(self, key: tuple[str, int], layout: Layout) -> None:
        with self._lock:
            self._known[key] = max(layout, self._known.get(key, layout), key=_size)
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)


def _size(layout: Layout) -> int:
    return len(layout.places)
