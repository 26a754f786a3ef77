"""The placement of spaces in an embedded Chroma: by size.

A space of some hundred vectors has a collection of its own, or one of a thousand if there are
many; smaller ones share collections of a few thousand. A collection costs 3 MB of memory and four
open files however little it holds, and of hundreds of them 1.5.9 lost vectors. In a shared one a
`where` on the bank key finds what is the bank's, which costs some milliseconds and no more.

Chroma itself holds the placement: a collection's metadata names the keys that live in it, from
before the first vector is written until after the last is gone.
"""

# ruff: noqa: D102 (the methods are described in `Spaces`)

from __future__ import annotations

from collections.abc import Sequence
from itertools import count as count_from
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.stores.chroma.bank_collection import (
    DELETED_FIELD,
    DIMENSION,
    LABEL,
    BankCollection,
    deleted_count,
    is_shared,
    keys_of,
    own_name,
    total_count,
)
from hindsight_integrations.stores.chroma.client import ChromaClient
from hindsight_integrations.stores.chroma.spaces import OWN_FROM, Spaces

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

CROWDED = 50
"""Own collections from which on they are for bigger spaces only: each takes some 2.6 MB of memory
once it is used, whatever it holds."""

OWN_FROM_IN_CROWD = 1_000
"""Vectors from which a space has a collection of its own then."""

SHARED_UP_TO = 5_000
"""Vectors that share a collection, deleted ones included: a `where` in it takes 4 ms, in one of
10,000 it takes 9. Deleted vectors stay in hnswlib's graph, and where few others are left, each
search and each insertion visits them: 3 ms with 11,000 deleted ones, 0.3 ms without."""

RENEWED_FROM, RENEWED_AT = 2_000, 4
"""Deleted vectors from which on a space's own collection is recreated, if they are also so many
times as many as the others: to copy these takes 0.3 ms each."""

SHARED_KEYS = 250
"""Spaces that share a collection; each is a row of its metadata."""


