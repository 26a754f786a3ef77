"""Of several statements of one thing the newest comes first, if the present is asked about."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.recall.versions import asks_for_the_present


def _first(memory: Hindsight, older: str, newer: str, question: str) -> str:
    memory.retain("b", newer, timestamp=datetime(2024, 6, 1, tzinfo=UTC))
    memory.retain("b", older, timestamp=datetime(2023, 1, 1, tzinfo=UTC))
    memory.retain("b", "The weather was awful.", timestamp=datetime(2024, 6, 2, tzinfo=UTC))
    return memory.recall("b", question)[0].memory.text


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (
            "Rosa's badge number is 4417.",
            "Rosa's badge number is 9023.",
            "What is Rosa's badge number?",
        ),
        ("My dentist is Dr. Moll.", "My dentist is now Dr. Fenn.", "Who is my dentist?"),
        ("The stand-up is at nine.", "The stand-up is at ten.", "When is the stand-up?"),
        ("Ole lives in Bergen.", "Ole moved from Bergen to Oslo.", "Where does Ole live?"),
        (
            "We host the shop on Heroku.",
            "We host the shop on Fly now.",
            "Where do we host the shop?",
        ),
    ],
)
def test_the_newer_version_comes_first(
    memory: Hindsight, older: str, newer: str, question: str
) -> None:
    assert _first(memory, older, newer, question) == newer


@pytest.mark.parametrize(
    ("older", "newer", "question", "best"),
    [
        (
            "On Monday I ran five miles.", "On Tuesday I ran eight miles.",
            "How far do I run on Monday?", "On Monday I ran five miles.",
        ),
        (
            "The red boat is in Kiel.", "The blue boat is in Rome.",
            "Where is the red boat?", "The red boat is in Kiel.",
        ),
        (
            "Tea in the big pot takes five minutes.", "Rice in the big pot takes twenty minutes.",
            "How long does tea take in the big pot?", "Tea in the big pot takes five minutes.",
        ),
    ],
)  # fmt: skip
def test_what_is_asked_about_is_not_overtaken_by_another_thing(
    memory: Hindsight, older: str, newer: str, question: str, best: str
) -> None:
    assert _first(memory, older, newer, question) == best


def test_the_reason_says_so(memory: Hindsight) -> None:
    question = "Where does Ole live?"
    _first(memory, "Ole lives in Bergen.", "Ole moved from Bergen to Oslo.", question)
    (first, *_) = memory.recall("b", question)
    assert "newer version" in {signal.name for signal in first.signals}


@pytest.mark.parametrize(
    "question",
    [
        "Where did Ole live before?",
        "What was the code?",
        "Has the code changed?",
        "Who used to lead?",
    ],
)
def test_the_past_is_asked_about(question: str) -> None:
    assert not asks_for_the_present(question)


@pytest.mark.parametrize(
    "question", ["Where does Ole live?", "What is the code?", "Who leads it now?"]
)
def test_the_present_is_asked_about(question: str) -> None:
    assert asks_for_the_present(question)
