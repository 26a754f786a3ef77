"""The vector index at a Chroma server, which several processes use at once.

The name of a space's collection follows from its key, so that all find it without asking each
other: a big space has one of its own, a small one shares the one of `SHARED` that its key gives. A
space that grows moves out of that in an order in which no process loses what another writes:

1. Its rows are copied into its own collection, which counts from when it has the label.
2. A row without a name is left in the shared one. Who still looks there finds it among the rows of
   the space, with every search and after every change, and does the same in the own collection.
3. What was written or taken out between the first two steps is done again in the own collection.
   Then the rows in the shared one are deleted.

What a killed process leaves of this is a difference from the graph, which the next opening mends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.stores.base import Vector
from hindsight_integrations.stores.chroma.bank_collection import (
    DIMENSION,
    LABEL,
    BankCollection,
    is_shared,
    keys_of,
)
from hindsight_integrations.stores.chroma.index import ChromaVectors, own_name

SHARED = 64
"""Collections that small spaces share: with 1,000 of 100 vectors a search takes some 2 ms more."""

MOVED = ""
"""Name of the row that says that its space has moved."""

_NONE: Mapping[str, Vector] = MappingProxyType({})
_UNFINISHED, _MOVED = "moving", "moved"
"""Metadata of a collection whose space still moves into it, and of the row without a name."""


class ServedChromaVectors(ChromaVectors):
    """A `VectorIndex` at a server; see `ChromaVectors.at_server`."""

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension)."""
        with self._errors(), self._lock:
            if not ids:
                return
            if not self._on(bank_key, lambda space: self._write(space, ids, vectors)):
                self._write(self._allocate(bank_key, len(ids), vectors.shape[1]), ids, vectors)

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""

        def work(space: BankCollection) -> None:
            space.delete(ids)
            self._follow(space, ())

        with self._errors(), self._lock:
            self._on(bank_key, work)

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """Return the result of `query` for each row."""

        def search(space: BankCollection) -> list[list[tuple[str, float]]]:
            if not space.is_shared:
                return space.query(vectors, limit)
            found = space.query(vectors, limit + 1)
            if any(name == MOVED for hits in found for name, _ in hits):
                self._spaces[bank_key] = self._own(bank_key)
            return [hits[:limit] for hits in found]

        found = None
        with self._errors():
            if limit > 0 and len(vectors):
                found = self._on(bank_key, search)
        if found is None or not any(found):
            self._look_again(bank_key)
        return [[] for _ in vectors] if found is None else found

    def ids(self, bank_key: str) -> set[str]:
        """Return all ids of a space."""

        def read(space: BankCollection) -> set[str]:
            found = set(space.ids())
            if MOVED in found:
                self._spaces[bank_key] = self._own(bank_key)
            return found

        with self._errors():
            found = self._on(bank_key, read)
        if not found:
            self._look_again(bank_key)
        return found or set()

    def keys(self) -> set[str]:
        """Return all bank keys that have a space."""
        with self._errors():
            collections = self._client.collections()
            keys = {key for found in collections for key in keys_of(found)}
            for found in collections:
                if is_shared(found):
                    rows = found.get(include=["metadatas"])
                    keys |= {str(row[LABEL]) for row in rows["metadatas"] or [] if row}
            return keys

    def drop(self, bank_key: str) -> None:
        """Remove a space and all in it."""
        with self._errors(), self._lock:
            self._spaces.pop(bank_key, None)
            if own := self._client.find(own_name(bank_key)):
                self._client.drop(own)
            if small := self._small(bank_key):
                small.collection.delete(where={LABEL: bank_key})

    # Placement of spaces

    def _load(self) -> None:
        """Read which spaces have collections of their own; those of a folder join the others."""
        for collection in self._client.collections():
            for key in keys_of(collection):
                space = self._space(key, collection)
                if not space.is_shared:
                    self._spaces[key] = space
                    continue
                names, vectors = space.rows()
                self.upsert(key, names, vectors)
            if is_shared(collection) and keys_of(collection):
                self._client.drop(collection)

    def _look_again(self, key: str) -> None:
        """Forget where a space without rows is: another process may make it a collection."""
        self._spaces.pop(key, None)

    def _find(self, key: str) -> BankCollection | None:
        space = self._spaces.get(key)
        if space is None:
            own = self._client.find(own_name(key))
            space = self._space(key, own) if own and keys_of(own) else self._small(key)
            if space is not None:
                self._spaces[key] = space
        return space

    def _small(self, key: str) -> BankCollection | None:
        """Return the key's share of the collection that it gives, None if there is none yet."""
        found = self._client.find(_shared_name(key))
        return None if found is None else self._space(key, found)

    def _allocate(self, key: str, count: int, dimension: int) -> BankCollection:
        """Return a collection for a space that has none."""
        if count < self._own_from():
            shared = self._client.create(_shared_name(key), {DIMENSION: dimension})
            self._spaces[key] = self._space(key, shared)
        else:
            self._spaces[key] = self._own(key)
            if small := self._small(key):  # another process began it meanwhile
                self._carry(small, self._spaces[key])
        return self._spaces[key]

    def _write(
        self, space: BankCollection, ids: Sequence[str], vectors: NDArray[np.float32]
    ) -> int:
        if space.is_shared and (
            len(ids) >= self._own_from() or _dimension(space) != vectors.shape[1]
        ):
            space = self._move_out(space)
        written = space.upsert(ids, vectors)
        self._follow(space, ids)
        return written

    def _follow(self, space: BankCollection, written: Sequence[str]) -> None:
        """Move a space that has grown too big to share, or go where another process moved it.

        What was written is then written again there. If there is nothing else here, another
        process may have given the space a collection before it could see what is here.
        """
        if not space.is_shared:
            return
        held = space.ids()
        if MOVED in held:
            if self._word(space):
                space.delete(written)
            self._spaces[space.key] = self._own(space.key)
        elif 0 < len(held) <= len(written) and self._has_own(space.key):
            self._spaces[space.key] = self._own(space.key)
        elif len(held) >= self._own_from() and (
            len(held) >= 2 * self._own_from() or not self._is_moving(space.key)
        ):  # twice as many: the process that began to move it was killed
            self._move_out(space)

    def _is_moving(self, key: str) -> bool:
        own = self._client.find(own_name(key))
        return own is not None and not keys_of(own)

    def _has_own(self, key: str) -> bool:
        own = self._client.find(own_name(key))
        return own is not None and bool(keys_of(own))

    def _own(self, key: str) -> BankCollection:
        """Return the space's own collection, made and labelled if need be."""
        name = own_name(key)
        own = self._client.find(name) or self._client.create(name, {LABEL + key: True})
        if not keys_of(own):  # the process that moved it was killed
            own.modify(metadata={LABEL + key: True})
        return self._space(key, own)

    def _move_out(self, space: BankCollection) -> BankCollection:
        """Give a space its own collection.

        Only who made the collection, and finds nobody else moving, can tell what was taken out
        meanwhile from what another has moved.
        """
        own = self._client.begin(own_name(space.key), {_UNFINISHED: True})
        copied = _rows(space) if own else _NONE
        if own and copied:
            _put(self._space(space.key, own), copied)
        self._spaces[space.key] = self._own(space.key)
        self._carry(space, self._spaces[space.key], copied)
        return self._spaces[space.key]

    def _carry(
        self, space: BankCollection, target: BankCollection, copied: Mapping[str, Vector] = _NONE
    ) -> None:
        """Leave word in a shared collection where a space is, and do there what was done here.

        Args:
            space: the rows in the shared collection.
            target: the space's own collection.
            copied: rows that are in there already.
        """
        alone = self._word(space) is None
        self._leave_word(space, moved=False)
        rows = _rows(space)
        later = {
            name: vector
            for name, vector in rows.items()
            if name not in copied or not np.array_equal(vector, copied[name])
        }
        if later:
            _put(target, later)
        if alone and (gone := copied.keys() - rows.keys()):
            target.delete(sorted(gone))
        self._leave_word(space, moved=True)
        if rows := _rows(space):  # those written since are in the other as well, or will be
            space.delete(list(rows))

    def _leave_word(self, space: BankCollection, *, moved: bool) -> None:
        space.collection.upsert(
            ids=[f"{space.key}/{MOVED}"],
            embeddings=np.eye(1, _dimension(space), dtype=np.float32),
            metadatas=[{LABEL: space.key, _MOVED: moved}],
        )

    def _word(self, space: BankCollection) -> bool | None:
        """Return True if nobody counts the rows in the shared collection any more.

        None if the space has not begun to move.
        """
        found = space.collection.get(ids=[f"{space.key}/{MOVED}"], include=["metadatas"])
        return next((bool(row[_MOVED]) for row in found["metadatas"] or []), None)


def _rows(space: BankCollection) -> dict[str, Vector]:
    """Return the rows of a space without that which says that it moved."""
    names, vectors = space.rows()
    return {name: row for name, row in zip(names, vectors, strict=True) if name != MOVED}


def _put(space: BankCollection, rows: Mapping[str, Vector]) -> None:
    space.upsert(list(rows), np.stack(list(rows.values())))


def _dimension(space: BankCollection) -> int:
    return int(space.collection.metadata[DIMENSION])


def _shared_name(key: str) -> str:
    hashed = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
    return f"small-{hashed % SHARED:02}"
