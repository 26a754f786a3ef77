"""Where no memory surely answers, reflect shows the nearest ones and says that they are no more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.results import NOTHING_CERTAIN, NOTHING_KNOWN

NOTES = (
    "Ordered 20 kg of rye from Mills & Sons, 42 pounds all in.",
    "Switched the butter to Oakdale because Dairyland kept being late.",
    "The oven man is called Petr, he comes on Thursdays.",
    "Vet said Rex needs the drops twice a day.",
    "Swept the chimney before the frost.",
    "The till roll printer jams when the paper is damp.",
)


@pytest.fixture(scope="module")
def bakery() -> Iterator[Hindsight]:
    with Hindsight.in_memory() as memory:
        for day, note in enumerate(NOTES, 1):
            memory.retain("bakery", note, timestamp=datetime(2025, 4, day))
        yield memory


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("What did the rye cost us?", NOTES[0]),
        ("Who do we buy butter from now?", NOTES[1]),
        ("How often does Rex get his drops?", NOTES[3]),
    ],
)
def test_the_memory_that_has_the_answer_is_first(
    bakery: Hindsight, question: str, note: str
) -> None:
    reflection = bakery.reflect("bakery", question)
    first, *lines = reflection.text.splitlines()
    assert first == NOTHING_CERTAIN
    assert note in lines[0]
    assert 1 <= len(lines) == len(reflection.nearest) <= 3
    assert bakery.memories.get("bakery", reflection.nearest[0]).text == note


def test_it_is_no_answer(bakery: Hindsight) -> None:
    reflection = bakery.reflect("bakery", "What did the rye cost us?")
    assert not reflection
    assert reflection.sources == ()
    assert reflection.extractive


def test_a_certain_answer_shows_nothing_else(bakery: Hindsight) -> None:
    reflection = bakery.reflect("bakery", "What is the oven man called?")
    assert NOTES[2].split(",")[0] in reflection.text
    assert NOTHING_CERTAIN not in reflection.text
    assert reflection.nearest == ()


@pytest.mark.parametrize("question", ["How do I tune a guitar?", "Thanks!"])
def test_nothing_is_shown_where_nothing_is_near(bakery: Hindsight, question: str) -> None:
    reflection = bakery.reflect("bakery", question)
    assert (reflection.text, reflection.nearest) == (NOTHING_KNOWN, ())


def test_what_the_question_leaves_out_is_not_shown(bakery: Hindsight) -> None:
    rye = bakery.memories.list("bakery", text="rye").items[0].id
    bakery.memories.invalidate("bakery", rye, reason="entered twice")
    try:
        assert NOTES[0] not in bakery.reflect("bakery", "What did the rye cost us?").text
    finally:
        bakery.memories.restore("bakery", rye)


def test_questions_in_another_language_get_the_nearest_too() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("b", "Der Ofen wird immer donnerstags von Petr gewartet.")
        reflection = memory.reflect("b", "Wer kümmert sich um den Ofen?")
        assert "Petr" in reflection.text
        assert bool(reflection) is (NOTHING_CERTAIN not in reflection.text)
