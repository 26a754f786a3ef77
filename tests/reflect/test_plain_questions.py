"""Plain memories answer plain questions without a language model, and those alone."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, Message, Settings

NOTHING = "Nothing known"


def check(told: str, question: str, expected: str, speaker: str = "") -> None:
    """Expect an answer with some words from one memory; none if there are no words."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        if speaker:
            memory.retain_messages("b", [Message(speaker, told)])
        else:
            memory.retain("b", told)
        found = memory.reflect("b", question).text
    assert found.startswith(NOTHING) is not bool(expected), found
    assert expected in found


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Ana eats fish.", "Who doesn't eat fish?", ""),
        ("Ana eats fish.", "What doesn't Ana eat?", ""),
        ("Ana lives in Rome.", "Where doesn't Ana live?", ""),
        ("Ana is the lead.", "Who is not the lead?", ""),
        ("Ana has a car.", "Who doesn't have a car?", ""),
        ("Ana came because she was bored.", "Why didn't Ana come?", ""),
        ("The invoice was paid.", "Which invoice was not paid?", ""),
        ("The shop opens on Mondays.", "When doesn't the shop open?", ""),
        ("Our provider is Acme.", "Which provider don't we use?", ""),
        ("I don't hate coriander.", "What don't I like?", ""),
        ("Ana doesn't eat fish.", "Who doesn't eat fish?", "Ana"),
        ("Ana doesn't eat fish.", "What doesn't Ana eat?", "fish"),
        ("Ana is not the lead.", "Who is not the lead?", "Ana"),
        ("Ana doesn't have a car.", "Who doesn't have a car?", "Ana"),
        ("Ana can't come because she is ill.", "Why can't Ana come?", "ill"),
        ("I hate coriander.", "What don't I like?", "coriander"),
        ("I can't stand coriander.", "What don't I like?", "coriander"),
    ],
)
def test_what_is_not_so_is_answered_by_a_denial(told: str, question: str, expected: str) -> None:
    check(told, question, expected)
