"""The embedder port, and adapters for any embedder a user brings.

The output of a foreign embedder is checked before it reaches a store: a wrong shape, a NaN or a
zero vector is an error that names the text, never a row that no search can find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import EmbeddingError, HindsightError, InvalidInputError
from hindsight_integrations.stores.base import Vector
from hindsight_integrations.validation import well_formed

Vectors: TypeAlias = NDArray[np.float32]
"""Shape (n, dimension), rows of unit length."""

Progress: TypeAlias = Callable[[int], object]
"""Called after each batch with the number of texts it held."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Sentence and token vectors of some texts, from one pass through the model.

    Attributes:
        vectors: one row per text.
        token_vectors: for each text (tokens, dimension), unit rows, [CLS] and [SEP] left out.
        token_ids: for each text (tokens,), the vocabulary's numbers of the same tokens.
    """

    vectors: Vectors
    token_vectors: tuple[NDArray[np.float32], ...]
    token_ids: tuple[NDArray[np.int32], ...]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    A class may also have `embed_query(text)`, if it treats questions differently.
    """

    @property
    def id(self) -> str:
        """Model and precision: vectors of two embedders mix only if their ids are equal."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, in order."""
        ...


@runtime_checkable
class TokenEncoder(Protocol):
    """Also gives the vectors of the tokens, which late interaction compares.

    A class may also have `encode_query(text)`, if it treats questions differently, and
    `projection`, if its token vectors are not those of the published model.
    """

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return sentence and token vectors of each text, in order."""
        ...


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale each row to unit length; none may be zero."""
    scaled: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


def query_vector(embedder: Embedder, text: str) -> Vector:
    """Return the vector to search with, by `embed_query` if the embedder has one.

    Raises:
        EmbeddingError: the embedder failed.
    """
    embed_query: Callable[[str], Vector] | None = getattr(embedder, "embed_query", None)
    vector: Vector = embedder.embed([text])[0] if embed_query is None else embed_query(text)
    return vector


def encoded_query(encoder: TokenEncoder, text: str) -> Encoded:
    """Return a question's vectors, by `encode_query` if the encoder has one."""
    encode: Callable[[str], Encoded] | None = getattr(encoder, "encode_query", None)
    return encoder.encode([text]) if encode is None else encode(text)


def checked(vectors: object, n: int, dimension: int, name: str) -> Vectors:
    """Return an embedder's output as `n` unit vectors of `dimension`.

    Args:
        vectors: the return value: a matrix, or a sequence of sequences of numbers.
        n: number of texts given.
        dimension: required length of a vector.
        name: name of the embedder, for messages.

    Raises:
        EmbeddingError: it is anything else; the message has the index of the first bad text.
    """
    rows = _rows(vectors, n, name)
    for index, row in enumerate(rows):
        if row.shape != (dimension,):
            raise EmbeddingError(
                f"{name} returned an array of shape {row.shape} for text {index} of {n}; "
                f"expected {dimension} numbers, as for all texts of a bank"
            )
    matrix = np.stack(rows) if rows else np.zeros((0, dimension))
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if len(bad):
        fault = "only zeros" if norms[bad[0], 0] == 0 else "NaN or infinite numbers"
        raise EmbeddingError(f"{name} returned {fault} for text {bad[0]} of {n}")
    unit: Vectors = (matrix / norms).astype(np.float32)
    return unit


def checked_vector(vector: object, dimension: int) -> NDArray[np.float32]:
    """Return a caller's vector as a unit vector of `dimension`.

    Raises:
        EmbeddingError: it is no such vector.
    """
    try:
        (unit,) = checked([vector], 1, dimension, "")
    except EmbeddingError as error:
        raise EmbeddingError(
            f"the vector given is {vector!r:.80}; give {dimension} finite numbers, not all zero, "
            "from the bank's embedder"
        ) from error
    return np.asarray(unit, dtype=np.float32)


def _rows(vectors: object, n: int, name: str) -> list[NDArray[np.float64]]:
    """Return the output as one array per text."""
    if not isinstance(vectors, Iterable):
        raise EmbeddingError(
            f"{name} returned {type(vectors).__name__}; expected one vector for each of {n} texts"
        )
    try:
        rows = [np.asarray(row, dtype=np.float64) for row in vectors]
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"{name} did not return vectors of numbers: {error}") from error
    if len(rows) != n:
        raise EmbeddingError(f"{name} returned {len(rows)} vectors for {n} texts")
    return rows


