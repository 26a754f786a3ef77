from __future__ import annotations

import numpy as np
import pytest

from hindsight_integrations.recall.signals import proof_boost, recency_boost, temporal_boost

pytestmark = pytest.mark.ranking

DAY = 86_400


@pytest.mark.parametrize(
    ("days", "boost"), [(0, 1.10), (182.5, 1.00), (365, 0.90), (4000, 0.90), (-365, 0.90)]
)
def test_recency_falls_in_a_straight_line_over_a_year(days: float, boost: float) -> None:
    assert recency_boost(np.array([days * DAY])) == pytest.approx([boost])


@pytest.mark.parametrize(("fit", "boost"), [(0, 0.9), (0.5, 1.0), (1, 1.1)])
def test_temporal_boost_follows_the_fit(fit: float, boost: float) -> None:
    assert temporal_boost(np.array([fit])) == pytest.approx([boost])


@pytest.mark.parametrize(("sources", "boost"), [(1, 1.0), (10, 1.05), (99, 1.05)])
def test_proof_saturates_at_ten_sources(sources: int, boost: float) -> None:
    assert proof_boost(np.array([sources])) == pytest.approx([boost])
