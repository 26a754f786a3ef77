"""A change for a while, of long ago, or by hearsay stands beside what was said before it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight

NOON = datetime(2025, 5, 14, 12, tzinfo=UTC)


def retain(memory: Hindsight, *texts: str) -> datetime:
    """Store a text a day; return the day after the last."""
    for day, text in enumerate(texts):
        memory.retain("b", text, timestamp=NOON + timedelta(days=day))
    return NOON + timedelta(days=len(texts))


@pytest.mark.parametrize(
    "then",
    [
        "Dana moved from Porto to Faro and back again.",
        "Dana moved from Porto to Faro for the summer season.",
        "Dana moved from Porto to Faro for three months.",
        "Dana moved from Porto to Faro in 1998, then back in 2004.",
        "Dana moved from Porto to Faro in 1998.",
        "Dana moved from Porto to Faro as a child.",
        "Before she met Luis, Dana moved from Porto to Faro.",
        "Luis says Dana moved from Porto to Faro.",
    ],
)
def test_a_move_that_may_be_over_puts_no_home_in_the_place_of_another(
    memory: Hindsight, then: str
) -> None:
    now = retain(memory, "Dana lives in Porto.", then)
    assert "lives in Porto" in memory.reflect("b", "Where does Dana live?", query_time=now).text
    assert "lives in Porto" in memory.profile("b", "Dana", query_time=now).text
    memory.consolidate("b")
    assert not any("then Faro" in one.text for one in memory.observations.list("b"))


@pytest.mark.parametrize(
    "then",
    [
        "Dana moved from Porto to Faro.",
        "Dana moved from Porto to Faro last week.",
        "After she met Luis, Dana moved from Porto to Faro.",
        "Dana moved to Faro for good.",
        "Since May Dana lives in Faro.",
    ],
)
def test_a_move_for_good_does(memory: Hindsight, then: str) -> None:
    now = retain(memory, "Dana lives in Porto.", then)
    answer = memory.reflect("b", "Where does Dana live?", query_time=now).text
    assert "Faro" in answer
    assert "lives in Porto" not in answer + memory.profile("b", "Dana", query_time=now).text


@pytest.mark.parametrize(
    ("first", "then", "question", "both"),
    [
        (
            "The password is swordfish.",
            "Marek thinks the password is now marlin, but he guesses a lot.",
            "What is the password?",
            True,
        ),
        (
            "The shop opens at 9:00.",
            "For the bank holiday the shop is now open from 11:00.",
            "When does the shop open?",
            True,
        ),
        (
            "The meeting is on Monday.",
            "This week only, the meeting is now on Tuesday.",
            "When is the meeting?",
            True,
        ),
        (
            "The password is swordfish.",
            "The password is now marlin.",
            "What is the password?",
            False,
        ),
        (
            "The shop opens at 9:00.",
            "The shop now opens at 11:00.",
            "When does the shop open?",
            False,
        ),
    ],
)
def test_a_guess_and_an_exception_replace_no_answer(
    memory: Hindsight, first: str, then: str, question: str, both: bool
) -> None:
    now = retain(memory, first, then)
    answer = memory.reflect("b", question, query_time=now).text
    assert then in answer
    assert (first in answer) == both
