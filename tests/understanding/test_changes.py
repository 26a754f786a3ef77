"""Changes that observations tell: none is false, and most plain ones are told."""

from __future__ import annotations

import pytest

from benchmarks.understanding.changes import measure


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_no_change_is_false_and_most_are_told(half: str) -> None:
    (score,) = measure(half)
    assert score.wrong == []
    assert score.recall >= 0.85, score.missed
