"""The vectors of one bank key in Chroma: a whole collection, or its share of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.stores.base import Vector
from hindsight_integrations.stores.hits import by_cosine

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection
    from chromadb.api.types import Where

LABEL = "bank:"
"""Prefix of the bank keys in a collection's metadata."""

DIMENSION = "dimension"
"""Metadata field of shared collections only: the dimension of their vectors."""

DELETED_FIELD = "gone"
"""Metadata field: number of vectors deleted from a collection since it was created."""

SAME_COSINE = 1 - 1e-6
"""Cosine from which two vectors count as equal: 1 within the rounding of single precision."""


@dataclass(frozen=True, slots=True)
class BankCollection:
    """The vectors of one bank key in a collection, with the number of rows per call."""

    key: str
    collection: Collection
    batch: int

    @property
    def is_shared(self) -> bool:
        """Return True if other bank keys have vectors in the same collection."""
        return is_shared(self.collection)

    @property
    def dimension(self) -> int:
        """Dimension of the vectors of a shared collection."""
        return int(self.collection.metadata[DIMENSION])

    @property
    def _prefix(self) -> str:
        """Prefix that makes ids unique in a shared collection."""
        return f"{self.key}/" if self.is_shared else ""

    @property
    def _where(self) -> Where | None:
        return {LABEL: self.key} if self.is_shared else None

    def upsert(self, ids: Sequence[str], vectors: NDArray[np.float32]) -> int:
        """Insert or overwrite vectors; return the number of overwritten ones.

        Vectors to overwrite are deleted first: when hnswlib changes a point in place, others may
        become unreachable. Equal vectors are left as they are.
        """
        prefix, overwritten = self._prefix, 0
        for start in range(0, len(ids), self.batch):
            part = [prefix + name for name in ids[start : start + self.batch]]
            rows = vectors[start : start + self.batch]
            if stored := self._stored_vectors(part):
                new = [n for n, name in enumerate(part) if not _is_same(rows[n], stored.get(name))]
                part, rows = [part[n] for n in new], rows[new]
                changed = [name for name in part if name in stored]
                if changed and stored[changed[0]].shape == rows[0].shape:  # else Chroma refuses it
                    self.collection.delete(ids=changed)
                    overwritten += len(changed)
            if part:
                self._write_rows(part, rows)
        return overwritten

    def copy(self, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Insert vectors without reading stored ones first."""
        for start in range(0, len(ids), self.batch):
            part = [self._prefix + name for name in ids[start : start + self.batch]]
            self._write_rows(part, vectors[start : start + self.batch])

    def _write_rows(self, names: list[str], vectors: NDArray[np.float32]) -> None:
        self.collection.upsert(
            ids=names,
            embeddings=vectors,
            metadatas=[{LABEL: self.key}] * len(names) if self.is_shared else None,
        )

    def _stored_vectors(self, names: list[str]) -> Mapping[str, Vector]:
        """Return the stored vectors of these names."""
        stored_names = self.collection.get(ids=names, include=[])["ids"]
        if not stored_names:
            return {}
        found = self.collection.get(ids=stored_names, include=["embeddings"])
        return dict(zip(found["ids"], np.asarray(found["embeddings"], np.float32), strict=True))

    def delete(self, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""
        prefix = self._prefix
        for start in range(0, len(ids), self.batch):
            self.collection.delete(ids=[prefix + name for name in ids[start : start + self.batch]])

    def ids(self) -> list[str]:
        """Return all ids of the key."""
        found = self.collection.get(where=self._where, include=[])
        prefix_length = len(self._prefix)
        return [name[prefix_length:] for name in found["ids"]]

    def rows(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return all ids of the key, and their vectors."""
        found = self.collection.get(where=self._where, include=["embeddings"])
        prefix_length = len(self._prefix)
        names = [name[prefix_length:] for name in found["ids"]]
        return names, np.asarray(found["embeddings"], dtype=np.float32)

    def query(self, vectors: NDArray[np.float32], limit: int) -> list[list[tuple[str, float]]]:
        """Return the nearest ids to each row with their cosine, nearest first, ties by id."""
        found = self.collection.query(
            query_embeddings=vectors, n_results=limit, where=self._where, include=["distances"]
        )
        prefix_length = len(self._prefix)
        return [
            by_cosine(
                (name[prefix_length:], 1.0 - distance)
                for name, distance in zip(names, distances, strict=True)
            )
            for names, distances in zip(found["ids"], found["distances"] or [], strict=True)
        ]


def _is_same(vector: Vector, stored: Vector | None) -> bool:
    """Return True if two vectors have the same direction, as only that counts."""
    if stored is None or stored.shape != vector.shape:
        return False
    lengths = float(np.linalg.norm(vector)) * float(np.linalg.norm(stored))
    return float(vector @ stored) >= SAME_COSINE * lengths > 0


def is_shared(collection: Collection) -> bool:
    """Return True if the collection may hold vectors of several bank keys."""
    return DIMENSION in (collection.metadata or {})


def deleted_count(collection: Collection) -> int:
    """Return the number of vectors deleted from a collection since it was created."""
    return int((collection.metadata or {}).get(DELETED_FIELD, 0))


def total_count(collection: Collection) -> int:
    """Return the number of vectors that a collection has or had: hnswlib keeps room for all."""
    return collection.count() + deleted_count(collection)


def keys_of(collection: Collection) -> list[str]:
    """Return the bank keys that the collection is labelled with."""
    metadata = collection.metadata or {}
    return [label.removeprefix(LABEL) for label in metadata if label.startswith(LABEL)]


def own_name(key: str) -> str:
    """Return the name of the collection that a bank key has for itself."""
    return f"own-{blake2b(key.encode(), digest_size=16).hexdigest()}"
