"""Times in text and questions: a labelled set, cases worked by hand, and what always holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import ClassVar, TypedDict
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.nlp import time as time_module
from hindsight_integrations.nlp.spacy_pipeline import Token
from hindsight_integrations.nlp.time import (
    EventAnchor,
    Precision,
    QueryTimes,
    TimeSpan,
    TimeWindow,
    anchor_window,
    find_times,
    parse_query,
)

THURSDAY = datetime(2023, 5, 18, 14, 30, tzinfo=UTC)
EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)


class Label(TypedDict):
    text: str
    reference: str
    kind: str
    language: str
    start: str | None
    end: str | None
    relation: str
    event: str
    offset_days: int | None


LABELS: list[Label] = [
    json.loads(line)
    for line in (Path(__file__).parent / "time_expressions.jsonl").read_text("utf-8").splitlines()
]
OPEN_ENDS = {"min": EARLIEST, "max": LATEST}


def moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    return OPEN_ENDS.get(text) or datetime.fromisoformat(text).replace(tzinfo=UTC)


def ends(spans: Iterable[TimeSpan]) -> list[tuple[datetime, datetime]]:
    return [(span.start, span.end) for span in spans]


def is_right(label: Label) -> bool:
    reference = datetime.fromisoformat(label["reference"])
    found = find_times(label["text"], reference)
    asked = parse_query(label["text"], reference)
    expected = [(moment(label["start"]), moment(label["end"]))]
    match label["kind"]:
        case "trap":
            return found == () and asked == QueryTimes()
        case "anchor":
            told = [(a.relation, a.event, a.offset and a.offset.days) for a in asked.anchors]
            wanted = [(label["relation"], label["event"], label["offset_days"])]
            return told == wanted and asked.windows == ()
        case "statement":
            return ends(expression.span for expression in found) == expected
        case _:
            return ends(window.span for window in asked.windows) == expected


def only(text: str, reference: datetime = THURSDAY, **options: str) -> TimeSpan:
    (found,) = find_times(text, reference, **options)  # type: ignore[arg-type]
    return found.span


def span(start: str, end: str, precision: Precision) -> TimeSpan:
    return TimeSpan(datetime.fromisoformat(start), datetime.fromisoformat(end), precision)


class TestLabelledSet:
    def test_it_is_large_and_mixed_enough_to_mean_something(self) -> None:
        kinds = Counter(label["kind"] for label in LABELS)
        languages = Counter(label["language"] for label in LABELS)
        assert len(LABELS) >= 300
        assert kinds["trap"] >= 80
        assert sum(languages[code] for code in ("de", "es", "fr")) >= 90

    @pytest.mark.parametrize("language", ["en", "de", "es", "fr"])
    def test_at_least_95_percent_are_read_as_labelled(self, language: str) -> None:
        labels = [label for label in LABELS if label["language"] == language]
        wrong = [label["text"] for label in labels if not is_right(label)]
        assert len(wrong) <= 0.05 * len(labels), wrong

    def test_no_trap_yields_a_time(self) -> None:
        traps = [label for label in LABELS if label["kind"] == "trap"]
        assert [label["text"] for label in traps if not is_right(label)] == []


class TestPrecision:
    @pytest.mark.parametrize(
        ("text", "precision"),
        [
            ("Friday at 15:30", Precision.MINUTE),
            ("Friday at 3 pm", Precision.HOUR),
            ("yesterday", Precision.DAY),
            ("two weeks ago", Precision.WEEK),
            ("in March", Precision.MONTH),
            ("last spring", Precision.SEASON),
            ("Q3 2022", Precision.QUARTER),
            ("in 2023", Precision.YEAR),
            ("the 90s", Precision.DECADE),
            ("the 19th century", Precision.CENTURY),
            ("from 2004 to 2005", Precision.RANGE),
        ],
    )
    def test_a_time_keeps_the_precision_of_its_words(self, text: str, precision: Precision) -> None:
        assert only(text).precision is precision

    @pytest.mark.parametrize("text", ["at 3 pm", "the bus at 15:30", "um 15 Uhr", "à 15h30"])
    def test_a_clock_time_without_a_day_is_no_time(self, text: str) -> None:
        assert find_times(text, THURSDAY) == ()


class TestWhichOneIsMeant:
    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("We met on Monday", "2023-05-15"),
            ("We will meet on Monday", "2023-05-22"),
            ("Let's meet on Monday", "2023-05-22"),
            ("Last Thursday we met", "2023-05-11"),
            ("Next Thursday is a holiday", "2023-05-25"),
            ("This Thursday is a holiday", "2023-05-18"),
            ("Wir haben uns am Montag getroffen", "2023-05-15"),
            ("Wir werden uns am Montag treffen", "2023-05-22"),
            ("El lunes vamos a hablar", "2023-05-22"),
            ("Nous allons parler lundi", "2023-05-22"),
        ],
    )
    def test_the_tense_of_the_sentence_decides(self, text: str, day: str) -> None:
        assert only(text).start == datetime.fromisoformat(day).replace(tzinfo=UTC)

    def test_without_a_tense_the_caller_decides(self) -> None:
        assert only("on Monday", prefer="past").start.day == 15
        assert only("on Monday", prefer="future").start.day == 22
        assert only("in March").start.year == 2023
        assert only("in March", prefer="future").start.year == 2024

    def test_next_thursday_is_not_tomorrow(self) -> None:
        wednesday = datetime(2023, 5, 17, 9, tzinfo=UTC)
        assert only("Lunch next Thursday", wednesday).start.day == 25
        assert only("Lunch next Sunday", wednesday).start.day == 21

    def test_an_undecided_day_is_a_span_of_both(self) -> None:
        assert only("Pizza with Ben on Monday") == span("2023-05-15", "2023-05-23", Precision.RANGE)
        assert only("Oslo on the 3rd") == span("2023-05-03", "2023-06-04", Precision.RANGE)
        both = span("2023-05-15", "2023-05-26", Precision.RANGE)
        assert only("Blue folder from Monday to Thursday") == both

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("Deadline: Monday", 22),
            ("Outage on Monday", 15),
            ("- [ ] the blue folder, Monday", 22),
            ("- [x] the blue folder, Monday", 15),
            ("# To do\n- blue folder, Monday", 22),
            ("# Done\n- blue folder, Monday", 15),
            ("Ana Monday 7:40", 22),
            ("Lovely dinner on Monday", 15),
            ("Photos from the wedding on Monday", 15),
            ("Abgabe am Montag", 22),
            ("Reunión con Ana el lunes", 22),
        ],
    )
    def test_without_a_verb_the_kind_of_note_decides(self, text: str, day: int) -> None:
        assert only(text).start.day == day

    def test_the_title_and_the_question_answered_decide_last(self) -> None:
        for title, day in (("To-do list", 22), ("Training log", 15)):
            (found,) = find_times("Blue folder, Monday", THURSDAY, setting=[title])
            assert found.span.start.day == day
        for question, day in (("When will you come?", 22), ("When did you come?", 15)):
            (found,) = find_times("On Monday", THURSDAY, setting=[question])
            assert found.span.start.day == day

    def test_a_yearly_date_just_over_is_not_moved_to_the_next_year_by_a_noun(self) -> None:
        assert only("Conference: 2 May").start.year == 2023
        assert only("Conference: 2 February").start.year == 2024
        assert only("The conference will be on 2 May").start.year == 2024

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("last day sat 27 may", "2023-05-27"),
            ("the gig sat 11 march", "2023-03-11"),
            ("See you on Weds", "2023-05-24"),
            ("see you on thurs", "2023-05-25"),
            ("practice tmrw", "2023-05-19"),
            ("June: a meal on the 12th?", "2023-06-12"),
        ],
    )
    def test_spelled_as_in_chats(self, text: str, day: str) -> None:
        assert f"{only(text).start:%Y-%m-%d}" == day

    @pytest.mark.parametrize(
        "text",
        [
            "he sat 30 minutes",
            "Four tracks in two days. The mix is next.",
            "31 enquiries in 2 days",
            "The third one in three days, at Giang.",
            "Chess at ten, football Tues/Thurs",
            "Free after two but today was Tuesday",
        ],
    )
    def test_none_is_meant(self, text: str) -> None:
        assert [found.text for found in find_times(text, THURSDAY) if found.text != "today"] == []

    def test_a_distance_without_a_number_before_it_is_one(self) -> None:
        (found,) = find_times("Dentist in two weeks", THURSDAY)
        assert f"{found.span.start:%Y-%m-%d}" == "2023-05-29"

    @pytest.mark.parametrize(
        "text",
        [
            "We play every other Monday",
            "We play every Monday and Thursday",
            "She usually swims on Monday",
            "He wore his Sunday best",
            "Office hours: Monday to Friday",
        ],
    )
    def test_habits_and_attributes_are_no_times(self, text: str) -> None:
        assert find_times(text, THURSDAY) == ()

    def test_in_a_month_includes_the_month_of_the_reference(self) -> None:
        may = span("2023-05-01", "2023-06-01", Precision.MONTH)
        assert only("in May") == only("in May", prefer="future") == may

    def test_the_southern_spring_begins_in_september(self) -> None:
        southern = only("last spring", hemisphere="south")
        assert southern == span("2022-09-01", "2022-12-01", Precision.SEASON)
        (window,) = parse_query("what grew last spring?", THURSDAY, hemisphere="south").windows
        assert window.span == southern

    def test_last_winter_in_january_is_not_the_one_that_goes_on(self) -> None:
        january = datetime(2024, 1, 3, tzinfo=UTC)
        assert only("last winter", january).start == datetime(2022, 12, 1, tzinfo=UTC)
        assert only("this winter", january).start == datetime(2023, 12, 1, tzinfo=UTC)

    def test_29_february_is_the_last_one_there_was(self) -> None:
        assert only("We met on 29 February").start == datetime(2020, 2, 29, tzinfo=UTC)
        assert find_times("on 30 February", THURSDAY) == ()

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("Maintenance: 12 December", "2024-12-12"),
            ("Maintenance: 12 November", "2024-11-12"),
            ("We closed on 12 December", "2023-12-12"),
            ("We will close on 12 November", "2025-11-12"),
            ("Kiosk launch: Tuesday 14 January", "2025-01-14"),
            ("Kiosk launch: Sunday 14 January", "2024-01-14"),
        ],
    )
    def test_a_date_without_its_year_is_near_and_on_its_weekday(self, text: str, day: str) -> None:
        december = datetime(2024, 12, 3, tzinfo=UTC)
        assert only(text, december).start == datetime.fromisoformat(day).replace(tzinfo=UTC)

    @pytest.mark.parametrize(
        ("text", "days"),
        [
            ("The last Friday in June is a holiday.", ["2025-06-27"]),
            ("The last week in May is busy.", ["2025-05-25"]),
            ("Last week in Rome it rained.", ["2025-05-05"]),
            ("A year ago today we met.", ["2024-05-14"]),
            ("Two weeks ago yesterday the twins were born.", ["2025-04-29"]),
            ("A week ago we met.", ["2025-05-05"]),
            ("The week of 12 May is busy.", ["2025-05-12"]),
            ("The week of 5 May was hard.", ["2025-05-05"]),
            ("The weekend of 17 May is busy.", ["2025-05-17"]),
            ("Not yesterday but the day before we met.", []),
            ("I'm free every day except Thursday and Friday.", []),
            ("It wasn't Monday, it was Tuesday.", ["2025-05-13"]),
            ("It was not on Friday but on Saturday.", ["2025-05-10"]),
            ("Let's not forget lunch on Friday.", ["2025-05-16"]),
            ("He claimed the refund on Monday.", ["2025-05-12"]),
            ("The film starts on Friday.", ["2025-05-16"]),
            ("Closed Good Friday and Easter Monday.", ["2025-04-18", "2025-04-21"]),
            ("Am Ostermontag regnete es.", ["2025-04-21"]),
            ("Over Easter 2024 it rained.", ["2024-03-29"]),
            ("She died on Boxing Day 2011.", ["2011-12-26"]),
            ("Between Christmas and New Year it rained.", ["2024-12-25"]),
            ("In the New Year we move.", []),
            ("Happy New Year!", []),
            ("Married on Leap Day 2004.", ["2004-02-29"]),
            ("They danced the weekend before last.", ["2025-05-03"]),
            ("The exam is the week after next.", ["2025-05-26"]),
            ("The Friday before last was hot.", ["2025-05-02"]),
            ("They come on Thursday and Friday next week.", ["2025-05-22", "2025-05-23"]),
            ("We met on Monday and next week it rains.", ["2025-05-12", "2025-05-19"]),
            ("We start on the 6th of July.", ["2025-07-06"]),
            ("I had the jab on 23/4, it hurt.", ["2025-04-23"]),
            ("It ends on 4/23.", ["2026-04-23"]),
            ("Paid on 25/04/2025 and sent on 3/4, they said.", ["2025-04-25", "2025-04-03"]),
            ("She has been ill since last November.", ["2024-11-01"]),
            ("We flew on 2 February and came home on the 9th.", ["2025-02-02", "2025-02-09"]),
            ("We flew on 2 April and will fly home on the 9th.", ["2025-04-02"]),
            ("The party is on Friday instead of Saturday.", ["2025-05-16"]),
            ("The shop isn't open on Monday.", ["2025-05-19"]),
            ("I didn't go yesterday.", ["2025-05-13"]),
            ('Kim wrote last Tuesday: "I\'ll be there tomorrow."', ["2025-05-13", "2025-05-14"]),
            ("“Tomorrow we attack,” he wrote on 3 June 1916.", ["1916-06-04", "1916-06-03"]),
            ('She said, "I\'ll come tomorrow."', []),
            ('"I was born on 3 May 1960," she said.', ["1960-05-03"]),
            ('"The bus leaves tomorrow."', ["2025-05-15"]),
            ('The 5" board arrives tomorrow, "fine" said Ben.', ["2025-05-15"]),
            ("He lives at 21 March Road.", []),
            ("We met at 10 June Avenue.", []),
            ("The walk was on 21 March.", ["2025-03-21"]),
            ("I wish it were Friday.", []),
            ("I wish I could come on Friday.", []),
            ("I wish you a happy birthday on Friday.", ["2025-05-16"]),
            ("I'd have called you on Monday if I'd known.", []),
            ("He would have come on Tuesday.", []),
            ("He was in a hurry, as if the world ended tomorrow.", []),
            ("If it had tables I'd switch tomorrow.", []),
            ("Leo would move here tomorrow if they'd let him.", []),
            ("If you'd like, we can meet on Friday.", ["2025-05-16"]),
            ("If it rains on Friday we stay at home.", ["2025-05-16"]),
            ("It would be great if we could meet on Friday.", ["2025-05-16"]),
            ("Were it Friday, we would dance.", []),
            ("Had a walk on Monday.", ["2025-05-12"]),
        ],
    )
    def test_only_the_days_that_are_meant_are_told(self, text: str, days: list[str]) -> None:
        wednesday = datetime(2025, 5, 14, 15, 30, tzinfo=UTC)
        found = find_times(text, wednesday)
        assert [time.span.start.date().isoformat() for time in found] == days

    @pytest.mark.parametrize(
        ("text", "zone", "precision"),
        [
            ("The call is on 7 June at 9:00 IST.", UTC, "day"),
            ("The webinar is on 12 June, 6 pm ET.", UTC, "day"),
            ("The plane lands on Sunday at 13:20 local time.", UTC, "day"),
            ("We meet on Thursday at 15:00 London time.", UTC, "day"),
            ("We meet on Thursday at 15:00 UTC.", UTC, "minute"),
            ("We meet on 5 June at 15:00 CEST.", ZoneInfo("Europe/Berlin"), "minute"),
            ("We meet on Thursday at 15:00.", UTC, "minute"),
        ],
    )
    def test_of_a_clock_time_in_another_zone_only_the_day_is_told(
        self, text: str, zone: tzinfo, precision: str
    ) -> None:
        (time,) = find_times(text, datetime(2025, 5, 14, 15, 30, tzinfo=zone))
        assert time.span.precision == precision

    @pytest.mark.parametrize(
        ("text", "days"),
        [
            ("The invoice of 03/04/2025 is unpaid.", []),
            ("Paid: 25/04/2025. Open: 03/04/2025.", ["2025-04-25", "2025-04-03"]),
            ("Paid: 04/25/2025. Open: 03/04/2025.", ["2025-04-25", "2025-03-04"]),
            ("Paid: 04/25/2025 and 25/04/2025. Open: 03/04/2025.", ["2025-04-25"] * 2),
            ("We met on 05/06/2025.", ["2025-05-06"]),
            ("We will meet on 05/10/2025.", []),
            ("We met on Friday, 04/04/2025.", ["2025-04-04"]),
            ("Call on Thursday, 03/04/2025.", ["2025-04-03"]),
            ("Signed on 13/04/2025.", ["2025-04-13"]),
            ("Due 3.4.2025.", ["2025-04-03"]),
            ("Born on 12/25/58.", ["1958-12-25"]),
            ("The lease ends on 12/31/45.", ["2045-12-31"]),
        ],
    )
    def test_a_date_that_may_be_two_days_needs_evidence(self, text: str, days: list[str]) -> None:
        wednesday = datetime(2025, 5, 14, 15, 30, tzinfo=UTC)
        found = find_times(text, wednesday)
        assert [time.span.start.date().isoformat() for time in found] == days

    def test_a_range_takes_its_open_year_from_the_other_end(self) -> None:
        assert only("from November 2021 to March") == only("from November 2021 to March 2022")
        assert only("between May and July 2021").start == datetime(2021, 5, 1, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("text", "days"),
        [
            ("In 2016 he was buried on 1 April.", ["2016-01-01", "2016-04-01"]),
            ("Ana was born on 3 May 1960. On 12 June they moved to Lodz.", ["1960-05-03"]),
            ("The show opened in May 1999. On the evening of 4 June it closed.", ["1999-05-01"]),
            ("We opened in 2019. The next fair is on 9 June.", ["2019-01-01", "2023-06-09"]),
            ("Founded in 2019.\n\nWe met the mayor on 2 March.", ["2019-01-01", "2023-03-02"]),
            ("She came in 2023, and left on 2 March.", ["2023-01-01", "2023-03-02"]),
            ("The battle of 1805 began on 21 October.", []),
            ("Everyone knows the 1918 flu, which came on 3 April.", []),
            ("The 2022 report came out on 3 March.", ["2023-03-03"]),
            ("The hall has a capacity of 1200. It opened on 3 March.", ["2023-03-03"]),
        ],
    )
    def test_what_is_told_of_an_earlier_year_is_of_that_year_or_untold(
        self, text: str, days: list[str]
    ) -> None:
        found = find_times(text, THURSDAY)
        assert [time.span.start.date().isoformat() for time in found] == days

    def test_the_same_word_is_a_month_or_none_by_its_company(self) -> None:
        (found,) = find_times("it may rain in may", THURSDAY)
        assert (found.text, found.start_char) == ("may", len("it may rain in "))
        assert find_times("Since June left, nobody waters the plants", THURSDAY) == ()

    @pytest.mark.parametrize(
        ("text", "first", "end"),
        [
            ("Away 12 to 30 August", "2023-08-12", "2023-08-31"),
            ("12 to 30 March, Norway", "2023-03-12", "2023-03-31"),
            ("20 December to 2 January", "2022-12-20", "2023-01-03"),
            ("20 June to 2 July", "2023-06-20", "2023-07-03"),
            ("The first one in June", "2023-06-01", "2023-07-01"),
            ("Three of them in February", "2023-02-01", "2023-03-01"),
            ("Umsatz im Juni", "2023-06-01", "2023-07-01"),
            ("Obras en marzo", "2023-03-01", "2023-04-01"),
        ],
    )
    def test_what_nothing_puts_into_past_or_future_is_the_nearest(
        self, text: str, first: str, end: str
    ) -> None:
        assert only(text) == span(first, end, only(text).precision)

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("on the twenty-first of June", "2023-06-21"),
            ("the eighth of May", "2023-05-08"),
            ("Friday the nineteenth of May", "2023-05-19"),
            ("Saturday the twentieth", "2023-05-20"),
            ("Saturday week", "2023-05-27"),
            ("It is a week on Saturday", "2023-05-27"),
            ("two weeks from Monday", "2023-06-05"),
            ("the sixth of March sixty-five", "1965-03-06"),
            ("the sixth of March nineteen forty", "1940-03-06"),
            ("£80 a month from the first of June", "2023-06-01"),
            ("off three weeks from the eighth of June", "2023-06-08"),
            ("She was pushed from 2 to 9 May", "2023-05-09"),
        ],
    )
    def test_words_for_numbers_and_what_stands_beside_them(self, text: str, day: str) -> None:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        assert only(text) == TimeSpan(start, start + timedelta(days=1), Precision.DAY)

    def test_days_parted_by_a_stroke_are_of_the_month_beside_them(self) -> None:
        both = only("the weekend 13/14 May")
        assert both == only("13/14 May") == span("2023-05-13", "2023-05-15", Precision.RANGE)
        assert find_times("the weekend 14/15 Marbles", THURSDAY) == ()

    @pytest.mark.parametrize(
        "text",
        [
            "Shut for the first time in thirty years",
            "The hottest day in ten years",
            "The fridge gave up on Whit Monday",
            "A hundred and twenty-five years ago",
            "on the 1st of each month",
            "on Thursday evenings",
            "ten Thursday evenings",
            "Her last night",
            "The price is 3/4 of that",
            "The Saturday week after week",
            "Maybe on Friday we go",
            "Whether she comes in September is open",
            "She starts on the 15th, or in January",
            "She comes on Friday or Saturday",
            "Nicht am Montag",
            "No el lunes, no el martes",
            "But tomorrow never came",
            "Their first trophy since 1905",
            "Monday's child will be fair",
            "They leave on the Friday before",
            "Rents rise from 1950 to 2100 euros",
            'Watched "Saturday Night Fever" again',
            'Tomorrow never: "Manic Monday"',
            "Ils se marient le 14 novembre à Annecy",
            "They might visit in October",
            "I don't think she was born in 1987",
            "I would go back next week if I could",
            "Neither Monday nor Tuesday works",
            "Their best spell since the final in 2005",
            "Empty dates are shown as 1 January 1970",
            "Two years on from 7 October",
            "The app says Thursday, the courier says Saturday",
            'The subject was "Friday"',
            "Our guide, Mr. Sunday, met us",
            "It feels like yesterday",
            "It seemed just like last week",
            "Friday is no good for me",
            "Let's not leave on Thursday",
            "She claimed that it came on Monday",
            "He swore the box had come on Monday",
            "He retired in 2020, but that is a lie",
            "In the dream it was in 1985",
            "The film is set in 1985",
            "Friday Night Dinner was funny",
            "It runs on 24/7",
            "We meet on 3/4",
            "Bonuses come on the 6th of any month",
            "We had a good Friday",
            "Did we say Tuesday? Or was it Wednesday?",
            "She drinks ten cups in a day",
            "When I was a kid we sailed there in August",
            "Growing up, we kept bees until October",
        ],
    )
    def test_what_only_looks_like_a_time(self, text: str) -> None:
        assert find_times(text, THURSDAY) == ()

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("1) swim by June 2) rest", "2023-06-01"),
            ("She moves in tomorrow week", "2023-05-26"),
            ('Yesterday we heard "Manic Monday"', "2023-05-17"),
            ("Rents rose from 1950 to 2100 euros in April", "2023-04-01"),
            ("Nicht am Montag, sondern am 22. Mai", "2023-05-22"),
            ("We land on Saturday 10 June and stay until the 19th", "2023-06-10"),
            ("Die Gruppe trifft sich am 1. Juni, letztes Mal waren wir dort.", "2023-06-01"),
        ],
    )
    def test_what_stands_beside_a_time_is_left_alone(self, text: str, day: str) -> None:
        assert only(text).start == datetime.fromisoformat(day).replace(tzinfo=UTC)

    def test_a_day_without_its_month_is_of_the_month_told_before_it(self) -> None:
        told = find_times("It came on 4 May, box open, and again on the 9th", THURSDAY)
        assert [time.span.start.day for time in told] == [4, 9]

    def test_german_here_is_not_french_yesterday(self) -> None:
        assert find_times("Was ist hier los?", THURSDAY) == ()
        assert only("Qu'est-ce qu'il a dit hier ?").start.day == 17


class TestZones:
    tokyo = timezone(timedelta(hours=9))

    def test_a_day_is_the_day_of_the_speaker(self) -> None:
        late = datetime(2023, 5, 18, 1, 0, tzinfo=self.tokyo)  # 17 May, 16:00 UTC
        assert only("yesterday", late) == TimeSpan(
            datetime(2023, 5, 17, tzinfo=self.tokyo),
            datetime(2023, 5, 18, tzinfo=self.tokyo),
            Precision.DAY,
        )

    def test_a_naive_reference_is_utc(self) -> None:
        text = "yesterday, last spring and since March"
        assert find_times(text, THURSDAY.replace(tzinfo=None)) == find_times(text, THURSDAY)

    def test_a_timestamp_with_its_own_offset_keeps_its_instant(self) -> None:
        found = only("2023-05-07T03:15:00+02:00", THURSDAY.astimezone(self.tokyo))
        assert found.start == datetime(2023, 5, 7, 1, 15, tzinfo=UTC)


WORDS = sorted({word for label in LABELS for word in label["text"].split()})
PHRASES = st.lists(
    st.sampled_from([*WORDS, "29", "31", "1", "0", "(", ")", "–", "-", ",", ".", "9999", "'99"]),
    max_size=15,
).map(" ".join)
ANY_TEXT = st.text(st.characters(), max_size=200)  # lone surrogates included
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11)), None]))
RELATIVE = st.sampled_from(
    [
        *("yesterday", "tonight", "last Friday", "next Wednesday", "on Monday", "this weekend"),
        *("next month", "in March", "since March", "early last year", "7 May", "Friday at 3 pm"),
        *("last spring", "last winter", "two weeks ago", "a few days ago", "the past two weeks"),
        *("the first week of May", "two days before last Monday", "vor zwei Wochen"),
        *("letzten Herbst", "hace un mes", "la semana pasada", "lundi dernier", "l'été dernier"),
    ]
)


class TestTags:
    """Directions that take the tags of a text's words."""

    def test_a_verb_whose_past_is_its_base_form_tells_no_direction(self) -> None:
        (both,) = self.read("Reset by Ivo on Sunday.")
        assert both.start < THURSDAY < both.end

    TAGS: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("takes", "is", "starts"), "VBZ"),
        **dict.fromkeys(("are", "have"), "VBP"),
        **dict.fromkeys(("got", "printed", "were", "was"), "VBD"),
        **dict.fromkeys(("going",), "VBG"),
        "fly": "VB",
        **dict.fromkeys(("offered", "booked", "been", "cancelled"), "VBN"),
        "has": "VBZ",
        "Reset": "VB",
        **dict.fromkeys(("added", "agreed", "collected"), "VBN"),
        **dict.fromkeys(("notes", "bins"), "NNS"),
        **dict.fromkeys(("She", "We", "I"), "PRP"),
        **dict.fromkeys(("from", "on", "in", "of", "for"), "IN"),
        **dict.fromkeys(("getting", "Getting"), "VBG"),
        **dict.fromkeys(("married", "made"), "VBN"),
        "while": "IN",
        "printing": "VBG",
        "to": "TO",
    }

    def read(self, text: str, reference: datetime = THURSDAY) -> list[TimeSpan]:
        words = [
            Token(word[0], word.start(), self.TAGS.get(word[0], "NN"))
            for word in re.finditer(r"\w+|[.,:]", text)
        ]
        return [time.span for time in find_times(text, reference, words=words)]

    @pytest.mark.parametrize(
        ("text", "first"),
        [
            ("The shop takes cards from June.", "2023-06-01"),
            ("Getting a suit made in July.", "2023-07-01"),
            ("She got a suit made in April.", "2023-04-01"),
            ("The bill 7 from April is open.", "2023-04-01"),
            ("The shop takes the notes from June.", "2022-06-01"),
            ("The notes from April are lost.", "2023-04-01"),
            ("The bill from April is open.", "2023-04-01"),
            ("The bill from July is open.", "2023-07-01"),
            ("Seat added from June.", "2023-06-01"),
            ("She is getting married in July.", "2023-07-01"),
            ("She got married in April.", "2023-04-01"),
            ("Server down on 7 May while printing.", "2023-05-07"),
            ("The list of 7 May is lost.", "2023-05-07"),
            ("I have agreed to lunch in April.", "2023-04-01"),
            ("We were going to fly on 21 June.", "2023-06-21"),
            ("Rent is due on the 6th of the month.", "2023-06-06"),
            ("The gig on 20 June has been cancelled.", "2023-06-20"),
            ("I have booked the car in on the 16th.", "2023-05-16"),
            ("The gig on 20 June was cancelled.", "2023-06-20"),
            ("The gig on Friday has been cancelled.", "2023-05-19"),
        ],
    )
    def test_the_word_that_a_date_belongs_to_decides(self, text: str, first: str) -> None:
        (found,) = self.read(text)
        assert found.start == datetime.fromisoformat(first).replace(tzinfo=UTC)

    @pytest.mark.parametrize(
        "text",
        [
            "I have agreed to lunch in June.",
            "I have offered lunch on 6 June.",
            "I have booked the car in on the 4th.",
            "Boxing Day sales",
            "The shop takes cards in April.",
            "The bins are collected on Friday.",
        ],
    )
    def test_what_may_be_either_is_not_told(self, text: str) -> None:
        assert self.read(text) == []


