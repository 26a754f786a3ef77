"""Relevance, with numbers worked by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from hindsight_integrations.nlp.model_registry import E5_SMALL, MEMORY_MINILM, USE_MULTILINGUAL
from hindsight_integrations.recall.relevance import (
    BUNDLED,
    MULTILINGUAL,
    PUBLISHED,
    Calibration,
    calibration_for,
    features,
    relevance_by_rank,
)
from tests.recall.building import question

pytestmark = pytest.mark.ranking

ODDS = Calibration(
    share=1.0,
    similarity=2.0,
    size=-0.5,
    intercept=0.25,
    minimum_similarity=((1, 0.1), (100, 0.3), (1000, 0.45)),
    hint=0.06,
    unknown_name=0.04,
)


def logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def test_the_share_of_the_pool_the_best_likeness_and_the_size_of_the_bank_add_up() -> None:
    # Totals 1.5 * ln 3 apart: shares of 3/4 and 1/4.
    total = np.array([1.5 * math.log(3), 0.0])
    rest = 2.0 * 0.4 - 0.5 * math.log(100) + 0.25
    expected = [logistic(math.log(3 / 4) + rest), logistic(math.log(1 / 4) + rest)]
    assert ODDS.relevance(total, 0.4, 100) == pytest.approx(expected)


def test_the_same_added_to_all_totals_changes_nothing() -> None:
    total = np.array([2.0, 5.0, -1.0])
    once = ODDS.relevance(total, 0.5, 3)
    assert ODDS.relevance(total + 900.0, 0.5, 3) == pytest.approx(once)
    assert np.argsort(-once).tolist() == np.argsort(-total).tolist()


def test_a_single_memory_has_the_whole_share() -> None:
    assert ODDS.relevance(np.array([-7.0]), 0.5, 1) == pytest.approx([logistic(1.0 + 0.25)])
    assert ODDS.relevance(np.zeros(0), 0.5, 0).tolist() == []


def test_likeness_says_less_in_a_language_that_the_model_does_not_know() -> None:
    asked = question("Где моя сестра держит ключи?")
    other = calibration_for(asked, MEMORY_MINILM.id)
    assert other is not None
    (alone,) = other.relevance(np.array([3.0]), 0.4, 7)
    assert alone == pytest.approx(logistic(3.9 * 0.4 - 0.297 * math.log(7) - 1.0))
    half = other.relevance(np.array([3.0, 3.0]), 0.4, 7)[0]
    assert half == pytest.approx(
        logistic(1.05 * math.log(0.5) + 3.9 * 0.4 - 0.297 * math.log(7) - 1.0)
    )
    assert other.minimum_similarity == BUNDLED.minimum_similarity
    assert calibration_for(question("Where are the keys?"), MEMORY_MINILM.id) is BUNDLED
    assert calibration_for(asked, USE_MULTILINGUAL.id) is MULTILINGUAL
    assert calibration_for(asked, "text-embedding-3-small") is None


def test_the_minimum_of_each_model() -> None:
    assert PUBLISHED.knows(0.18, 1)
    assert not PUBLISHED.knows(0.17, 1)
    assert MULTILINGUAL.knows(0.12, 1)
    assert not MULTILINGUAL.knows(0.11, 1)
    for size in (50, 5000):
        assert MULTILINGUAL.knows(0.14, size)
        assert not MULTILINGUAL.knows(0.13, size)
        assert MULTILINGUAL.knows(0.125, size, hinted=True)
        assert not MULTILINGUAL.knows(0.115, size, hinted=True)
    # Half of the way over the logarithm of the size.
    assert MULTILINGUAL.knows(0.1301, 7)
    assert not MULTILINGUAL.knows(0.1299, 7)


def test_the_calibration_of_e5() -> None:
    found = calibration_for(question("Where are the keys?"), E5_SMALL.id)
    assert found == replace(PUBLISHED, minimum_similarity=((1, 0.15), (100, 0.27)), hint=0.05)
    assert found.knows(0.27, 5000)
    assert not found.knows(0.26, 5000)


def test_beside_another_embedder_late_interaction_says_what_the_bank_knows() -> None:
    asked = question("Where are the keys?", two_models=True)
    found = calibration_for(asked, "text-embedding-3-small")
    assert found == replace(BUNDLED, minimum_similarity=((1, 0.2), (100, 0.3), (1_000, 0.4)))


def test_the_calibration_of_the_bundled_model() -> None:
    # A memory alone in the pool has all of it, whose logarithm is 0.
    (found,) = BUNDLED.relevance(np.array([3.0]), 0.4, 7)
    assert found == pytest.approx(logistic(6.57 * 0.4 - 0.297 * math.log(7) - 1.51))
    # Half of the pool: 0.916 times the logarithm of that.
    half = BUNDLED.relevance(np.array([3.0, 3.0]), 0.4, 7)[0]
    assert half == pytest.approx(logistic(math.log(found / (1 - found)) - 0.916 * math.log(2)))
    assert BUNDLED.minimum_similarity == ((1, 0.18), (100, 0.27), (1000, 0.38))
    assert BUNDLED.hint == BUNDLED.unknown_name == 0.05


def test_of_the_published_model_less_is_known() -> None:
    # Its likeness to another bank's question was measured up to a hundred memories only.
    assert PUBLISHED.knows(0.26, 5000)
    assert not PUBLISHED.knows(0.24, 5000)
    assert PUBLISHED.knows(0.0, 5000, hinted=True)
    assert PUBLISHED.knows(0.0, 5000, hinted=True, unknown_name=True)


def test_totals_of_any_size_and_an_empty_bank_have_shares() -> None:
    assert features(np.array([5000.0, 5000.0]), 0.5, 0).tolist() == [
        [pytest.approx(-math.log(2)), 0.5, 0.0],
        [pytest.approx(-math.log(2)), 0.5, 0.0],
    ]


def test_a_memory_far_behind_has_next_to_no_relevance() -> None:
    best, last = BUNDLED.relevance(np.array([0.0, -2000.0]), 0.6, 50)
    assert best > 0.4
    assert 0.0 <= last < 1e-9


def test_by_rank_the_first_is_right_three_times_in_ten() -> None:
    first, second, third = relevance_by_rank(3)
    assert first == pytest.approx(logistic(-0.83))
    assert second == pytest.approx(logistic(-0.83 - 1.37 * math.log(2)))
    assert third == pytest.approx(logistic(-0.83 - 1.37 * math.log(3)))


@pytest.mark.parametrize(
    ("documents", "least"),
    [(0, 0.1), (1, 0.1), (10, 0.2), (100, 0.3), (316, 0.375), (1000, 0.45), (100_000, 0.45)],
)
def test_the_likeness_that_knowing_takes_grows_with_the_bank(documents: int, least: float) -> None:
    # 316 is half-way between 100 and 1,000 by the logarithm.
    assert ODDS.knows(least + 1e-4, documents)
    assert not ODDS.knows(least - 1e-4, documents)
    assert ODDS.knows(least - 0.06 + 1e-4, documents, hinted=True)
    assert not ODDS.knows(least - 0.06 - 1e-4, documents, hinted=True)


@pytest.mark.parametrize("hinted", [False, True])
def test_a_name_that_no_memory_has_takes_more_likeness_whatever_else_is_named(
    hinted: bool,
) -> None:
    assert ODDS.knows(0.34 + 1e-4, 100, hinted=hinted, unknown_name=True)
    assert not ODDS.knows(0.34 - 1e-4, 100, hinted=hinted, unknown_name=True)
