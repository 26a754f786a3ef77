"""A recall's arguments, checked at the door."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.model import MemoryType, MetadataValue, TimeSpan, as_moment
from hindsight_integrations.recall.ports import Budget
from hindsight_integrations.results import Arm
from hindsight_integrations.storage.requests import (
    Condition,
    MemoryFilter,
    Operator,
    TagsMatch,
)

ALL_ARMS = frozenset(Arm)

Where = Mapping[str, MetadataValue | Mapping[str, MetadataValue | Sequence[MetadataValue]]]


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What is asked, of which banks, within which bounds."""

    bank_ids: tuple[str, ...]
    query: str
    max_tokens: int
    budget: Budget
    arms: frozenset[Arm]
    filter: MemoryFilter
    asked_at: datetime
    min_score: float | None = None
    chunk_tokens: int = 0
    entity_tokens: int = 0
    prefer_observations: bool = False


def recall_request(
    bank_id: str | Sequence[str],
    query: str,
    *,
    max_tokens: int,
    budget: str = "mid",
    types: Iterable[MemoryType | str] | None = None,
    arms: Iterable[Arm | str] | None = None,
    tags: Sequence[str] = (),
    tags_match: str = "any",
    where: Where | None = None,
    scope: str | None = None,
    window: TimeSpan | tuple[datetime, datetime] | None = None,
    query_time: datetime | None = None,
    as_of: datetime | None = None,
    min_score: float | None = None,
    chunk_tokens: int = 0,
    entity_tokens: int = 0,
    prefer_observations: bool = False,
) -> RecallRequest:
    """The request, if every argument is one recall can act on.

    Raises:
        InvalidInputError: an argument is not; the message says which, and what to give.
    """
    banks = (bank_id,) if isinstance(bank_id, str) else tuple(bank_id)
    if not banks:
        raise InvalidInputError("no bank was named; give a bank id, or several")
    if budget not in get_args(Budget):
        raise InvalidInputError(f"budget is {budget!r}; give 'low', 'mid' or 'high'")
    if tags_match not in get_args(TagsMatch):
        raise InvalidInputError(f"tags_match is {tags_match!r}; give 'any' or 'all'")
    if min_score is not None and not (
        isinstance(min_score, int | float) and math.isfinite(min_score) and 0 <= min_score <= 1
    ):
        raise InvalidInputError(f"min_score is {min_score!r}; give a number from 0 to 1, or None")
    asked_at = as_moment(checks.moment("query_time", query_time))
    return RecallRequest(
        bank_ids=tuple(dict.fromkeys(checks.bank_id(bank) for bank in banks)),
        query=checks.query(query),
        max_tokens=checks.positive("max_tokens", max_tokens),
        budget=budget,  # type: ignore[arg-type]
        arms=_arms(arms),
        filter=MemoryFilter(
            now=as_moment(None),
            types=None if types is None else checks.memory_types(types),
            tags=checks.tags(tags),
            tags_match=tags_match,  # type: ignore[arg-type]
            where=conditions(where or {}),
            scope=None if scope is None else checks.label("scope", scope),
            window=_window(window),
            as_of=None if as_of is None else as_moment(checks.moment("as_of", as_of)),
        ),
        asked_at=asked_at,
        min_score=min_score,
        chunk_tokens=checks.not_negative("chunk_tokens", chunk_tokens),
        entity_tokens=checks.not_negative("entity_tokens", entity_tokens),
        prefer_observations=bool(prefer_observations),
    )


_OPERATORS: dict[str, Operator] = {name: name for name in get_args(Operator)}


def conditions(where: Where) -> tuple[Condition, ...]:
    """Metadata conditions from `{"field": value}` or `{"field": {"$gte": value, ...}}`.

    Raises:
        InvalidInputError: an operator is unknown, or a value is of a kind it cannot take.
    """
    found = []
    for field, test in where.items():
        tests = test if isinstance(test, Mapping) else {"$eq": test}
        for operator, value in tests.items():
            if operator not in _OPERATORS:
                raise InvalidInputError(
                    f"where[{field!r}] uses {operator!r}; the operators are {', '.join(_OPERATORS)}"
                )
            if operator in ("$in", "$nin"):
                if isinstance(value, str) or not isinstance(value, Sequence):
                    raise InvalidInputError(f"where[{field!r}][{operator!r}] takes a list")
                values = tuple(checks.metadata_value(field, v) for v in value)
                found.append(Condition(field, _OPERATORS[operator], values))
            else:
                single = checks.metadata_value(field, value)
                found.append(Condition(field, _OPERATORS[operator], single))
    return tuple(found)


def _arms(arms: Iterable[Arm | str] | None) -> frozenset[Arm]:
    if arms is None:
        return ALL_ARMS
    names = [arms] if isinstance(arms, str) else list(arms)
    try:
        chosen = frozenset(Arm(name) for name in names)
    except ValueError as error:
        raise InvalidInputError(
            f"arms is {names!r}; choose from {', '.join(sorted(Arm))}"
        ) from error
    if not chosen:
        raise InvalidInputError(f"arms is empty; choose from {', '.join(sorted(Arm))}")
    return chosen


def _window(window: TimeSpan | tuple[datetime, datetime] | None) -> TimeSpan | None:
    if window is None or isinstance(window, TimeSpan):
        return window
    try:
        start, end = window
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"window is {window!r}; give a TimeSpan, or a pair of datetimes (start, end)"
        ) from error
    return TimeSpan(checks.moment("window", start), checks.moment("window", end))
