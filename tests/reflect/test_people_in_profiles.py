"""Whom a sentence of a note speaks of: a profile has what is plainly told of its person alone."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import HindsightError


def profile_of(memory: Hindsight, text: str, person: str) -> str:
    """Return the profile of a person after a note; "" if nobody of that name is known."""
    memory.retain("b", text)
    try:
        return memory.profile("b", person).text
    except HindsightError:
        return ""


@pytest.mark.parametrize(
    ("text", "person", "fact"),
    [
        ("Hannah works at the library.", "Hannah", "works at the library"),
        (
            "Saw Priya at the market. She teaches maths at the college.",
            "Priya",
            "teaches maths at the college",
        ),
        ("Hannah for Sunday lunch. She's a vegetarian.", "Hannah", "a vegetarian"),
        ("Ask Farah, she lives in Lisbon.", "Farah", "lives in Lisbon"),
        ("Edwin lives alone.", "Edwin", "lives alone"),
        ("Edwin lives with his mother.", "Edwin", "lives with his mother"),
        ("My sister Ruth rang from Leeds.", "Ruth", "My sister Ruth"),
        ("Rosie, my granddaughter, stayed the weekend.", "Rosie", "my granddaughter"),
        ("Sue's husband Colin does the barbecue.", "Colin", "Sue's husband Colin"),
        ("Priya is my cousin.", "Priya", "my cousin"),
    ],
)
def test_a_plain_statement_of_a_person_is_in_the_profile(
    memory: Hindsight, text: str, person: str, fact: str
) -> None:
    assert fact in profile_of(memory, text, person)


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Saw Priya and Megan at the market. She teaches maths at the college.", "Priya"),
        ("Rang Priya about her mother. She lives in Hull.", "Priya"),
        ("Priya's boss came by. She lives in Hull.", "Priya"),
        ("Coffee with Priya. Her sister rang. She lives in Hull.", "Priya"),
        ("Ask Farah, she thinks Tom lives in Lisbon.", "Tom"),
        ("If Priya rings, she lives in Hull.", "Priya"),
        ("Tom thinks Priya works at the bank.", "Priya"),
        ("Edwin lives with regret.", "Edwin"),
        ("It is not my sister Ruth who rang.", "Ruth"),
        ("Priya is like my cousin.", "Priya"),
        ("My brother's friend Paul rang.", "Paul"),
        ("Ruth, my sister, and Tom came.", "Ruth"),
        ("Ruth, my sister says, is ill.", "Ruth"),
        ("Maybe my sister Ruth rang.", "Ruth"),
        ("Hannah works hard.", "Hannah"),
    ],
)
def test_what_is_not_plainly_told_of_the_person_is_not(
    memory: Hindsight, text: str, person: str
) -> None:
    assert profile_of(memory, text, person) == ""
