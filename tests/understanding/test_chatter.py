"""Turns that state nothing: recognised, kept as context, and never evidence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.understanding import chatter
from hindsight_integrations import Hindsight, MemoryType, Message, Settings, TurnKind

DAY = datetime(2024, 3, 1, 9, tzinfo=UTC)


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_chatter_is_told_from_statements(half: str) -> None:
    recognised, kinds = chatter.measure(half)
    assert recognised.precision >= 0.98, recognised.wrong
    assert recognised.recall >= 0.95, recognised.missed
    assert kinds.precision >= 0.95, kinds.wrong


@pytest.mark.parametrize(
    ("question", "statement", "shrug"),
    [
        (
            "What is my favourite colour?",
            "My favourite colour is teal.",
            "I don't know your favourite colour.",
        ),
        ("whats my dentist called", "my dentist is called Ruiz", "idk"),
        ("Where does Alice work?", "Alice works at the harbour office.", "I'm not sure, sorry."),
        ("Which tea do I like?", "I like black tea.", "That never came up in our chats, sorry."),
    ],
)
def test_a_question_asked_twelve_times_does_not_outrank_the_one_answer(
    question: str, statement: str, shrug: str
) -> None:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for day in range(13):
            at = DAY + timedelta(days=day)
            said = [Message("user", question, at), Message("assistant", shrug, at)]
            said += [Message("user", "Thank you so much, that helps.", at)]
            if day == 4:
                said = [Message("user", "Hi!", at), Message("user", statement, at)]
            memory.retain_messages("b", said, session=f"day {day}")
        found = memory.recall("b", question).memories
        assert found[0].memory.text == statement
        assert {item.memory.proof_count for item in found} == {1}
        memory.consolidate("b")
        assert not memory.observations.list("b").items


def test_what_states_nothing_is_recalled_only_to_fill(memory: Hindsight) -> None:
    memory.retain_messages("b", [Message("user", "Where is the ladder?")])
    assert memory.recall("b", "Where is the ladder?").memories == ()
    (only,) = memory.recall("b", "Where is the ladder?", fill=True).memories
    assert (only.memory.kind, only.relevance) == (TurnKind.QUESTION, 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "can i walk her pls pls. not scared of dogs just geese",
        "who has my grey hoodie. it has a burn on the left cuff",
        "can you move the dentist its on the fifth of june at ten they only had the twelfth at two",
        "Can you make it vegan im on a diet",
    ],
)
def test_a_statement_behind_a_question_without_a_mark_is_kept(memory: Hindsight, text: str) -> None:
    (kept,) = memory.retain("b", text, speaker="Ann").stored
    assert kept.kind is None


@pytest.mark.parametrize("text", ["where did i put it", "do you know if it's open", "is she in"])
def test_a_short_question_without_a_mark_states_nothing(memory: Hindsight, text: str) -> None:
    (kept,) = memory.retain("b", text, speaker="Ann").stored
    assert kept.kind == TurnKind.QUESTION


def test_it_still_lends_its_words_to_the_turn_that_answers(memory: Hindsight) -> None:
    memory.retain_messages(
        "b",
        [
            Message("user", "I painted the shed."),
            Message("Ruth", "Which instrument does your niece play?"),
            Message("user", "The cello."),
            Message("user", "Dinner was late."),
        ],
    )
    best = memory.recall("b", "Which instrument does the niece play?").memories[0]
    assert best.memory.text == "The cello."


def test_a_bare_yes_is_a_statement_after_a_question_only(memory: Hindsight) -> None:
    memory.retain_messages("b", [Message("Ann", "Do you smoke?"), Message("Bob", "Yes.")])
    memory.retain_messages("b", [Message("Ann", "It rains."), Message("Bob", "Yes.")])
    kinds = [one.kind for one in memory.memories.list("b").items if one.text == "Yes."]
    assert kinds == [None, TurnKind.COURTESY]


def test_a_type_the_caller_gives_makes_it_a_statement(memory: Hindsight) -> None:
    (kept,) = memory.retain("b", "Who dares?", type="opinion").stored
    assert (kept.type, kept.kind) == (MemoryType.OPINION, None)


def test_a_corrected_text_states_something(memory: Hindsight) -> None:
    (asked,) = memory.retain("b", "Is the roof tight?", speaker="Ann").stored
    assert memory.memories.update("b", asked.id, tags=["roof"]).kind == TurnKind.QUESTION
    assert memory.memories.update("b", asked.id, text="The roof leaks.").kind is None


def test_the_kind_is_exported_and_imported(memory: Hindsight, tmp_path: Path) -> None:
    memory.retain("b", "Is the roof tight?", speaker="Ann")
    memory.banks.export("b", tmp_path / "bank.jsonl")
    memory.banks.import_(tmp_path / "bank.jsonl", bank_id="other")
    (copied,) = memory.memories.list("other").items
    assert copied.kind == TurnKind.QUESTION


# The agent


@pytest.mark.parametrize("speaker", ["assistant", "AI", "model", "Bot", "ai assistant", "Hal"])
def test_the_agent_is_known_by_role_and_by_name(memory: Hindsight, speaker: str) -> None:
    memory.banks.create("b", name="Hal")
    for session in ("one", "two"):
        said = [Message("Ann", "I need a bike."), Message(speaker, "The Ridley suits you.")]
        memory.retain_messages("b", said, session=session)
    types = {one.text: (one.type, one.proof_count) for one in memory.memories.list("b").items}
    assert types == {
        "I need a bike.": (MemoryType.WORLD, 2),
        "The Ridley suits you.": (MemoryType.EXPERIENCE, 1),
    }


def test_a_bank_may_bear_the_name_of_its_user(memory: Hindsight) -> None:
    memory.banks.create("b", name="Ann")
    said = [Message("Ann", "I need a bike."), Message("assistant", "The Ridley suits you.")]
    stored = memory.retain_messages("b", said).stored
    assert [one.type for one in stored] == [MemoryType.WORLD, MemoryType.EXPERIENCE]


def test_the_agents_words_make_no_observation(memory: Hindsight) -> None:
    for day in range(4):
        at = DAY + timedelta(days=day)
        text = f"Olive oil from Kythira is what you order, {day + 3} bottles."
        memory.retain_messages("b", [Message("assistant", text, at)], session=str(day))
    memory.consolidate("b")
    assert not memory.observations.list("b").items


# Replays

CHAT = [
    Message("user", "I moved to Porto in May."),
    Message("ai", "How nice! Do you like it?"),
    Message("user", "The hills are steep."),
    Message("ai", "You moved to Porto, I remember."),
    Message("user", "My dog is called Rex."),
]


@pytest.mark.parametrize(
    "replays",
    [
        [CHAT, CHAT],
        [CHAT[:1], CHAT[:3], CHAT],
        [CHAT, CHAT[2:]],
        [CHAT[:4], CHAT[2:]],
        [[Message(m.speaker, m.text, id=str(n)) for n, m in enumerate(CHAT, 9)], CHAT],
    ],
    ids=["the same", "grown", "its end", "a window", "with other ids"],
)
def test_a_history_without_an_id_is_stored_once(
    memory: Hindsight, replays: list[list[Message]]
) -> None:
    for history in replays:
        memory.retain_messages("b", history)
    stored = memory.memories.list("b").items
    assert [one.text for one in stored] == [one.text for one in CHAT]
    assert {len(one.sources) for one in stored} == {1}
    assert memory.banks.stats("b").documents == 1


def test_another_conversation_that_says_the_same_is_none(memory: Hindsight) -> None:
    memory.retain_messages("b", CHAT)
    result = memory.retain_messages("b", [CHAT[0], Message("ai", "Great!")])
    assert [one.text for one in result.stored] == ["Great!"]
    assert memory.memories.list("b").items[0].proof_count == 2
    memory.retain_messages("b", CHAT, tags=["again"])
    assert memory.banks.stats("b").documents == 3
