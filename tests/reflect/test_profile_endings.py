"""Lines of a profile that a later sentence hints to be over, beside ones that go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight

NOON = datetime(2025, 5, 14, 12, tzinfo=UTC)


def is_told(memory: Hindsight, first: str, then: str) -> bool:
    """Return True if the profile of a speaker has the first sentence after the second."""
    for day, text in enumerate((first, then)):
        at = (NOON + timedelta(days=day)).isoformat()
        memory.retain_messages("b", [{"speaker": "ann", "text": text, "timestamp": at}])
    now = NOON + timedelta(days=2)
    return first in memory.profile("b", "ann", query_time=now).text


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I work at Siemens.", "I got fired today."),
        ("I work at Ford.", "I was laid off."),
        ("I work at Ford.", "Ford fired me."),
        ("I am CFO at Nortek.", "I resigned yesterday."),
        ("I have a dog called Rex.", "Rex died last night."),
        ("I have a cat.", "We had to put the cat down."),
        ("I drive a Skoda.", "The Skoda was written off."),
        ("I drive a Skoda.", "The car was stolen."),
        ("I run a café.", "The café went bust."),
        ("I am engaged to Tom.", "Tom and I broke up."),
        ("I am pregnant.", "The baby came on Sunday!"),
        ("I am allergic to peanuts.", "Turns out I'm not allergic after all."),
        ("I'm vegetarian now.", "The vegetarian thing is over."),
        ("im vegetarian now", "the vegetarian thing is over"),
    ],
)
def test_a_hint_at_an_end_leaves_a_line_out(memory: Hindsight, first: str, then: str) -> None:
    assert not is_told(memory, first, then)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I work at Siemens.", "I quit smoking."),
        ("I'm allergic to nuts.", "School is over."),
        ("I'm allergic to nuts.", "My nuts allergy is not over."),
        ("I work at Siemens.", "I left the office at five."),
        ("I work at Siemens.", "I resigned from the board of the club."),
        ("I have a dog called Rex.", "Rex won't stop barking."),
        ("I have a dog called Rex.", "Rex lost his collar."),
        ("I have a dog called Rex.", "I left Rex with Tom."),
        ("I'm vegan.", "I'm on parental leave."),
        ("I drive a Skoda.", "The Skoda is in the garage."),
        ("I am married to Tom.", "Tom lost his keys."),
        ("I play the cello.", "I died laughing today."),
        ("I live in Bonn.", "The lift broke down again."),
    ],
)
def test_an_end_of_something_else_does_not(memory: Hindsight, first: str, then: str) -> None:
    assert is_told(memory, first, then)