class TestAlways:
    @given(PHRASES | ANY_TEXT, MOMENTS)
    @settings(max_examples=400, deadline=None)
    def test_expressions_are_where_they_say_in_order_and_apart(
        self, text: str, reference: datetime
    ) -> None:
        last = 0
        for found in find_times(text, reference):
            assert found.text == text[found.start_char : found.end_char] != ""
            assert found.start_char >= last
            assert found.span.end > found.span.start
            last = found.end_char

    @given(PHRASES | ANY_TEXT, MOMENTS)
    @settings(max_examples=400, deadline=None)
    def test_a_question_is_read_alike_twice(self, question: str, reference: datetime) -> None:
        asked = parse_query(question, reference)
        assert asked == parse_query(question, reference)
        assert all(anchor.event in anchor.text in question for anchor in asked.anchors)
        assert all(window.text in question for window in asked.windows)

    @given(RELATIVE, st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1)))
    @settings(max_examples=300, deadline=None)
    def test_what_is_relative_moves_with_the_reference(self, text: str, then: datetime) -> None:
        """The calendar repeats after 400 years, weekdays included: 146,097 days."""
        cycle = timedelta(days=146_097)
        early, late = only(text, then), only(text, then + cycle)
        assert ends([late]) == [(early.start + cycle, early.end + cycle)]

    @given(st.sampled_from(["in 1979", "7 May 2023", "Q3 2022", "im März 2021"]), MOMENTS)
    def test_what_is_absolute_does_not(self, text: str, reference: datetime) -> None:
        written = only(text, reference.replace(tzinfo=UTC))
        assert written == only(text, THURSDAY)

    @pytest.mark.slow
    @pytest.mark.parametrize("year", [1, 9999])
    def test_the_ends_of_the_calendar_raise_nothing(self, year: int) -> None:
        for month, day in ((1, 1), (12, 31)):
            for zone in (UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))):
                reference = datetime(year, month, day, tzinfo=zone)
                for label in LABELS:
                    for found in find_times(label["text"], reference):
                        assert EARLIEST <= found.span.start < found.span.end <= LATEST
                    parse_query(label["text"], reference)

    def test_today_exists_on_the_first_and_the_last_day(self) -> None:
        assert only("today", datetime(1, 1, 1)).start == EARLIEST
        assert find_times("yesterday", datetime(1, 1, 1)) == ()
        assert find_times("tomorrow", datetime(9999, 12, 31)) == ()

    def test_decomposed_letters_are_read_like_composed_ones(self) -> None:
        assert only("im Ma\u0308rz 2021") == only("im März 2021")

    def test_a_span_ends_after_it_starts(self) -> None:
        with pytest.raises(InvalidInputError, match="must end after it starts"):
            TimeSpan(THURSDAY, THURSDAY)


