"""Late interaction: a question and a text compared token by token (ColBERT's MaxSim).

Token vectors are kept as 128 bytes each: projected from 384 dimensions to 128, scaled to unit
length again, and rounded to int8. The projection is the principal axes of the token vectors of
`projection_corpus.txt`, everyday sentences written for this purpose, and ships as
`projection.npz`. It is part of the storage format: what was compressed with one projection
cannot be compared with what another made. `python -m hindsight_integrations.language.interaction`
fits it again.

Source: Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized
Late Interaction over BERT", SIGIR 2020. Weighting by IDF, and the normalised sum, are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import InvalidInputError, StoreCorruptError
from hindsight_integrations.language.embed import MiniLM, TokenEncoder, Vectors, unit_rows

DIMENSION = 128
"""Numbers kept of a token vector. Measured: 96 lose 0.8 points of nDCG@10, 128 none."""

_CORPUS = Path(__file__).with_name("projection_corpus.txt")
_PROJECTION = Path(__file__).with_name("projection.npz")
_TOKEN = np.dtype([("id", "<u2"), ("vector", "i1", (DIMENSION,))])


@dataclass(frozen=True, slots=True)
class TokenMatrix:
    """Projected token vectors (tokens, 128) of unit length, and the tokens' ids (tokens,)."""

    vectors: NDArray[np.float32]
    ids: NDArray[np.int32]


def token_matrix(token_vectors: Vectors, token_ids: NDArray[np.int32]) -> TokenMatrix:
    """Token vectors of one text as `TokenEncoder.encode` gives them, for use as a question.

    Raises:
        InvalidInputError: they are not of the model that the projection was fitted on.
    """
    axes = _projection()
    if token_vectors.shape != (len(token_ids), len(axes)):
        raise InvalidInputError(
            f"token vectors have shape {token_vectors.shape}, expected ({len(token_ids)}, "
            f"{len(axes)}): late interaction is fitted to {MiniLM.id}, use that encoder"
        )
    return TokenMatrix(unit_rows(token_vectors @ axes), token_ids)


def compress(token_vectors: Vectors, token_ids: NDArray[np.int32]) -> bytes:
    """The same, in 130 bytes a token, for storing. A text of no tokens gives no bytes.

    Raises:
        InvalidInputError: they are not of the model that the projection was fitted on.
    """
    matrix = token_matrix(token_vectors, token_ids)
    tokens = np.empty(len(matrix.ids), _TOKEN)
    tokens["id"] = matrix.ids
    # Only the direction counts, so each row may use the whole range of int8.
    peaks = np.abs(matrix.vectors).max(axis=1, keepdims=True)
    tokens["vector"] = np.rint(matrix.vectors * (127 / peaks))
    return tokens.tobytes()


def decompress(stored: bytes) -> TokenMatrix:
    """What `compress` made, as unit vectors again. Stored texts may be joined before.

    Raises:
        StoreCorruptError: the bytes are no whole number of tokens.
    """
    if len(stored) % _TOKEN.itemsize:
        raise StoreCorruptError(
            f"{len(stored)} bytes of token vectors are no multiple of {_TOKEN.itemsize}; "
            "run doctor, or reindex the bank"
        )
    tokens = np.frombuffer(stored, _TOKEN)
    return TokenMatrix(
        unit_rows(tokens["vector"].astype(np.float32)), tokens["id"].astype(np.int32)
    )


def token_coverage(query: TokenMatrix, documents: Sequence[bytes]) -> NDArray[np.float32]:
    """How well each document covers each token of the question.

    Returns:
        Shape (documents, tokens of the question): the highest cosine of that token with any of
        the document's; 0 for a document of no tokens.

    Raises:
        StoreCorruptError: a document's bytes are no whole number of tokens.
    """
    coverage = np.zeros((len(documents), len(query.ids)), np.float32)
    lengths = np.array([len(stored) // _TOKEN.itemsize for stored in documents])
    filled = np.flatnonzero(lengths)
    if filled.size and len(query.ids):
        starts = np.cumsum(lengths[filled]) - lengths[filled]
        similarity = decompress(b"".join(documents)).vectors @ query.vectors.T
        coverage[filled] = np.maximum.reduceat(similarity, starts, axis=0)
    return coverage


def token_frequency(
    token_ids: NDArray[np.int32], documents: Sequence[bytes]
) -> NDArray[np.float64]:
    """In how many of the documents each token stands, (tokens,)."""
    lengths = [len(stored) // _TOKEN.itemsize for stored in documents]
    ids = np.frombuffer(b"".join(documents), _TOKEN)["id"]
    of = np.repeat(np.arange(len(documents)), lengths)
    return np.array([np.unique(of[ids == token]).size for token in token_ids], np.float64)


def maxsim(
    query: TokenMatrix, documents: Sequence[bytes], weights: NDArray[np.floating]
) -> NDArray[np.float32]:
    """Score of each document: sum of weight(q) * max over d of cos(q, d), / sum of weight(q).

    Args:
        query: the question's tokens.
        documents: compressed token vectors of each document.
        weights: of each token of the question, (tokens,), not negative: its IDF in the bank.

    Returns:
        Shape (documents,), from -1 to 1; all 0 if no token of the question has weight.
    """
    total = weights.sum()
    if total <= 0:
        return np.zeros(len(documents), np.float32)
    scores: NDArray[np.float32] = token_coverage(query, documents) @ (weights / total)
    return scores.astype(np.float32)


def fit_projection(encoder: TokenEncoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The 128 axes that keep most of the texts' token vectors, (dimension, 128), orthonormal.

    They are the first eigenvectors of the vectors' second moments. The mean stays in: MaxSim
    compares directions from the origin, and centring was measured to lose.
    """
    tokens = np.concatenate(encoder.encode(texts).token_vectors)
    _, axes = np.linalg.eigh(tokens.T @ tokens)
    strongest: NDArray[np.float32] = axes[:, ::-1][:, :DIMENSION]
    return strongest


@cache
def _projection() -> NDArray[np.float32]:
    with np.load(_PROJECTION) as stored:
        axes: NDArray[np.float32] = stored["axes"].astype(np.float32)
    return axes


if __name__ == "__main__":
    encoder = MiniLM()
    fitted = fit_projection(encoder, _CORPUS.read_text(encoding="utf-8").splitlines())
    np.savez(_PROJECTION, axes=fitted.astype(np.float16), model=np.array(encoder.id))
