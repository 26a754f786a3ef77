"""Notes and chats as people write them: what they plainly say is answered, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Settings

NOTHING = "Nothing known"
START = datetime(2025, 3, 1, tzinfo=UTC)


def answer(notes: list[str], question: str) -> str:
    """Return the answer from notes, one a day; "Ana: ..." is said by Ana, the rest by nobody."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        for day, note in enumerate(notes):
            speaker, colon, told = note.partition(": ")
            spoken = bool(colon) and speaker in ("Ana", "Ben", "user", "assistant")
            memory.retain(
                "b",
                told if spoken else note,
                speaker=speaker if spoken else None,
                timestamp=START + timedelta(days=day),
            )
        return memory.reflect("b", question, query_time=START + timedelta(days=60)).text


@pytest.mark.parametrize(
    ("notes", "question"),
    [
        (["Ahornweg was nice!"], "Which school is near Ahornweg?"),
        (["We have to be out by the end of June."], "Which internet provider do we have?"),
        (["Bought a used one off Tony's neighbour."], "Which goals did we buy?"),
        (["Brandt cake: deliver to Gut Rosenhof at noon."], "What flavour is the Brandt cake?"),
        (["He keeps 120 of the deposit."], "How much was the deposit?"),
    ],
)
def test_another_fact_of_the_same_thing_is_no_answer(notes: list[str], question: str) -> None:
    assert answer(notes, question).startswith(NOTHING)


@pytest.mark.parametrize(
    ("notes", "question", "expected"),
    [
        (["The back door is locked."], "Which door is locked?", "back door"),
        (["We have a fast internet provider, Vodanet."], "Which provider do we have?", "Vodanet"),
        (["Bought the Harrod goals."], "Which goals did we buy?", "Harrod"),
        (["Brandt cake: raspberry."], "What flavour is the Brandt cake?", "raspberry"),
        (["The deposit is 3,540."], "How much is the deposit?", "3,540"),
    ],
)
def test_the_fact_itself_is_one(notes: list[str], question: str, expected: str) -> None:
    assert expected in answer(notes, question)


def test_what_is_done_later_stands_beside_that_it_was_not_done_yet() -> None:
    notes = ["Dave still hasn't paid his subs.", "Kim paid 120.", "Dave paid 120."]
    found = answer(notes, "Did Dave pay his subs?")
    assert found.index("Dave paid 120") < found.index("Dave still hasn't paid")
    assert "Kim" not in found
    assert not found.startswith(("Yes", "No"))
    assert "\n" not in answer(notes[:2], "Did Dave pay his subs?")


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        (["Ana: We rehearse in the old brewery.", "Ben: The drums are loud."], "brewery"),
        (["Ana: Rehearsing in the old brewery now.", "Ben: The drums are loud."], ""),
        (["Ana: I rehearse in the old brewery.", "Ben: The drums are loud."], ""),
        (["assistant: We rehearse in the old brewery.", "user: The drums are loud."], ""),
    ],
)
def test_we_are_those_whose_chat_it_is(notes: list[str], expected: str) -> None:
    found = answer(notes, "Where do we rehearse?")
    assert expected in found
    assert found.startswith(NOTHING) is not bool(expected)


@pytest.mark.parametrize(
    ("notes", "question", "expected"),
    [
        (
            ["The landlord wrote, he wants the flat for his son."],
            "What does the landlord want?",
            "flat",
        ),
        (
            ["The landlord was happy. He keeps 120 of the deposit."],
            "Did the landlord keep any of the deposit?",
            "120",
        ),
        (
            ["The landlord met our tenant. He broke a window."],
            "Did the landlord break a window?",
            "",
        ),
        (["The landlord was happy. It keeps raining."], "What does the landlord keep?", ""),
        (
            ["Meeting Okafor. She doubts the Brandt study because of the headbands."],
            "Why does Okafor doubt the Brandt study?",
            "headbands",
        ),
        (
            ["Meeting Okafor and Brandt. She doubts the study because of the headbands."],
            "Why does Okafor doubt the study?",
            "",
        ),
    ],
)
def test_a_pronoun_means_the_only_person_spoken_of(
    notes: list[str], question: str, expected: str
) -> None:
    found = answer(notes, question)
    assert expected in found
    assert found.startswith(NOTHING) is not bool(expected)


@pytest.mark.parametrize(
    ("notes", "question", "expected"),
    [
        (["The movers broke the lamp."], "Did the movers break anything?", "Yes"),
        (["The movers broke nothing."], "Did the movers break anything?", "“The movers broke noth"),
        (["Marek joins as second screener."], "Who is the second screener?", "Marek"),
        (["Marek wants to join as second screener."], "Who is the second screener?", ""),
        (["The vet for Rex is Dr. Amari."], "Who is Rex's vet?", "Amari"),
        (["The vet for Rex is Dr. Amari."], "Who is Bo's vet?", ""),
        (["The league fined us because the sheet was late."], "Why were we fined?", "late"),
        (["sofa arrived finally, it fits"], "When did the sofa arrive?", "(said 1 Mar 2025)"),
        (["Will the sofa arrive?"], "When did the sofa arrive?", ""),
        (["sofa hasn't arrived"], "When did the sofa arrive?", ""),
        (["He wants the flat back for his son."], "Why does he want the flat back?", "son"),
        (["Ana sold the car to pay the rent."], "Why did Ana sell the car?", "rent"),
        (["Ana sold the car for 90."], "Why did Ana sell the car?", ""),
        (["I have physio on Fridays."], "Which days do I have physio?", "Fridays"),
        (["user: The therapist is called Mo."], "Who is my therapist?", "Mo"),
        (["user: The therapist of Ben is called Mo."], "Who is my therapist?", ""),
        (["Read Lindqvist et al. 2019, 46 people took part."], "Who read?", ""),
    ],
)
def test_a_note_says_what_it_says(notes: list[str], question: str, expected: str) -> None:
    found = answer(notes, question)
    assert expected in found
    assert found.startswith(NOTHING) is not bool(expected)
