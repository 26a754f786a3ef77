"""A lasting fact of a person is concluded from one plain statement, and from nothing less."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight
from tests.observations.statements import drawn, say


def _leads(memory: Hindsight) -> set[str]:
    return {observation.text.partition(":")[0] for observation in drawn(memory)}


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Hannah works at the library.", "Hannah"),
        ("Saw Priya at the market. She teaches maths at the college.", "Priya"),
        ("Hannah for Sunday lunch. She's a vegetarian.", "Hannah"),
        ("Ask Farah, she lives in Lisbon.", "Farah"),
        ("Edwin lives alone.", "Edwin"),
        ("Edwin lives with his mother.", "Edwin"),
        ("My sister Ruth rang from Leeds.", "Ruth"),
        ("Rosie, my granddaughter, stayed the weekend.", "Rosie"),
        ("Sue's husband Colin does the barbecue.", "Colin"),
        ("Priya is my cousin.", "Priya"),
    ],
)
def test_a_plain_statement_tells_a_fact_of_a_person(
    memory: Hindsight, text: str, person: str
) -> None:
    say(memory, text, 0, None)
    assert _leads(memory) == {f"On {person}"}


@pytest.mark.parametrize(
    "text",
    [
        "I'm a nurse.",
        "I water the plants on Tuesdays.",
        "I swim every Saturday.",
    ],
)
def test_a_note_without_a_speaker_tells_facts_of_its_writer(memory: Hindsight, text: str) -> None:
    say(memory, text, 0, None)
    assert _leads(memory) == {"The writer"}


@pytest.mark.parametrize(
    "text",
    [
        "Saw Priya and Megan at the market. She teaches maths at the college.",
        "Rang Priya about her mother. She lives in Hull.",
        "Priya's boss came by. She lives in Hull.",
        "Coffee with Priya. Her sister rang. She lives in Hull.",
        "The nurse came. She lives in Hull.",
        "Ask Farah, she thinks Tom lives in Lisbon.",
        "If Priya rings, she lives in Hull.",
        "Tom thinks Priya works at the bank.",
        "The other Priya works at the bank.",
        "I work at the bakery until June.",
        "I wish I lived in Hull.",
        "I live in Hull, said Tom.",
        "I was a nurse.",
        "Edwin lives with regret.",
        "It is not my sister Ruth who rang.",
        "Priya is like my cousin.",
        "My brother's friend Paul rang.",
        "Ruth, my sister, and Tom came.",
        "Ruth, my sister says, is ill.",
        "Maybe my sister Ruth rang.",
        "Hannah works hard.",
    ],
)
def test_what_is_not_plainly_told_of_one_person_tells_no_fact(memory: Hindsight, text: str) -> None:
    say(memory, text, 0, None)
    assert drawn(memory) == []


def test_what_the_agent_says_of_itself_is_no_fact(memory: Hindsight) -> None:
    say(memory, "I live in Hull.", 0, "assistant")
    assert drawn(memory) == []


def test_all_who_say_the_same_support_one_fact(memory: Hindsight) -> None:
    say(memory, "Hannah lives in Totnes.", 0, None)
    say(memory, "Hannah lives in Totnes.", 9, "Tom")
    (observation,) = drawn(memory)
    assert observation.proof_count == 2


def test_each_fact_of_one_memory_is_told_and_a_second_run_adds_nothing(memory: Hindsight) -> None:
    say(memory, "Hannah lives in Totnes. Hannah is a nurse.", 0, None)
    assert len(drawn(memory)) == 2
    say(memory, "Hannah rang.", 1, None)
    again = memory.consolidate("b")
    assert (again.created, again.rewritten, again.removed) == ((), (), ())


@pytest.mark.parametrize("at_once", [True, False])
def test_a_change_takes_the_place_of_the_fact_that_it_ends(
    memory: Hindsight, *, at_once: bool
) -> None:
    say(memory, "Hannah lives in Totnes.", 0, None)
    if not at_once:
        memory.consolidate("b")
    say(memory, "Hannah moved from Totnes to Exeter.", 90, None)
    (observation,) = drawn(memory)
    assert "first Totnes, then Exeter" in observation.text
