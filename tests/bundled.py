"""The bundled models, as the engines of this process use them: so each is loaded only once."""

from __future__ import annotations

import gc
from threading import Lock

from hindsight_integrations import forks
from hindsight_integrations.nlp import minilm
from hindsight_integrations.nlp.onnx_encoder import OnnxEncoder
from hindsight_integrations.retain.extractors import bundled_pipeline

# Both load at first use, not here.
MINILM = minilm.bundled()
PIPELINE = bundled_pipeline()


def load_before_forks() -> None:
    """Load the models, for this process and for those that are forked from it.

    A memory loads its model again in a forked process, which takes half a second: most of the time
    of a command, or of a process that a test kills. The sessions of these models have no threads
    of their own, so what the parent loaded goes on in the child.
    """
    for encoder in (MINILM, minilm.published()):
        encoder._model()
    PIPELINE.annotate(["Ana lives in Rome."])
    OnnxEncoder.after_fork = _keep  # type: ignore[method-assign]
    gc.freeze()  # a child that looks through all of this for garbage would copy it


def _keep(encoder: OnnxEncoder) -> None:
    encoder._loading = Lock()
    if encoder._loaded is not None:
        forks.never_free(encoder._loaded.session)
