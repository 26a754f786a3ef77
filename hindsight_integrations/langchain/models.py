"""The engine's models as LangChain's.

The other way needs no bridge: `Hindsight` takes LangChain's embeddings, chat models and document
compressors as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray
from pydantic import PositiveInt, field_validator

from hindsight_integrations import checks
from hindsight_integrations.errors import RerankError
from hindsight_integrations.language.embed import as_embedder, query_vector
from hindsight_integrations.language.interaction import (
    compress,
    maxsim,
    token_matrix,
    token_shares,
)
from hindsight_integrations.language.minilm import MiniLM
from hindsight_integrations.model import Memory
from hindsight_integrations.recall.ports import Reranker
from hindsight_integrations.recall.rerankers import as_reranker


class HindsightEmbeddings(Embeddings):
    """The embedder that `Hindsight` uses, for anything of LangChain's that takes embeddings.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]"
        ```

    Key init args:
        embedder: what was given to `Hindsight(embedder=...)`; if nothing was, leave it out for
            all-MiniLM-L6-v2, which comes with the package and runs on the CPU.

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
        InvalidInputError: it is no embedder.
    """

    def __init__(self, embedder: object | None = None) -> None:
        self._embedder = _bundled() if embedder is None else as_embedder(embedder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector of unit length for each text."""
        rows: list[list[float]] = self._embedder.embed(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """A question's vector."""
        row: list[float] = query_vector(self._embedder, text).tolist()
        return row


class HindsightReranker(BaseDocumentCompressor):
    """The engine's reranker, for documents from anywhere.

    By default documents are compared with the question token by token (late interaction), each
    token weighing as much as it is rare among them. No other model is needed than the one that
    comes with the package.

    Setup:
        ```bash
        pip install "hindsight-integrations[langchain]"
        ```

    Key init args:
        top_n: documents at most; all of them, in a new order, if None.
        reranker: what was given to `Hindsight(reranker=...)`, if something was.

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

        def rerank(found):
            return reranker.compress_documents(found["documents"], found["question"])

        chain = RunnableLambda(rerank)
        found = chain.invoke({"documents": documents, "question": "Which colour?"})
        print(found[0].page_content)
        ```

        ```text
        Her bicycle is red.
        ```

        It also goes into LangChain's `ContextualCompressionRetriever`, as `base_compressor`.
    """

    top_n: PositiveInt | None = None
    reranker: Any = None

    @field_validator("reranker")
    @classmethod
    def _check_reranker(cls, value: object) -> Reranker | None:
        return None if value is None else as_reranker(value)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The documents, best first, each with its `relevance_score` in a copy's metadata.

        Raises:
            InvalidInputError: the query is blank.
            RerankError: the reranker gave no usable scores.
        """
        question = checks.query(query)
        if not documents:
            return []
        texts = [document.page_content for document in documents]
        scores = (
            _by_interaction(question, texts)
            if self.reranker is None
            else _by_reranker(self.reranker, question, texts)
        )
        best = np.argsort(-scores, kind="stable")[: self.top_n].tolist()
        return [_scored(documents[place], float(scores[place])) for place in best]


@cache
def _bundled() -> MiniLM:
    return MiniLM()


def _by_interaction(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    encoded = _bundled().encode([question, *texts])
    asked = token_matrix(encoded.token_vectors[0], encoded.token_ids[0])
    stored = compress(encoded.token_vectors[1:], encoded.token_ids[1:])
    return maxsim(asked, stored, token_shares(asked, stored)).astype(np.float64)


def _by_reranker(reranker: Reranker, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    memories = [Memory(str(place), "", text) for place, text in enumerate(texts)]
    scores = np.asarray(reranker.score(question, memories), dtype=np.float64)
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise RerankError(
            f"reranker {reranker.id!r} returned scores of shape {scores.shape} for {len(texts)} "
            "documents, or some that are not finite; return one finite number a document"
        )
    return scores


def _scored(document: Document, score: float) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, "relevance_score": score}})
