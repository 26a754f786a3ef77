"""What joins two statements as effect and cause, and what only sounds like it."""

from __future__ import annotations

import pytest

from hindsight_integrations.models import TurnKind
from hindsight_integrations.retain.causes import Utterance, causes


def linked(*turns: tuple[str, str]) -> list[tuple[int, int]]:
    """Return the pairs of effect and cause; a turn that ends in "?" is a question."""
    told = [
        Utterance(text, who, TurnKind.QUESTION if text.endswith("?") else None)
        for who, text in turns
    ]
    return [(effect, cause) for effect, by in enumerate(causes(told)) for cause in by]


@pytest.mark.parametrize(
    "reply",
    [
        "That's why I always say: bring a spare.",
        "That is why they call it a holiday.",
        "This meant a lot to me, thank you.",
        "The reason is a mystery to everybody.",
        "Because of that dinner on Sunday we have no plates.",
        "Thanks to this sun my beans are up.",
        "Therefore I am, as he wrote.",
        "So my cousin won a bicycle.",
        "Because I'm worth it.",
    ],
)
def test_an_opener_that_only_goes_on_with_the_talk_links_nothing(reply: str) -> None:
    assert linked(("Ada", "The roof leaks."), ("Ada", reply)) == []


@pytest.mark.parametrize(
    "reply",
    [
        "That's why I bought a bucket.",
        "Because of that we sleep downstairs.",
        "Because of this, the floor is wet.",
        "Thanks to that we met the neighbours.",
        "This meant new tiles.",
        "So we called a roofer.",
        "So the roof is being mended.",
        "So the lodgers had to move out.",
        "Therefore the attic is empty.",
    ],
)
def test_an_effect_told_after_its_cause_is_linked(reply: str) -> None:
    assert linked(("Ada", "The roof leaks."), ("Ada", reply)) == [(1, 0)]


@pytest.mark.parametrize(
    ("stated", "asked", "effect"),
    [
        ("Alice left us.", "Why?", 0),
        ("Alice left us.", "Why was that?", 0),
        ("Alice left us.", "Why did she leave?", 0),
        ("The concert was cancelled.", "Why was the concert cancelled?", 0),
        ("Alice was late.", "Why does Alice wear a scarf?", 1),
        ("We sold the boat.", "Why is it always you who gets the window seat?", 1),
        ("Bo cried at lunch.", "Why did he agree to the job in Oslo then?", 1),
    ],
)
def test_a_question_with_its_own_clause_is_its_own_effect(
    stated: str, asked: str, effect: int
) -> None:
    answer = "The draught came in from the yard."
    assert linked(("Ada", stated), ("Ben", asked), ("Ada", answer)) == [(effect, 2)]


def test_a_request_is_no_reason() -> None:
    turns = ("Ada", "We closed early."), ("Ben", "How come?")
    assert linked(*turns, ("Ada", "Ask the mayor.")) == []
    assert linked(*turns, ("Ada", "The mayor came.")) == [(0, 2)]


def test_an_answer_to_another_question_explains_nothing_before_it() -> None:
    turns = ("Ada", "I failed the test."), ("Ben", "Is it the hill or the traffic you hate?")
    assert linked(*turns, ("Ada", "Because the traffic is loud.")) == []
    surprised = ("Ada", "I left the firm."), ("Ben", "Really?")
    assert linked(*surprised, ("Ada", "Because the pay was bad.")) == [(0, 2)]
