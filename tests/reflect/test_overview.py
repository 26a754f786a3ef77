"""A text that asks nothing specific gets what is known of its topic, or what is near it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.results import NOTHING_CERTAIN, NOTHING_KNOWN

NOTES = (
    "Ana keeps her boat in Kiel.",
    "Ana is allergic to walnuts.",
    "The kitchen was painted green in May.",
    "The kitchen tap drips again.",
    "Jonas rang about the boat trailer.",
    "The night train to Rome was sold out.",
    "Supper with Jonas on Friday, he brings the wine.",
)


@pytest.fixture(scope="module")
def diary() -> Iterator[Hindsight]:
    with Hindsight.in_memory() as memory:
        for day, note in enumerate(NOTES, 1):
            memory.retain("diary", note, timestamp=datetime(2025, 4, day))
        yield memory


def told(memory: Hindsight, text: str) -> set[str]:
    """Return the notes that are cited as what is known."""
    reflection = memory.reflect("diary", text)
    return {memory.memories.get("diary", id).text for id in reflection.sources}


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("Ana", {0, 1}),
        ("Tell me about Ana.", {0, 1}),
        ("What do you know about the kitchen?", {2, 3}),
        ("Can you tell me everything you know about Jonas?", {4, 6}),
        ("Describe the kitchen", {2, 3}),
        ("Ana's boat", {0}),
        ("the boat trailer", {4}),
    ],
)
def test_a_topic_gets_the_memories_that_speak_of_it(
    diary: Hindsight, text: str, notes: set[int]
) -> None:
    assert told(diary, text) == {NOTES[at] for at in notes}


@pytest.mark.parametrize("text", ["What do you know about me?", "Tell me about myself."])
def test_what_is_known_of_the_asker_is_what_the_only_speaker_said(text: str) -> None:
    with Hindsight.in_memory() as memory:
        said = ("I work as a nurse in Porto.", "I'm allergic to nuts.")
        memory.retain_messages("chat", [{"speaker": "Mia", "text": text} for text in said])
        assert len(memory.reflect("chat", text).sources) == 2
        memory.retain_messages("chat", [{"speaker": "Tom", "text": "I keep bees."}])
        assert not memory.reflect("chat", text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm ringing the plumber on Friday about something else.",
        "Help me plan a nice evening with Jonas.",
        "Jonas wants to know which wine I'd like. What should I tell him?",
        "The insurers are asking: on what date did Dad give up driving?",
        "Write the reminder to the group for our next evening.",
    ],
)
def test_a_remark_or_an_order_is_not_answered_by_what_shares_a_word(
    diary: Hindsight, text: str
) -> None:
    reflection = diary.reflect("diary", text)
    assert not reflection
    assert reflection.sources == ()
    first = NOTHING_CERTAIN if reflection.nearest else NOTHING_KNOWN
    assert reflection.text.splitlines()[0] == first


def test_a_remark_gets_what_is_near_it(diary: Hindsight) -> None:
    reflection = diary.reflect("diary", "I'm calling someone to fix the dripping tap.")
    assert NOTES[3] in reflection.text


@pytest.mark.parametrize("text", ["Tell me about Peru.", "Tell me about Ana's brother Peru", "Bo"])
def test_an_unknown_name_has_no_overview(diary: Hindsight, text: str) -> None:
    assert not diary.reflect("diary", text)


def test_one_word_of_a_topic_is_not_the_topic(diary: Hindsight) -> None:
    assert not diary.reflect("diary", "the kitchen trailer")


def test_what_a_kind_is_further_described_by_is_asked_for_too() -> None:
    with Hindsight.in_memory() as memory:
        memory.retain("b", "I live with my partner Mateo and two children.")
        assert memory.reflect("b", "Who do I live with?")
        assert not memory.reflect("b", "What trouble with my hearing do I live with?")
