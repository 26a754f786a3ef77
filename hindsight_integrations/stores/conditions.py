"""Conditions on the fields of a memory, as a filter combines them.

A field is one of the memory's metadata, or one of `OWN_FIELDS`, which every memory has. It has any
number of values: a memory has several tags, and a metadata field of yours may be called "type".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal, NamedTuple, TypeAlias

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import MemoryType, MetadataValue
from hindsight_integrations.timespan import TimeSpan, as_utc

Operator: TypeAlias = Literal[
    "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$icontains", "$exists"
]

MENTIONED_AT = "mentioned_at"
OWN_FIELDS = frozenset(
    {"type", "speaker", "context", "scope", "document_id", "tags", "entities", MENTIONED_AT}
)
"""Fields of a memory itself: of all its sources, and with the aliases of its entities."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One test on a field, passed if any of the field's values passes it.

    `$ne` and `$nin` are passed if no value is equal, so also by a memory without the field, and
    `$exists: False` by such a memory only. Numbers compare with numbers, text with text, booleans
    only for equality; values of different kinds are never equal. `$contains` looks for a text
    within texts, `$icontains` whatever its case. `mentioned_at` compares as times; see
    `mention_ranges`.
    """

    field: str
    operator: Operator
    value: MetadataValue | tuple[MetadataValue, ...]

    @property
    def values(self) -> tuple[MetadataValue, ...]:
        """The values to compare with: several for `$in`."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def is_exact(self) -> bool:
        """Return True if only memories pass that have one of `values` in their metadata."""
        return self.operator in ("$eq", "$in") and self.field not in OWN_FIELDS

    @property
    def is_presence(self) -> bool:
        """Return True if exactly those memories pass that have the field in their metadata."""
        return self.operator == "$exists" and bool(self.value) and self.field not in OWN_FIELDS

    def positive(self) -> tuple[Condition, bool]:
        """Return the condition without its negation, and True if it was negated."""
        match self.operator:
            case "$ne":
                return replace(self, operator="$eq"), True
            case "$nin":
                return replace(self, operator="$in"), True
            case "$exists":
                return replace(self, value=True), not self.value
        return self, False


