"""Texts to what is stored of them: a vector each, and token vectors for late interaction.

The default embedder gives both in one pass. With another embedder, the vectors are its own and
the token vectors still come from the bundled model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.language.embed import Embedder, TokenEncoder, checked, query_vector
from hindsight_integrations.language.interaction import TokenMatrix, compress, token_matrix
from hindsight_integrations.storage.requests import (
    Vector,
)

SLICE = 128
"""Texts encoded at once: their token vectors take some 6 MB before they are compressed."""


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text's vector, and its compressed token vectors if there is an encoder for them."""

    vector: Vector
    interaction: bytes | None


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """An embedder and, for late interaction, an encoder of tokens; often the same object."""

    embedder: Embedder
    tokens: TokenEncoder | None

    @property
    def in_one_pass(self) -> bool:
        """Whether the embedder gives the token vectors too."""
        tokens: object = self.tokens
        return tokens is self.embedder

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """What is stored of each text.

        Raises:
            EmbeddingError: the embedder failed, or gave vectors that cannot be used.
        """
        found: list[EncodedText] = []
        for start in range(0, len(texts), SLICE):
            found += self._encode(texts[start : start + SLICE])
        return found

    def question(self, text: str) -> tuple[Vector, TokenMatrix | None]:
        """A question's vector and its token vectors."""
        if self.tokens is None:
            return query_vector(self.embedder, text), None
        encoded = self.tokens.encode([text])
        matrix = token_matrix(encoded.token_vectors[0], encoded.token_ids[0])
        if self.in_one_pass:
            return encoded.vectors[0], matrix
        return query_vector(self.embedder, text), matrix

    def _encode(self, texts: Sequence[str]) -> list[EncodedText]:
        if self.tokens is None:
            return [EncodedText(vector, None) for vector in self._vectors(texts)]
        encoded = self.tokens.encode(texts)
        vectors = encoded.vectors if self.in_one_pass else self._vectors(texts)
        stored = compress(encoded.token_vectors, encoded.token_ids)
        return [EncodedText(*both) for both in zip(vectors, stored, strict=True)]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        vectors = self.embedder.embed(texts)
        return checked(vectors, len(texts), self.embedder.dimension, self.embedder.id)
