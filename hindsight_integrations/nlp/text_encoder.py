"""Encode texts for storing: a vector each, and token vectors for late interaction.

A model known by name gives both in one pass, as the default one does. With another embedder, the
vectors are its own and the token vectors come from the default model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.nlp.embeddings import (
    Embedder,
    Encoded,
    TokenEncoder,
    checked,
    encoded_query,
    query_vector,
)
from hindsight_integrations.nlp.language import asks_in_another_language
from hindsight_integrations.nlp.late_interaction import TokenMatrix, compress, token_matrix
from hindsight_integrations.nlp.projection import projection_of
from hindsight_integrations.stores.base import Vector

SLICE = 128
"""Texts encoded at once: their token vectors take about 6 MB before compression."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Vector of a text, and its compressed token vectors if there is an encoder for them."""

    vector: Vector
    interaction: bytes | None


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """An embedder and, for late interaction, an encoder of tokens; often the same object."""

    embedder: Embedder
    tokens: TokenEncoder | None

    @property
    def in_one_pass(self) -> bool:
        """True if the embedder gives the token vectors too."""
        tokens: object = self.tokens
        return tokens is self.embedder

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return the vectors to store of each text.

        Raises:
            EmbeddingError: the embedder failed, or gave vectors that cannot be used.
        """
        encoded: list[EncodedText] = []
        for start in range(0, len(texts), SLICE):
            encoded += self._encode(texts[start : start + SLICE])
        return encoded

    def question(self, text: str) -> tuple[Vector, TokenMatrix | None]:
        """Return a question's vector, and its token vectors if it has any.

        Those of the default model beside another embedder are left out for a question that is
        surely not English, a language which that embedder may know better.
        """
        if self.in_one_pass and self.tokens is not None:
            encoded, matrix = _asked(self.tokens, text)
            return encoded.vectors[0], matrix
        vector = query_vector(self.embedder, text)
        if self.tokens is None or asks_in_another_language(text):
            return vector, None
        return vector, _asked(self.tokens, text)[1]

    def without_embedder(self, text: str) -> tuple[Vector, TokenMatrix | None]:
        """Return a question's token vectors, and zeros in place of the vector.

        For an embedder that fails; if the token vectors are its own, there are none either.
        """
        nothing = np.zeros(self.embedder.dimension, np.float32)
        if self.tokens is None or self.in_one_pass:
            return nothing, None
        return nothing, _asked(self.tokens, text)[1]

    def _encode(self, texts: Sequence[str]) -> list[EncodedText]:
        if self.tokens is None:
            return [EncodedText(vector, None) for vector in self._vectors(texts)]
        encoded = self.tokens.encode(texts)
        vectors = encoded.vectors if self.in_one_pass else self._vectors(texts)
        stored = compress(encoded.token_vectors, encoded.token_ids, projection_of(self.tokens))
        return [EncodedText(*both) for both in zip(vectors, stored, strict=True)]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        vectors = self.embedder.embed(texts)
        return checked(vectors, len(texts), self.embedder.dimension, self.embedder.id)


@dataclass(frozen=True, slots=True)
class StandInEmbedder:
    """Gives every text the same vector, in place of an embedder that is not at hand.

    A search by meaning does not find such a text, except by chance; the others do.
    """

    id: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        """Return one unit vector per text, all of them equal."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        vectors[:, 0] = 1.0
        return vectors


def _asked(tokens: TokenEncoder, text: str) -> tuple[Encoded, TokenMatrix | None]:
    encoded = encoded_query(tokens, text)
    projection = projection_of(tokens)
    with one_core():
        matrix = token_matrix(encoded.token_vectors[0], encoded.token_ids[0], projection)
    return encoded, matrix if len(matrix.ids) else None
