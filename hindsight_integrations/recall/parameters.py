"""Ranking weights and calibration of relevance, for each embedder that they were fitted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hindsight_integrations.nlp.model_registry import MEMORY_MINILM, MINILM
from hindsight_integrations.recall.ranking import DEFAULT_WEIGHTS, Weights
from hindsight_integrations.recall.relevance import BUNDLED, PUBLISHED, Calibration


@dataclass(frozen=True, slots=True)
class RankingParameters:
    """Ranking parameters fitted for an embedder.

    Attributes:
        weights: of the signals; the default ones, if none were fitted.
        calibration: of relevance; without it, relevance goes by the rank alone.
    """

    weights: Weights = DEFAULT_WEIGHTS
    calibration: Calibration | None = None


PARAMETERS: Mapping[str, RankingParameters] = MappingProxyType(
    {
        MEMORY_MINILM.id: RankingParameters(calibration=BUNDLED),
        MINILM.id: RankingParameters(calibration=PUBLISHED),
    }
)
"""Fitted weights by the embedder's id."""


def parameters_for(embedder_id: str) -> RankingParameters:
    """Return the weights and the calibration for an embedder."""
    return PARAMETERS.get(embedder_id, RankingParameters())
