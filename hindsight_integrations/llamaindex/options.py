"""Recall as the adapters ask for it: options by name, and a missing bank taken as an empty one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilters

from hindsight_integrations import checks
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import BankNotFoundError, InvalidInputError
from hindsight_integrations.model import MemoryType, TimeSpan
from hindsight_integrations.recall.request import Where
from hindsight_integrations.results import Arm, RecallResult

log = logging.getLogger("hindsight_integrations")

BankIds = str | Sequence[str]


class RecallOptions(TypedDict, total=False):
    """The keyword arguments of `Hindsight.recall`, with the meaning they have there."""

    max_tokens: int | None
    budget: str
    types: Iterable[MemoryType | str] | None
    arms: Iterable[Arm | str] | None
    tags: Sequence[str]
    tags_match: str
    where: Where | None
    scope: str | None
    window: TimeSpan | tuple[datetime, datetime] | None
    query_time: datetime | None
    as_of: datetime | None
    min_score: float | None
    chunk_tokens: int
    entity_tokens: int
    prefer_observations: bool


def checked_options(given: Mapping[str, object], kind: type = RecallOptions) -> None:
    """Refuse, when an adapter is made, an option that would only fail when it is used.

    Raises:
        InvalidInputError: one has no such name.
    """
    known = kind.__annotations__
    if unknown := sorted(set(given) - set(known)):
        raise InvalidInputError(f"no option is called {unknown[0]!r}; there are {', '.join(known)}")


def recall(
    memory: Hindsight, bank_id: BankIds, query: str, options: Mapping[str, Any]
) -> RecallResult:
    """What the banks hold on a question; nothing for those that do not exist.

    Raises:
        InvalidInputError: an argument cannot be used.
        StoreUnavailableError: every arm failed. If only some did, the log says so.
    """
    try:
        result = memory.recall(bank_id, query, **options)
    except BankNotFoundError:
        banks = [] if isinstance(bank_id, str) else [b for b in bank_id if _exists(memory, b)]
        if not banks:
            return RecallResult(_listed(bank_id), query)
        result = memory.recall(banks, query, **options)
    for failure in result.failures:
        log.warning("recall went on without a part that failed: %s", failure)
    return result


def as_question(text: str) -> str:
    """A text of any length, such as a whole chat message, cut to what can be asked; "" if blank."""
    text = text.strip()
    return text[: checks.MAX_QUERY] if any(map(checks.is_visible, text)) else ""


_OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
}


def where_from(filters: MetadataFilters) -> Where:
    """LlamaIndex's metadata filters as `where` conditions, which all have to hold.

    Raises:
        InvalidInputError: they combine other than by AND, or use an operator that recall lacks.
    """
    found: dict[str, dict[str, Any]] = {}
    for key, operator, value in _tests(filters):
        if operator in found.setdefault(key, {}):
            raise InvalidInputError(f"filters test {key!r} twice by {operator!r}; test it once")
        found[key][operator] = value
    return found


def _tests(filters: MetadataFilters) -> Iterator[tuple[str, str, object]]:
    if filters.condition not in (None, FilterCondition.AND):
        raise InvalidInputError(
            f"filters are combined by {filters.condition.value!r}; recall combines by 'and' (use "
            "the operator 'in' for alternatives, or a retriever for each)"
        )
    for each in filters.filters:
        if isinstance(each, MetadataFilters):
            yield from _tests(each)
        elif each.operator in _OPERATORS:
            yield each.key, _OPERATORS[each.operator], each.value
        else:
            raise InvalidInputError(
                f"the filter on {each.key!r} uses {each.operator.value!r}; recall has "
                f"{', '.join(operator.value for operator in _OPERATORS)}"
            )


def _exists(memory: Hindsight, bank_id: str) -> bool:
    try:
        memory.banks.get(bank_id)
    except BankNotFoundError:
        return False
    return True


def _listed(bank_id: BankIds) -> tuple[str, ...]:
    return (bank_id,) if isinstance(bank_id, str) else tuple(bank_id)
