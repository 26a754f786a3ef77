"""Times of plans and reports are right, and nothing else becomes a day."""

from __future__ import annotations

import pytest

from benchmarks.understanding import load, times


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_plans_and_reports_are_dated_right(half: str) -> None:
    scores = {
        score.name.partition(": ")[2].partition(",")[0]: score for score in times.measure(half)
    }
    labelled = [case["kind"] for case in load("times", half)]
    dated = [scores["plan"], scores["report"]]
    assert min(labelled.count("plan"), labelled.count("report")) >= 20
    errors = [line for score in dated for line in (*score.wrong, *score.missed)]
    right = sum(score.right for score in dated)
    assert right >= 0.95 * (right + len(errors)), errors
    assert len(scores["none"].wrong) <= 1, scores["none"].wrong
    assert scores["unsure"].wrong == []
