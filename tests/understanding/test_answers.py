"""Answers without a language model on labelled banks: right, or none."""

from __future__ import annotations

import pytest

from benchmarks.understanding import answers
from hindsight_integrations import Hindsight, Message


@pytest.mark.slow
@pytest.mark.parametrize(("half", "recall"), [("dev", 0.9), ("held_out", 0.7)])
def test_answers_are_right_or_not_given(half: str, recall: float) -> None:
    answered, unanswered = answers.measure(half)
    assert answered.precision >= 0.95, answered.wrong
    assert answered.recall >= recall, answered.missed
    assert not unanswered.wrong, unanswered.wrong


def test_why_is_answered_by_the_sentence_before(memory: Hindsight) -> None:
    memory.retain(
        "b",
        "Alice was bored for months. That's why Alice left Acme in June.\n\n"
        "The trains were cancelled because of the storm.",
    )
    found = memory.reflect("b", "Why did Alice leave?")
    assert "bored" in found.text
    assert "storm" not in found.text


@pytest.mark.parametrize("cause", ["Alice was bored at Acme.", "Perhaps Alice was bored at Acme."])
def test_why_follows_a_causal_link_if_the_cause_is_stated(memory: Hindsight, cause: str) -> None:
    memory.retain_messages(
        "b", [Message("Tom", cause), Message("Tom", "So she left in June.")], session="s"
    )
    found = memory.reflect("b", "Why did Alice leave?")
    assert bool(found) is cause.startswith("Alice")
    if found:
        assert "bored" in found.text
        assert len(found.sources) == 2


@pytest.mark.parametrize(
    ("turns", "question", "reason"),
    [
        (
            ["Rolf resigned.", "Why?", "He could not stand the shouting."],
            "Why did Rolf resign?",
            "shouting",
        ),
        (
            ["Why did the goats get out?", "Somebody left the gate open."],
            "Why did the goats get out?",
            "gate",
        ),
        (
            ["The valve cracked.", "Ouch.", "This led to a flood in the cellar."],
            "Why was there a flood in the cellar?",
            "valve",
        ),
        (["Why did the shop close?", "Dunno, I moved here in May."], "Why did the shop close?", ""),
        (["The pump failed.", "Oh.", "The cause is still unknown."], "Why did the pump fail?", ""),
        (["Why did Rolf resign?", "He was ill."], "Why did Inga resign?", ""),
        (["Rolf resigned.", "Why?", "He could have been ill."], "Why did Rolf resign?", ""),
    ],
)
def test_why_is_answered_by_what_a_neighbouring_turn_gives_as_the_reason(
    memory: Hindsight, turns: list[str], question: str, reason: str
) -> None:
    said = [Message(("Kim", "Ada")[index % 2], text) for index, text in enumerate(turns)]
    memory.retain_messages("b", said, session="s")
    found = memory.reflect("b", question)
    assert bool(found) is bool(reason)
    assert reason in found.text


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Lena and Ines argued. So she left early.", "Why did Ines leave early?"),
        ("Alice was bored. That's why Bob left Acme.", "Why did Alice leave Acme?"),
        ("Alice left, but not because she was bored.", "Why did Alice leave?"),
        ("The outage led to three refunds.", "Why was there an outage?"),
        ("The release blocks Ana.", "What blocks the release?"),
        ("Version 3.2 came out on 4 May 2025.", "When did version 3.1 come out?"),
        ("Ana is 31.", "How tall is Ana?"),
        ("Ana is 1.72 m tall.", "How old is Ana?"),
        ("Paul works for fun.", "Where does Paul work?"),
    ],
)
def test_what_was_not_told_is_not_answered(memory: Hindsight, told: str, question: str) -> None:
    memory.retain("b", told)
    assert not memory.reflect("b", question)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Paul works for the city council.", "Where does Paul work?", "city council"),
        ("Nadia's flight leaves on 3 May 2025.", "When does Nadia's flight leave?", "3 May 2025"),
        ("Nadia's flight is on 3 May 2025.", "When does Nadia's flight leave?", "3 May 2025"),
    ],
)
def test_an_answer_in_other_words(
    memory: Hindsight, told: str, question: str, expected: str
) -> None:
    memory.retain("b", told)
    assert expected in memory.reflect("b", question).text


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("I now work as a gardener for the abbey.", "Where do I work?", "abbey"),
        ("I work as a gardener for fun.", "Where do I work?", ""),
        ("I now work as a gardener for the abbey.", "What do I work as?", "gardener"),
        ("I no longer work for the estate.", "What do I work as?", ""),
        ("The shop opens at six.", "When does the shop open?", "six"),
        ("The shop opens at five sites.", "When does the shop open?", ""),
        ("Karin knows Otto, who is a baker.", "Is Otto a baker?", "baker"),
        ("Karin is married to Otto, who is a baker.", "Is Karin a baker?", ""),
        ("Karin is married to Per, who is a baker.", "Is Karin a baker?", ""),
        ("Karin is a baker, and Otto is a nurse.", "Is Otto a nurse?", "nurse"),
        ("Karin is a baker, and Otto is a nurse.", "Is Karin a nurse?", ""),
        ("Karin was born in Oslo; Otto in Bergen.", "Was Karin born in Bergen?", ""),
        ("Karin lives in Oslo and Otto lives in Bergen.", "Does Karin live in Bergen?", ""),
        ("Karin and Otto live in Bergen.", "Does Karin live in Bergen?", "Yes"),
        ("Karin has a cat, while Otto has a dog.", "Does Karin have a dog?", ""),
        ("Karin has a cat, while Otto has a dog.", "Does Otto have a dog?", "dog"),
    ],
)
def test_posts_and_hours_are_answered_of_whom_they_are_told(
    memory: Hindsight, told: str, question: str, answer: str
) -> None:
    memory.retain_messages("b", [Message("Rosa", told)])
    found = memory.reflect("b", question)
    assert bool(found) is bool(answer)
    assert answer in found.text
