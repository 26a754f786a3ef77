"""The filter as a predicate: what a store's search of `MemoryFilter` must admit.

Stores translate a filter into their own query language. This is its definition, for stores that
hold memories as objects, and for the contract tests of those that do not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hindsight_integrations.models import Memory, MetadataValue
from hindsight_integrations.stores.base import MemoryFilter, MemoryRecord
from hindsight_integrations.stores.conditions import (
    MENTIONED_AT,
    AllOf,
    AnyOf,
    Condition,
    Not,
    Test,
    mention_ranges,
)
from hindsight_integrations.stores.times import TimeRow, micros, time_rows
from hindsight_integrations.timespan import TimeSpan

_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$contains": operator.contains,
    "$icontains": lambda value, part: part.lower() in value.lower(),
}


def passes(record: MemoryRecord, filter: MemoryFilter, names: Sequence[str] = ()) -> bool:
    """Return True if a memory passes the filter; see `MemoryFilter`.

    `names` are those of the entities that the memory mentions, aliases included.
    """
    memory = record.memory
    tags = [tag in memory.tags for tag in filter.tags]
    return (
        (filter.now is None or memory.expires_at is None or memory.expires_at > filter.now)
        and _is_valid_for(memory, filter)
        and (filter.types is None or memory.type in filter.types)
        and (not tags or (any(tags) if filter.tags_match == "any" else all(tags)))
        and filter.scope in (None, memory.scope)
        and filter.derived in (None, memory.derived)
        and filter.pinned in (None, memory.pinned)
        and filter.document_id in (None, *(source.document_id for source in memory.sources))
        and (not filter.entity_ids or not {*filter.entity_ids}.isdisjoint(record.entity_ids))
        and (filter.window is None or _names_time_in(memory, filter.window))
        and (filter.text is None or filter.text.lower() in memory.text.lower())
        and (filter.updated_since is None or memory.updated_at >= filter.updated_since)
        and all(_meets(memory, names, test) for test in filter.where)
    )


def times_in(memory: Memory, window: TimeSpan) -> list[TimeRow]:
    """Return the times of a memory that overlap a window."""
    start, end = micros(window.start), micros(window.end)
    return [row for row in time_rows(memory) if row.start < end and row.end > start]


def _names_time_in(memory: Memory, window: TimeSpan) -> bool:
    """Return True if a time that the text names, or else that of saying, is in a window."""
    return any(row.ordinal or not memory.occurred for row in times_in(memory, window))


def _is_valid_for(memory: Memory, filter: MemoryFilter) -> bool:
    """Return True if the memory is valid at the filter's time, as far as the filter asks."""
    invalidated_at, expires_at = memory.invalidated_at, memory.expires_at
    if filter.only_invalid and invalidated_at is None:
        return False
    if filter.expired_by and (expires_at is None or expires_at > filter.expired_by):
        return False
    if filter.as_of is None:
        return filter.include_invalid or invalidated_at is None
    was_said = memory.mentioned_at <= filter.as_of
    if filter.include_invalid:
        return was_said or invalidated_at is not None
    return was_said and (invalidated_at is None or invalidated_at > filter.as_of)


def _meets(memory: Memory, names: Sequence[str], test: Test) -> bool:
    """Return True if a memory passes a test of `MemoryFilter.where`."""
    match test:
        case AllOf():
            return all(_meets(memory, names, each) for each in test.tests)
        case AnyOf():
            return any(_meets(memory, names, each) for each in test.tests)
        case Not():
            return not _meets(memory, names, test.test)
    condition, is_negated = test.positive()
    return _meets_condition(memory, names, condition) != is_negated


def _meets_condition(memory: Memory, names: Sequence[str], condition: Condition) -> bool:
    if condition.field == MENTIONED_AT and any(
        (not start or memory.mentioned_at >= start) and (not end or memory.mentioned_at < end)
        for start, end in mention_ranges(condition)
    ):
        return True
    values: list[MetadataValue] = [*_own_values(memory, names).get(condition.field, ())]
    if condition.field in memory.metadata:
        values.append(memory.metadata[condition.field])
    if condition.operator == "$exists":
        return bool(values)
    return any(_compares(value, condition) for value in values)


def _compares(value: MetadataValue, condition: Condition) -> bool:
    """Return True if a value stands to one of the condition's, of the same kind, as it says."""
    kind = _kind_of(value)
    check: Callable[[Any, Any], bool] = _TESTS.get(condition.operator, operator.eq)
    comparable = kind is str if "contains" in condition.operator else kind is not bool
    if check is not operator.eq and not comparable:
        return False
    return any(check(value, given) for given in condition.values if _kind_of(given) is kind)


def _own_values(memory: Memory, names: Sequence[str]) -> dict[str, Sequence[str]]:
    single = {"scope": memory.scope, "speaker": memory.speaker, "context": memory.context}
    return {
        "type": [memory.type.value],
        "tags": memory.tags,
        "entities": names,
        "document_id": [each.document_id for each in memory.sources if each.document_id],
        **{field: [] if value is None else [value] for field, value in single.items()},
    }


def _kind_of(value: object) -> type:
    return type(value) if isinstance(value, (bool, str)) else float
