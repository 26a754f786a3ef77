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
        ("We shut at noon on Friday 20th.", FEBRUARY, "2026-02-20"),
        ("We met on Friday 6th, it went well.", FEBRUARY, "2026-02-06"),
        ("It was 1985, in May, and we stayed.", FEBRUARY, "1985-05-01"),
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


@pytest.mark.parametrize(
    ("text", "said", "days"),
    [
        ("We thought of 6 September, a Saturday.", MAY, ["2025-09-06"]),
        ("We met on 6 September, a Friday.", FEBRUARY, ["2024-09-06"]),
        ("The rehearsal moves from Thursday to Friday the 5th.", MAY, ["2026-06-05"]),
        ("The rehearsal is on Friday the 5th.", MAY, ["2026-06-05"]),
        ("The rehearsal was on Sunday the 5th.", MAY, ["2026-04-05"]),
    ],
)
def test_a_weekday_beside_a_day_tells_its_month_and_year(
    read: Read, text: str, said: datetime, days: list[str]
) -> None:
    assert read(text, said) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("I cannot print invoices since the update on Friday.", ["2026-10-30"]),
        ("The heating works again since the repair, the invoice comes on Friday.", ["2026-11-06"]),
        ("Since we are meeting on Friday I will book a room.", ["2026-11-06"]),
        ("I have since moved the meeting to Friday.", ["2026-11-06"]),
        ("Gwen gave notice for 30 November.", ["2026-11-30"]),
        ("Gwen gave notice on 30 October.", ["2026-10-30"]),
    ],
)
def test_what_was_since_is_over_and_a_notice_is_for_a_day_to_come(
    read: Read, text: str, days: list[str]
) -> None:
    assert read(text, NOVEMBER) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("The check was on the 2nd, no, the 3rd.", ["2026-11-03"]),
        ("The check was on Monday, no, Tuesday.", ["2026-11-03"]),
        ("On 7 December, no, wait, 8 December we fly.", ["2026-12-08"]),
        ("The check was on Monday, no problems.", ["2026-11-02"]),
        ("He rang on Monday, no, I will not come.", ["2026-11-02"]),
    ],
)
def test_a_day_that_is_corrected_at_once_is_not_told(
    read: Read, text: str, days: list[str]
) -> None:
    assert read(text, NOVEMBER) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Training moves from Wednesday to Thursday from December.", ["2026-12-01"]),
        ("Swimming will be on Tuesday from next month.", ["2026-12-01"]),
        ("Training moves from Wednesday to Thursday.", ["2026-11-12"]),
        ("The call on Tuesday from Maya was short.", ["2026-11-03"]),
    ],
)
def test_a_weekday_from_a_month_on_is_one_of_every_week(
    read: Read, text: str, days: list[str]
) -> None:
    assert read(text, NOVEMBER) == days


@pytest.mark.parametrize(
    "text",
    [
        "Open Wed-Sun 10.30-4.30",
        "Open Mon-Fri",
        "Write to us Mon-Fri 9-5.",
        "Volunteer Co-ordinator (Tues & Thurs)",
        "We stayed a week, and on the Tuesday we all went home.",
    ],
)
def test_a_timetable_and_a_day_of_a_told_week_are_no_time(read: Read, text: str) -> None:
    assert read(text, NOVEMBER) == []


def test_a_range_of_days_is_the_coming_one(read: Read) -> None:
    assert read("I am away Mon-Wed", NOVEMBER) == ["2026-11-09"]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Bruno wouldn't get up on Tuesday and he hadn't touched his food.", ["2026-11-03"]),
        ("Tove said that she wouldn't come on Tuesday.", ["2026-11-10"]),
        ("I wouldn't go on Tuesday.", ["2026-11-10"]),
        ("Gwen pleads: till Christmas they'd been writing that she eats.", []),
        ("It was to come with 1 December.", ["2026-12-01"]),
        ("From December, guests lodged at the inn swim free.", []),
        ("The rowers have agreed to start after it, at 21.00 on Friday.", []),
        ("can you have noodle 3-4 december", ["2026-12-03"]),
    ],
)
def test_auxiliary_verbs_tell_the_past_only_where_they_must(
    read: Read, text: str, days: list[str]
) -> None:
    assert read(text, NOVEMBER) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("two hundred paid balance due twelfth of february", ["2027-02-12"]),
        ("The balance was due on 12 February.", ["2026-02-12"]),
        ("the roads are closed so its now the twelfth of february", ["2027-02-12"]),
        ("- book the hotel by March: this time it was far off", ["2027-03-01"]),
    ],
)
def test_what_is_due_or_set_anew_is_to_come(read: Read, text: str, days: list[str]) -> None:
    assert read(text, NOVEMBER)[:1] == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("No drilling before 10 and between 12 and 16, never on Sunday.", []),
        ("ring him on friday no wait thursday morning", ["2026-11-12"]),
        ("I told him that it lasts until summer after next.", []),
        ("Say so by the 25th of the month before.", []),
        ("notAfter=Mar 16 12:00:00 2024 GMT", []),
        ("Ring 0800 555 0142, Monday to Saturday, 8 to 18.", []),
        ("Read at the Thursday round on 5 November.", ["2026-11-05"]),
        ("the hall at one on monday the thirtieth upstairs", ["2026-11-30"]),
        ("lunch on friday the thirty first told mum", []),
    ],
)
def test_days_that_are_excluded_or_of_another_reckoning_are_not_told(
    read: Read, text: str, days: list[str]
) -> None:
    assert read(text, NOVEMBER) == days


def test_a_past_verb_of_another_clause_does_not_put_a_day_of_the_month_into_the_past(
    read: Read,
) -> None:
    said = datetime(2026, 5, 20, 10, tzinfo=UTC)
    assert "2026-04-23" in read("We rang on the 23rd.", said)
    with Hindsight.in_memory() as memory:
        memory.retain("b", "We've just had a call, inspectors on the 23rd.", timestamp=said)
        (span,) = memory.memories.list("b").items[0].occurred
    assert span.start < said < span.end


def test_minutes_may_tell_what_is_to_come() -> None:
    with Hindsight.in_memory() as memory:
        text = "No vote today. House assembly on 22 November."
        memory.retain("b", text, timestamp=NOVEMBER, context="Minutes, house committee")
        spans = [span for one in memory.memories.list("b").items for span in one.occurred]
    assert [f"{span.start:%Y-%m-%d}" for span in spans][-1] == "2026-11-22"
