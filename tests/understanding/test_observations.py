"""Observations of whole banks, and that they do not depend on the order of consolidation."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.understanding import load
from benchmarks.understanding.observations import measure
from hindsight_integrations import Hindsight, Message
from hindsight_integrations.settings import Settings

START = datetime(2025, 1, 6, 9, tzinfo=UTC)


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_nearly_every_observation_is_right(half: str) -> None:
    (score,) = measure(half)
    assert score.precision >= 0.97, score.wrong
    assert score.recall >= 0.6, score.missed


def texts(said: list[tuple[int, str | None, str]], *, at_once: bool) -> set[str]:
    """Retain the lines in this order, consolidated at once or line by line; return what holds."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for number, (day, speaker, text) in enumerate(said):
            at = START + timedelta(days=day)
            if speaker is None:
                memory.retain("b", text, timestamp=at)
            else:
                memory.retain_messages("b", [Message(speaker, text, at)], session=f"{number}")
            if not at_once:
                memory.consolidate("b")
        memory.consolidate("b")
        return {observation.text for observation in memory.observations.list("b", limit=200).items}


@pytest.mark.slow
@pytest.mark.parametrize("bank", range(3))
def test_the_order_of_consolidation_changes_no_observation(bank: int) -> None:
    said = [
        (day, speaker, text) for day, speaker, text in load("observations", "dev")[bank]["said"]
    ]
    held = texts(said, at_once=True)
    assert held
    assert texts(said, at_once=False) == held
    shuffled = said.copy()
    random.Random(bank).shuffle(shuffled)
    assert texts(shuffled, at_once=False) == held
