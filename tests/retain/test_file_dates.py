"""The date of a file and of the sections in it, by itself and through the public API."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Precision
from hindsight_integrations.retain.file_dates import (
    DateSource,
    FileDate,
    dated_sections,
    file_date,
)

CHANGED = datetime(2026, 3, 9, 12, tzinfo=UTC)
THIRD = datetime(2026, 2, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    "name",
    [
        "2026-02-03.md",
        "20260203-notes.txt",
        "2026-02-03 Meeting.md",
        "2026_02_03.txt",
        "03.02.2026.md",
        "3.2.2026.md",
        "minutes 2026.02.03.txt",
        "3 February 2026.md",
        "Feb 3, 2026.md",
        "journal/2026/02/03.md",
        "notes\\2026-02-03.md",
    ],
)
def test_a_name_gives_the_day(name: str) -> None:
    assert file_date(name, "# 2020-01-01", CHANGED) == FileDate(THIRD, DateSource.NAME)


@pytest.mark.parametrize(
    "name",
    [
        "notes.md",
        "v3.11.md",
        "report 2026.md",
        "03-02-2026.md",  # of February or of March
        "2026-13-45.md",
        "30.02.2026.md",
        "IMG_12345678901.txt",
        "May.md",
    ],
)
def test_a_name_without_a_plain_date_leaves_it_to_the_last_change(name: str) -> None:
    date = file_date(name, "", CHANGED)
    assert date == FileDate(CHANGED, DateSource.MODIFIED, Precision.MINUTE)
    assert file_date(name) is None


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Plan\ndate: 2026-02-03\n---\n# 2020-01-01\n",
        "---\ncreated: '2026-02-03'\nupdated: 2026-03-01\n---\n",
        "---\ncreated: 3 February 2026\n---\n",
        "+++\ndate = 2026-02-03\n+++\n",
    ],
)
def test_front_matter_gives_the_day(text: str) -> None:
    assert file_date("note.md", text, CHANGED) == FileDate(THIRD, DateSource.FRONT_MATTER)


def test_front_matter_may_give_the_time_in_a_zone_of_its_own() -> None:
    date = file_date("note.md", "---\ndate: 2026-02-03T09:30:00+01:00\n---\n", CHANGED)
    exact = datetime(2026, 2, 3, 8, 30, tzinfo=UTC)
    assert date == FileDate(exact, DateSource.FRONT_MATTER, Precision.MINUTE)


@pytest.mark.parametrize(
    "text",
    [
        "# Tuesday, 3 February 2026\nDentist tomorrow.",
        "# 2026-02-03",
        "# Meeting notes – 3 Feb 2026\n",
        "# Call with Bob (2026-02-03)\n",
        "# 3. Februar 2026",
        "Tuesday, 3 February 2026\n\nDentist tomorrow.",
        "Date: 2026-02-03\n\nDentist tomorrow.",
        "---\ndate: soon\n---\n# 2026-02-03\n",
    ],
)
def test_the_first_heading_gives_the_day(text: str) -> None:
    assert file_date("note.md", text, CHANGED) == FileDate(THIRD, DateSource.HEADING)


@pytest.mark.parametrize(
    "text",
    [
        "# History of 3 February 2026",
        "# Plans for 3 February 2026",
        "# Notes\n\n## 2026-02-03\n",
        "We met on 2026-02-03.\n",
    ],
)
def test_a_heading_about_a_date_and_a_date_in_the_text_do_not_date_it(text: str) -> None:
    date = file_date("note.md", text, CHANGED)
    assert date is not None
    assert date.source is DateSource.MODIFIED


def test_a_month_is_its_first_day_unless_a_later_source_gives_a_day_in_it() -> None:
    first = FileDate(datetime(2026, 2, 1, tzinfo=UTC), DateSource.NAME, Precision.MONTH)
    assert file_date("2026-02.md", "", CHANGED) == first
    assert file_date("2026-02.md", "# 2026-02-03", CHANGED) == FileDate(THIRD, DateSource.HEADING)
    assert file_date("2026-02.md", "# 2026-04-03", CHANGED) == first
    week = file_date("2026-W06.md")
    assert week == FileDate(datetime(2026, 2, 2, tzinfo=UTC), DateSource.NAME, Precision.WEEK)


JOURNAL = """---
mood: fine
---
# Journal

## 3 Feb

Tomorrow I fly to Oslo.

### Packing
Boots.

## 4 February 2026
Ran today.

## Ideas
Buy a boat.

2026-02-07
Snow.
```
# 2020-01-01
```
"""


def test_dated_headings_date_their_sections() -> None:
    sections = dated_sections(JOURNAL, file_date("2026-02.md", JOURNAL))
    assert "".join(section.text for section in sections) == JOURNAL
    days = [section.timestamp and section.timestamp.day for section in sections]
    assert days == [3, 4, None, 7]
    assert "Packing" in sections[0].text


def test_a_heading_without_a_year_lies_before_the_last_change() -> None:
    text = "## 3 December\nSnow."
    (section,) = dated_sections(text, file_date("journal.md", text, CHANGED))
    assert section.timestamp == datetime(2025, 12, 3, tzinfo=UTC)
    (undated,) = dated_sections(text, None)
    assert undated.timestamp is None


def test_tomorrow_counts_from_the_date_of_the_file() -> None:
    with Hindsight.in_memory() as memory:
        items = [
            {"content": "The dentist is tomorrow.", "file": "2026-02-03.md", "document_id": "a"},
            {
                "content": "# Log\n\n## 2026-02-05\n\nTomorrow I fly to Oslo.",
                "file": "log.md",
                "modified": CHANGED,
                "document_id": "b",
            },
            {
                "content": "Bob calls tomorrow.",
                "file": "2026-02-03.md",
                "timestamp": CHANGED,
                "document_id": "c",
            },
        ]
        result = memory.retain_many("alice", items)
        by_document = {one.document_id: one for one in result.stored}
        starts = {id: one.occurred_start for id, one in by_document.items()}
        assert starts == {
            "a": datetime(2026, 2, 4, tzinfo=UTC),
            "b": datetime(2026, 2, 6, tzinfo=UTC),
            "c": datetime(2026, 3, 10, tzinfo=UTC),
        }
        assert len(by_document["b"].occurred) == 1  # the heading's date is when it was written
        assert by_document["b"].mentioned_at == datetime(2026, 2, 5, tzinfo=UTC)


def test_a_new_last_change_alone_is_no_change() -> None:
    with Hindsight.in_memory() as memory:
        item = {"content": "Ruth keeps bees.", "file": "bees.md", "document_id": "bees"}
        (first,) = memory.retain_many("alice", [item | {"modified": THIRD}]).stored
        again = memory.retain_many("alice", [item | {"modified": CHANGED}])
        assert first.mentioned_at == THIRD
        assert again.stored == ()


def test_a_file_needs_a_name_and_its_change_a_time() -> None:
    with Hindsight.in_memory() as memory:
        (failed,) = memory.retain_many("alice", [{"content": "x", "file": " "}]).failed
        assert isinstance(failed.error, InvalidInputError)
        bad = {"content": "x", "file": "a.md", "modified": "yesterday"}
        (failed,) = memory.retain_many("alice", [bad]).failed
        assert "modified" in str(failed.error)
