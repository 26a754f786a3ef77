"""Insights are read from replies without their courtesies, and say each thing once."""

from __future__ import annotations

import pytest

from benchmarks.understanding import insights


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_insights_are_read_merged_and_superseded_rightly(half: str) -> None:
    for score in insights.measure(half):
        assert score.precision == 1.0, score.wrong
        assert score.recall >= 0.9, score.missed
