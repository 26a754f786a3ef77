"""LlamaIndex's metadata filters as recall's conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilters

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.recall.request import Where

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
