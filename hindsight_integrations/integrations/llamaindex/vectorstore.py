"""A bank as a LlamaIndex vector store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores import MetadataFilters, VectorStoreQuery, VectorStoreQueryResult
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQueryMode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.collection import Collection, Record, checked_ids
from hindsight_integrations.integrations.common import (
    check_options,
    check_picklable,
    checked_memory,
    forget_document,
)
from hindsight_integrations.integrations.llamaindex.conversions import plain_bank, where_from
from hindsight_integrations.integrations.llamaindex.models import HindsightEmbedding
from hindsight_integrations.integrations.signatures import with_own_signature
from hindsight_integrations.recall.request import RecallOptions, Where

_NODE = ("_node_content", "_node_type")
"""Metadata fields in which LlamaIndex writes the whole node, but for its text."""

_DOCUMENT = "_document"
"""Metadata field with the id of the document that a node is of, or its own."""

_ARMS: Mapping[VectorStoreQueryMode, Sequence[str] | None] = {
    VectorStoreQueryMode.DEFAULT: None,
    VectorStoreQueryMode.HYBRID: None,
    VectorStoreQueryMode.SEMANTIC_HYBRID: None,
    VectorStoreQueryMode.MMR: None,
    VectorStoreQueryMode.SPARSE: ("keyword",),
    VectorStoreQueryMode.TEXT_SEARCH: ("keyword",),
}
"""The arms of recall that each mode asks; None for all."""

_CANDIDATES = 4
"""Factor of `similarity_top_k`: nodes fetched for "mmr" to choose from."""


@with_own_signature
class HindsightVectorStore(BasePydanticVectorStore):  # type: ignore[misc]
    """Nodes in a bank, searched by time, people, meaning and exact terms at once.

    A node is one memory, with the node's id and text, and comes back whole. A question is asked
    as text, so the engine embeds nodes and questions, whatever `embed_model` an index has; give it
    `embed_model=store.embed_model`, so that no other model is loaded. Blank nodes are not stored.

    `delete` removes the nodes of a document, and what `HindsightTransform` retained of it.

    Args:
        memory: the open memory.
        bank_id: the bank's id; a bank that does not exist is read as empty.
        collection: name of the nodes within the bank; other memories are not searched. The
            reverse does not hold: whoever recalls from the bank finds the nodes.
        is_embedding_query: True searches by the vector that the index makes of a question, for
            questions with texts of their own to embed (HyDE). Then the index has to be given
            `embed_model=store.embed_model`.
        **options: those of `Hindsight.recall` for all queries, such as `budget` or `query_time`.

    Raises:
        InvalidInputError: the engine, the bank or an option cannot be used.

    Examples:
        >>> from llama_index.core import Document, VectorStoreIndex
        >>> with Hindsight.in_memory() as memory:
        ...     store = HindsightVectorStore(memory, "alice")
        ...     index = VectorStoreIndex.from_vector_store(store, embed_model=store.embed_model)
        ...     index.insert(Document(text="The ferry to Skye leaves at nine.", id_="ferry"))
        ...     print(index.as_retriever().retrieve("When does the boat go?")[0].text)
        The ferry to Skye leaves at nine.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    bank_id: str
    collection: str
    _nodes: Collection = PrivateAttr()
    _options: RecallOptions = PrivateAttr()

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        *,
        collection: str = "nodes",
        is_embedding_query: bool = False,
        **options: Unpack[RecallOptions],
    ) -> None:
        check_options(options, RecallOptions)
        if "where" in options:
            raise InvalidInputError("a vector store takes conditions as filters, not as where=")
        super().__init__(
            bank_id=plain_bank(bank_id),
            collection=validation.label("collection", collection),
            is_embedding_query=validation.flag("is_embedding_query", is_embedding_query),
        )
        self._nodes = Collection(checked_memory(memory), collection)
        self._options = options

    def __getstate__(self) -> dict[str, Any]:
        check_picklable(self._nodes.memory)
        state: dict[str, Any] = super().__getstate__()
        return state

    @classmethod
    def class_name(cls) -> str:
        """The name LlamaIndex stores this class under."""
        return "HindsightVectorStore"

    @property
    def client(self) -> Hindsight:
        """The engine."""
        return self._nodes.memory

    @property
    def embed_model(self) -> BaseEmbedding:
        """The embedder of the engine."""
        return HindsightEmbedding(self.client.embedder)

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Store nodes, in place of those with the same ids, and return their ids.

        Raises:
            InvalidInputError: one is no node, or its metadata cannot be stored.
            ConflictError: an id is that of another memory of the bank; nothing was stored.
        """
        given = validation.instances("nodes", nodes, BaseNode)
        self._nodes.put(self.bank_id, map(_record, given))
        return [node.node_id for node in given]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete the nodes of a document, and what `HindsightTransform` retained of it."""
        self._nodes.delete(self.bank_id, self._nodes.ids(self.bank_id, {_DOCUMENT: ref_doc_id}))
        forget_document(self.client, self.bank_id, ref_doc_id)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Delete the nodes of these ids that pass the filters; ids that do not exist are ignored.

        Raises:
            InvalidInputError: neither was given; `clear` deletes all.
        """
        if node_ids is None and filters is None:
            raise InvalidInputError("no nodes given; give node_ids or filters, or call clear")
        self._nodes.delete(self.bank_id, self._ids(node_ids, filters))

    def clear(self) -> None:
        """Delete all nodes; other memories of the bank stay."""
        self._nodes.delete(self.bank_id, self._nodes.ids(self.bank_id))

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return the nodes of these ids that pass the filters; all if neither is given."""
        found = self._nodes.get(self.bank_id, self._ids(node_ids, filters))
        return list(map(_node, found.values()))

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes most relevant to a question, or nearest to a vector without one.

        Raises:
            InvalidInputError: the mode is one of a fitted learner, or a filter cannot be used.
        """
        if query.mode not in _ARMS:
            known = ", ".join(mode.value for mode in _ARMS)
            raise InvalidInputError(f"unknown mode {query.mode.value!r}; the modes are {known}")
        options: dict[str, Any] = {**self._options}
        if _ARMS[query.mode] is not None:
            options["arms"] = _ARMS[query.mode]
        if not query.query_str or self.is_embedding_query:
            options["query_vector"] = query.query_embedding
        is_mmr = query.mode == VectorStoreQueryMode.MMR
        count = query.similarity_top_k * (_CANDIDATES if is_mmr else 1)
        where = _where(query)
        found = self._nodes.search(self.bank_id, query.query_str or "", count, where, **options)
        if is_mmr:
            found = self._varied(query, found)
        return VectorStoreQueryResult(
            nodes=list(map(_node, found)),
            similarities=[each.score for each in found],
            ids=[each.id for each in found],
        )

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """`add`, without blocking the event loop."""
        return await in_thread(self.add, nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """`delete`, without blocking the event loop."""
        await in_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """`delete_nodes`, without blocking the event loop."""
        await in_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """`clear`, without blocking the event loop."""
        await in_thread(self.clear)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """`get_nodes`, without blocking the event loop."""
        return await in_thread(self.get_nodes, node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """`query`, without blocking the event loop."""
        return await in_thread(self.query, query, **kwargs)

    def _ids(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> list[str]:
        asked = None if node_ids is None else checked_ids(node_ids)
        if asked is not None and filters is None:
            return asked
        passing = self._nodes.ids(self.bank_id, filters and where_from(filters))
        return passing if asked is None else [id for id in asked if id in {*passing}]

    def _varied(self, query: VectorStoreQuery, found: Sequence[Record]) -> list[Record]:
        """Return records that are relevant and differ from each other."""
        if not found:
            return []
        vectors = self._nodes.vectors(self.bank_id, [each.id for each in found])
        asked = (
            self.embed_model.get_query_embedding(query.query_str)
            if query.query_str and not self.is_embedding_query
            else query.query_embedding
        )
        _, chosen = get_top_k_mmr_embeddings(
            asked,
            [np.asarray(vectors[each.id]) for each in found],
            similarity_top_k=query.similarity_top_k,
            embedding_ids=list(range(len(found))),
            mmr_threshold=query.mmr_threshold,
        )
        return [found[index] for index in chosen]


def _where(query: VectorStoreQuery) -> Where | None:
    """Return all conditions of a query: its filters, its documents and its nodes."""
    tests: list[Where] = []
    if query.filters is not None:
        tests.append(where_from(query.filters))
    if query.doc_ids:
        tests.append({_DOCUMENT: {"$in": query.doc_ids}})
    if query.node_ids:  # an index that keeps no nodes itself gives an empty list
        tests.append(Collection.with_ids(query.node_ids))
    return {"$and": tests} if tests else None


def _record(node: BaseNode) -> Record:
    """Return a node's own metadata, for filters, and the node as LlamaIndex writes it."""
    whole = node_to_metadata_dict(node, remove_text=True, text_field="text")
    metadata = {name: value for name, value in node.metadata.items() if value is not None}
    metadata |= {name: whole[name] for name in _NODE}
    metadata[_DOCUMENT] = node.ref_doc_id or node.node_id
    return Record(node.node_id, node.get_content(MetadataMode.NONE), metadata)


def _node(record: Record) -> BaseNode:
    return cast(BaseNode, metadata_dict_to_node(dict(record.metadata), text=record.text))
