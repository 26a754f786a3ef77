"""Times that questions ask for: windows, and anchors to remembered events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hindsight_integrations.language.time import (
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


def span(start: str, end: str, precision: Precision) -> TimeSpan:
    return TimeSpan(datetime.fromisoformat(start), datetime.fromisoformat(end), precision)


class TestQueries:
    def test_windows_and_anchors_come_side_by_side(self) -> None:
        asked = parse_query("What did Alice say on Monday before the meeting?", THURSDAY)
        monday = span("2023-05-15", "2023-05-16", Precision.DAY)
        assert asked.windows == (TimeWindow(monday, "on Monday"),)
        assert asked.anchors == (EventAnchor("before", "the meeting", None, "before the meeting"),)

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
