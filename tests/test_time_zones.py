"""Times keep their zone: "today" is the day of the person who says it, and is shown as theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from hindsight_integrations import (
    Hindsight,
    InvalidInputError,
    Memory,
    ReflectionMemory,
    Session,
    Settings,
    TimeSpan,
)
from hindsight_integrations.durable import DurableRetain
from hindsight_integrations.retain.request import Item
from hindsight_integrations.transcripts import import_transcripts

NEW_YORK = timezone(timedelta(hours=-5))
EVENING = datetime(2024, 5, 7, 21, tzinfo=NEW_YORK)
"""7 May in New York, 8 May in UTC."""
BANK = "u"


@pytest.fixture
def memory() -> Iterator[Hindsight]:
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as opened:
        yield opened


@pytest.fixture
def berlin() -> Iterator[Hindsight]:
    settings = Settings(consolidate=False, timezone="Europe/Berlin")
    with Hindsight.in_memory(settings=settings) as opened:
        yield opened


def only(memory: Hindsight) -> Memory:
    (found,) = memory.memories.list(BANK).items
    return found


def day(number: int, zone: timezone) -> tuple[datetime, datetime]:
    start = datetime(2024, 5, number, tzinfo=zone)
    return start, start + timedelta(days=1)


def times(memory: Memory) -> tuple[datetime, datetime]:
    (span,) = memory.occurred
    return span.start, span.end


def test_today_is_the_day_where_it_is_said(memory: Hindsight) -> None:
    memory.retain(BANK, "I had dinner with Otto today.", timestamp=EVENING)
    found = only(memory)
    assert times(found) == day(7, NEW_YORK)
    assert str(found.occurred[0]) == "7 May 2024"
    assert found.mentioned_at == EVENING
    assert found.mentioned_at.utcoffset() == timedelta(hours=-5)


def test_day_of_saying_is_shown_as_it_was_where_it_was_said(memory: Hindsight) -> None:
    memory.retain(BANK, "Anna met Otto today.", timestamp=EVENING)
    memory.retain(BANK, "Anna met Bert.", timestamp=EVENING.astimezone(UTC))
    shown = memory.recall(BANK, "Whom did Anna meet?").text
    assert "[07 May 2024, 21:00]\nAnna met Otto today." in shown
    assert "[08 May 2024, 02:00]\nAnna met Bert." in shown
    assert "7 May 2024, 21:00" in repr(memory.memories.list(BANK, text="Otto").items[0])
    assert "- 7 May 2024: Anna met Otto today." in memory.context(BANK, "Otto").text
    answer = memory.reflect(BANK, "When did Anna meet Otto?", query_time=datetime(2024, 6, 1))
    assert answer.text.startswith("- 7 May 2024: “Anna met Otto today.” (said 7 May 2024)")


def test_day_given_without_a_time_is_shown_as_that_day(berlin: Hindsight) -> None:
    berlin.retain(BANK, "Anna bought a kayak.", timestamp=date(2024, 5, 7))
    assert berlin.recall(BANK, "Who bought a kayak?").text.startswith("[07 May 2024]\n")


def test_zone_of_a_memory_outlives_the_process_and_an_export(tmp_path: Path) -> None:
    with Hindsight(tmp_path / "memories") as memory:
        memory.retain(BANK, "Anna met Otto today.", timestamp=EVENING)
        memory.banks.export(BANK, tmp_path / "u.jsonl")
    with Hindsight(tmp_path / "memories") as memory:
        memory.banks.import_(tmp_path / "u.jsonl", "copy")
        for bank in (BANK, "copy"):
            (found,) = memory.memories.list(bank).items
            assert found.mentioned_at.isoformat() == EVENING.isoformat()
            assert found.sources[0].mentioned_at.isoformat() == EVENING.isoformat()


def test_times_of_one_zone_are_told_apart_when_clocks_are_turned_back(berlin: Hindsight) -> None:
    zone = berlin.settings.zone
    for fold in (0, 1):
        said = datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=fold)
        berlin.retain(BANK, f"Anna fed the cat, time {fold}.", timestamp=said)
    first, second = sorted(berlin.memories.list(BANK).items, key=lambda one: one.text)
    assert second.mentioned_at - first.mentioned_at == timedelta(hours=1)


def test_messages_keep_their_zone(memory: Hindsight) -> None:
    said = {"speaker": "Anna", "text": "I met Otto yesterday.", "timestamp": EVENING.isoformat()}
    memory.retain_messages(BANK, [said], session="s")
    assert times(only(memory)) == day(6, NEW_YORK)
    again = {**said, "timestamp": EVENING.astimezone(UTC)}
    assert not memory.retain_messages(BANK, [again], session="s").stored


def test_session_keeps_the_zone_of_a_message(memory: Hindsight) -> None:
    with Session(memory, BANK, "s") as session:
        session.add_message("Anna", "I met Otto today.", timestamp=EVENING)
        session.retain()
    assert times(only(memory)) == day(7, NEW_YORK)


def test_queue_keeps_the_zone_of_a_text(memory: Hindsight, tmp_path: Path) -> None:
    with DurableRetain(memory, tmp_path / "queue") as durable:
        durable.retain(BANK, "Anna met Otto today.", timestamp=EVENING)
    assert times(only(memory)) == day(7, NEW_YORK)


def test_front_matter_keeps_its_zone(memory: Hindsight) -> None:
    text = f"---\ndate: {EVENING.isoformat()}\n---\nAnna met Otto today."
    memory.retain_many(BANK, [Item(text, file="note.md")])
    assert day(7, NEW_YORK) in {(span.start, span.end) for span in only(memory).occurred}


def test_yesterday_is_the_day_before_where_the_question_is_asked(memory: Hindsight) -> None:
    memory.retain(BANK, "Anna met Otto.", timestamp=datetime(2024, 5, 7, 12, tzinfo=UTC))
    asked = datetime(2024, 5, 8, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    for given in (asked, asked.isoformat()):
        result = memory.recall(BANK, "Whom did Anna meet yesterday?", query_time=given)
        (window,) = result.windows
        assert str(window.span) == "7 May 2024"
        assert window.span.start == datetime(2024, 5, 6, 22, tzinfo=UTC)


def test_answer_knows_the_day_of_a_sentence_among_others(memory: Hindsight) -> None:
    text = "Anna met Otto today. Bert visited Clara on 3 May 2024."
    memory.retain(BANK, text, timestamp=EVENING)
    answer = memory.reflect(BANK, "When did Anna meet Otto?")
    assert answer.text.startswith("- 7 May 2024: “Anna met Otto today.”")


def test_corrected_text_keeps_the_zone_in_which_it_was_said(memory: Hindsight) -> None:
    memory.retain(BANK, "I met Otto today.", timestamp=EVENING)
    id = only(memory).id
    assert times(memory.memories.update(BANK, id, text="I met Otto yesterday.")) == day(6, NEW_YORK)
    moved = memory.memories.update(BANK, id, mentioned_at=EVENING + timedelta(days=2))
    assert times(moved) == day(8, NEW_YORK)


def test_times_without_a_zone_are_in_that_of_the_settings(berlin: Hindsight) -> None:
    summer = timezone(timedelta(hours=2))
    berlin.retain(BANK, "Anna met Otto today.", timestamp=datetime(2024, 5, 7, 1))
    found = only(berlin)
    assert found.mentioned_at == datetime(2024, 5, 7, 1, tzinfo=summer)
    assert times(found) == day(7, summer)
    asked = berlin.recall(BANK, "Whom did Anna meet today?", query_time="2024-05-07T23:30")
    assert [(w.span.start, w.span.end) for w in asked.windows] == [day(7, summer)]
    assert asked.windows[0].span == found.occurred[0]


def test_present_is_in_the_zone_of_the_settings(berlin: Hindsight) -> None:
    berlin.retain(BANK, "Anna met Otto today.")
    start = only(berlin).occurred[0].start
    assert start.astimezone(berlin.settings.zone).hour == 0
    result = berlin.recall(BANK, "Whom did Anna meet today?")
    assert result.windows[0].span.start.astimezone(berlin.settings.zone).hour == 0


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"where": {"mentioned_at": "2024-05-07"}}, 1),
        ({"where": {"mentioned_at": date(2024, 5, 7)}}, 1),
        ({"where": {"mentioned_at": "2024-05-06"}}, 0),
        ({"where": {"mentioned_at": {"$gte": "2024-05-07T00:30"}}}, 1),
        ({"where": {"mentioned_at": {"$gte": datetime(2024, 5, 7, 1, 30)}}}, 0),
        ({"window": (date(2024, 5, 7), None)}, 1),
        ({"window": (None, "2024-05-07")}, 0),
        ({"as_of": "2024-05-07T00:30"}, 0),
        ({"as_of": "2024-05-07"}, 1),
        ({"as_of": date(2024, 5, 6)}, 0),
    ],
)
def test_filters_read_days_in_the_zone_of_the_settings(
    berlin: Hindsight, options: dict[str, object], found: int
) -> None:
    berlin.retain(BANK, "Anna met Otto.", timestamp="2024-05-07T01:00")
    assert berlin.memories.list(BANK, **options).total == found  # type: ignore[arg-type]


def test_dates_of_files_are_days_in_the_zone_of_the_settings(berlin: Hindsight) -> None:
    summer = timezone(timedelta(hours=2))
    berlin.retain_many(BANK, [Item("Anna met Otto today.", file="2024-05-07.md")])
    assert times(only(berlin)) == day(7, summer)
    changed = datetime(2024, 5, 7, 23, tzinfo=UTC)
    berlin.retain_many("v", [Item("Anna met Otto today.", file="note.md", modified=changed)])
    (found,) = berlin.memories.list("v").items
    assert times(found) == day(8, summer)


def test_zone_is_read_from_the_environment() -> None:
    assert Settings.from_env({"HINDSIGHT_TIMEZONE": "Europe/Berlin"}).timezone == "Europe/Berlin"
    assert Settings().zone is UTC


@pytest.mark.parametrize("name", ["Nowhere/None", "", "../x", 5, None])
def test_unknown_zone_is_refused(name: object) -> None:
    with pytest.raises(InvalidInputError, match=r"settings\.timezone is"):
        Settings(timezone=name)  # type: ignore[arg-type]


@pytest.mark.parametrize("hours", [-10, -8, 0, 1, 5, 9, 12, 13])
def test_days_are_shown_as_they_were_said(memory: Hindsight, hours: int) -> None:
    zone = timezone(timedelta(hours=hours))
    text = "Anna met Otto on 7 May 2024, and paints since May 2023."
    memory.retain(BANK, text, timestamp=datetime(2024, 5, 8, 12, tzinfo=zone))
    assert "7 May 2024" in {str(span) for span in only(memory).occurred}


def test_times_of_the_clock_are_shown_as_they_were_said(memory: Hindsight) -> None:
    span = TimeSpan(EVENING, EVENING + timedelta(hours=1))
    assert str(span) == "7 May 2024, 21:00 to 22:00"
    assert str(TimeSpan(span.start.astimezone(UTC), span.end)) == str(span)
    assert str(TimeSpan(span.start, span.end.astimezone(UTC))) == str(span)
    memory.retain(BANK, "Anna met Otto at 6 pm today.", timestamp=EVENING)
    (told,) = only(memory).occurred
    assert str(told) == "7 May 2024, 18:00 to 19:00"
    answer = memory.reflect(BANK, "When did Anna meet Otto?")
    assert answer.text.startswith("- 7 May 2024, 18:00: “Anna met Otto at 6 pm today.”")


def test_months_of_a_zone_with_summer_time_are_shown_whole() -> None:
    with Hindsight.in_memory(settings=Settings(timezone="Europe/London")) as london:
        said = datetime(2024, 5, 7, 9)
        london.retain(BANK, "Anna painted the fence in March 2024.", timestamp=said)
        assert str(only(london).occurred[0]) == "1 Mar 2024 to 31 Mar 2024"


def test_messages_of_an_export_are_of_the_zone_of_the_settings(
    berlin: Hindsight, tmp_path: Path
) -> None:
    line = {
        "type": "user",
        "uuid": "1",
        "sessionId": "s",
        "timestamp": "2024-05-07T23:00:00.000Z",
        "message": {"role": "user", "content": "Anna met Otto today."},
    }
    (tmp_path / "s.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    import_transcripts(berlin, BANK, tmp_path)
    assert times(only(berlin)) == day(8, timezone(timedelta(hours=2)))


def test_reflection_memory_keeps_the_zone_of_a_message() -> None:
    with ReflectionMemory(llm=lambda system, user: "[]") as learning:
        entry = learning.add_message("user", "I met Otto today.", timestamp=EVENING)
        assert entry.timestamp.utcoffset() == timedelta(hours=-5)
        assert learning.add_message("user", "Hi.").timestamp.tzinfo is UTC
