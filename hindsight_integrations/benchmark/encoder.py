"""Embeddings for banks too big to embed while one waits: mixed from those of real sentences.

At some 150 texts a second a bank of 100,000 memories would take the embedder ten minutes. What a
recall costs depends on the number, size and spread of the vectors and not on their meaning, so
each text gets a mixture of two real encodings, chosen by its hash. Everything else of a retain
and of a recall is real.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.language.embed import Encoded, MiniLM, Vector, Vectors

T = TypeVar("T", bound=np.generic)

NOISE = 0.6
"""Length of the random part of a vector beside a mixture of unit length: keeps the number of
memories that are alike near that of real talk."""


class MixingEncoder:
    """Encodes any text as a mixture of two of the texts it was given.

    It passes for the model that encoded those, so that the bank can be opened with that model.
    """

    id = MiniLM.id
    dimension = MiniLM.dimension

    def __init__(self, stock: Encoded) -> None:
        self._stock = stock

    @classmethod
    def of(cls, texts: Sequence[str]) -> MixingEncoder:
        """From these texts, encoded by the bundled model."""
        return cls(MiniLM().encode(texts))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text."""
        rows = np.empty((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            random, one, other = self._drawn(text)
            row[:] = _unit(self._stock.vectors[one] + self._stock.vectors[other])
            row += NOISE * _unit(random.standard_normal(self.dimension, np.float32))
            row /= np.linalg.norm(row)
        return rows

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Vectors, and for tokens the first half of one text's and the second of the other's."""
        drawn = [self._drawn(text)[1:] for text in texts]
        return Encoded(
            self.embed(texts),
            tuple(_halves(self._stock.token_vectors, pair) for pair in drawn),
            tuple(_halves(self._stock.token_ids, pair) for pair in drawn),
        )

    def _drawn(self, text: str) -> tuple[np.random.Generator, int, int]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        random = np.random.default_rng(seed)
        one, other = random.integers(len(self._stock.vectors), size=2).tolist()
        return random, one, other


def _unit(vector: Vector) -> Vector:
    unit: Vector = vector / np.linalg.norm(vector)
    return unit


def _halves(tokens: Sequence[NDArray[T]], pair: tuple[int, int]) -> NDArray[T]:
    one, other = (tokens[number] for number in pair)
    return np.concatenate([one[: (len(one) + 1) // 2], other[len(other) // 2 :]])
