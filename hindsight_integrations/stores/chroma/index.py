"""The vector index in Chroma: one space a bank key, in this process or at a server.

What the two have in common is here: errors, closing and identity. `EmbeddedSpaces` and
`ServedSpaces` decide which collection has the vectors of a bank key.
"""

# ruff: noqa: D102 (the methods are described in `VectorIndex`)

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import ClosedError, StoreCorruptError, StoreError
from hindsight_integrations.stores.base import Vector, VectorIndex
from hindsight_integrations.stores.chroma.blank_memory import blank_memory
from hindsight_integrations.stores.chroma.client import ChromaClient, chroma_errors
from hindsight_integrations.stores.chroma.embedded_spaces import EmbeddedSpaces
from hindsight_integrations.stores.chroma.files import (
    IDENTITY,
    holds_index,
    mark_closed,
    prepare,
    remove_leftovers,
)
from hindsight_integrations.stores.chroma.served_spaces import ServedSpaces
from hindsight_integrations.stores.chroma.spaces import Spaces
from hindsight_integrations.stores.index_lease import IndexIdentity, of_another_graph, on_this_host

GRAPH = "graph"
"""Metadata field of the collection that gives an index its id: the graph that it belongs to."""


class ChromaVectors(VectorIndex):
    """A `VectorIndex` in Chroma: in a folder, in memory, or at a server.

    Chroma is imported when the first one is made. Its errors are raised as
    `StoreUnavailableError` (out of reach, full, forbidden), `StoreCorruptError` (its files
    cannot be read), `EmbedderMismatchError` (another dimension), or plain `StoreError`.
    """

    def __init__(self, client: ChromaClient, spaces: Spaces, *, folder: Path | None = None) -> None:
        self._client = client
        self._spaces = spaces
        self._folder = folder
        self._lock = threading.RLock()
        self._intact = True
        self._closed = False
        try:
            with self._errors():
                spaces.load()
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
        client = ChromaClient.embedded(folder)
        return cls(client, EmbeddedSpaces(client), folder=folder)

    @classmethod
    def in_memory(cls) -> ChromaVectors:
        """Return an empty index that no other shares, gone when closed."""
        client = ChromaClient.embedded(None)
        return cls(client, EmbeddedSpaces(client))

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
            url, token=token, verify=verify, namespace=namespace, tenant=tenant, database=database
        )
        return cls(client, ServedSpaces(client))

    def __repr__(self) -> str:
        return f"ChromaVectors({self._client.where!r})"

    def upsert(self, bank_key: str, ids: Sequence[str], vectors: NDArray[np.float32]) -> None:
        with self._errors(), self._lock:
            if ids:
                self._spaces.upsert(bank_key, ids, vectors)

    def delete(self, bank_key: str, ids: Sequence[str]) -> None:
        with self._errors(), self._lock:
            self._spaces.delete(bank_key, ids)

    def query(self, bank_key: str, vector: Vector, limit: int) -> list[tuple[str, float]]:
        return self.query_many(bank_key, vector[np.newaxis, :], limit)[0]

    def query_many(
        self, bank_key: str, vectors: NDArray[np.float32], limit: int
    ) -> list[list[tuple[str, float]]]:
        with self._errors():
            if limit <= 0 or not len(vectors):
                return [[] for _ in vectors]
            return self._spaces.query_many(bank_key, vectors, limit) or [[] for _ in vectors]

    def ids(self, bank_key: str) -> set[str]:
        with self._errors():
            return self._spaces.ids(bank_key)

    def keys(self) -> set[str]:
        with self._errors():
            return self._spaces.keys()

    def drop(self, bank_key: str) -> None:
        with self._errors(), self._lock:
            self._spaces.drop(bank_key)

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
        with self._lock:
            if self._closed:
                return
            self._closed = True
            with chroma_errors(self._client.where), self._blank():
                self._client.close()
                if self._folder and self._intact and holds_index(self._folder):
                    remove_leftovers(self._folder)
                    mark_closed(self._folder)

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
