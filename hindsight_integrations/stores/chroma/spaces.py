"""Reading and writing the spaces of bank keys, wherever in Chroma each of them is placed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.stores.chroma.bank_collection import BankCollection
from hindsight_integrations.stores.chroma.client import ChromaClient, misses_removed

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

OWN_FROM = 256
"""Vectors from which a space has a collection of its own: searched in half the time of a shared
one."""

SEARCH_TRIES = 10
"""Attempts of a search that fails on removed vectors; if all fail, the index is damaged."""


class Spaces(ABC):
    """The spaces of one Chroma by bank key; a subclass decides which collection each is in.

    Methods raise Chroma's errors as they are. One thread at a time may call those that write;
    others may read meanwhile. `upsert`, `delete`, `query_many`, `ids` and `keys` keep the promises
    of `VectorIndex`.
    """

    def __init__(self, client: ChromaClient) -> None:
        self._client = client
        self._placed: dict[str, BankCollection] = {}

    @abstractmethod
    def load(self) -> None:
        """Read the placement that Chroma holds, and complete moves that were interrupted."""

    @abstractmethod
    def upsert(self, key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write or overwrite; the space is created if there is none."""

    @abstractmethod
    def delete(self, key: str, ids: Sequence[str]) -> None:
        """Remove vectors; unknown ids are ignored."""

    @abstractmethod
    def query_many(
        self, key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        """Return the hits of each row; an empty list if there is no space."""

    @abstractmethod
    def ids(self, key: str) -> set[str]:
        """Return all ids of a space."""

    @abstractmethod
    def keys(self) -> set[str]:
        """Return all bank keys that have a space."""

    @abstractmethod
    def drop(self, key: str) -> None:
        """Remove a space and all in it."""

    @abstractmethod
    def _find(self, key: str) -> BankCollection | None:
        """Return the space of a key, or None if there is none."""

    def _space(self, key: str, collection: Collection) -> BankCollection:
        return BankCollection(key, collection, self._client.batch_size)

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
                if self._placed.get(key) is space:
                    del self._placed[key]
            else:
                if self._placed.get(key) is space:
                    return done
        return None
