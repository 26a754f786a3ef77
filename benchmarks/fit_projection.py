"""`python -m benchmarks.fit_projection [MODEL]`: fit a model's projection again.

It is part of the storage format: fit it for a model that is new, before anything is stored with it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.nlp.late_interaction import DIMENSION
from hindsight_integrations.nlp.model_files import installed_files, named_encoder
from hindsight_integrations.nlp.model_registry import (
    MEMORY_MINILM,
    TransformerDescription,
    described,
)
from hindsight_integrations.nlp.onnx_encoder import OnnxEncoder
from hindsight_integrations.nlp.projection import Projection

_SEED = 20_417

_CORPORA = Path(__file__).parent / "quality" / "data"


def principal_axes(token_vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the axes of most of the token vectors' energy: (dimension, 256), orthonormal.

    They span the first eigenvectors of the vectors' second moments, turned at random.
    """
    _, axes = np.linalg.eigh(token_vectors.T @ token_vectors)
    strongest = axes[:, -DIMENSION:]
    noise = np.random.default_rng(_SEED).standard_normal((DIMENSION, DIMENSION))
    turned: NDArray[np.float32] = (strongest @ np.linalg.qr(noise).Q).astype(np.float32)
    return turned


def fitted(encoder: OnnxEncoder, texts: Sequence[str]) -> Projection:
    """Return the projection of an encoder that gives its vectors as they are, with centres.

    The centres are the mean vectors of the texts and of their tokens.
    """
    encoded = encoder.encode(texts)
    tokens = np.concatenate(encoded.token_vectors)
    token_centre = tokens.mean(axis=0)
    axes = principal_axes(tokens - token_centre)
    return Projection(encoder.id, axes, encoded.vectors.mean(axis=0), token_centre)


def bundled_projection(model: TransformerDescription, texts: Sequence[str]) -> Projection:
    """Return the projection of a bundled model: its mean stays in.

    Its vectors point in all directions as they are, and MaxSim compares directions from the origin.
    """
    encoder = named_encoder(model.name)
    assert isinstance(encoder, OnnxEncoder)
    tokens = np.concatenate(encoder.encode(texts).token_vectors)
    return Projection(model.id, principal_axes(tokens))


def sentences(model: TransformerDescription) -> list[str]:
    """Return the sentences that a model's projection is fitted on, of the language it reads."""
    name = "projection_corpus_zh.txt" if model.languages == "Chinese" else "projection_corpus.txt"
    return (_CORPORA / name).read_text(encoding="utf-8").splitlines()


def main(arguments: Sequence[str]) -> None:
    """Fit the projection of the model named, or of the default one, and write its file."""
    model = described(arguments[0]) if arguments else MEMORY_MINILM
    if not isinstance(model, TransformerDescription):
        raise SystemExit(f"{model.name} has no token vectors to fit a projection for")
    if model.bundled:
        projection = bundled_projection(model, sentences(model))
    else:
        raw = OnnxEncoder(replace(model, projection=""), lambda: installed_files(model))
        projection = fitted(raw, sentences(model))
    projection.save(model.projection)


if __name__ == "__main__":
    main(sys.argv[1:])
