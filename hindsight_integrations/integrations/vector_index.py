"""A vector store of another framework as the memory's `VectorIndex`.

Frameworks agree on three things: rows with an id, a text, metadata and a vector are written;
rows are removed by id; the nearest rows with a metadata value are searched. What they return with
a row, and what their scores mean, differs. So a row's text is its vector, from which exact cosines
are computed here: only the selection of rows is left to the store.

Rows have ids and metadata of hexadecimal digits, which no store's filter misreads. The keys of
spaces are the rows of a space of their own, which also has one row that is always there.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import (
    ClosedError,
    EmbedderMismatchError,
    HindsightError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.stores.base import Vector
from hindsight_integrations.stores.hits import by_cosine

SPACE, NAME = "hindsight_space", "hindsight_name"
"""Metadata fields of a row: the space it belongs to, and its id there."""

_BATCH = 500
_LIST_LIMIT = 1_000
"""First limit of a search that lists a space; multiplied by 4 until all rows are returned."""

_VECTOR_PREFIX = "vector:"
_SENTINEL_ROW = ""
"""Row that the space of keys always has, because some stores have no table without a row."""

_UNREACHABLE_ERROR_NAMES = ("timeout", "connect", "unavailable", "transport")
"""Parts of the names of error classes for a server that cannot be reached."""


@dataclass(frozen=True, slots=True)
class Row:
    """A vector as a store holds it.

    Attributes:
        id: a UUID, which every store takes for an id.
        text: the vector.
        metadata: `SPACE` and `NAME`.
    """

    id: str
    text: str
    metadata: dict[str, str]


def text_of(vector: Vector) -> str:
    """Encode a vector as text."""
    return _VECTOR_PREFIX + b64encode(np.asarray(vector, np.float32).tobytes()).decode()


def vector_of(text: str) -> Vector | None:
    """Decode a vector from its text; return None for any other text."""
    if not text.startswith(_VECTOR_PREFIX):
        return None
    return np.frombuffer(b64decode(text.removeprefix(_VECTOR_PREFIX)), dtype=np.float32)


class FrameworkVectors(ABC):
    """A `VectorIndex` on a store that adds, removes and searches rows.

    Frameworks do not say whether a store is thread-safe, so calls are serialised.

    Args:
        where: the store, for errors.
        dimension: of its vectors; shorter ones are filled up with zeros.
        namespace: memories that share a store need one each.

    Raises:
        EmbedderMismatchError: the store holds vectors of another dimension.
        StoreError: the store cannot be written, or does not filter by metadata.
    """

    _overwrites = False
    """True if the store writes a row in place of one with the same id."""

    def __init__(self, where: str, dimension: int, namespace: str) -> None:
        self.dimension = dimension
        self._where = where
        self._namespace = namespace
        self._lock = threading.RLock()
        self._closed = False
        self._keys = self._space("keys\0")
        self._written_keys: set[str] = set()
        self._first_axis = np.eye(1, dimension, dtype=np.float32)
        with self._call():
            if not self._is_initialised():
                self._put(self._keys, [_SENTINEL_ROW], self._first_axis)
                self._nearest(self._keys, self._first_axis[0], 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._where})"

    @abstractmethod
    def _add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        """Write rows; no row has one of their ids, unless the store overwrites."""

    @abstractmethod
    def _remove(self, ids: Sequence[str]) -> None:
        """Remove rows that exist."""

    @abstractmethod
    def _search(self, space: str, vector: Vector, limit: int) -> list[tuple[str, dict[str, str]]]:
        """Return text and metadata of the nearest rows of a space."""

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; `vectors` has shape (len(ids), dimension).

        Raises:
            EmbedderMismatchError: the vectors are longer than those of the store.
        """
        with self._call():
            if not ids:
                return
            if bank_key not in self._written_keys:
                if bank_key not in self._names(self._keys):
                    self._put(self._keys, [bank_key], self._first_axis)
                self._written_keys.add(bank_key)
            space, padded = self._space(bank_key), self._padded(vectors)
            if not self._overwrites:
                self._delete(space, ids)
            self._put(space, ids, padded)

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""
        with self._call():
            self._delete(self._space(bank_key), ids)

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        """Return the nearest `limit` ids with their cosine, nearest first, ties by id."""
        return self.query_many(bank_key, vector[np.newaxis, :], limit)[0]

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """Return the result of `query` for each row."""
        with self._call():
            if limit <= 0 or not len(vectors):
                return [[] for _ in vectors]
            space = self._space(bank_key)
            return [
                by_cosine((id, float(own @ row)) for id, own in self._nearest(space, row, limit))
                for row in self._padded(vectors)
            ]

    def ids(self, bank_key: str) -> set[str]:
        """Return the ids of a space that the store's search returns, which may be approximate."""
        with self._call():
            return self._names(self._space(bank_key))

    def keys(self) -> set[str]:
        """Return all bank keys that have a space."""
        with self._call():
            return self._names(self._keys) - {_SENTINEL_ROW}

    def drop(self, bank_key: str) -> None:
        """Remove a space and all in it."""
        with self._call():
            space = self._space(bank_key)
            while found := self._names(space):  # a search may be approximate and miss some
                self._delete(space, sorted(found))
            self._delete(self._keys, [bank_key])
            self._written_keys.discard(bank_key)

    def close(self) -> None:
        """Refuse further calls; the store itself is closed by its owner."""
        self._closed = True

    def _is_initialised(self) -> bool:
        """Return True if the sentinel row exists."""
        try:
            return bool(self._nearest(self._keys, self._first_axis[0], 1))
        except HindsightError:
            raise
        except Exception:  # noqa: BLE001 - there is no table; after any other error writing fails, too
            return False

    def _put(self, space: str, names: Sequence[str], vectors: NDArray[np.float32]) -> None:
        rows = [
            Row(_row_id(space, name), text_of(vector), {SPACE: space, NAME: name})
            for name, vector in zip(names, vectors, strict=True)
        ]
        for start in range(0, len(rows), _BATCH):
            self._add(rows[start : start + _BATCH], vectors[start : start + _BATCH])

    def _delete(self, space: str, names: Sequence[str]) -> None:
        left = iter(names)
        while page := [_row_id(space, name) for name in islice(left, _BATCH)]:
            self._remove(page)

    def _names(self, space: str) -> set[str]:
        limit = _LIST_LIMIT
        while len(found := self._nearest(space, self._first_axis[0], limit)) == limit:
            limit *= 4
        return {name for name, _ in found}

    def _nearest(self, space: str, vector: Vector, limit: int) -> list[tuple[str, Vector]]:
        """Return names and vectors of the nearest rows of a space."""
        found = []
        for text, metadata in self._search(space, vector, limit):
            held = vector_of(text)
            if held is None or metadata.get(SPACE) != space:
                raise StoreError(
                    f"the vector store {self._where} returned rows that do not match the "
                    "metadata filter; give a store that filters by metadata and stores texts, "
                    "or a collection used by nothing else"
                )
            if len(held) != self.dimension:
                raise EmbedderMismatchError(
                    f"the vector store {self._where} holds vectors of {len(held)} dimensions, "
                    f"but {self.dimension} are needed; give it another collection"
                )
            found.append((metadata[NAME], held))
        return found

    def _padded(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors filled up with zeros, which changes no cosine."""
        lacking = self.dimension - vectors.shape[1]
        if lacking < 0:
            raise EmbedderMismatchError(
                f"the vector store {self._where} holds vectors of {self.dimension} dimensions, "
                f"but the embedder makes {vectors.shape[1]}; give a collection of that dimension"
            )
        return np.pad(vectors, ((0, 0), (0, lacking)))

    def _space(self, bank_key: str) -> str:
        return blake2b(f"{self._namespace}\0{bank_key}".encode(), digest_size=16).hexdigest()

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Serialise calls, and map the store's errors to `StoreError`."""
        with self._lock:
            if self._closed:
                raise ClosedError(f"the vector index {self!r} was used after close()")
            try:
                yield
            except HindsightError:
                raise
            except Exception as error:
                names = "".join(kind.__name__.lower() for kind in type(error).__mro__)
                is_unreachable = isinstance(error, OSError) or any(
                    part in names for part in _UNREACHABLE_ERROR_NAMES
                )
                raise (StoreUnavailableError if is_unreachable else StoreError)(
                    f"the vector store {self._where}: {error or type(error).__name__}; retained "
                    "memories are safe in the graph, and are written again when the store is "
                    "available"
                ) from error


def _row_id(space: str, name: str) -> str:
    return str(UUID(bytes=blake2b(f"{space}{name}".encode(), digest_size=16).digest()))
