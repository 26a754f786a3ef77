"""The options of recall, typed, and LlamaIndex's metadata filters as its conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypedDict

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilters

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.model import MemoryType, TimeSpan
from hindsight_integrations.recall.request import Where
from hindsight_integrations.results import Arm


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
