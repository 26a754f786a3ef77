"""Which items a search means: filters over values, patterns over namespaces. Pure functions.

They agree with LangGraph's `InMemoryStore` wherever that one gives an answer; where it raises,
comparing what cannot be compared, an item does not match.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import MatchCondition

from hindsight_integrations.errors import InvalidInputError

Namespace = tuple[str, ...]

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *_ORDERS)


def matches(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether every condition holds: `{"field": expected}` or `{"field": {"$gt": 3}}`.

    A field that is not there is None. A mapping without operators looks into a nested value.

    Raises:
        InvalidInputError: an operator is unknown.
    """
    return all(_meets(value.get(field), wanted) for field, wanted in (filter or {}).items())


def _meets(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and matches(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(map(_meets, value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, name: str, other: Any) -> bool:
    if name not in OPERATORS:
        raise InvalidInputError(
            f"filter uses the operator {name!r}; choose from {', '.join(OPERATORS)}"
        )
    if name in ("$eq", "$ne"):
        return bool(value == other) is (name == "$eq")
    try:
        return _ORDERS[name](float(value), float(other))
    except (TypeError, ValueError):
        texts = isinstance(value, str) and isinstance(other, str)
        return texts and _ORDERS[name](value, other)


def fits(namespace: Namespace, conditions: Sequence[MatchCondition] | None) -> bool:
    """Whether a namespace begins and ends as asked; `"*"` stands for any one label.

    Raises:
        InvalidInputError: a condition is neither a prefix nor a suffix.
    """
    return all(_fits(namespace, condition) for condition in conditions or ())


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInputError(
            f"a namespace is matched by {condition.match_type!r}; choose from prefix, suffix"
        )
    length = len(condition.path)
    part = namespace[:length] if condition.match_type == "prefix" else namespace[-length:]
    return not length or (
        len(part) == length
        and all(w in ("*", label) for label, w in zip(part, condition.path, strict=True))
    )


def listed(
    namespaces: Sequence[Namespace], max_depth: int | None, limit: int, offset: int
) -> list[Namespace]:
    """Namespaces as a list shows them: cut to a depth, each once, sorted, a page of them."""
    found = sorted({namespace[:max_depth] for namespace in namespaces})
    return found[offset : offset + limit]
