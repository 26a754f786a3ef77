"""Late interaction: compare a question and a text token by token (ColBERT's MaxSim).

Token vectors are kept in 128 bytes each: projected from 384 dimensions or more to 256, scaled to
unit length again, and rounded to four bits a number. The projection keeps the principal axes of
the token vectors of everyday sentences written for this purpose, and turns them at random, so that
all 256 numbers spread alike and four bits serve each as well. Each model has its own
(`projection.py`), which is part of the storage format: what was compressed with one projection
cannot be compared with what another made. `benchmarks/fit_projection.py` fits it again.

Sources: Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized
Late Interaction over BERT", SIGIR 2020; weighting by IDF, and the normalised sum, are ours. Max,
"Quantizing for Minimum Distortion", 1960, for the width of a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import InvalidInputError, StoreCorruptError
from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.nlp.embeddings import Vectors, unit_rows
from hindsight_integrations.nlp.projection import Projection, load_projection

DIMENSION = 256
"""Dimensions kept of a token vector, four bits each. Against full vectors, measured on
conversations and encyclopaedia passages, nDCG@10 changes by -0.7 to +0.6 points; 128 numbers of
eight bits, as many bytes, lost up to 1.7."""

_HALF = DIMENSION // 2
_TOKEN = np.dtype([("id", "<u2"), ("codes", "u1", (_HALF,))])
# The best width for 16 even steps is 0.3352 standard deviations of what they measure (Max), and
# the numbers of a unit vector have 1 / sqrt(n).
_STEP = 0.3352 / math.sqrt(DIMENSION)
_LEVELS = 16


@dataclass(frozen=True, slots=True)
class TokenMatrix:
    """Projected token vectors (tokens, 256) of unit length, and the tokens' ids (tokens,)."""

    vectors: NDArray[np.float32]
    ids: NDArray[np.int32]


def token_matrix(
    token_vectors: Vectors,
    token_ids: NDArray[np.int32],
    projection: Projection | None = None,
) -> TokenMatrix:
    """Project token vectors, given as by `TokenEncoder.encode`.

    Args:
        token_vectors: the vectors.
        token_ids: their ids.
        projection: of the model that made them; by default that of the published model.

    Raises:
        InvalidInputError: they are not of the model that the projection was fitted on.
    """
    chosen = projection or load_projection()
    if token_vectors.shape != (len(token_ids), len(chosen.axes)):
        raise InvalidInputError(
            f"token vectors have shape {token_vectors.shape}, expected ({len(token_ids)}, "
            f"{len(chosen.axes)}): late interaction is fitted to {chosen.model}, use that encoder"
        )
    vectors: Vectors = token_vectors
    if chosen.token_centre is not None:
        vectors = token_vectors - chosen.token_centre
    return TokenMatrix(unit_rows(vectors @ chosen.axes), token_ids)


def compress(
    token_vectors: Sequence[Vectors],
    token_ids: Sequence[NDArray[np.int32]],
    projection: Projection | None = None,
) -> list[bytes]:
    """Compress token vectors of several texts to 130 bytes per token, for storing.

    A text of no tokens gives no bytes. The projection is that of the model which made them, by
    default that of the published model.

    Raises:
        InvalidInputError: they are not of the model that the projection was fitted on.
    """
    if not token_vectors:
        return []
    with one_core():
        matrix = token_matrix(np.concatenate(token_vectors), np.concatenate(token_ids), projection)
    levels = np.floor(matrix.vectors / _STEP) + _LEVELS // 2
    levels = np.clip(levels, 0, _LEVELS - 1).astype(np.uint8)
    tokens = np.empty(len(matrix.ids), _TOKEN)
    tokens["id"] = matrix.ids
    tokens["codes"] = levels[:, :_HALF] << 4 | levels[:, _HALF:]
    ends = np.cumsum([len(ids) for ids in token_ids])[:-1]
    return [some.tobytes() for some in np.split(tokens, ends)]


def decompress(stored: bytes) -> TokenMatrix:
    """Restore unit vectors from the output of `compress`.

    Raises:
        StoreCorruptError: the bytes are no whole number of tokens.
    """
    tokens = np.frombuffer(stored, _TOKEN, _token_count(stored))
    return TokenMatrix(unit_rows(_steps(tokens["codes"])), tokens["id"].astype(np.int32))


def token_coverage(query: TokenMatrix, documents: Sequence[bytes]) -> NDArray[np.float32]:
    """Return the coverage of each token of the question by each document.

    Returns:
        Shape (documents, tokens of the question): the highest cosine of that token with any of
        the document's; 0 for a document of no tokens.

    Raises:
        StoreCorruptError: a document's bytes are no whole number of tokens.
    """
    coverage = np.zeros((len(documents), len(query.ids)), np.float32)
    lengths = np.array([_token_count(stored) for stored in documents])
    filled = np.flatnonzero(lengths)
    if filled.size and len(query.ids):
        vectors = _steps(np.frombuffer(b"".join(documents), _TOKEN)["codes"])
        norms = np.sqrt(np.einsum("td,td->t", vectors, vectors))
        cosines: NDArray[np.float32] = vectors @ query.vectors.T / norms[:, None]
        starts = np.cumsum(lengths[filled]) - lengths[filled]
        coverage[filled] = np.maximum.reduceat(cosines, starts, axis=0)
    return coverage


class TokenTable(NamedTuple):
    """All tokens of some documents: their ids, the document of each, and the document count."""

    ids: NDArray[np.uint16]
    holders: NDArray[np.intp]
    documents: int


def token_table(documents: Sequence[bytes]) -> TokenTable:
    """Return all tokens of compressed documents."""
    lengths = [len(stored) // _TOKEN.itemsize for stored in documents]
    ids = np.frombuffer(b"".join(documents), _TOKEN)["id"].copy()  # contiguous, for the search
    return TokenTable(ids, np.repeat(np.arange(len(documents)), lengths), len(documents))


def token_shares(query: TokenMatrix, held: TokenTable) -> NDArray[np.float64]:
    """Return the share of each token in the question, (tokens,), summing to 1.

    Shares are by inverse document frequency among the documents: ln(1 + (N - n + 0.5) /
    (n + 0.5)) for a token in n of N.
    """
    holding = np.array(
        [np.unique(held.holders[held.ids == token]).size for token in query.ids], np.float64
    )
    rarity = np.log1p((held.documents - holding + 0.5) / (holding + 0.5))
    shares: NDArray[np.float64] = rarity / rarity.sum()
    return shares


def maxsim(
    query: TokenMatrix, documents: Sequence[bytes], weights: NDArray[np.floating]
) -> NDArray[np.float32]:
    """Return for each document sum(weight(q) * max over d of cos(q, d)) / sum(weight(q)).

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


def is_whole(stored: bytes) -> bool:
    """Return True if the bytes are a whole number of compressed tokens."""
    return isinstance(stored, bytes) and len(stored) % _TOKEN.itemsize == 0


def _token_count(stored: bytes) -> int:
    count, rest = divmod(len(stored), _TOKEN.itemsize)
    if rest:
        raise StoreCorruptError(
            f"the token vectors have {len(stored)} bytes, which is not a multiple of "
            f"{_TOKEN.itemsize}; run doctor, or reindex the bank"
        )
    return count


def _steps(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the quantised values in units of a step; the vectors' length is lost."""
    steps = np.empty((len(codes), DIMENSION), np.float32)
    steps[:, :_HALF] = codes >> 4
    steps[:, _HALF:] = codes & 0xF
    steps -= (_LEVELS - 1) / 2
    return steps
