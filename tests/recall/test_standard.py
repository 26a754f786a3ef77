from __future__ import annotations

import numpy as np
import pytest

from hindsight_integrations.recall.scaling import over_max, standardise

pytestmark = pytest.mark.ranking


def test_standardised_scores_have_mean_0_and_deviation_1() -> None:
    # Mean 1; squared distances 1, 1 and 4, so the deviation is the root of 2.
    assert standardise(np.array([0.0, 0.0, 3.0])) == pytest.approx([-(0.5**0.5)] * 2 + [2**0.5])
    assert standardise(np.array([7.0, 9.0])).tolist() == [-1.0, 1.0]


def test_where_there_is_nothing_to_tell_apart_all_are_zero() -> None:
    assert standardise(np.array([5.0, 5.0])).tolist() == [0.0, 0.0]
    assert standardise(np.array([1.0, 1.0 + 1e-12])).tolist() == [0.0, 0.0]
    assert standardise(np.array([1.0, 1.0 + 1e-6])) == pytest.approx([-1.0, 1.0])
    assert standardise(np.zeros(0)).shape == (0,)


def test_over_max_makes_the_best_1() -> None:
    assert over_max(np.array([1.0, 4.0, -2.0])).tolist() == [0.25, 1.0, -0.5]
    assert over_max(np.array([-1.0, 0.0])).tolist() == [0.0, 0.0]
    assert over_max(np.array([0.0, 0.0])).tolist() == [0.0, 0.0]
    assert over_max(np.zeros(0)).shape == (0,)
