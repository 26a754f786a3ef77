"""The date of a file, from its name, its front matter, its first heading or its last change.

These are asked in this order, and the first that gives a day wins: what people put into the name
of a note they keep right. A month alone ("2026-02.md") counts as its first day, unless one of the
later sources gives a day in it. Where day and month could be swapped ("03-02-2026") there is no
date. A heading that is a date dates the text below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from pathlib import PurePosixPath
from typing import NamedTuple

from hindsight_integrations.models import Precision, TimeSpan
from hindsight_integrations.nlp.time import find_times


class DateSource(StrEnum):
    """Places in which the date of a file is found."""

    NAME = "name"
    FRONT_MATTER = "front matter"
    HEADING = "heading"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class FileDate:
    """The date of a file.

    Attributes:
        timestamp: the day at midnight, or the exact time where one is given; in its own zone if
            one is given, or else in that of the reader.
        source: where it was found.
        precision: day, or coarser where a week or month stands for its first day.
    """

    timestamp: datetime
    source: DateSource
    precision: Precision = Precision.DAY


class Section(NamedTuple):
    """A part of a text, and the date of the heading above it; None if it has none."""

    text: str
    timestamp: datetime | None


_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = r"(?P<month>0?[1-9]|1[0-2])"
_DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])"
_NUMERIC = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"(?<!\d){_YEAR}(?P<mark>[-_./ ]){_MONTH}(?P=mark){_DAY}(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)",
        rf"(?<!\d){_DAY}\.\s?{_MONTH}\.\s?{_YEAR}(?!\d)",
        rf"(?<!\d)(?P<first>\d\d?)(?P<mark>[-_/ ])(?P<second>\d\d?)(?P=mark){_YEAR}(?!\d)",
    )
)
_ISO_WEEK = re.compile(r"(?<![\w])((?:19|20)\d\d)-?W(\d\d)(?!\w)", re.ASCII)
_YEAR_MONTH = re.compile(rf"(?<![\d.]){_YEAR}[-_](?P<month>0[1-9]|1[0-2])(?![\d.])", re.ASCII)
_FULL_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)", re.ASCII)

FRONT_MATTER = re.compile(
    r"\A\s*(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>.*?)\n(?P=fence)[ \t]*(?:\n|\Z)", re.DOTALL
)
_FIELD = re.compile(r"^(?P<name>[\w -]+?)\s*[:=]\s*(?P<value>\S.*?)\s*$", re.MULTILINE)
_FIELDS = (
    "date", "datum", "fecha", "day", "created", "created_at", "date_created", "creation_date",
    "date created", "written", "published",
)  # fmt: skip
"""Names of the fields that hold a note's date; the first of this order counts."""

_HEADING = re.compile(r"(?P<marks>#{1,6})[ \t]+(?P<text>\S.*?)[ \t]*#*[ \t]*")
_LINE = re.compile(
    r"[ \t]*(?:\*\*|__)?\[{0,2}(?P<text>\w[^\n#*\]]{4,58}?)\]{0,2}:?(?:\*\*|__)?:?[ \t]*"
)
_LABEL = re.compile(r"\A(?:date|datum|fecha)\s*:\s*", re.IGNORECASE)
_BEFORE_DATE = re.compile(
    r"\b(?:of|on|in|from|since|until|till|before|after|by|about|the|for|due|to|vom|am|bis|seit"
    r"|del|du)\s*\Z",
    re.IGNORECASE,
)


def file_date(
    name: str, text: str = "", modified: datetime | None = None, zone: tzinfo = UTC
) -> FileDate | None:
    """Return the date of a file, or None if nothing tells it.

    Args:
        name: its path or name, such as "notes/2026-02-03 Meeting.md".
        text: its content.
        modified: when it was last changed.
        zone: that of times that carry none.
    """
    candidates = (
        (DateSource.NAME, _date_of_name(name)),
        (DateSource.FRONT_MATTER, _date_of_front_matter(text)),
        (DateSource.HEADING, _date_of_heading(text)),
        (DateSource.MODIFIED, modified),
    )
    dates = [_dated(source, found, zone) for source, found in candidates if found]
    if not dates:
        return None
    first = dates[0]
    exact = (Precision.MINUTE, Precision.DAY)
    if first.precision in exact:
        return first
    days = next(found for _, found in candidates if isinstance(found, TimeSpan))
    inside = (
        date
        for date in dates[1:]
        if date.precision in exact and days.contains(_wall(date.timestamp))
    )
    return next(inside, first)


