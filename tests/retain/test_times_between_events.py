"""How long ago an event was, how long there was none, and days agreed on in a conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations import Hindsight, Message

MAY = datetime(2026, 5, 13, 10, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 18, 10, tzinfo=UTC)

Read = Callable[[str], list[str]]
Hear = Callable[..., list[str]]


@pytest.fixture(scope="module")
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory() as opened:
        yield opened


@pytest.fixture(scope="module")
def read(memory: Hindsight) -> Read:
    def starts(text: str) -> list[str]:
        memory.retain(text, text, timestamp=MAY)
        spans = [span for one in memory.memories.list(text).items for span in one.occurred]
        return [f"{span.start:%Y-%m-%d}" for span in spans]

    return starts


@pytest.fixture(scope="module")
def hear(memory: Hindsight) -> Hear:
    def starts(*turns: str) -> list[str]:
        """Return the days of the last turn of a conversation."""
        bank = " / ".join(turns)
        messages = [
            Message(speaker=("Ana", "Bo")[n % 2], text=text, timestamp=NOVEMBER + timedelta(n))
            for n, text in enumerate(turns)
        ]
        memory.retain_messages(bank, messages, session="chat")
        last = max(memory.memories.list(bank).items, key=lambda one: one.mentioned_at)
        assert last.text == turns[-1]
        return [f"{span.start:%Y-%m-%d}" for span in last.occurred]

    return starts


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Six weeks today since the cat died.", "2026-04-01"),
        ("It is a year today since the flood.", "2025-05-13"),
        ("Ten days today since she left.", "2026-05-03"),
        ("Three weeks yesterday since the last fare.", "2026-04-21"),
        ("Two months ago today we opened.", "2026-03-13"),
        ("I saw Ana for the first time in two weeks today.", "2026-05-13"),
        ("My first shift is in two weeks.", "2026-05-25"),
        ("The first barrel comes in two weeks.", "2026-05-25"),
        ("Second coat due in two weeks.", "2026-05-25"),
    ],
)
def test_time_that_an_event_is_away(read: Read, text: str, day: str) -> None:
    assert read(text) == [day]


@pytest.mark.parametrize(
    "text",
    [
        "First frost in a year.",
        "My first fare in two years.",
        "Their second win in three weeks.",
        "The only snow in five years.",
        "Our first meeting in two weeks is at the barn.",
        "A week tomorrow we leave.",
        "We sail two weeks today.",
        "Last night here. House full.",
        "Choir is Monday and Friday.",
        "Choir is now on Tuesday & Thursday, in the hall.",
    ],
)
def test_length_of_time_dates_nothing(read: Read, text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Last night we sang here.", ["2026-05-12"]),
        ("The fair is Saturday and Sunday.", ["2026-05-16", "2026-05-17"]),
        ("School trip to the castle is on 2 July, pay at the desk by the 25th", ["2026-07-02"]),
        ("The trip is on 2 July, you must pay by the 25th.", ["2026-07-02"]),
        ("The trip is on 2 July, we come home on the 5th.", ["2026-07-02", "2026-07-05"]),
    ],
)
def test_nights_and_days_of_one_occasion(read: Read, text: str, days: list[str]) -> None:
    assert read(text) == days


def test_day_beside_a_length_of_time_is_read(read: Read) -> None:
    assert read("The first rain in six weeks fell on Tuesday.") == ["2026-05-12"]


@pytest.mark.parametrize(
    "turns",
    [
        ("The fair is on 6 January", "see you on the 6th then"),
        ("The fair is on January 6", "I arrive on the 5th"),
        ("The fair is on 6 January", "the 6th suits me", "got the tickets for the 6th"),
        ("We were in Rome on 3 March", "you flew home on the 9th"),
    ],
)
def test_day_whose_month_another_told_is_not_guessed(hear: Hear, turns: tuple[str, ...]) -> None:
    assert hear(*turns) == []


@pytest.mark.parametrize(
    ("turns", "day"),
    [
        (("The fair is on 12 December", "I arrive on the 11th"), "2026-12-11"),
        (("Shall I bring bread?", "see you on the 6th then"), "2026-12-06"),
        (("We met on 3 March", "I am off on the 6th"), "2026-12-06"),
        (("The fair is on 6 January", "we meet on 6 December"), "2026-12-06"),
        (("Where were you on the 9th?", "I went to Rome on the 9th"), "2026-11-09"),
    ],
)
def test_day_of_a_month_that_nobody_contradicts(
    hear: Hear, turns: tuple[str, ...], day: str
) -> None:
    assert hear(*turns) == [day]