class EmbeddedSpaces(Spaces):
    """The spaces of a Chroma that no other process has open: their placement is known in memory."""

    def __init__(self, client: ChromaClient) -> None:
        super().__init__(client)
        self._shared: list[Collection] = []
        self._at_most: dict[str, int] = {}
        """Upper bounds of the vectors in shared spaces: to count them takes up to 4 ms."""

    def load(self) -> None:
        """Read the placement, and complete the moves that were interrupted.

        Such a space is in two collections: either the old one is still whole, or the new one is.
        Both together hold all of it, and repeating the move is harmless.
        """
        interrupted = []
        for collection in self._client.collections():  # by name: own ones, then shared ones
            if is_shared(collection):
                self._shared.append(collection)
            for key in keys_of(collection):
                space = self._space(key, collection)
                if self._placed.setdefault(key, space) is not space:
                    interrupted.append(space)
        for space in interrupted:
            self._move(space, self._placed[space.key])

    def upsert(self, key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        replaced = self._run(key, lambda space: space.upsert(ids, vectors))
        if replaced is None:
            space = self._allocate(key, len(ids), vectors.shape[1])
            replaced = space.upsert(ids, vectors)
            self._placed[key], self._at_most[key] = space, 0
        self._note_deleted(self._placed[key], replaced)
        self._move_if_needed(self._placed[key], len(ids), vectors.shape[1])

    def delete(self, key: str, ids: Sequence[str]) -> None:
        def delete_and_note(space: BankCollection) -> None:
            space.delete(ids)
            self._note_deleted(space, len(ids))

        self._run(key, delete_and_note)

    def query_many(
        self, key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        return self._run(key, lambda space: space.query(vectors, limit)) or []

    def ids(self, key: str) -> set[str]:
        return set(self._run(key, lambda space: space.ids()) or ())

    def keys(self) -> set[str]:
        return {key for collection in self._client.collections() for key in keys_of(collection)}

    def drop(self, key: str) -> None:
        """Remove a space and all in it.

        The collection goes with its last space: what is deleted in one leaves gaps in its graph.
        """
        space = self._find(key)
        if space is None:
            return
        if self._members(space.collection) - {key}:
            names = space.ids()
            space.delete(names)
            self._note_deleted(space, len(names))
        self._placed.pop(key, None)
        self._at_most.pop(key, None)
        self._unlabel(space.collection)

    def _find(self, key: str) -> BankCollection | None:
        return self._placed.get(key)

    def _allocate(self, key: str, count: int, dimension: int) -> BankCollection:
        """Return a collection with room for `count` vectors, labelled with the key."""
        if count >= self._own_threshold():
            own = self._client.create(own_name(key), {LABEL + key: True})
            return self._space(key, own)
        shared = self._shared_with_room(count, dimension) or self._new_shared(dimension)
        self._label(shared, self._members(shared) | {key})
        return self._space(key, shared)

    def _shared_with_room(self, count: int, dimension: int) -> Collection | None:
        """Return the newest shared collection that can take `count` more vectors, or None."""
        for shared in reversed(self._shared):
            if (
                shared.metadata[DIMENSION] == dimension
                and len(self._members(shared)) < SHARED_KEYS
                and total_count(shared) + count <= SHARED_UP_TO // 2  # they will grow
            ):
                return shared
        return None

    def _new_shared(self, dimension: int) -> Collection:
        taken = {collection.name.rpartition("-")[2] for collection in self._shared}
        number = next(n for n in count_from(1) if f"{n:04}" not in taken)
        shared = self._client.create(f"shared-{number:04}", {DIMENSION: dimension})
        self._shared.append(shared)
        return shared

    def _move_if_needed(self, space: BankCollection, written: int, dimension: int) -> None:
        """Move a space that is too big to share, or whose collection is fragmented or full."""
        if not space.is_shared:
            deleted = deleted_count(space.collection)
            if deleted > RENEWED_FROM and deleted > RENEWED_AT * space.collection.count():
                self._move(space, self._replacement(space))
            return
        threshold, total = self._own_threshold(), total_count(space.collection)
        count = self._at_most.get(space.key, threshold) + written
        if count >= threshold or total > SHARED_UP_TO:
            count = len(space.ids())
        self._at_most[space.key] = count
        if count >= threshold or (total > SHARED_UP_TO and total > count):
            self._move(space, self._allocate(space.key, count, dimension))

    def _replacement(self, space: BankCollection) -> BankCollection:
        """Create a new collection for a space that has its own collection."""
        first = own_name(space.key)
        name = f"{first}-again" if space.collection.name.endswith(first) else first
        return self._space(space.key, self._client.create(name, {LABEL + space.key: True}))

    def _move(self, space: BankCollection, target: BankCollection) -> None:
        """Copy a space into another collection, then delete it from the one it is in."""
        self._client.prepare_index()
        names, vectors = space.rows()
        target.copy(names, vectors)
        self._placed[space.key] = target
        if self._members(space.collection):
            space.delete(names)
            self._note_deleted(space, len(names))
        self._unlabel(space.collection)

    def _own_threshold(self) -> int:
        """Return the number of vectors from which a space gets its own collection."""
        own = sum(not space.is_shared for space in self._placed.values())
        return OWN_FROM if own < CROWDED else OWN_FROM_IN_CROWD

    def _members(self, shared: Collection) -> set[str]:
        return {key for key, space in self._placed.items() if space.collection.id == shared.id}

    def _label(self, shared: Collection, keys: set[str]) -> None:
        """Have the metadata of a collection name these keys and no others."""
        preserved = {
            name: shared.metadata[name]
            for name in (DIMENSION, DELETED_FIELD)
            if name in shared.metadata
        }
        shared.modify(metadata=preserved | {LABEL + key: True for key in sorted(keys)})

    def _unlabel(self, collection: Collection) -> None:
        """Update the labels of a collection after a space left it; delete it without any."""
        if members := self._members(collection):
            self._label(collection, members)
        else:
            self._client.drop(collection)
            self._shared = [each for each in self._shared if each.id != collection.id]

    def _note_deleted(self, space: BankCollection, count: int) -> None:
        """Add to the count of vectors deleted from the collection of a space."""
        if count:
            field = {DELETED_FIELD: deleted_count(space.collection) + count}
            space.collection.modify(metadata=dict(space.collection.metadata) | field)