def _dated(source: DateSource, found: TimeSpan | datetime, zone: tzinfo) -> FileDate:
    """Return the date found: days, as if they were in UTC, or an exact time."""
    if isinstance(found, TimeSpan):
        return FileDate(found.start.replace(tzinfo=zone), source, found.precision)
    timestamp = found.replace(tzinfo=found.tzinfo or zone)
    return FileDate(timestamp, source, Precision.MINUTE)


def _wall(timestamp: datetime) -> datetime:
    """Return what a clock shows at this time in its zone, as if it were in UTC."""
    return timestamp.replace(tzinfo=UTC)


def dated_sections(text: str, date: FileDate | None, zone: tzinfo = UTC) -> list[Section]:
    """Cut a text where a heading is a date; the texts join to it.

    A section reaches to the next dated heading, or to a heading of the same or a higher level.
    Text before the first dated heading is a section without a date. A heading without a year takes
    the one nearest to the date of the file, or before its last change.
    """
    cuts = date_changes(text, date, zone)
    if cuts and _only_leads(text[: cuts[0][0]]):
        cuts[0] = (0, cuts[0][1])  # it would say nothing by itself
    else:
        cuts.insert(0, (0, None))
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [
        Section(text[start:end], timestamp)
        for (start, timestamp), end in zip(cuts, ends, strict=True)
        if text[start:end].strip()
    ]


def date_changes(
    text: str, date: FileDate | None, zone: tzinfo = UTC
) -> list[tuple[int, datetime | None]]:
    """Return the offsets at which the date of a text changes, each with the new date, in order.

    The new dates are days at midnight in `zone`.
    """
    return [(start, day and day.replace(tzinfo=zone)) for start, day in _cuts(text, date)]


def is_dateline(text: str, offset: int) -> bool:
    """Return True if a time at this offset dates the text: in a heading, or in a field for it."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end]
    if heading := _HEADING.fullmatch(line):
        return _date_of_words(heading["text"], None) is not None
    alone = _LINE.fullmatch(line)
    if alone and _is_date_alone(alone["text"]):
        return True
    field = _FIELD.fullmatch(line) if offset < _end_of_front_matter(text) else None
    return field is not None and field["name"].strip().casefold() in _FIELDS


def _cuts(text: str, date: FileDate | None) -> Iterator[tuple[int, datetime | None]]:
    """Yield the offsets at which the date of the text changes, each with the new date."""
    level: int | None = None
    for start, depth, words in _headings(text, _end_of_front_matter(text)):
        span = _date_of_words(words, date)
        if span is not None and span.precision is Precision.DAY:
            level = depth
            yield start, span.start
        elif level is not None and depth and level and depth <= level:
            level = None
            yield start, None


def _end_of_front_matter(text: str) -> int:
    front = FRONT_MATTER.match(text)
    return front.end() if front else 0


def _only_leads(text: str) -> bool:
    """Return True if a text holds nothing but front matter and headings."""
    lines = FRONT_MATTER.sub("", text).splitlines()
    return all(not line.strip() or _HEADING.fullmatch(line) for line in lines)


def _headings(text: str, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield offset, level and words of each heading; a line that is a date has level 0."""
    fenced = False
    offset = start
    for line in text[start:].splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if bare.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            if heading := _HEADING.fullmatch(bare):
                yield offset, len(heading["marks"]), heading["text"]
            elif (alone := _LINE.fullmatch(bare)) and _is_date_alone(alone["text"]):
                yield offset, 0, alone["text"]
        offset += len(line)


def _date_of_name(name: str) -> TimeSpan | None:
    """Return the day, week or month in a file's name, or the day in its path: 2026/02/03.md."""
    path = PurePosixPath(name.replace("\\", "/"))
    stem = path.stem if path.suffix[1:].isalpha() else path.name
    if span := _numeric_day(stem) or _week(stem) or _month(stem):
        return span
    if span := _worded(stem.replace("_", " ").replace("-", " "), None):
        return span
    return _numeric_day("-".join((*path.parts[-3:-1], stem))) if stem.isdigit() else None


def _date_of_front_matter(text: str) -> TimeSpan | datetime | None:
    """Return the date of the front matter: YAML between "---", or TOML between "+++"."""
    front = FRONT_MATTER.match(text)
    if front is None:
        return None
    fields = {
        field["name"].strip().casefold(): field["value"].strip("\"' ")
        for field in _FIELD.finditer(front["fields"])
    }
    values = (fields[name] for name in _FIELDS if name in fields)
    return next((span for value in values if (span := _value(value))), None)


