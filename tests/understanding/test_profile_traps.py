"""Sentences that look like facts of a person and are none, beside ones that are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message

NOON = datetime(2026, 5, 7, 12, tzinfo=UTC)

TRAPS = [
    "My uncle opens the gate and he says, good evening, I am a plumber.",
    "I moved to Lima in my last life.",
    "Dora left the hospital and moved to Paris, worst episode so far.",
    "I'm allergic to deadlines.",
    "I'm allergic to Tuesdays.",
    "I hate to intrude.",
    "I would prefer not to.",
    "I prefer not to.",
    "I love to disappoint.",
    "I love queueing for the bus.",
    "I'm a huge fan of nothing with raisins.",
    "I'm vegan, or vegetarian.",
    "For the course I have moved to Lyon until March.",
    "I play the fool.",
    "I play the lottery.",
    "I don't drink and drive.",
    "I'm preparing lunch.",
    "I'm building a fire.",
    "I work at the bank. The south bank of the river, with a net.",
    "I'm back from Oslo.",
    "I own a yacht. Not really.",
    "I live in Rome. I wish.",
    "I live in Rome. /s",
    "I love ironing 🙄",
    "I love ironing. Said no one ever.",
    "In the documentary I live in Rome and love soup.",
]
TRUE = [
    "I'm allergic to peanuts.",
    "I'm allergic to bee stings.",
    "I'm allergic to penicillin.",
    "I'm intolerant to lactose.",
    "I love swimming.",
    "I like to swim.",
    "I hate olives.",
    "I'm a big fan of jazz.",
    "I'm vegan.",
    "I moved to Lyon in March.",
    "I play the cello.",
    "I play chess.",
    "I don't drink.",
    "I'm building a boat.",
    "I work at the bank.",
    "I'm from Oslo.",
    "I live in Rome. The weather is fine.",
]


def profiles(memory: Hindsight, said: list[str]) -> dict[str, str]:
    """Return the profile text of a speaker for each sentence."""
    for number, text in enumerate(said):
        turn = Message(f"Guest{number}", text, NOON)
        memory.retain_messages("b", [turn], session=f"{number}")
    return {
        text: memory.profile("b", f"Guest{number}", query_time=NOON + timedelta(days=1)).text
        for number, text in enumerate(said)
    }


@pytest.mark.slow
def test_figures_of_speech_fiction_and_jests_are_in_no_profile(memory: Hindsight) -> None:
    assert {text: told for text, told in profiles(memory, TRAPS).items() if told} == {}


@pytest.mark.slow
def test_plain_facts_and_likes_still_are(memory: Hindsight) -> None:
    assert [text for text, told in profiles(memory, TRUE).items() if not told] == []


def test_what_the_next_sentence_says_of_a_thing_is_quoted_with_it(memory: Hindsight) -> None:
    told = profiles(memory, ["I own a yacht. It's as long as my thumb."])
    assert list(told.values()) == [
        "Facts\n- I own a yacht. It's as long as my thumb. [Guest0, 07 May 2026]"
    ]


def test_a_thing_that_is_anothers_now_is_not_owned_any_more(memory: Hindsight) -> None:
    memory.retain("b", "Vera Falk owns Kestrel.", timestamp=NOON)
    assert "Kestrel" in memory.profile("b", "Vera Falk").text
    later = NOON + timedelta(days=9)
    memory.retain("b", "Kestrel belongs to Mona now, Vera Falk only helps.", timestamp=later)
    assert "Kestrel" not in memory.profile("b", "Vera Falk").text


def test_two_of_one_name_are_not_told_apart_by_it(memory: Hindsight) -> None:
    memory.retain("b", "Mr Falk retired in May.", timestamp=NOON)
    assert "retired" in memory.profile("b", "Mr Falk").text
    memory.retain("b", "Young Mr Falk is at school.", timestamp=NOON)
    assert "retired" not in memory.profile("b", "Mr Falk").text


@pytest.mark.parametrize(
    ("person", "text", "told"),
    [
        ("Ingrid", "Ingrid's mother visited. She is a retired judge.", False),
        ("Theo", "Theo is married to Ines. She is a pilot.", False),
        ("Theo", "Theo told us about his brother. He lives in Osaka.", False),
        ("Theo", "Theo bought a car from Karl. He lives in Bonn.", False),
        ("Theo", "Theo was interviewed by Karl. He lives in Bonn.", False),
        ("Theo", "Theo interviewed the mayor. He is vegetarian.", False),
        ("Karl", "Karl likes sailing. She lives in Oslo.", False),
        ("Theo", "Theo is married to Ines. He is a pilot.", True),
        ("Theo", "Theo works at Siemens. He is vegetarian.", True),
        ("Theo", "Theo moved from Porto to Faro. He is vegetarian.", True),
        ("Ingrid", "Ingrid works as a nurse. She lives in Oslo.", True),
        ("Ingrid", "Ingrid is my boss. She is vegan.", True),
    ],
)
def test_he_and_she_are_the_person_only_if_nobody_else_is_spoken_of(
    memory: Hindsight, person: str, text: str, told: bool
) -> None:
    memory.retain("b", text, timestamp=NOON)
    said = text.partition(". ")[2]
    assert (said in memory.profile("b", person).text) == told
