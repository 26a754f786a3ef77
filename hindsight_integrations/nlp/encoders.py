"""The encoder of texts and tokens for whatever is given as embedder."""

from __future__ import annotations

import os

from hindsight_integrations.nlp.embeddings import Embedder, TokenEncoder, as_embedder
from hindsight_integrations.nlp.minilm import bundled
from hindsight_integrations.nlp.model_files import named_encoder
from hindsight_integrations.nlp.text_encoder import TextEncoder


def encoder_for(embedder: object | None, models_path: str | os.PathLike[str]) -> TextEncoder:
    """Return the encoder; the bundled model encodes tokens where an embedder given does not.

    A registered model is used alone: one that encodes no tokens is there for other languages than
    the bundled one reads.

    Args:
        embedder: an embedder of any framework, the name of a registered model, or None for the
            bundled one.
        models_path: folder of installed models; "" for that of the user.

    Raises:
        InvalidInputError: it is no embedder, or no model has this name.
        ModelFilesError: the model's files are not installed, or altered.
    """
    if embedder is None or isinstance(embedder, str):
        model = bundled() if embedder is None else named_encoder(embedder, models_path)
        return TextEncoder(model, model if isinstance(model, TokenEncoder) else None)
    given: Embedder = as_embedder(embedder)
    tokens: TokenEncoder = given if isinstance(given, TokenEncoder) else bundled()
    return TextEncoder(given, tokens)
