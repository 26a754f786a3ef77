"""Names in short notes, and who they belong to, on labelled sets."""

from __future__ import annotations

import pytest

from benchmarks.understanding import load, mentions, people


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_what_becomes_an_entity_is_a_name(half: str) -> None:
    names, kinds = mentions.measure(half)
    assert names.right >= 145
    assert names.precision >= 0.98
    assert names.recall >= 0.97
    assert kinds.precision >= 0.94


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_people_called_by_a_part_of_their_name_are_joined(half: str) -> None:
    assert len(load("people", half)) >= 5
    (joined,) = people.measure(half)
    assert joined.wrong == []
    assert joined.recall >= 0.9
