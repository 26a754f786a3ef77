"""Answers without a language model where memories changed: what was is not told as what is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.reflect.retractions import is_retraction

ASKED = datetime(2025, 6, 1, tzinfo=UTC)


def _retain(memory: Hindsight, *told: tuple[str, str]) -> None:
    for day, text in told:
        memory.retain("b", text, timestamp=datetime.fromisoformat(day).replace(tzinfo=UTC))


def _answer(memory: Hindsight, question: str) -> str:
    return memory.reflect("b", question, query_time=ASKED).text


def test_an_answer_says_when_it_was_said_unless_that_was_today(memory: Hindsight) -> None:
    _retain(memory, ("2025-01-09", "The spare fuses are in the pantry."))
    _retain(memory, ("2025-06-01", "The ladder is in the garage."))
    assert _answer(memory, "Where are the spare fuses?").startswith(
        "“The spare fuses are in the pantry.” (said 9 Jan 2025) ["
    )
    assert _answer(memory, "Where is the ladder?").startswith("“The ladder is in the garage.” [")


@pytest.mark.parametrize("question", ["Does Ines work at Bosch?", "Where does Ines work?"])
def test_a_mental_model_that_repeats_an_old_state_does_not_hide_the_new_one(
    memory: Hindsight, question: str
) -> None:
    _retain(memory, ("2025-01-09", "Ines works at Bosch."))
    memory.mental_models.create("b", "Ines", text="Ines works at Bosch.")
    assert "Bosch" in _answer(memory, question)
    _retain(memory, ("2025-03-02", "Ines left Bosch for Siemens."))
    answer = _answer(memory, question)
    assert answer.startswith("“Ines left Bosch for Siemens.” (said 2 Mar 2025)")
    assert "Yes" not in answer


def test_a_change_of_one_statement_leaves_the_others_of_its_memory_in_force(
    memory: Hindsight,
) -> None:
    _retain(
        memory,
        (
            "2025-01-09",
            "The app is called Finch. Rosa writes the backend. The budget is 900 euros.",
        ),
        ("2025-03-02", "The app is now called Wren."),
    )
    assert _answer(memory, "Who writes the backend?").startswith("“Rosa writes the backend.” (said")
    assert "900 euros" in _answer(memory, "What is the budget?")
    assert "“The app is now called Wren.” (said 2 Mar" in _answer(memory, "What is the app called?")


@pytest.mark.parametrize(
    ("before", "later", "question"),
    [
        (
            "The frame is made of pine.",
            "We switched from pine to oak.",
            "Is the frame made of pine?",
        ),
        ("The dishwasher is broken.", "The dishwasher works again.", "Is the dishwasher broken?"),
        ("Jo wants three hens.", "Jo wants two hens after all.", "How many hens does Jo want?"),
    ],
)
def test_there_is_no_plain_yes_or_number_if_the_matter_came_up_again(
    memory: Hindsight, before: str, later: str, question: str
) -> None:
    _retain(memory, ("2025-01-09", before), ("2025-02-01", "The weather was awful."))
    plain = _answer(memory, question)
    assert not plain.startswith("“")
    assert before in plain
    _retain(memory, ("2025-03-02", later))
    assert not _answer(memory, question).startswith(("Yes", "No", "three"))


def test_a_statement_is_quoted_with_the_words_that_take_it_back(memory: Hindsight) -> None:
    _retain(memory, ("2025-01-09", "The mill is insured. That's nonsense."))
    _retain(memory, ("2025-01-10", "The barn is insured. The fee is low."))
    answer = _answer(memory, "Is the mill insured?")
    assert answer.startswith("“The mill is insured. That's nonsense.”")
    assert _answer(memory, "Is the barn insured?").startswith("Yes: “The barn is insured.”")
    _retain(memory, ("2025-01-11", "The shed is insured, just kidding."))
    assert _answer(memory, "Is the shed insured?").startswith(
        "“The shed is insured, just kidding.”"
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "It wasn't.", "I don't believe it.", "But that's not true.", "Just kidding!",
        "The deal fell through.", "He changed his mind.", "No, it didn't.", "Scratch that.",
        "In the end it was cancelled.", "Haha, just kidding", "As if.", "I wish I did.", "Nope.",
        "So much for that.", "I'll believe it when I see it.", "I misspoke.", "No, wait.",
        "Dan asked me to write that.", "Not really.", "Correction: it's Tuesday.",
    ],
)  # fmt: skip
def test_a_denial_takes_back(sentence: str) -> None:
    assert is_retraction(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "It wasn't cheap.", "I don't believe in ghosts but my aunt does.", "He is not at home.",
        "It has not rained since May.", "She thinks so too.", "The bridge fell.", "I'm glad.",
        "That's wonderful.", "No sugar in it.", "I do not eat meat.", "They were not there long.",
        "I wish you could see it.", "Wait until you see it.", "I meant it.", "No regrets.",
        "Never mind the cost.", "Not everyone likes it.", "Of course the dog came too.",
        "I forget that often.", "I'm not a morning person.",
    ],
)  # fmt: skip
def test_what_says_something_of_its_own_is_no_denial(sentence: str) -> None:
    assert not is_retraction(sentence)


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Ana wants to sell the car.", "Did Ana sell the car?"),
        ("Dee plans to sell the flat.", "Has Dee sold the flat?"),
        ("Bo thought about selling the van.", "Did Bo sell the van?"),
        ("Made Ines captain. Bo had it in 2024.", "Who was captain in 2024?"),
        ("Insurance (Aviva) informed.", "Who is the insurer?"),
    ],
)
def test_a_wish_another_year_and_another_word_answer_nothing(
    memory: Hindsight, told: str, question: str
) -> None:
    _retain(memory, ("2025-01-09", told))
    reflection = memory.reflect("b", question, query_time=ASKED)
    assert not reflection
    assert reflection.text.startswith("Nothing known for certain.")


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Ana did not want to sell the car.", "Did Ana sell the car?", "did not want"),
        ("Cy tried to sell the bike.", "Did Cy sell the bike?", "tried to sell"),
        ("Dee sold the flat and wants to travel.", "Did Dee sell the flat?", "Yes: "),
        ("In 2024 I lived in Jena. I worked at Zeiss.", "Where did I work in 2024?", "Zeiss"),
        ("The insurer is Aviva.", "Who is the insurer?", "Aviva"),
    ],
)
def test_what_was_tried_denied_or_told_of_that_year_still_answers(
    memory: Hindsight, told: str, question: str, expected: str
) -> None:
    _retain(memory, ("2025-01-09", told))
    reflection = memory.reflect("b", question, query_time=ASKED)
    assert reflection
    assert expected in reflection.text


def test_a_date_that_was_put_off_is_quoted_no_more(memory: Hindsight) -> None:
    _retain(
        memory,
        ("2025-05-07", "The launch was planned for 3 June."),
        ("2025-05-09", "The launch was put off to 10 June. The party was on 4 May."),
        ("2025-05-10", "We put the vase back on the shelf. Party snaps came today."),
    )
    assert "10 June" in (launch := _answer(memory, "When was the launch?"))
    assert "3 June" not in launch
    assert "4 May" in _answer(memory, "When was the party?")


def test_who_says_that_they_quit_works_there_no_more(memory: Hindsight) -> None:
    memory.retain("b", "I work at Linden School.", speaker="Mirela", timestamp="2025-01-09")
    quits = "I quit at Linden School, I start at the Academy of Music after the summer."
    memory.retain("b", quits, speaker="Mirela", timestamp="2025-05-09")
    assert _answer(memory, "Where does Mirela work?").startswith("- Mirela: “I quit at")
