"""The vector index in Chroma: one space a bank key, placed by its size.

A space of some hundred vectors has a collection of its own, or one of a thousand if there are
many; smaller ones share collections of a few thousand. A collection costs 3 MB of memory and four
open files however little it holds, and of hundreds of them 1.5.9 lost vectors. In a shared one a
`where` on the bank key finds what is the bank's, which costs some milliseconds and no more. At a
server, `ServedChromaVectors` places them.

Chroma itself holds the placement: a collection's metadata names the keys that live in it, from
before the first vector is written until after the last is gone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import blake2b
from itertools import count as count_from
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import ClosedError, StoreCorruptError, StoreError
from hindsight_integrations.stores.base import Vector
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
from hindsight_integrations.stores.chroma.blank_memory import blank_memory
from hindsight_integrations.stores.chroma.client import ChromaClient, chroma_errors, misses_removed
from hindsight_integrations.stores.chroma.files import (
    IDENTITY,
    holds_index,
    mark_closed,
    prepare,
    remove_leftovers,
)
from hindsight_integrations.stores.index_lease import (
    IndexIdentity,
    of_another_graph,
    on_this_host,
)

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

OWN_FROM = 256
"""Vectors from which a space has a collection of its own: searched in half the time of a shared
one."""

CROWDED = 50
"""Own collections from which on they are for bigger spaces only: each takes some 2.6 MB of memory
once it is used, whatever it holds."""

OWN_FROM_IN_CROWD = 1_000
"""Vectors from which a space has a collection of its own then."""

SEARCH_TRIES = 10
"""Attempts of a search that fails on removed vectors; if all fail, the index is damaged."""

SHARED_UP_TO = 5_000
"""Vectors that share a collection, deleted ones included: a `where` in it takes 4 ms, in one of
10,000 it takes 9. Deleted vectors stay in hnswlib's graph, and where few others are left, each
search and each insertion visits them: 3 ms with 11,000 deleted ones, 0.3 ms without."""

RENEWED_FROM, RENEWED_AT = 2_000, 4
"""Deleted vectors from which on a space's own collection is recreated, if they are also so many
times as many as the others: to copy these takes 0.3 ms each."""

SHARED_KEYS = 250
"""Spaces that share a collection; each is a row of its metadata."""

GRAPH = "graph"
"""Metadata field of the collection that gives an index its id: the graph that it belongs to."""

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


class ChromaVectors:
    """A `VectorIndex` in Chroma: in a folder, in memory, or at a server.

    Chroma is imported when the first one is made. Its errors are raised as
    `StoreUnavailableError` (out of reach, full, forbidden), `StoreCorruptError` (its files
    cannot be read), `EmbedderMismatchError` (another dimension), or plain `StoreError`.
    """

    def __init__(self, client: ChromaClient, *, folder: Path | None = None) -> None:
        self._client = client
        self._folder = folder
        self._lock = threading.RLock()
        self._spaces: dict[str, BankCollection] = {}
        self._shared: list[Collection] = []
        self._intact = True
        self._closed = False
        try:
            with self._errors():
                self._load()
        except StoreError:
            client.close()
            raise

    @classmethod
    def in_folder(cls, path: Path | str) -> ChromaVectors:
        """Open the index in `path`, created if needed. One process at a time may have it open.

        Chroma may end the whole process on damaged files: see `folder_index.open_index`.
        """
        folder = Path(path).absolute()
        with chroma_errors(str(folder)):
            prepare(folder)
        return cls(ChromaClient.embedded(folder), folder=folder)

    @classmethod
    def in_memory(cls) -> ChromaVectors:
        """Return an empty index that no other shares, gone when closed."""
        return cls(ChromaClient.embedded(None))

    @classmethod
    def at_server(
        cls,
        url: str,
        *,
        token: str | None = None,
        verify: bool | str = True,
        namespace: str = "hindsight",
        tenant: str = "default_tenant",
        database: str = "default_database",
    ) -> ChromaVectors:
        """Connect to the index of a Chroma server, which several processes may use at once.

        Small spaces share collections there too. The server needs four open files for each
        collection: from some 200 big banks on, start it with a higher `ulimit -n`.

        Args:
            url: `http://host:port` or `https://host:port`; without a port 8000 and 443.
            token: sent as bearer token and as Chroma Cloud's.
            verify: True to check the server's certificate, or a PEM file of the authorities
                to trust; by default those of certifi, or of the file that `SSL_CERT_FILE` names.
            namespace: start of the names of all collections; stores that share a server and
                not their memories need one each.
            tenant: Chroma's tenant.
            database: Chroma's database.

        Raises:
            InvalidInputError: the URL names no server, or holds credentials; the token or the
                file of authorities cannot be used.
            StoreUnavailableError: the server does not answer, refuses the token, or has no such
                tenant or database.
        """
        client = ChromaClient.remote(
            url,
            token=token,
            verify=verify,
            namespace=namespace,
            tenant=tenant,
            database=database,
        )
        return ServedChromaVectors(client)

    def __repr__(self) -> str:
        return f"ChromaVectors({self._client.where!r})"

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension)."""
        with self._errors(), self._lock:
            if not ids:
                return
            replaced = self._run(bank_key, lambda space: space.upsert(ids, vectors))
            if replaced is None:
                space = self._allocate(bank_key, len(ids), vectors.shape[1])
                replaced = space.upsert(ids, vectors)
                self._spaces[bank_key] = space
            self._note_deleted(self._spaces[bank_key], replaced)
            self._move_if_needed(self._spaces[bank_key], vectors.shape[1])

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""

        def work(space: BankCollection) -> None:
            space.delete(ids)
            self._note_deleted(space, len(ids))

        with self._errors(), self._lock:
            self._run(bank_key, work)

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """Return the nearest `limit` ids with their cosine, nearest first, ties by id."""
        return self.query_many(bank_key, vector[np.newaxis, :], limit)[0]

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """Return the result of `query` for each row."""
        with self._errors():
            found = None
            if limit > 0 and len(vectors):
                found = self._run(bank_key, lambda space: space.query(vectors, limit))
            return [[] for _ in vectors] if found is None else found

    def ids(self, bank_key: str) -> set[str]:
        """Return all ids of a space."""
        with self._errors():
            return set(self._run(bank_key, lambda space: space.ids()) or ())

    def keys(self) -> set[str]:
        """Return all bank keys that have a space."""
        with self._errors():
            return {key for found in self._client.collections() for key in keys_of(found)}

    def drop(self, bank_key: str) -> None:
        """Remove a space and all in it.

        The collection goes with its last space: what is deleted in one leaves gaps in its graph.
        """
        with self._errors(), self._lock:
            space = self._find(bank_key)
            if space is None:
                return
            if self._members(space.collection) - {bank_key}:
                names = space.ids()
                space.delete(names)
                self._note_deleted(space, len(names))
            self._spaces.pop(bank_key, None)
            self._unlabel(space.collection)

    def identity(self, graph: str) -> IndexIdentity | None:
        """Return the id of the index, made once: that of a collection without vectors.

        None for an index in memory: it is made of the graph in each process that has one.

        Args:
            graph: the identity of the graph whose vectors the index has.

        Raises:
            InvalidInputError: it has the vectors of another graph.
        """
        if self._client.local and not self._folder:
            return None
        where = on_this_host(self._client.where)
        with self._errors(), self._lock:
            found = self._client.find(IDENTITY) or self._client.create(IDENTITY, {GRAPH: graph})
            if (found.metadata or {}).get(GRAPH) != graph:
                if self.keys():
                    raise of_another_graph(where)
                self._client.drop(found)
                found = self._client.create(IDENTITY, {GRAPH: graph})
            return IndexIdentity(str(found.id), where)

    def close(self) -> None:
        """Release files and connections; calling it twice is harmless."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with chroma_errors(self._client.where), self._blank():
                self._client.close()
                if self._folder and self._intact and holds_index(self._folder):
                    remove_leftovers(self._folder)
                    mark_closed(self._folder)

    # Placement of spaces

    def _load(self) -> None:
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
                if self._spaces.setdefault(key, space) is not space:
                    interrupted.append(space)
        for space in interrupted:
            self._move(space, self._spaces[space.key])

    def _find(self, key: str) -> BankCollection | None:
        """Return the space of a key, or None if there is none."""
        return self._spaces.get(key)

    def _run(self, key: str, do: Callable[[BankCollection], T]) -> T | None:
        """Run `do` on the space of a key and return its result; None if there is no space.

        Repeated if the space moved or vanished meanwhile (a move removes the old vectors only after
        the key is found in the new collection), and if a search fails on removed vectors.
        """
        from chromadb.errors import InternalError, NotFoundError

        self._client.prepare_index()
        tries = SEARCH_TRIES
        while space := self._find(key):
            try:
                done = do(space)
            except InternalError as error:
                tries -= 1
                if not tries or not misses_removed(error):
                    raise
            except NotFoundError:
                if self._spaces.get(key) is space:
                    del self._spaces[key]
            else:
                if self._spaces.get(key) is space:
                    return done
        return None

    def _allocate(self, key: str, count: int, dimension: int) -> BankCollection:
        """Return a collection with room for `count` vectors, labelled with the key."""
        if count >= self._own_threshold():
            own = self._client.create(own_name(key), {LABEL + key: True})
            return self._space(key, own)
        for shared in reversed(self._shared):
            members = self._members(shared)
            if (
                shared.metadata[DIMENSION] == dimension
                and len(members) < SHARED_KEYS
                and total_count(shared) + count <= SHARED_UP_TO // 2  # they will grow
            ):
                break
        else:
            members = set()
            taken = {collection.name.rpartition("-")[2] for collection in self._shared}
            number = next(n for n in count_from(1) if f"{n:04}" not in taken)
            shared = self._client.create(f"shared-{number:04}", {DIMENSION: dimension})
            self._shared.append(shared)
        self._label(shared, members | {key})
        return self._space(key, shared)

    def _move_if_needed(self, space: BankCollection, dimension: int) -> None:
        """Move a space that is too big to share, or whose collection is fragmented or full."""
        if not space.is_shared:
            deleted = deleted_count(space.collection)
            if deleted > RENEWED_FROM and deleted > RENEWED_AT * space.collection.count():
                self._move(space, self._replacement(space))
            return
        count, total = len(space.ids()), total_count(space.collection)
        if count >= self._own_threshold() or (total > SHARED_UP_TO and total > count):
            self._move(space, self._allocate(space.key, count, dimension))

    def _replacement(self, space: BankCollection) -> BankCollection:
        """Create a new collection for a space that has its own collection."""
        first = own_name(space.key)
        name = f"{first}-again" if space.collection.name.endswith(first) else first
        return self._space(space.key, self._client.create(name, {LABEL + space.key: True}))

    def _move(self, space: BankCollection, target: BankCollection) -> None:
        self._client.prepare_index()
        names, vectors = space.rows()
        target.copy(names, vectors)
        self._spaces[space.key] = target
        if self._members(space.collection):
            space.delete(names)
            self._note_deleted(space, len(names))
        self._unlabel(space.collection)

    def _own_threshold(self) -> int:
        """Return the number of vectors from which a space gets its own collection."""
        own = sum(not space.is_shared for space in self._spaces.values())
        return OWN_FROM if own < CROWDED else OWN_FROM_IN_CROWD

    def _members(self, shared: Collection) -> set[str]:
        return {key for key, space in self._spaces.items() if space.collection.id == shared.id}

    def _label(self, shared: Collection, keys: set[str]) -> None:
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

    def _space(self, key: str, collection: Collection) -> BankCollection:
        return BankCollection(key, collection, self._client.batch_size)

    def _blank(self) -> AbstractContextManager[None]:
        return blank_memory() if self._folder else nullcontext()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        if self._closed:
            raise ClosedError(f"the vector index at {self._client.where} was used after close()")
        try:
            with chroma_errors(self._client.where), self._blank():
                yield
        except StoreCorruptError:
            self._intact = False
            raise


class ServedChromaVectors(ChromaVectors):
    """A `VectorIndex` at a server, which several processes use at once.

    The name of a space's collection follows from its key, so that all find it without asking each
    other: a big space has one of its own, a small one shares the one of `SHARED` that its key
    gives. A space that grows moves out of that as soon as it may, so that it leaves few gaps, in an
    order in which no process loses what another writes:

    1. Its rows are copied into its own collection, which counts from when it has the label.
    2. A row without a name is left in the shared one. Who still looks there finds it among the
       rows of the space, with every search and after every change, and does the same in the other.
    3. What was written or taken out between the first two steps is done again in the own
       collection. Then the rows in the shared one are deleted.

    What a killed process leaves of this is a difference from the graph, which the next opening
    mends.
    """

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension)."""
        with self._errors(), self._lock:
            if not ids:
                return
            if self._run(bank_key, lambda space: self._write(space, ids, vectors)) is None:
                self._write(self._allocate(bank_key, len(ids), vectors.shape[1]), ids, vectors)

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""

        def work(space: BankCollection) -> None:
            space.delete(ids)
            self._follow_move(space, ())

        with self._errors(), self._lock:
            self._run(bank_key, work)

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """Return the result of `query` for each row."""

        def search(space: BankCollection) -> list[list[tuple[str, float]]]:
            if not space.is_shared:
                return space.query(vectors, limit)
            found = space.query(vectors, limit + 1)
            if any(name == MOVED for hits in found for name, _ in hits):
                self._spaces[bank_key] = self._own_collection(bank_key)
            return [hits[:limit] for hits in found]

        found = None
        with self._errors():
            if limit > 0 and len(vectors):
                found = self._run(bank_key, search)
        if found is None or not any(found):
            self._forget_placement(bank_key)
        return [[] for _ in vectors] if found is None else found

    def ids(self, bank_key: str) -> set[str]:
        """Return all ids of a space."""

        def read(space: BankCollection) -> set[str]:
            found = set(space.ids())
            if MOVED in found:
                self._spaces[bank_key] = self._own_collection(bank_key)
            return found

        with self._errors():
            found = self._run(bank_key, read)
        if not found:
            self._forget_placement(bank_key)
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
            known = self._spaces.pop(bank_key, None)
            if known and not known.is_shared:
                self._client.drop(known.collection)
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

    def _own_threshold(self) -> int:
        return OWN_FROM

    def _forget_placement(self, key: str) -> None:
        """Have a space without rows looked up again: another process may give it a collection."""
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
        if count < self._own_threshold():
            shared = self._client.create(_shared_name(key), {DIMENSION: dimension})
            self._spaces[key] = self._space(key, shared)
        else:
            self._spaces[key] = self._own_collection(key)
            if small := self._small(key):  # another process began it meanwhile
                self._transfer(small, self._spaces[key])
        return self._spaces[key]

    def _write(
        self, space: BankCollection, ids: Sequence[str], vectors: NDArray[np.float32]
    ) -> int:
        if space.is_shared and (
            len(ids) >= self._own_threshold() or space.dimension != vectors.shape[1]
        ):
            space = self._move_out(space)
        if not space.is_shared:
            return space.upsert(ids, vectors)
        # Between a look at what is there and the writing, another may move it.
        space.copy(ids, vectors)
        self._follow_move(space, ids)
        return 0

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
            self._spaces[space.key] = self._own_collection(space.key)
        elif 0 < len(names) <= len(written) and self._has_own_collection(space.key):
            self._spaces[space.key] = self._own_collection(space.key)
        elif len(names) >= self._own_threshold():
            # Twice as many: the process that began to move it was killed.
            self._move_out(space, alone=len(names) < 2 * self._own_threshold())

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
        self._spaces[space.key] = self._own_collection(space.key)
        self._transfer(space, self._spaces[space.key], copied)
        return self._spaces[space.key]

    def _transfer(
        self, space: BankCollection, target: BankCollection, copied: Mapping[str, Vector] = _NONE
    ) -> None:
        """Move the rows of a space from a shared collection to its own one, and mark the move.

        Args:
            space: the rows in the shared collection.
            target: the space's own collection.
            copied: rows that the target has already.
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
        """Return True if a space has moved, False if it is moving, None if it is not.

        None if the space has not begun to move.
        """
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
