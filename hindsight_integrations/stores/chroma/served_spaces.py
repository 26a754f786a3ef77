"""The placement of spaces at a Chroma server: by bank key, so that all processes agree.

The name of a space's collection follows from its key, so that all processes find it without asking
each other: a big space has one of its own, a small one shares the one of `SHARED` that its key
gives. A space that grows moves out of that as soon as it may, so that it leaves few gaps, in an
order in which no process loses what another writes:

1. Its rows are copied into its own collection, which counts from when it has the label.
2. A row without a name is left in the shared one. A process that still looks there finds it among
   the rows of the space, with every search and after every change, and does the same in the other.
3. What was written or deleted between the first two steps is done again in the own collection.
   Then the rows in the shared one are deleted.

What a killed process leaves of this is a difference from the graph, which the next opening mends.
"""

# ruff: noqa: D102 (the methods are described in `Spaces`)

from __future__ import annotations

import time
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
    own_name,
)
from hindsight_integrations.stores.chroma.spaces import OWN_FROM, Spaces

SHARED = 64
"""Collections at a server that small spaces share: with 400 of 50 vectors a search took 2 ms, and
takes the longer the more a collection holds."""

MOVING_SECONDS = 2.0
"""Seconds that another process has to finish the move of a small space: some requests."""

MOVED = ""
"""Name of the row that says that its space has moved."""

_NONE: Mapping[str, Vector] = MappingProxyType({})
_UNFINISHED, _MOVED = "moving", "moved"
"""Metadata of a collection whose space still moves into it, and of the row without a name."""


