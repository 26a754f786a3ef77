"""A sentence with all words of a question may still not answer it: it says something else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import Hindsight, Settings

NOTES = (
    "Paola is excited, we are visiting Disney World tomorrow.",
    "Latte is a cute name.",
    "Rex is a clever dog.",
    "Mia is a vegetarian.",
    "Ben is a nurse.",
    "Jo is a beekeeper.",
    "Ana uses Zed for her novels.",
    "Tom bought a Miele in May.",
    "Sara drives to Bonn every week.",
    "Lea drives a red Volvo.",
    "I met Farid in the park.",
    "Sometimes Elise enjoys playing golf.",
    "Ida watched Alien with Tom.",
    "We ate at Osteria Bella on Friday.",
    "We visited the Tate Gallery on Sunday.",
    "We fly from Gatwick in June.",
    "The tank burst in the loft.",
    "Grandma grows tomatoes.",
    "Milo ordered two pizzas and ate one.",
    "Farid speaks Farsi.",
    "Ana speaks with Ben every week.",
)


@pytest.fixture(scope="module")
def notes() -> Iterator[Hindsight]:
    """A bank of short notes."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain_many("b", list(NOTES))
        yield memory


@pytest.mark.parametrize(
    "question",
    [
        "What gallery could Paola visit?",
        "What could Grandma grow?",
        "Who should watch Alien?",
        "Which church did we visit?",
        "Which editor does Ana use?",
        "Which car did Tom buy?",
        "Which car does Sara drive?",
        "Which dentist did I meet?",
        "Which play did Ida watch?",
        "What does Latte do?",
        "What does Rex do?",
        "What does Mia do for a living?",
        "What did Elise play?",
        "Which languages does Ana speak?",
        "In which room was there no burst whatsoever?",
    ],
)
def test_what_is_not_stated_is_not_answered(notes: Hindsight, question: str) -> None:
    reflection = notes.reflect("b", question)
    assert not reflection
    assert reflection.sources == ()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does Grandma grow?", "tomatoes"),
        ("Which gallery did we visit?", "Tate Gallery"),
        ("Which car does Lea drive?", "Volvo"),
        ("Which film did Ida watch?", "Alien"),
        ("Which restaurant did we eat at?", "Osteria Bella"),
        ("Which airport do we fly from?", "Gatwick"),
        ("Which language does Farid speak?", "Farsi"),
        ("What does Ben do?", "nurse"),
        ("What does Jo do for a living?", "beekeeper"),
        ("Where did the tank burst?", "loft"),
    ],
)
def test_what_is_stated_is_answered(notes: Hindsight, question: str, expected: str) -> None:
    reflection = notes.reflect("b", question)
    assert reflection
    assert expected in reflection.text


def test_a_number_answers_for_its_own_verb_only(notes: Hindsight) -> None:
    assert notes.reflect("b", "How many pizzas did Milo order?").text.startswith("two: ")
    assert not notes.reflect("b", "How many pizzas did Milo eat?").text.startswith("two")
