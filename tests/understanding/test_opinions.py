"""Opinions on labelled text: none that the words do not carry."""

from __future__ import annotations

import pytest

from benchmarks.understanding import opinions


@pytest.mark.slow
@pytest.mark.parametrize(
    ("half", "recall"), [("dev", 0.9), ("held_out", 0.9), ("read", 0.5), ("unseen", 0.25)]
)
def test_opinions_are_formed_of_plain_judgements_only(half: str, recall: float) -> None:
    [score] = opinions.measure(half)
    assert score.precision >= 0.97, score.wrong
    assert score.recall >= recall, score.missed
