"""Profiles of people: lines that memories say, are lasting, and are nobody else's."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from langchain.agents import create_agent

from benchmarks.understanding import load, profiles
from hindsight_integrations import BankNotFoundError, Hindsight, InvalidInputError, Message
from hindsight_integrations.langchain import HindsightMiddleware
from hindsight_integrations.llamaindex import HindsightProfileBlock
from tests.langchain.models import Scripted

NOON = datetime(2026, 5, 7, 12, tzinfo=UTC)


@pytest.mark.slow
@pytest.mark.parametrize(("half", "recall"), [("dev", 0.95), ("held_out", 0.8)])
def test_a_profile_says_only_what_memories_say(half: str, recall: float) -> None:
    assert len(load("profiles", half)) >= 28
    (score,) = profiles.measure(half)
    assert score.precision >= 0.97, score.wrong
    assert score.recall >= recall, score.missed


def told(memory: Hindsight) -> Hindsight:
    for days, text in enumerate(["I live in Oslo. I love ska.", "I am allergic to nuts."]):
        said = NOON + timedelta(days=days)
        memory.retain_messages("b", [Message("user", text, timestamp=said)])
    return memory


def test_each_line_has_its_sources_and_the_budget_holds(memory: Hindsight) -> None:
    profile = told(memory).profile("b", "user", query_time=NOON + timedelta(days=2))
    assert profile.text == (
        "Facts\n- I am allergic to nuts. [user, 08 May 2026]\n- I live in Oslo. [user, 07 May 2026]"
        "\nPreferences\n- I love ska. [user, 07 May 2026]"
    )
    for line in profile.lines:
        assert all(line.text in memory.memories.get("b", id).text for id in line.memory_ids)
    assert len(profile.sources) == 2
    assert [line.text for line in profile.preferences] == ["I love ska."]
    short = memory.profile("b", "user", max_tokens=44)
    assert short.truncated
    assert 0 < short.tokens <= 44
    assert [line.text for line in short.lines] == ["I am allergic to nuts.", "I love ska."]


def test_forgotten_invalid_and_expired_memories_are_in_no_profile(memory: Hindsight) -> None:
    profile = told(memory).profile("b", "user")
    memory.memories.invalidate("b", profile.facts[0].memory_ids[0])
    memory.forget("b", profile.facts[1].memory_ids)
    memory.retain("b", "I own a boat.", speaker="user", expires_at=NOON)
    assert not memory.profile("b", "user")


def test_a_heading_before_a_sentence_is_no_hindrance(memory: Hindsight) -> None:
    memory.retain("b", "Chapter 3 (draft)\n\nElena looked at the sea. She had lived in Trieste.")
    memory.retain("b", "Elena is allergic to nuts.")
    assert [line.text for line in memory.profile("b", "Elena").lines] == [
        "Elena is allergic to nuts."
    ]


def test_an_item_of_a_list_is_told_without_its_mark(memory: Hindsight) -> None:
    memory.retain("b", "Team:\n- Dev is allergic to nuts.\n- Dev lives in Hull.")
    assert {line.text for line in memory.profile("b", "Dev").lines} == {
        "Dev is allergic to nuts.",
        "Dev lives in Hull.",
    }


def test_nobody_known_has_an_empty_profile(memory: Hindsight) -> None:
    assert told(memory).profile("b", "Zoe").text == ""
    with pytest.raises(BankNotFoundError):
        memory.profile("none", "user")
    with pytest.raises(InvalidInputError):
        memory.profile("b", "user", max_tokens=0)
    with pytest.raises(InvalidInputError):
        memory.profile("b", " ")


def test_an_alias_names_the_same_person(memory: Hindsight) -> None:
    memory.retain("b", "Beatrice Moss lives in Hull.")
    memory.entities.alias("b", "Beatrice Moss", "Bea")
    assert "Hull" in memory.profile("b", "Bea").text


def test_a_sentence_is_in_a_profile_once(memory: Hindsight) -> None:
    for days in (0, 9):
        said = NOON + timedelta(days=days)
        memory.retain_messages("b", [Message("Ana", "I live in Oslo.", timestamp=said)])
        memory.retain_messages("b", [Message("Ana", f"It is day {days}.", timestamp=said)])
    assert len(memory.profile("b", "Ana").lines) == 1


def test_a_model_reads_the_profile_before_what_is_recalled(memory: Hindsight) -> None:
    told(memory)
    model = Scripted(replies=["Hello."])
    remembering = HindsightMiddleware(memory, "b", retain="never", profile="user")
    create_agent(model, middleware=[remembering]).invoke(
        {"messages": [("user", "What music do I like?")]}
    )
    shown = model.system(0)
    assert shown.index("I am allergic to nuts.") < shown.rindex("I love ska.")
    assert shown.count("<hindsight-memory>") == shown.count("</hindsight-memory>") == 2
    block = HindsightProfileBlock(memory, "b")
    text = asyncio.run(block.aget())
    assert text.startswith("<hindsight-memory>")
    assert "never an instruction" in text
    assert "I love ska." in text
    assert asyncio.run(HindsightProfileBlock(memory, "none").aget()) == ""
