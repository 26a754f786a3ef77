"""Causal links at default settings, and the recall that follows them."""

from __future__ import annotations

import pytest

from benchmarks.understanding import causes
from hindsight_integrations import Arm, Hindsight, Message


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_causes_are_linked_across_turns_and_paragraphs(half: str) -> None:
    (score,) = causes.measure(half)
    assert score.precision >= 0.9, score.wrong
    assert score.recall >= 0.8, score.missed


def test_why_did_alice_leave_follows_the_link(memory: Hindsight) -> None:
    memory.retain_messages(
        "b",
        [
            Message("Tom", "Alice left Acme in May."),
            Message("Bob", "Why?"),
            Message("Tom", "They closed the whole night shift."),
        ],
    )
    memory.retain("b", "The canteen serves soup on Fridays.\n\nParking is free after six.")
    found = memory.recall("b", "Why did Alice leave?", arms=[Arm.ENTITY, Arm.SEMANTIC])
    cause = next(item for item in found.memories if "night shift" in item.memory.text)
    (reason,) = (score.reason for score in cause.arms if score.arm is Arm.ENTITY)
    assert "(causal)" in reason
    assert "causal" in str(found.explain())


def test_a_turn_stored_later_is_linked_to_the_one_before(memory: Hindsight) -> None:
    memory.retain_messages("b", [Message("Ann", "The lease ran out in June.")], session="s")
    memory.retain_messages("b", [Message("Ann", "That's why we moved.")], session="s")
    links = memory.banks.stats("b").links
    assert next(count for kind, count in links.items() if kind == "causal") == 1