def _value(text: str) -> TimeSpan | datetime | None:
    """Return the days or the exact time that a value of front matter gives."""
    try:
        timestamp = datetime.fromisoformat(text)
    except ValueError:
        return _numeric_day(text) or _worded(text, None) or _month(text)
    return TimeSpan.of_day(timestamp) if len(text) <= len("2026-02-03") else timestamp


def _date_of_heading(text: str) -> TimeSpan | None:
    """Return the date of the first heading, or of a first line that is nothing but a date."""
    body = text[_end_of_front_matter(text) :]
    first = next((line.strip() for line in body.splitlines() if line.strip()), "")
    alone = _LINE.fullmatch(first)
    if alone and _is_date_alone(alone["text"]):
        return _date_of_words(alone["text"], None)
    heading = next((words for _, depth, words in _headings(body, 0) if depth), None)
    return _date_of_words(heading, None) if heading else None


def _is_date_alone(line: str) -> bool:
    """Return True if a line is a date with its year, and a weekday or a label at most."""
    words = _LABEL.sub("", line)
    if not _FULL_YEAR.search(words):
        return False
    if any(pattern.fullmatch(words) for pattern in _NUMERIC[:3]):
        return True
    times = find_times(words, datetime(2000, 1, 1, tzinfo=UTC))
    if len(times) != 1 or times[0].span.precision is not Precision.DAY:
        return False
    return not words.replace(times[0].text, "", 1).strip(" ,.()[]*:")


def _date_of_words(words: str, date: FileDate | None) -> TimeSpan | None:
    """Return the date that a heading begins or ends with, if it is not about that date."""
    for pattern in _NUMERIC:
        match = pattern.search(words)
        if match and _stands_apart(words, match.start(), match.end()):
            return _day_of(match)
    return _worded(words, date)


def _worded(words: str, date: FileDate | None) -> TimeSpan | None:
    """Return the day or month that words give: "Tuesday, 3 February 2026"."""
    reference = _wall(date.timestamp) if date else datetime(2000, 1, 1, tzinfo=UTC)
    for time in find_times(words, reference):
        spelled = _FULL_YEAR.search(time.text) is not None
        if not _stands_apart(words, time.start_char, time.end_char):
            continue
        if spelled and time.span.precision in (Precision.DAY, Precision.MONTH):
            return time.span
        is_day = time.span.precision is Precision.DAY
        if date and not spelled and is_day and re.search(r"\d", time.text):
            return _in_reach(time.span, date)
    return None


def _in_reach(span: TimeSpan, date: FileDate) -> TimeSpan:
    """Return the day of that name before the last change, if only that dates the file."""
    if date.source is not DateSource.MODIFIED or span.start <= _wall(date.timestamp):
        return span
    year = span.start.year - 1
    try:
        return TimeSpan.of_day(span.start.replace(year=year))
    except ValueError:  # 29 February
        return span


def _stands_apart(words: str, start: int, end: int) -> bool:
    """Return True for a date at the start or the end that is no part of a phrase."""
    if not words[:start].strip(" \t*_[("):
        return True
    return not words[end:].strip(" \t*_]).:") and not _BEFORE_DATE.search(words[:start])


def _numeric_day(text: str) -> TimeSpan | None:
    """Return the first day given in figures whose order of day and month is plain."""
    matches = (match for pattern in _NUMERIC for match in pattern.finditer(text))
    return next((span for match in matches if (span := _day_of(match))), None)


def _day_of(match: re.Match[str]) -> TimeSpan | None:
    groups = match.groupdict()
    if "first" in groups:
        first, second = int(groups["first"]), int(groups["second"])
        if first <= 12 and second <= 12 and first != second:
            return None
        day, month = (first, second) if first > 12 else (second, first)
    else:
        day, month = int(groups["day"]), int(groups["month"])
    try:
        return TimeSpan.of_day(datetime(int(groups["year"]), month, day, tzinfo=UTC))
    except ValueError:
        return None


def _week(text: str) -> TimeSpan | None:
    """Return the ISO week that a text names: 2026-W06."""
    match = _ISO_WEEK.search(text)
    if match is None:
        return None
    try:
        start = datetime.fromisocalendar(int(match[1]), int(match[2]), 1).replace(tzinfo=UTC)
    except ValueError:
        return None
    return TimeSpan(start, start + timedelta(weeks=1), Precision.WEEK)


def _month(text: str) -> TimeSpan | None:
    """Return the month that a text names in figures: 2026-02."""
    match = _YEAR_MONTH.search(text)
    if match is None:
        return None
    start = datetime(int(match["year"]), int(match["month"]), 1, tzinfo=UTC)
    return TimeSpan(start, (start + timedelta(days=31)).replace(day=1), Precision.MONTH)
