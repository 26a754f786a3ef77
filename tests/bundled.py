"""The bundled models, as the engines of this process use them: so each is loaded only once."""

from __future__ import annotations

from hindsight_integrations.nlp import minilm
from hindsight_integrations.retain.extractors import bundled_pipeline

# Both load at first use, not here.
MINILM = minilm.bundled()
PIPELINE = bundled_pipeline()
