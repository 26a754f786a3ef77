"""Filters over values, patterns over namespaces, and the text of a value that queries search.

The filters agree with LangGraph's `InMemoryStore` wherever that one gives an answer. Where it
raises because two values cannot be compared, an item does not match.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from langgraph.store.base import MatchCondition, get_text_at_path

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.store_table import Namespace

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *_ORDERS)


def matches(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Return True if every condition holds: `{"field": expected}` or `{"field": {"$gt": 3}}`.

    A missing field is None. A mapping without operators tests a nested value, and so does a name
    with full stops ("author.name"), unless a field has that very name.

    Raises:
        InvalidInputError: an operator is unknown.
    """
    return all(_meets(_field(value, name), wanted) for name, wanted in (filter or {}).items())


def _field(value: Mapping[str, Any], name: str) -> Any:
    if name in value or "." not in name:
        return value.get(name)
    found: Any = value
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


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
            f"unknown operator {name!r} in filter; choose from {', '.join(OPERATORS)}"
        )
    if name in ("$eq", "$ne"):
        return bool(value == other) is (name == "$eq")
    try:
        return _ORDERS[name](float(value), float(other))
    except (TypeError, ValueError):
        texts = isinstance(value, str) and isinstance(other, str)
        return texts and _ORDERS[name](value, other)


def fits(namespace: Namespace, conditions: Sequence[MatchCondition] | None) -> bool:
    """Return True if a namespace meets all conditions; `"*"` stands for any one label.

    Raises:
        InvalidInputError: a condition is neither a prefix nor a suffix.
    """
    return all(_fits(namespace, condition) for condition in conditions or ())


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInputError(
            f"match_type is {condition.match_type!r}; choose from prefix, suffix"
        )
    length = len(condition.path)
    part = namespace[:length] if condition.match_type == "prefix" else namespace[-length:]
    return not length or (
        len(part) == length
        and all(asked in ("*", label) for label, asked in zip(part, condition.path, strict=True))
    )


def list_namespaces(
    namespaces: Sequence[Namespace], max_depth: int | None, limit: int, offset: int
) -> list[Namespace]:
    """Return a page of the distinct namespaces, cut to a depth and sorted."""
    distinct = sorted({namespace[:max_depth] for namespace in namespaces})
    return distinct[offset : offset + limit]


WHOLE = "$"
"""The path of a whole value."""


def searched_text(
    value: Mapping[str, Any], index: Literal[False] | Sequence[str] | None, fields: Sequence[str]
) -> str:
    """Return the text that queries search an item by; empty if no query shall find it.

    Args:
        value: the item's value.
        index: the argument of `put`: paths, False for none, or None for the store's own.
        fields: the store's own paths; "$" is the whole value.
    """
    if index is False:
        return ""
    paths = fields if index is None else index
    texts = (
        leaves(value) if path == WHOLE else get_text_at_path(dict(value), path) for path in paths
    )
    return "\n".join(text for found in texts for text in found if not validation.is_blank(text))


def leaves(value: object, name: str = "") -> Iterator[str]:
    """Yield the texts of a value as they are, and other values with the name of their field."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, name)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)
