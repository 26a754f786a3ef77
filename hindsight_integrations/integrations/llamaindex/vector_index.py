"""A LlamaIndex vector store as the memory's vector index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from numpy.typing import NDArray

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.vector_index import SPACE, FrameworkVectors, Row
from hindsight_integrations.stores.base import Vector


class LlamaIndexVectors(FrameworkVectors):
    """A `VectorIndex` in a LlamaIndex vector store.

    The store has to keep texts, delete nodes by id, and filter by metadata. Close it after the
    memory.

    Args:
        store: the vector store.
        dimension: of its vectors; 384 for the bundled embedder.
        namespace: memories that share a store need one each.

    Raises:
        InvalidInputError: the store keeps no texts.
        EmbedderMismatchError: it holds vectors of another dimension.
        StoreError: it cannot be written, or does not filter by metadata.
    """

    def __init__(
        self,
        store: BasePydanticVectorStore,
        *,
        dimension: int = 384,
        namespace: str = "hindsight",
    ) -> None:
        name = type(store).__name__
        if not store.stores_text:
            raise InvalidInputError(
                f"{name} stores vectors without their nodes; give a store with stores_text"
            )
        self.store = store
        super().__init__(name, dimension, namespace)

    def _add(self, rows: Sequence[Row], vectors: NDArray[np.float32]) -> None:
        nodes = [
            TextNode(id_=row.id, text=row.text, metadata=dict(row.metadata), embedding=vector)
            for row, vector in zip(rows, vectors.tolist(), strict=True)
        ]
        self.store.add(nodes)

    def _remove(self, ids: Sequence[str]) -> None:
        self.store.delete_nodes(list(ids))

    def _search(self, space: str, vector: Vector, limit: int) -> list[tuple[str, dict[str, str]]]:
        query = VectorStoreQuery(
            query_embedding=vector.tolist(),
            similarity_top_k=limit,
            filters=MetadataFilters(filters=[MetadataFilter(key=SPACE, value=space)]),
        )
        return [(node.get_content(), node.metadata) for node in self.store.query(query).nodes or ()]
