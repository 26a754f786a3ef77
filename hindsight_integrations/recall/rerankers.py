"""Rerankers: the built-in one, and adapters for those of other libraries.

Foreign rerankers are recognised by their methods; no framework is imported before one of its
objects is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from hindsight_integrations.errors import InvalidInputError, RerankError
from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.embeddings import TokenEncoder, encoded_query
from hindsight_integrations.nlp.late_interaction import (
    compress,
    maxsim,
    token_matrix,
    token_shares,
    token_table,
)
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.nlp.projection import projection_of
from hindsight_integrations.nlp.text_encoder import SLICE
from hindsight_integrations.recall.base import Reranker
from hindsight_integrations.recall.packing import memory_line
from hindsight_integrations.recall.scaling import Scores


@dataclass(frozen=True, slots=True)
class LateInteraction:
    """Share of a question that each text covers, token by token; see `nlp.late_interaction`.

    It sees nothing but the texts, so a token weighs as much as it is rare among them. Recall's
    own ranking uses this too, among other signals.
    """

    encoder: TokenEncoder = field(default_factory=bundled)
    id: str = field(default="late interaction", init=False)

    def score(self, query: str, memories: Sequence[Memory]) -> Scores:
        """Return a number from -1 to 1 for each memory.

        Raises:
            EmbeddingError: the encoder failed.
        """
        lines = [memory_line(memory) for memory in memories]
        texts: list[bytes] = []
        projection = projection_of(self.encoder)
        for start in range(0, len(lines), SLICE):
            encoded = self.encoder.encode(lines[start : start + SLICE])
            texts += compress(encoded.token_vectors, encoded.token_ids, projection)
        asked = encoded_query(self.encoder, query)
        question = token_matrix(asked.token_vectors[0], asked.token_ids[0], projection)
        shares = token_shares(question, token_table(texts))
        return maxsim(question, texts, shares).astype(np.float64)


def checked_scores(reranker: Reranker, query: str, memories: Sequence[Memory]) -> Scores:
    """Return the reranker's scores.

    Raises:
        RerankError: they are not one finite number a memory.
    """
    scores = np.asarray(reranker.score(query, memories), dtype=np.float64)
    if scores.shape != (len(memories),) or not np.isfinite(scores).all():
        raise RerankError(
            f"reranker {reranker.id!r} returned scores of shape {scores.shape} for "
            f"{len(memories)} texts, or scores that are not finite; return one finite "
            "number per text"
        )
    return scores


def best_first(
    reranker: Reranker, query: str, memories: Sequence[Memory], most: int | None = None
) -> list[tuple[int, float]]:
    """Return indices of the memories, best first, each with its score; `most` at most.

    Raises:
        RerankError: the scores cannot be used.
    """
    if not memories:
        return []
    scores = checked_scores(reranker, query, memories)
    order = np.argsort(-scores, kind="stable")[:most]
    return list(zip(order.tolist(), scores[order].tolist(), strict=True))


@runtime_checkable
class _Compressor(Protocol):
    def compress_documents(self, documents: Sequence[object], query: str) -> Sequence[object]: ...


@runtime_checkable
class _Postprocessor(Protocol):
    def postprocess_nodes(
        self, nodes: Sequence[object], query_str: str | None = None
    ) -> Sequence[object]: ...


@runtime_checkable
class _CrossEncoder(Protocol):
    def predict(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class _Adapted:
    """A reranker of another library: its name, and a function from texts to scores."""

    id: str
    ask: Callable[[str, Sequence[str]], Scores]

    def score(self, query: str, memories: Sequence[Memory]) -> Scores:
        return self.ask(query, [memory_line(memory) for memory in memories])


def as_reranker(reranker: object) -> Reranker:
    """Return any reranker as a `Reranker`.

    Takes an object of that protocol, a sentence-transformers CrossEncoder (`predict`), a LangChain
    document compressor, a LlamaIndex node postprocessor, or a function of (query, texts) to scores.

    Raises:
        InvalidInputError: it is none of these.
    """
    name = type(reranker).__name__
    if callable(getattr(reranker, "score", None)) and hasattr(reranker, "id"):
        return reranker  # type: ignore[return-value]
    if isinstance(reranker, _Compressor):
        return _Adapted(name, _by_compressor(reranker))
    if isinstance(reranker, _Postprocessor):
        return _Adapted(name, _by_postprocessor(reranker))
    if isinstance(reranker, _CrossEncoder):
        return _Adapted(name, _by_cross_encoder(reranker))
    if callable(reranker):
        return _Adapted(getattr(reranker, "__name__", name), _by_function(reranker))
    raise InvalidInputError(
        f"reranker is {reranker!r:.80}; give 'local', None, a function of (query, texts) to "
        "scores, a LangChain document compressor, a LlamaIndex postprocessor or a "
        "CrossEncoder"
    )


def _by_function(function: Callable[..., object]) -> Callable[[str, Sequence[str]], Scores]:
    return lambda query, texts: np.asarray(function(query, texts), dtype=np.float64)


def _by_cross_encoder(model: _CrossEncoder) -> Callable[[str, Sequence[str]], Scores]:
    return lambda query, texts: np.asarray(
        model.predict([(query, text) for text in texts]), dtype=np.float64
    )


def _by_compressor(compressor: _Compressor) -> Callable[[str, Sequence[str]], Scores]:
    def ask(query: str, texts: Sequence[str]) -> Scores:
        from langchain_core.documents import Document

        given = [Document(page_content=t, metadata={"place": i}) for i, t in enumerate(texts)]
        kept = compressor.compress_documents(given, query)
        return _from_order([getattr(document, "metadata", {}) for document in kept], len(texts))

    return ask


def _by_postprocessor(postprocessor: _Postprocessor) -> Callable[[str, Sequence[str]], Scores]:
    def ask(query: str, texts: Sequence[str]) -> Scores:
        from llama_index.core.schema import NodeWithScore, TextNode

        given = [
            NodeWithScore(node=TextNode(text=text, metadata={"place": i}), score=1.0)
            for i, text in enumerate(texts)
        ]
        kept = postprocessor.postprocess_nodes(given, query_str=query)
        metadata = [getattr(getattr(node, "node", None), "metadata", {}) for node in kept]
        return _from_order(metadata, len(texts))

    return ask


def _from_order(metadata: Sequence[Mapping[str, object]], size: int) -> Scores:
    """Return scores that put texts in the order given; those dropped come last, in their order."""
    if not metadata:
        raise RerankError("the reranker returned nothing")
    scores = -np.arange(size, dtype=np.float64) - size
    for rank, fields in enumerate(metadata):
        index = fields.get("place")
        if not isinstance(index, int) or not 0 <= index < size:
            raise RerankError("the reranker returned a document that was not passed to it")
        scores[index] = float(size - rank)
    return scores


def reranker_given(reranker: object | None) -> Reranker | None:
    """Return the reranker to use in place of the built-in ranking, if there is one."""
    if reranker is None or (isinstance(reranker, str) and reranker == "local"):
        return None
    return as_reranker(reranker)
