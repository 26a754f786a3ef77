"""Other extractors in the engine: LLMs of any make, and objects that fit the port."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest

from hindsight_integrations import ExtractionError, Hindsight
from hindsight_integrations.models import Entity
from hindsight_integrations.retain.extraction import Fact, Passage

REPLY = {
    "facts": [
        {"text": "Alice joined Northwind in 2021.", "type": "world", "entities": ["Alice"]},
        {"text": "Alice is a designer.", "type": "world", "entities": ["Alice"]},
    ]
}


def test_an_llm_draws_the_facts() -> None:
    asked: list[str] = []

    def model(system: str, user: str) -> str:
        asked.append(user)
        return f"Here you are:\n```json\n{json.dumps(REPLY)}\n```"

    with Hindsight.in_memory(llm=model) as memory:
        stored = memory.retain("b", "Alice, a designer, joined Northwind in 2021.").stored
        assert [m.text for m in stored] == [fact["text"] for fact in REPLY["facts"]]
        assert len(asked) == 1
        memory.retain("b", "Alice, a designer, joined Northwind in 2021.", document_id="d")
        memory.retain("b", "Alice, a designer, joined Northwind in 2021.", document_id="d")
        assert len(asked) == 2, "unchanged content asks no model"
        assert memory.recall("b", "Who is a designer?").memories[0].memory.text == (
            "Alice is a designer."
        )


@pytest.mark.parametrize("reply", ["", "I cannot help with that.", '{"facts": [', "[]"])
def test_an_unusable_reply_stores_nothing_and_says_so(reply: str) -> None:
    with Hindsight.in_memory(llm=lambda system, user: reply) as memory:
        with pytest.raises(ExtractionError):
            memory.retain("b", "Alice joined Northwind.", document_id="d")
        assert memory.banks.stats("b").memories == 0
        assert memory.banks.stats("b").documents == 0


class Words:
    """An extractor that makes every word a fact."""

    id = "words/1"

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        return [[Fact(word) for word in passage.text.split()] for passage in passages]


class Forgetful(Words):
    """An extractor that answers too few passages."""

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        return []


def test_any_extractor_plugs_in() -> None:
    with Hindsight.in_memory(extractor=Words()) as memory:
        assert [m.text for m in memory.retain("b", "one two three").stored] == [
            "one",
            "two",
            "three",
        ]


def test_an_extractor_that_answers_too_little_is_refused() -> None:
    with Hindsight.in_memory(extractor=Forgetful()) as memory:
        with pytest.raises(ExtractionError, match=r"words/1.*0 results for 1 passages"):
            memory.retain("b", "one two three")
        assert memory.banks.stats("b").memories == 0
