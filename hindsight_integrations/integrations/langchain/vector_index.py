"""A LangChain vector store as the memory's vector index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from numpy.typing import NDArray

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.vector_index import (
    SPACE,
    FrameworkVectors,
    Row,
    text_of,
    vector_of,
)
from hindsight_integrations.stores.base import Vector


class GivenVectors(Embeddings):
    """Decode vectors from texts, as the embeddings of a store that is a memory's vector index.

    Args:
        dimension: of the vectors; 384 for the bundled embedder.

    ```python
    from hindsight_integrations.langchain import GivenVectors

    print(GivenVectors(dimension=2).embed_query("How many dimensions?"))
    ```

    ```text
    [1.0, 0.0]
    ```
    """

    def __init__(self, dimension: int = 384) -> None:
        self.dimension = dimension

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Decode the vectors of texts."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Decode the vector of a text.

        For any other text the first axis is returned: stores embed a word to learn the dimension.
        """
        vector = vector_of(text)
        vector = np.eye(1, self.dimension, dtype=np.float32)[0] if vector is None else vector
        return [float(each) for each in vector]


class LangChainVectors(FrameworkVectors):
    """A `VectorIndex` in a LangChain vector store.

    The store has to overwrite rows of the same id, ignore the deletion of unknown ones, as
    LangChain's own tests of vector stores ask, and filter by metadata. Close it after the memory.

    Args:
        store: made with `embedding=GivenVectors(dimension)`.
        where: returns the options of `similarity_search` that select the documents whose metadata
            field has a value. By default `{"filter": {field: value}}`, which Chroma,
            PGVector, Pinecone and others take.
        namespace: memories that share a store need one each.

    Raises:
        InvalidInputError: the store has other embeddings.
        EmbedderMismatchError: it holds vectors of another dimension.
        StoreError: it cannot be written, or does not filter by metadata.

    ```python
    from langchain_core.vectorstores import InMemoryVectorStore

    from hindsight_integrations import Hindsight
    from hindsight_integrations.langchain import GivenVectors, LangChainVectors


    def where(field, value):
        return {"filter": lambda document: document.metadata[field] == value}


    vectors = LangChainVectors(InMemoryVectorStore(GivenVectors()), where)
    with Hindsight.in_memory(vectors=vectors) as memory:
        memory.retain("alice", "Alice keeps bees in Porto.")
        print(memory.recall("alice", "Who has an apiary?")[0].text)
    ```

    ```text
    Alice keeps bees in Porto.
    ```
    """

    _overwrites = True

    def __init__(
        self,
        store: VectorStore,
        where: Callable[[str, str], Mapping[str, Any]] | None = None,
        *,
        namespace: str = "hindsight",
    ) -> None:
        name, embeddings = type(store).__name__, store.embeddings
        if not isinstance(embeddings, GivenVectors):
            raise InvalidInputError(
                f"{name} embeds texts itself; create it with the embeddings GivenVectors(), so "
                "that it takes the memory's vectors"
            )
        self.store = store
        self._where_space = where or (lambda field, value: {"filter": {field: value}})
        super().__init__(name, embeddings.dimension, namespace)

    def _add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        self.store.add_texts(
            [row.text for row in rows],
            [dict(row.metadata) for row in rows],
            ids=[row.id for row in rows],
        )

    def _remove(self, ids: Sequence[str]) -> None:
        self.store.delete(list(ids))

    def _search(self, space: str, vector: Vector, limit: int) -> list[tuple[str, dict[str, str]]]:
        found = self.store.similarity_search(
            text_of(vector), k=limit, **self._where_space(SPACE, space)
        )
        return [(document.page_content, document.metadata) for document in found]
