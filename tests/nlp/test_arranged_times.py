"""Times of what was arranged: told in the past tense, and still to come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight

FEBRUARY = datetime(2026, 2, 10, 10, tzinfo=UTC)
MAY = datetime(2026, 5, 10, 10, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 5, 10, tzinfo=UTC)

Read = Callable[[str, datetime], list[str]]


@pytest.fixture(scope="module")
def read() -> Iterator[Read]:
    with Hindsight.in_memory() as memory:

        def starts(text: str, said: datetime) -> list[str]:
            bank = f"{said:%m} {text}"
            memory.retain(bank, text, timestamp=said)
            spans = [span for one in memory.memories.list(bank).items for span in one.occurred]
            return [f"{span.start:%Y-%m-%d}" for span in spans]

        yield starts


@pytest.mark.parametrize(
    ("text", "said", "first"),
    [
        ("signed up for the half in May", FEBRUARY, "2026-05-01"),
        ("We enrolled Noah for the summer camp in July.", FEBRUARY, "2026-07-01"),
        ("Signed the kids up for swimming in April", FEBRUARY, "2026-04-01"),
        ("booked the ferry for August", MAY, "2026-08-01"),
        ("Training days deferred to January.", NOVEMBER, "2027-01-01"),
        ("pushed the launch back to June", FEBRUARY, "2026-06-01"),
        ("deferred the exam... October 12th now", FEBRUARY, "2026-10-12"),
        ("deferred the exam, now 12 October", FEBRUARY, "2026-10-12"),
        ("told them end of April", FEBRUARY, "2026-04-21"),
        ("chose 12 June", FEBRUARY, "2026-06-12"),
        ("Away day: voted for 12 november, venue tbc.", MAY, "2026-11-12"),
        ("He promised to be done by April.", FEBRUARY, "2026-04-01"),
        ("settled on 890 from july", MAY, "2026-07-01"),
        ("MOT due june.", FEBRUARY, "2026-06-01"),
        ("I told them in May that I was leaving.", FEBRUARY, "2025-05-01"),
        ("She left 12 October, now she is fine.", NOVEMBER, "2026-10-12"),
        ("picked up the keys 3 November", NOVEMBER, "2026-11-03"),
    ],
)
def test_what_is_arranged_is_to_come(read: Read, text: str, said: datetime, first: str) -> None:
    assert read(text, said) == [first]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("She signed up for the gym in May.", FEBRUARY),
        ("got tickets for Glastonbury in June", FEBRUARY),
        ("We settled on 12 June.", FEBRUARY),
        ("we settled on a wedding in September", FEBRUARY),
        ("Registered for the conference in October", FEBRUARY),
        ("We booked the band for June but it rained.", NOVEMBER),
        ("moved to June's place", FEBRUARY),
        ("They said Monday.", NOVEMBER),
        ("The landlord agreed to fix it by Friday.", NOVEMBER),
        ("meet up next tuesday or weds", NOVEMBER),
    ],
)
def test_what_may_be_either_is_not_told(read: Read, text: str, said: datetime) -> None:
    assert read(text, said) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("moved it to 14 march", "2026-03-14"),
        ("moved to 26 march bc of hall floor", "2026-03-26"),
        ("it's now 3 may", "2026-05-03"),
        ("mocks start 3 may", "2026-05-03"),
        ("i get to bake them 😈 its on 21 22 23 march, thurs to sat", "2026-03-23"),
        ("from 1 may the price goes up", "2026-05-01"),
        ("need P60 by end of may", "2026-05-21"),
    ],
)
def test_months_in_lower_case_that_are_words_too(read: Read, text: str, first: str) -> None:
    assert read(text, FEBRUARY) == [first]


@pytest.mark.parametrize(
    "text",
    [
        "moved to 3 may be too many",
        "up to 3 may come",
        "only 3 may. The rest must not.",
        "up to 12 march against the bill",
        "made for 3 march hares",
        "the end may come",
    ],
)
def test_may_and_march_as_verbs_are_no_months(read: Read, text: str) -> None:
    assert read(text, FEBRUARY) == []


@pytest.mark.parametrize(
    "text",
    [
        "tuesday for recycling",
        "thursdays is bins, tuesday for glass",
        "bins go out thursday",
        "Course begins again, now on monday and thursday evening.",
        "Sophie is back, currently 3 days (Mon-Wed).",
        "Recycling is Tuesday, general waste Thursday.",
    ],
)
def test_what_is_collected_each_week_is_on_no_single_day(read: Read, text: str) -> None:
    assert read(text, FEBRUARY) == []


def test_a_collection_that_is_told_of_keeps_its_day(read: Read) -> None:
    assert read("The bins were missed on Tuesday.", NOVEMBER) == ["2026-11-03"]


def test_the_weekday_that_heads_a_note_is_no_time_before_or_after_it(read: Read) -> None:
    thursday = "Thu. 14 Fenwick Rd. Boiler out."
    assert read(thursday, NOVEMBER) == []
    assert read("Fri: fix the van", NOVEMBER) == ["2026-11-06"]
