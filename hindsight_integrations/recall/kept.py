"""What recall has read of memories, kept for the next question: most ask for much the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Generic, TypeVar

from hindsight_integrations.recall.candidates import Candidates
from hindsight_integrations.storage.requests import Candidate, StoredBank

T = TypeVar("T")

KEPT = 5000
"""Memories kept of all banks together: some 40 MB, most of it vectors."""

KEPT_TOGETHER = 8
"""Small banks kept whole, a megabyte each beside their memories."""


class Kept(Generic[T]):
    """The `limit` memories that were asked for last, in whatever form they are read.

    They are kept under the bank's edition, so what a write changes is never given again; what an
    older edition left is not asked for any more, and goes first. Any number of threads may share
    one.
    """

    def __init__(self, limit: int = KEPT) -> None:
        self._limit = limit
        self._lock = Lock()
        self._items: OrderedDict[tuple[str, int, str], T] = OrderedDict()

    def read(
        self,
        bank: StoredBank,
        ids: Iterable[str],
        load: Callable[[list[str]], Mapping[str, T]],
    ) -> dict[str, T]:
        """Those of the ids that exist, in the order asked for; `load` reads what is not here.

        Args:
            bank: as it was read before any of the ids was found, so that what is loaded is no
                older than its edition.
            ids: of memories of the bank.
            load: gives of some ids those that exist.
        """
        keys = {id: (bank.key, bank.edition, id) for id in ids}
        found: dict[str, T] = {}
        with self._lock:
            for id, key in keys.items():
                if key in self._items:
                    self._items.move_to_end(key)
                    found[id] = self._items[key]
        missing = [id for id in keys if id not in found]
        if missing:
            loaded = load(missing)
            found.update(loaded)
            with self._lock:
                self._items.update((keys[id], item) for id, item in loaded.items())
                while len(self._items) > self._limit:
                    self._items.popitem(last=False)
        return {id: found[id] for id in keys if id in found}


class KeptCandidates:
    """Candidates, one by one; and those of the last small banks together."""

    def __init__(self) -> None:
        self.each: Kept[Candidate] = Kept()
        self._together: Kept[Candidates] = Kept(KEPT_TOGETHER)

    def all_of(
        self,
        bank: StoredBank,
        ids: Sequence[str],
        load: Callable[[list[str]], Mapping[str, Candidate]],
    ) -> Candidates:
        """Those of the ids that exist, in order, with what was worked out of them before."""
        name = " ".join(ids)

        def gathered(_: list[str]) -> dict[str, Candidates]:
            return {name: Candidates(self.each.read(bank, ids, load).values())}

        return self._together.read(bank, [name], gathered)[name]