# Methods of the frameworks' embedders: for texts, and for a question if it has its own.
_FOREIGN_METHODS = (
    ("embed_documents", "embed_query"),  # LangChain
    ("get_text_embedding_batch", "get_query_embedding"),  # LlamaIndex
    ("encode_document", "encode_query"),  # sentence-transformers from 5.0
    ("encode", None),  # sentence-transformers
)
_NAME_ATTRIBUTES = ("model_name", "model", "model_id", "deployment", "name_or_path")
_PROBE = "How many numbers are in this vector?"


def as_embedder(embedder: object) -> Embedder:
    """Adapt any embedder to `Embedder`, with its output checked.

    Accepts an `Embedder`; LangChain's `Embeddings`; LlamaIndex's `BaseEmbedding`; an object with
    `encode` like sentence-transformers; and a function from a list of texts to their vectors. An
    embedder without an id gets one of its class, its model's name and its dimension, which is
    measured by embedding a short text now. One that is also a `TokenEncoder` is returned as is.

    Raises:
        InvalidInputError: it is none of these.
        EmbeddingError: it failed on the short text.
    """
    if isinstance(embedder, Embedder) and not isinstance(embedder, type):
        if isinstance(embedder, TokenEncoder):
            return embedder
        methods = _Methods(embedder, "embed", "embed_query")
        return _Checked(embedder.id, embedder.dimension, methods)
    methods = _foreign_methods(embedder)
    name = _foreign_name(embedder)
    probe = _rows(_call(name, methods.embed_texts, [_PROBE]), 1, name)
    dimension = checked(probe, 1, probe[0].size, name).shape[1]
    return _Checked(f"{name}/{dimension}", dimension, methods)


class _Methods(NamedTuple):
    """A foreign embedder with the names of its methods, by which it is pickled.

    Bound methods of LlamaIndex's embedders cannot be: its instrumentation wraps them.
    """

    embedder: object
    texts: str = "__call__"
    query: str | None = None

    @property
    def embed_texts(self) -> Callable[[list[str]], object]:
        method: Callable[[list[str]], object] = getattr(self.embedder, self.texts)
        return method

    @property
    def embed_query(self) -> Callable[[str], object] | None:
        return getattr(self.embedder, self.query, None) if self.query else None


def _foreign_methods(embedder: object) -> _Methods:
    if not isinstance(embedder, type | str):  # a str has a method `encode` as well
        for texts, query in _FOREIGN_METHODS:
            if callable(getattr(embedder, texts, None)):
                return _Methods(embedder, texts, query)
        if callable(embedder):
            return _Methods(embedder)
    raise InvalidInputError(
        f"{embedder!r} is not an embedder; give an instance with id, dimension and "
        "embed(texts), a LangChain or LlamaIndex embedding, or a function from a list "
        "of texts to vectors"
    )


def _foreign_name(embedder: object) -> str:
    names = (getattr(embedder, attribute, None) for attribute in _NAME_ATTRIBUTES)
    model = next((name for name in names if isinstance(name, str) and name), None)
    kind = getattr(embedder, "__name__", type(embedder).__name__)
    return f"{kind}/{model}" if model else kind


def _call(name: str, method: Callable[[_T], object], argument: _T) -> object:
    try:
        return method(argument)
    except HindsightError:
        raise
    except Exception as error:
        raise EmbeddingError(f"{name} raised {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Checked:
    """A foreign embedder with checked output."""

    id: str
    dimension: int
    methods: _Methods

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        raw = _call(self.id, self.methods.embed_texts, [well_formed(text) for text in texts])
        return checked(raw, len(texts), self.dimension, self.id)

    def embed_query(self, text: str) -> Vector:
        embed_query = self.methods.embed_query
        if embed_query is None:
            raw: object = self.embed([text])
        else:
            raw = [_call(self.id, embed_query, well_formed(text))]
        vector: Vector = checked(raw, 1, self.dimension, self.id)[0]
        return vector