@dataclass(frozen=True, slots=True)
class AllOf:
    """Passed if every test is passed; with no tests, by all."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Passed if at least one test is passed."""

    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Passed if the test is not passed."""

    test: Test


Test: TypeAlias = Condition | AllOf | AnyOf | Not


def tests_nothing(test: Test) -> bool:
    """Return True if every memory passes, as it asks for nothing."""
    match test:
        case AllOf():
            return all(map(tests_nothing, test.tests))
        case AnyOf():
            return any(map(tests_nothing, test.tests))
        case Not():
            return _admits_none(test.test)
    return test.operator == "$nin" and not test.values


def _admits_none(test: Test) -> bool:
    """Return True if no memory passes, whatever it has."""
    match test:
        case AllOf():
            return any(map(_admits_none, test.tests))
        case AnyOf():
            return all(map(_admits_none, test.tests))
        case Not():
            return tests_nothing(test.test)
    return test.operator == "$in" and not test.values


def needed_fields(tests: Iterable[Test]) -> set[str]:
    """Return the metadata fields without which no memory passes one of these tests, or a part.

    Tests that a memory without the field passes, such as `$ne`, need none, and `$exists` asks.
    """
    needed: set[str] = set()
    for test in tests:
        match test:
            case AllOf() | AnyOf():
                needed |= needed_fields(test.tests)
            case Condition() if not (test.positive()[1] or test.operator == "$exists"):
                needed |= {test.field} - OWN_FIELDS
    return needed


_SHAPE = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ](?P<minutes>\d\d:\d\d)(?P<seconds>:.+?)?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?"
)


class TimeRange(NamedTuple):
    """Times from `start`, which belongs to it, to `end`, which does not; None is unlimited."""

    start: datetime | None
    end: datetime | None


def mention_ranges(condition: Condition) -> list[TimeRange]:
    """Return the ranges of which one must hold `mentioned_at`, for a condition that is positive.

    A text is ISO 8601, and stands for all that it leaves open: "2024-05-07" for the day,
    "2024-05-07T13:56" for the minute. A value that is no time has no range.
    """
    if condition.operator == "$exists":
        return [TimeRange(None, None)]
    spans = [_span(value) for value in condition.values]
    made = [_range(condition.operator, *span) for span in spans if span is not None]
    return [one for one in made if one is not None]


def checked_time(value: object, zone: tzinfo = UTC) -> str:
    """Return a time to compare `mentioned_at` with as text; one without an offset is in `zone`.

    Raises:
        InvalidInputError: it is no time.
    """
    text = value.isoformat() if isinstance(value, date) else value
    if not isinstance(text, str) or _span(text) is None:
        raise InvalidInputError(
            f"where['{MENTIONED_AT}'] compares with {value!r}; give a datetime, a date or ISO 8601 "
            "text, such as 2024-05-07 or 2024-05-07T13:56"
        )
    time = _time(text)
    if zone is UTC or time.tzinfo is not None:
        return text
    offset = time.replace(tzinfo=zone).isoformat()[len(time.isoformat()) :]
    return f"{text}{offset}" if _SHAPE.fullmatch(text) else f"{time.isoformat()}{offset}"


def _time(text: str) -> datetime:
    """Return the first time that ISO 8601 text stands for; a day may have an offset, too.

    Raises:
        ValueError: it is none.
    """
    shape = _SHAPE.fullmatch(text)
    if shape and shape["zone"] and not shape["minutes"]:
        text = f"{text[: shape.start('zone')]}T00:00{shape['zone']}"
    return datetime.fromisoformat(text)


def _span(value: MetadataValue) -> tuple[datetime, datetime] | None:
    """Return the first time that a text stands for, and the first after them."""
    if not isinstance(value, str):
        return None
    try:
        start = as_utc(_time(value))
    except ValueError:
        return None
    shape = _SHAPE.fullmatch(value)
    length = timedelta(microseconds=1)
    if shape and not shape["seconds"]:
        length = timedelta(minutes=1) if shape["minutes"] else timedelta(days=1)
    try:
        return start, start + length
    except OverflowError:
        return start, datetime.max.replace(tzinfo=UTC)


def _range(operator: Operator, start: datetime, end: datetime) -> TimeRange | None:
    match operator:
        case "$eq" | "$in":
            return TimeRange(start, end)
        case "$gt":
            return TimeRange(end, None)
        case "$gte":
            return TimeRange(start, None)
        case "$lt":
            return TimeRange(None, start)
        case "$lte":
            return TimeRange(None, end)
    return None


TagsMatch: TypeAlias = Literal["any", "all"]


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """The memories of a bank that a search may return; every part must hold.

    Attributes:
        now: memories whose `expires_at` is at or before it are left out; with None, none are.
        types: any of these.
        tags: with `tags_match` "any", at least one; with "all", each.
        where: tests on fields, of metadata or the memory's own.
        scope: exactly this scope.
        document_id: stated in this document, first or again.
        entity_ids: mentions any of these entities.
        window: a time the memory names overlaps the window; for a memory that names none, the
            time it was first said lies inside.
        as_of: known then: said at or before, and not invalidated by then.
        include_invalid: also those invalidated (`as_of` is then not checked for them).
        derived: only those that the engine drew, or with False only those that were given.
        text: its text holds this, whatever the case.
        only_invalid: only those invalidated; for use with `include_invalid`.
        expired_by: only those that expired at or before it; for use without `now`.
        updated_since: stored or changed at or after it.
        pinned: only those pinned, or with False only the others.
    """

    now: datetime | None
    types: frozenset[MemoryType] | None = None
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = "any"
    where: tuple[Test, ...] = ()
    scope: str | None = None
    document_id: str | None = None
    entity_ids: tuple[str, ...] = ()
    window: TimeSpan | None = None
    as_of: datetime | None = None
    include_invalid: bool = False
    derived: bool | None = None
    text: str | None = None
    only_invalid: bool = False
    expired_by: datetime | None = None
    updated_since: datetime | None = None
    pinned: bool | None = None

    @property
    def is_selective(self) -> bool:
        """Return True if it asks for more than valid memories of some types."""
        exact = (self.scope, self.document_id, self.derived, self.text, self.pinned)
        times = (self.window, self.as_of, self.expired_by, self.updated_since)
        some = bool(self.tags or self.where or self.entity_ids or self.only_invalid)
        return some or any(value is not None for value in (*exact, *times))

    @property
    def is_plain(self) -> bool:
        """Return True if all valid memories pass that have not expired, and no others."""
        return not self.is_selective and self.types is None and not self.include_invalid


EVERYTHING = MemoryFilter(now=None, include_invalid=True)
"""Admits every memory of a bank, expired and invalidated ones too."""

NO_LIMIT = 1 << 31
"""A `limit` above the number of memories, links or queue entries that a bank can have."""
