"""The bundled models, as the engines of this process use them: so each is loaded only once."""

from __future__ import annotations

from hindsight_integrations.assembly import _bundled_pipeline
from hindsight_integrations.language import minilm

# Both load at first use, not here.
MINILM = minilm.bundled()
PIPELINE = _bundled_pipeline()
