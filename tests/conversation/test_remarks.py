"""How much a remark weighs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.conversation import Remark

from .learning import NOW


@pytest.mark.parametrize(
    ("hours", "chars", "weight"),
    [
        (0, 500, 1.0),
        (0, 5000, 1.0),
        (0, 250, 0.8),
        (24, 250, 0.5),  # 0.6 / 2 + 0.4 / 2
        (72, 500, 0.55),  # 0.6 / 4 + 0.4
        (24 * 59, 125, 0.11),  # 0.6 / 60 + 0.4 / 4
        (-5, 250, 0.8),  # dated ahead
    ],
)
def test_weight_by_hand(hours: float, chars: int, weight: float) -> None:
    remark = Remark("1", "user", "x" * chars, NOW - timedelta(hours=hours))
    assert remark.weight(NOW) == pytest.approx(weight)


@pytest.mark.parametrize("importance", [0.0, 0.25, 1.0])
def test_an_importance_that_was_given_is_the_weight(importance: float) -> None:
    assert Remark("1", "user", "x" * 500, NOW, importance).weight(NOW) == importance


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 2000))
def test_weight_lies_within_one_and_falls_with_age(early: float, late: float, chars: int) -> None:
    remark = Remark("1", "user", "x" * chars, NOW)
    early, late = sorted((early, late))
    weights = [remark.weight(NOW + timedelta(hours=hours)) for hours in (early, late)]
    assert 1 >= weights[0] >= weights[1] > 0
