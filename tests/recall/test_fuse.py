from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.recall.scaling import reciprocal_rank_fusion


@pytest.mark.ranking
def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["b", "c"]], k=60)
    assert fused == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
    assert list(fused) == ["b", "a", "c"]


@pytest.mark.ranking
def test_ties_are_broken_by_id() -> None:
    assert list(reciprocal_rank_fusion([["z"], ["a"]])) == ["a", "z"]


@pytest.mark.ranking
def test_ranks_count_from_61_unless_told_otherwise() -> None:
    assert reciprocal_rank_fusion([["a", "b"]]) == pytest.approx({"a": 1 / 61, "b": 1 / 62})


@pytest.mark.ranking
def test_nothing_in_gives_nothing_out() -> None:
    assert reciprocal_rank_fusion([]) == {}
    assert reciprocal_rank_fusion([[], []]) == {}


RANKINGS = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4)


@given(RANKINGS)
def test_the_order_of_the_rankings_does_not_matter(rankings: list[list[str]]) -> None:
    forward, backward = reciprocal_rank_fusion(rankings), reciprocal_rank_fusion(rankings[::-1])
    assert forward == pytest.approx(backward)
    assert set(forward) == {item for ranking in rankings for item in ranking}


@given(RANKINGS)
def test_what_is_first_everywhere_is_first(rankings: list[list[str]]) -> None:
    led = [["first", *ranking] for ranking in rankings]
    if led:
        assert next(iter(reciprocal_rank_fusion(led))) == "first"