class ServedSpaces(Spaces):
    """The spaces of a Chroma server, which several processes read, write and move at once."""

    def load(self) -> None:
        """Read which spaces have collections of their own; those of a folder join the others."""
        for collection in self._client.collections():
            for key in keys_of(collection):
                space = self._space(key, collection)
                if not space.is_shared:
                    self._placed[key] = space
                    continue
                names, vectors = space.rows()
                self.upsert(key, names, vectors)
            if is_shared(collection) and keys_of(collection):
                self._client.drop(collection)

    def upsert(self, key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        if not self._run(key, lambda space: self._write(space, ids, vectors)):
            self._write(self._allocate(key, len(ids), vectors.shape[1]), ids, vectors)

    def delete(self, key: str, ids: Sequence[str]) -> None:
        def delete_and_follow(space: BankCollection) -> None:
            space.delete(ids)
            self._follow_move(space, ())

        self._run(key, delete_and_follow)

    def query_many(
        self, key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        def search(space: BankCollection) -> list[list[tuple[str, float]]]:
            if not space.is_shared:
                return space.query(vectors, limit)
            found = space.query(vectors, limit + 1)
            if any(name == MOVED for hits in found for name, _ in hits):
                self._placed[key] = self._own_collection(key)
            return [hits[:limit] for hits in found]

        found = self._run(key, search) or []
        if not any(found):
            self._forget_placement(key)
        return found

    def ids(self, key: str) -> set[str]:
        def read(space: BankCollection) -> set[str]:
            found = set(space.ids())
            if MOVED in found:
                self._placed[key] = self._own_collection(key)
            return found

        found = self._run(key, read)
        if not found:
            self._forget_placement(key)
        return found or set()

    def keys(self) -> set[str]:
        collections = self._client.collections()
        keys = {key for collection in collections for key in keys_of(collection)}
        for collection in collections:
            if is_shared(collection):
                rows = collection.get(include=["metadatas"])
                keys |= {str(row[LABEL]) for row in rows["metadatas"] or [] if row}
        return keys

    def drop(self, key: str) -> None:
        known = self._placed.pop(key, None)
        if known and not known.is_shared:
            self._client.drop(known.collection)
        if own := self._client.find(own_name(key)):
            self._client.drop(own)
        if small := self._small(key):
            small.collection.delete(where={LABEL: key})

    def _forget_placement(self, key: str) -> None:
        """Have a space without rows looked up again: another process may give it a collection."""
        self._placed.pop(key, None)

    def _find(self, key: str) -> BankCollection | None:
        space = self._placed.get(key)
        if space is None:
            own = self._client.find(own_name(key))
            space = self._space(key, own) if own and keys_of(own) else self._small(key)
            if space is not None:
                self._placed[key] = space
        return space

    def _small(self, key: str) -> BankCollection | None:
        """Return the key's share of the collection that it gives, None if there is none yet."""
        found = self._client.find(_shared_name(key))
        return None if found is None else self._space(key, found)

    def _allocate(self, key: str, count: int, dimension: int) -> BankCollection:
        """Return a collection for a space that has none."""
        if count < OWN_FROM:
            shared = self._client.create(_shared_name(key), {DIMENSION: dimension})
            self._placed[key] = self._space(key, shared)
        else:
            self._placed[key] = self._own_collection(key)
            if small := self._small(key):  # another process began it meanwhile
                self._transfer(small, self._placed[key])
        return self._placed[key]

    def _write(
        self, space: BankCollection, ids: Sequence[str], vectors: NDArray[np.float32]
    ) -> bool:
        """Write to a space, moved first if need be; return True."""
        if space.is_shared and (len(ids) >= OWN_FROM or space.dimension != vectors.shape[1]):
            space = self._move_out(space)
        if space.is_shared:
            # Not `upsert`: between its reading and its writing, another process may move the space.
            space.copy(ids, vectors)
            self._follow_move(space, ids)
        else:
            space.upsert(ids, vectors)
        return True

    def _follow_move(self, space: BankCollection, written: Sequence[str]) -> None:
        """Move a space that is too big to share, or follow it if another process moved it.

        Rows just written are then written there too. If the shared collection has no others,
        another process may have given the space its own one before it saw these rows.
        """
        if not space.is_shared:
            return
        names = space.ids()
        if MOVED in names:
            if self._wait_for_move(space):
                space.delete(written)
            self._placed[space.key] = self._own_collection(space.key)
        elif 0 < len(names) <= len(written) and self._has_own_collection(space.key):
            self._placed[space.key] = self._own_collection(space.key)
        elif len(names) >= OWN_FROM:
            # Twice as many: the process that began to move it was killed.
            self._move_out(space, alone=len(names) < 2 * OWN_FROM)

    def _has_own_collection(self, key: str) -> bool:
        own = self._client.find(own_name(key))
        return own is not None and bool(keys_of(own))

    def _own_collection(self, key: str) -> BankCollection:
        """Return the space's own collection; create and label it if necessary."""
        name = own_name(key)
        own = self._client.find(name) or self._client.create(name, {LABEL + key: True})
        if not keys_of(own):  # the process that moved it was killed
            own.modify(metadata={LABEL + key: True})
        return self._space(key, own)

    def _move_out(self, space: BankCollection, *, alone: bool = False) -> BankCollection:
        """Move a space to its own collection; with `alone`, unless another process does so.

        Only the process that created the collection, and sees no other moving, can tell rows
        deleted meanwhile from rows that another process has moved.
        """
        own = self._client.begin(own_name(space.key), {_UNFINISHED: True})
        if own is None and alone:
            return space
        copied = _rows(space) if own else _NONE
        if own and copied:
            _copy_rows(self._space(space.key, own), copied)
        self._placed[space.key] = self._own_collection(space.key)
        self._transfer(space, self._placed[space.key], copied)
        return self._placed[space.key]

    def _transfer(
        self, space: BankCollection, target: BankCollection, copied: Mapping[str, Vector] = _NONE
    ) -> None:
        """Move the rows of a space from a shared collection to its own one, and mark the move.

        The target has the rows `copied` already.
        """
        is_only_mover = self._move_state(space) is None
        self._write_move_marker(space, moved=False)
        rows = _rows(space)
        missing = {
            name: vector
            for name, vector in rows.items()
            if name not in copied or not np.array_equal(vector, copied[name])
        }
        if missing:
            _copy_rows(target, missing)
        if is_only_mover and (deleted_names := copied.keys() - rows.keys()):
            target.delete(sorted(deleted_names))
        self._write_move_marker(space, moved=True)
        if rows := _rows(space):  # those written since are in the other as well, or will be
            space.delete(list(rows))

    def _write_move_marker(self, space: BankCollection, *, moved: bool) -> None:
        space.collection.upsert(
            ids=[f"{space.key}/{MOVED}"],
            embeddings=np.eye(1, space.dimension, dtype=np.float32),
            metadatas=[{LABEL: space.key, _MOVED: moved}],
        )

    def _wait_for_move(self, space: BankCollection) -> bool:
        """Wait until another process has finished its move; return False on timeout.

        Before that, a change in the new collection may be undone by a row still being moved.
        """
        deadline = time.monotonic() + MOVING_SECONDS
        while not (is_moved := bool(self._move_state(space))) and time.monotonic() < deadline:
            time.sleep(0.01)
        return is_moved

    def _move_state(self, space: BankCollection) -> bool | None:
        """Return True if a space has moved, False while it moves, None before it begins to."""
        found = space.collection.get(ids=[f"{space.key}/{MOVED}"], include=["metadatas"])
        return next((bool(row[_MOVED]) for row in found["metadatas"] or []), None)


def _rows(space: BankCollection) -> dict[str, Vector]:
    """Return the rows of a space, without the marker of a move."""
    names, vectors = space.rows()
    return {name: row for name, row in zip(names, vectors, strict=True) if name != MOVED}


def _copy_rows(space: BankCollection, rows: Mapping[str, Vector]) -> None:
    space.copy(list(rows), np.stack(list(rows.values())))


def _shared_name(key: str) -> str:
    hashed = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
    return f"small-{hashed % SHARED:02}"
