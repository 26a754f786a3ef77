"""Animals without an owner: "the dog" may be several people's."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight

from .statements import drawn, only, say


@pytest.mark.parametrize(
    "texts",
    [
        ("The dog is limping.", "The dog barked all night.", "The dog needs a bath."),
        ("The cat is sick.", "The cat next door had kittens.", "The cat hates the hoover."),
    ],
)
def test_an_animal_without_an_owner_is_no_topic(memory: Hindsight, texts: list[str]) -> None:
    for day, text in enumerate(texts):
        say(memory, text, day, "Ana")
    assert drawn(memory) == []


def test_an_animal_with_an_owner_is_one(memory: Hindsight) -> None:
    for day, text in enumerate(("My dog is limping.", "My dog needs a bath.")):
        say(memory, text, day, "Ana")
    assert "dog" in only(memory).text