@pytest.mark.slow
class TestSize:
    @staticmethod
    def read(text: str) -> None:
        found = find_times(text, THURSDAY)
        assert all(text[each.start_char : each.end_char] == each.text for each in found)
        assert isinstance(parse_query(text, THURSDAY), QueryTimes)

    @pytest.mark.parametrize(
        "unit",
        [
            "the quick brown fox jumps over the lazy dog and goes home. ",
            "On 7 May 2023 we met at 3 pm. " + "Nothing else of note happened there. " * 20,
            "7",
            "1.2.",
            "1-1-",
            "a.",
            "a://",
            "(",
            "'",
            "\n ",
            "\u0301",
            "2000" + " " * 400,
            "14/15 ",
            "twenty - ",
        ],
    )
    def test_a_quarter_of_a_megabyte_of_anything_is_read(self, unit: str) -> None:
        self.read((unit * (250_000 // len(unit) + 1))[:250_000])

    @pytest.mark.parametrize(
        "unit",
        [
            "moved the " + "a " * 40 + "from 2 to 9 May ",
            "a week from Monday ",
            "whether a or Monday or ",
            '"Manic Monday" ',
            "first since 1905 ",
            "- Ann, Monday\n",
            "1. 2. ",
            "May 5 and ",
            "3 may ",
            "booked it for August or sat ",
        ],
    )
    def test_thousands_of_times_are_read(self, unit: str) -> None:
        """Each costs a millisecond, so that fewer characters take as long."""
        self.read((unit * (64_000 // len(unit) + 1))[:64_000])


def test_the_public_names_are_listed_in_order() -> None:
    assert sorted(time_module.__all__) == time_module.__all__
    assert all(hasattr(time_module, name) for name in time_module.__all__)


class TestQueries:
    def test_windows_and_anchors_come_side_by_side(self) -> None:
        asked = parse_query("What did Alice say on Monday before the meeting?", THURSDAY)
        monday = span("2023-05-15", "2023-05-16", Precision.DAY)
        assert asked.windows == (TimeWindow(monday, "on Monday"),)
        assert asked.anchors == (EventAnchor("before", "the meeting", None, "before the meeting"),)

    @pytest.mark.parametrize(
        ("question", "asked"),
        [
            ("We fly to Rome next week. What should we see?", [False]),
            ('Ana: "I won yesterday!"\nBo: "Which game?"', [False]),
            ("¿Qué pasó ayer? Estoy en Roma mañana.", [True, False]),
            ("I moved. What happened in June 2022?", [True]),
            ("What did Kevin do on 02.01.2023?", [True]),
            ("Notes from last week.", [True]),
            ("We met last week. It rained.", [True]),
        ],
    )
    def test_a_time_in_a_statement_beside_a_question_is_not_asked_for(
        self, question: str, asked: list[bool]
    ) -> None:
        assert [window.asked for window in parse_query(question, THURSDAY).windows] == asked

    def test_a_time_inside_an_event_is_no_window(self) -> None:
        asked = parse_query("Where did Alice live before she moved in 2019?", THURSDAY)
        assert asked.windows == ()
        assert [anchor.event for anchor in asked.anchors] == ["she moved in 2019"]

    @pytest.mark.parametrize(
        ("words", "offset", "within"),
        [
            ("after the launch", None, False),
            ("two weeks after the launch", timedelta(weeks=2), False),
            ("a month after the launch", timedelta(days=30), False),
            ("the week after the launch", timedelta(weeks=1), True),
            ("a few days after the launch", timedelta(days=5), True),
        ],
    )
    def test_the_distance_to_an_event(
        self, words: str, offset: timedelta | None, within: bool
    ) -> None:
        (anchor,) = parse_query(f"What changed {words}?", THURSDAY).anchors
        assert anchor == EventAnchor("after", "the launch", offset, words, within)

    @pytest.mark.parametrize(
        "question",
        [
            "What did I do after that?",
            "Who came after me?",
            "What did I say before about Paris?",
            "What did I do after two weeks?",
            "Did anything happen after 5 pm?",
            "Since I like jazz, where should we go?",
            "Who looked after the dog?",
            "Where is the pendant from?",
        ],
    )
    def test_a_preposition_alone_makes_no_event(self, question: str) -> None:
        assert parse_query(question, THURSDAY) == QueryTimes()

    def test_open_ends_reach_the_ends_of_the_calendar(self) -> None:
        (before,) = parse_query("before 2020", THURSDAY).windows
        (after,) = parse_query("after May 2021", THURSDAY).windows
        assert (before.span.start, before.span.end.year) == (EARLIEST, 2020)
        assert (after.span.start.month, after.span.end) == (6, LATEST)

    def test_a_statement_with_an_open_end_is_located_nowhere(self) -> None:
        assert find_times("She left before 2020 and came back after May 2021.", THURSDAY) == ()


class TestAnchorWindow:
    event = span("2023-03-10", "2023-03-11", Precision.DAY)

    @pytest.mark.parametrize(
        ("words", "start", "end"),
        [
            ("before X", "0001-01-01", "2023-03-10"),
            ("since X", "2023-03-10", "2023-05-18T14:30"),
            ("during X", "2023-03-10", "2023-03-11"),
            ("until X", "0001-01-01", "2023-03-11"),
            ("around the time of X", "2023-03-03", "2023-03-18"),
            ("two weeks before X", "2023-02-24", "2023-02-25"),
            ("two weeks after X", "2023-03-24", "2023-03-25"),
            ("the week before X", "2023-03-03", "2023-03-10"),
            ("the week after X", "2023-03-11", "2023-03-18"),
        ],
    )
    def test_each_relation(self, words: str, start: str, end: str) -> None:
        (anchor,) = parse_query(
            f"what happened {words.replace('X', 'Alice joined')}", THURSDAY
        ).anchors
        window = anchor_window(anchor, self.event, THURSDAY)
        assert (window.start, window.end) == (
            datetime.fromisoformat(start).replace(tzinfo=UTC),
            datetime.fromisoformat(end).replace(tzinfo=UTC),
        )

    def test_after_has_no_end(self) -> None:
        anchor = EventAnchor("after", "it", None, "after it")
        assert anchor_window(anchor, self.event, THURSDAY).end == LATEST

    def test_since_an_event_to_come_has_no_end(self) -> None:
        anchor = EventAnchor("since", "it", None, "since it")
        assert anchor_window(anchor, self.event, self.event.start).end == LATEST

    @pytest.mark.parametrize("relation", ["before", "after", "since", "until", "during", "around"])
    @pytest.mark.parametrize("offset", [None, timedelta(weeks=2)])
    @pytest.mark.parametrize("within", [True, False])
    def test_events_at_the_ends_of_the_calendar_have_windows(
        self, relation: str, offset: timedelta | None, within: bool
    ) -> None:
        anchor = EventAnchor(relation, "it", offset, "it", within)  # type: ignore[arg-type]
        for event in (
            TimeSpan(EARLIEST, EARLIEST + timedelta(days=1)),
            TimeSpan(LATEST - timedelta(days=1), LATEST),
        ):
            window = anchor_window(anchor, event, THURSDAY.replace(tzinfo=None))
            assert EARLIEST <= window.start < window.end <= LATEST


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Fürs Sommerfest am 18. Juli haben wir zugesagt.", []),
        ("Familia, ya le han dado fecha para lo de mamá: el 12 de agosto.", []),
        ("Maman a choisi la clinique pour le 24 juin.", []),
        ("Am 6. Februar haben wir den Vertrag unterschrieben.", ["2025-02-06"]),
        ("La última semana de julio estoy en Valencia.", []),
        ("On part la dernière semaine du mois de juillet.", []),
        ("Letzte Woche im Büro war es laut.", ["2025-03-03"]),
        ("La semana pasada estuve allí.", ["2025-03-03"]),
    ],
)
def test_in_other_languages_what_may_be_another_year_or_period_is_not_told(
    text: str, told: list[str]
) -> None:
    found = find_times(text, datetime(2025, 3, 13, 12, tzinfo=UTC))
    assert [f"{time.span.start:%Y-%m-%d}" for time in found] == told
