"""The engine's models as LangChain's.

`Hindsight` itself takes LangChain's embeddings, chat models and document compressors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from pydantic import Field, PositiveInt, field_validator

from hindsight_integrations import validation
from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.embeddings import Embedder, as_embedder, query_vector
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.recall.rerankers import LateInteraction, as_reranker, best_first


class HindsightEmbeddings(Embeddings):
    """An embedder of the engine as LangChain's embeddings.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        embedder: `memory.embedder`, or any embedder that `Hindsight` takes; by default
            the engine's, which comes with the package and runs on the CPU (`MemoryMiniLM`).

    Instantiate:
        ```python
        from hindsight_integrations.langchain import HindsightEmbeddings

        embeddings = HindsightEmbeddings()
        ```

    Use:
        ```python
        print(len(embeddings.embed_query("Where does Alice work?")))
        ```

        ```text
        384
        ```

    Use within a vector store:
        ```python
        from langchain_core.vectorstores import InMemoryVectorStore

        texts = ["Alice works at Northwind.", "Her bicycle is red."]
        store = InMemoryVectorStore.from_texts(texts, embeddings)
        print(store.similarity_search("Who employs Alice?", k=1)[0].page_content)
        ```

        ```text
        Alice works at Northwind.
        ```

    Raises:
        InvalidInputError: the argument is no embedder.
    """

    def __init__(self, embedder: object | None = None) -> None:
        self._embedder = bundled() if embedder is None else as_embedder(embedder)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._embedder.id!r})"

    def is_of(self, embedder: Embedder) -> bool:
        """Return True if an engine's embedder makes the same vectors as this one."""
        own = (self._embedder.id, self._embedder.dimension)
        return own == (embedder.id, embedder.dimension)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector of unit length for each text."""
        given = validation.items("texts", texts)
        rows: list[list[float]] = self._embedder.embed(given).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        row: list[float] = query_vector(self._embedder, text).tolist()
        return row


class HindsightReranker(BaseDocumentCompressor):
    """A reranker of the engine as LangChain's document compressor.

    By default documents are compared with the question token by token (late interaction), each
    token weighted by its rarity among them. The only model used is the one that comes with the
    package.

    Setup: `pip install "hindsight-integrations[langchain]"`

    Key init args:
        top_n: maximum number of documents; all of them, reordered, if None.
        reranker: `memory.reranker`, or any reranker that `Hindsight` takes.

    Instantiate:
        ```python
        from hindsight_integrations.langchain import HindsightReranker

        reranker = HindsightReranker(top_n=1)
        ```

    Use:
        ```python
        from langchain_core.documents import Document

        documents = [Document("Her bicycle is red."), Document("Alice works at Northwind.")]
        best = reranker.compress_documents(documents, "Where does Alice work?")
        print(best[0].page_content, best[0].metadata["relevance_score"] > 0.5)
        ```

        ```text
        Alice works at Northwind. True
        ```

    Use within a chain:
        ```python
        from langchain_core.runnables import RunnableLambda

        def rerank(state):
            return reranker.compress_documents(state["documents"], state["question"])

        chain = RunnableLambda(rerank)
        best = chain.invoke({"documents": documents, "question": "Which colour?"})
        print(best[0].page_content)
        ```

        ```text
        Her bicycle is red.
        ```

        LangChain's `ContextualCompressionRetriever` takes it as `base_compressor`.
    """

    top_n: PositiveInt | None = None
    reranker: Any = Field(default=None, validate_default=True)

    @field_validator("reranker")
    @classmethod
    def _check_reranker(cls, value: object) -> Reranker:
        return LateInteraction() if value is None else as_reranker(value)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return copies of the documents, best first, with `relevance_score` in their metadata.

        A blank question ranks nothing: the first documents are returned as they are.

        Raises:
            RerankError: the reranker gave no usable scores.
        """
        if validation.is_blank(validation.text(query, "query")):
            return list(documents[: self.top_n])
        question = validation.query(query)
        texts = [Memory(str(n), "", one.page_content) for n, one in enumerate(documents)]
        best = best_first(self.reranker, question, texts, self.top_n)
        return [_scored(documents[index], score) for index, score in best]


def _scored(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
