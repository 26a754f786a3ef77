# mypy: disable-error-code="override"
"""A bank as a LangChain vector store."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.collection import Collection, Record, checked_ids
from hindsight_integrations.integrations.common import check_options, checked_memory, shown_bank
from hindsight_integrations.integrations.langchain.conversions import (
    BankId,
    TemplateBankRetriever,
    bank_of,
    checked_bank,
)
from hindsight_integrations.integrations.langchain.models import HindsightEmbeddings
from hindsight_integrations.recall.request import Where


class HindsightVectorStore(VectorStore):
    """Documents in a bank, searched by time, people, meaning and exact terms at once.

    Each document is one memory with the document's id, text and metadata, and is returned as it was
    given (dates in metadata become ISO 8601 text). The memory embeds the documents itself. Blank
    documents are not stored, because no query finds them.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        memory: the open memory.
        bank_id: the bank's id, or a function of the runtime of the running graph, or a template
            such as "{langgraph_user_id}".
        collection: name of the documents within the bank; other memories are not searched. The
            reverse does not hold: whoever recalls from the bank finds the documents.
        **options: options of `Hindsight.recall` for all searches, such as `arms` or `budget`.

    Instantiate:
        ```python
        from hindsight_integrations import Hindsight
        from hindsight_integrations.langchain import HindsightVectorStore

        memory = Hindsight.in_memory()  # or Hindsight("./memories")
        store = HindsightVectorStore(memory, "alice")
        ```

    Add and search:
        ```python
        from langchain_core.documents import Document

        store.add_documents(
            [
                Document("The ferry to Skye leaves at nine.", metadata={"page": 3}),
                Document("Her bicycle is red.", metadata={"page": 4}),
            ],
            ids=["ferry", "bicycle"],
        )
        print(store.similarity_search("When does the boat go?", k=1)[0].id)
        print(store.similarity_search("boat", filter={"page": {"$gt": 3}})[0].id)
        ```

        ```text
        ferry
        bicycle
        ```

    Delete:
        ```python
        store.delete(["bicycle"])
        print([document.id for document in store.get_by_ids(["ferry", "bicycle"])])
        ```

        ```text
        ['ferry']
        ```

    Use as a retriever:
        ```python
        retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 1})
        print(retriever.invoke("When does the boat go?")[0].metadata)
        ```

        ```text
        {'page': 3}
        ```

    A `filter` is a `where` of `Hindsight.recall`, on metadata. A score is the relevance of a
    document, 0 to 1, higher for better.

    Raises:
        InvalidInputError: the engine, the bank or an option cannot be used.
    """

    def __init__(
        self, memory: Hindsight, bank_id: BankId, *, collection: str = "documents", **options: Any
    ) -> None:
        self._collection = Collection(
            checked_memory(memory), validation.label("collection", collection)
        )
        self._bank_id = checked_bank(bank_id)
        self._options = _checked(options)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._collection.memory!r}, {shown_bank(self._bank_id)}, "
            f"collection={self._collection.name!r})"
        )

    @property
    def embeddings(self) -> Embeddings:
        """The embedder of the engine."""
        return HindsightEmbeddings(self._collection.memory.embedder)

    def add_documents(
        self,
        documents: list[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store documents, replacing those with the same ids, and return their ids.

        Args:
            documents: the documents; they are not changed.
            ids: an id for each, instead of its own; a document without any id gets a random one.
            batch_size: passed by `index`; ignored, because the memory makes its own batches.
            **kwargs: none are accepted.

        Raises:
            InvalidInputError: an argument is unknown, or metadata cannot be stored.
            ConflictError: an id belongs to another memory of the bank; nothing was stored.
        """
        _refuse(kwargs)
        stored = validation.instances("documents", documents, Document)
        given = validation.items("ids", [each.id for each in stored] if ids is None else ids)
        if len(given) != len(stored):
            raise InvalidInputError(
                f"got {len(stored)} documents but {len(given)} ids; give one id for each"
            )
        chosen = checked_ids([id or str(uuid.uuid4()) for id in given])
        self._collection.put(
            bank_of(self._bank_id),
            [
                Record(id, document.page_content, document.metadata)
                for id, document in zip(chosen, stored, strict=True)
            ],
        )
        return chosen

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts; see `add_documents`."""
        given = validation.items("texts", texts)
        details = [{}] * len(given) if metadatas is None else metadatas
        if len(details) != len(given):
            raise InvalidInputError(
                f"got {len(given)} texts but {len(details)} metadatas; give one for each"
            )
        documents = [
            Document(text, metadata=metadata) for text, metadata in zip(given, details, strict=True)
        ]
        return self.add_documents(documents, ids=ids, **kwargs)

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Delete documents permanently, or all of the collection if `ids` is None.

        Ids that do not exist are ignored. Conclusions drawn from a document are rewritten.

        Raises:
            InvalidInputError: `ids` is no list of texts.
        """
        _refuse(kwargs)
        bank = bank_of(self._bank_id)
        given = self._collection.ids(bank) if ids is None else checked_ids(ids)
        self._collection.delete(bank, given)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the existing documents with these ids, in the order of the ids."""
        found = self._collection.get(bank_of(self._bank_id), checked_ids(ids))
        return [_document(each) for each in found.values()]

    def similarity_search(
        self, query: str, k: int = 4, filter: Where | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the `k` documents most relevant to a question.

        Args:
            query: the question.
            k: maximum number of documents.
            filter: conditions on metadata, like `where` of `Hindsight.recall`.
            **kwargs: other options of `Hindsight.recall`.
        """
        return [_document(each) for each in self._found(query, k, filter, kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Where | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their relevance; see `similarity_search`."""
        return [(_document(each), each.score) for each in self._found(query, k, filter, kwargs)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Where | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the `k` documents nearest to a vector of the memory's embedder."""
        found = self._found("", k, filter, {**kwargs, "query_vector": embedding})
        return [_document(each) for each in found]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return `k` of the `fetch_k` most relevant documents that differ from each other.

        Args:
            query: the question.
            k: number of documents.
            fetch_k: number of documents to choose from.
            lambda_mult: 1 chooses by relevance alone, 0 by difference alone.
            filter: conditions on metadata.
            **kwargs: other options of `Hindsight.recall`.
        """
        found = self._found(query, fetch_k, filter, kwargs)
        return self._varied(self.embeddings.embed_query(query), found, k, lambda_mult)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Where | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """`max_marginal_relevance_search` near a vector of the engine's embedder."""
        found = self._found("", fetch_k, filter, {**kwargs, "query_vector": embedding})
        return self._varied(embedding, found, k, lambda_mult)

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Return a retriever over this store; see LangChain's `VectorStore.as_retriever`."""
        tags = [*(kwargs.pop("tags", None) or ()), *self._get_retriever_tags()]
        return _BankRetriever(vectorstore=self, tags=tags, **kwargs)

    @classmethod
    def from_documents(
        cls, documents: list[Document], embedding: Embeddings | None = None, **kwargs: Any
    ) -> Self:
        """Store documents in a new vector store, and return it; see `from_texts`."""
        if any(document.id for document in documents) and "ids" not in kwargs:
            kwargs["ids"] = [document.id for document in documents]
        return cls.from_texts(
            [document.page_content for document in documents],
            embedding,
            [document.metadata for document in documents],
            **kwargs,
        )

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        memory: Hindsight | None = None,
        bank_id: BankId = "documents",
        collection: str = "documents",
        **options: Any,
    ) -> Self:
        """Store texts in a new vector store, and return it.

        Args:
            texts: the texts.
            embedding: the embedder of a new engine in memory. With `memory` it has to be that
                engine's, such as `HindsightEmbeddings(memory.embedder)`, or None.
            metadatas: one for each text.
            ids: one for each text.
            memory: the open memory.
            bank_id: as for the constructor.
            collection: as for the constructor.
            **options: as for the constructor.

        Raises:
            InvalidInputError: an engine was given, and an embedder that is not the engine's.
        """
        if memory is None:
            memory = Hindsight.in_memory(embedder=embedding)
        elif embedding is not None and not _embeds(checked_memory(memory), embedding):
            raise InvalidInputError(
                f"embedding is {validation.shown(embedding)}, and the engine embeds by its own, "
                f"{memory.embedder.id}; give HindsightEmbeddings(memory.embedder) or None, or make "
                "the engine with that embedder, as Hindsight(path, embedder=...)"
            )
        store = cls(memory, bank_id, collection=collection, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_documents(
        cls, documents: list[Document], embedding: Embeddings | None = None, **kwargs: Any
    ) -> Self:
        """`from_documents`, without blocking the event loop."""
        return await in_thread(cls.from_documents, documents, embedding, **kwargs)

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Self:
        """`from_texts`, without blocking the event loop."""
        return await in_thread(cls.from_texts, texts, embedding, metadatas, **kwargs)

    def _found(
        self, query: str, k: int, filter: Where | None, given: Mapping[str, Any]
    ) -> list[Record]:
        bank, options = bank_of(self._bank_id), {**self._options, **_checked(given)}
        return self._collection.search(bank, query, k, filter, **options)

    def _varied(
        self, embedding: list[float], found: Sequence[Record], k: int, lambda_mult: float
    ) -> list[Document]:
        if not found:
            return []
        vectors = self._collection.vectors(bank_of(self._bank_id), [each.id for each in found])
        near = [vectors[each.id].tolist() for each in found]
        chosen = maximal_marginal_relevance(np.array(embedding), near, lambda_mult, k)
        return [_document(found[index]) for index in chosen]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float


class _BankRetriever(TemplateBankRetriever, VectorStoreRetriever):
    """A retriever over a store whose bank may be a template."""


def _embeds(memory: Hindsight, embedding: Embeddings) -> bool:
    """Return True if an engine embeds by these embeddings."""
    if isinstance(embedding, HindsightEmbeddings):
        return embedding.is_of(memory.embedder)
    adapted = getattr(memory.embedder, "methods", None)  # of an embedder of another package
    return getattr(adapted, "embedder", None) is embedding


def _document(record: Record) -> Document:
    return Document(record.text, id=record.id, metadata=dict(record.metadata))


def _checked(options: Mapping[str, Any]) -> Mapping[str, Any]:
    check_options(options, Hindsight.recall, also=("k", "filter"))
    if "where" in options:
        raise InvalidInputError("a vector store takes conditions as filter=, not where=")
    return options


def _refuse(kwargs: Mapping[str, Any]) -> None:
    if kwargs:
        raise InvalidInputError(f"unknown argument {min(kwargs)!r} of the vector store")
