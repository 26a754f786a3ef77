"""The options of recall, context and reflect: their types, defaults and validation.

`RecallOptions` and `DEFAULTS` are the only list of them. `takes` shows them in the signatures of
the client's methods, and `recall_request` turns them into a validated `RecallRequest`.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import ParamSpec, TypedDict, TypeVar, Unpack, get_args

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Arm, MemoryType, MetadataValue, TimeSpan, as_datetime
from hindsight_integrations.recall.base import Budget
from hindsight_integrations.stores.base import MemoryFilter, TagsMatch, Vector
from hindsight_integrations.stores.conditions import (
    MENTIONED_AT,
    AllOf,
    AnyOf,
    Condition,
    Not,
    Operator,
    Test,
    checked_time,
    tests_nothing,
)
from hindsight_integrations.validation import When

P = ParamSpec("P")
T = TypeVar("T")

ALL_ARMS = frozenset(Arm)

Where = Mapping[str, object]
"""A mapping from fields to a value, or to values by operator; "$and", "$or" and "$not" combine such
mappings."""


class FilterOptions(TypedDict, total=False):
    """Options that select memories, shared by all methods that find memories."""

    types: Iterable[MemoryType | str] | None
    tags: Sequence[str]
    tags_match: TagsMatch
    where: Where | None
    scope: str | None
    entities: Sequence[str]
    window: TimeSpan | tuple[When | None, When | None] | None
    as_of: When | None


class SearchOptions(FilterOptions, total=False):
    """Options shared by `Hindsight.recall`, `context` and `reflect`."""

    max_tokens: int | None
    budget: Budget
    query_time: When | None
    min_score: float | None
    fill: bool


class ContextOptions(SearchOptions, total=False):
    """Options of `Hindsight.context`, which documents them."""

    prefer_observations: bool
    pinned: bool


class RecallOptions(ContextOptions, total=False):
    """Options of `Hindsight.recall`, which documents them."""

    arms: Iterable[Arm | str] | None
    arm_limits: Mapping[Arm | str, int] | None
    query_vector: Vector | Sequence[float] | None
    chunk_tokens: int
    entity_tokens: int
    mental_model_tokens: int


DEFAULTS: RecallOptions = {
    "max_tokens": None,
    "budget": "mid",
    "types": None,
    "arms": None,
    "arm_limits": None,
    "tags": (),
    "tags_match": "any",
    "where": None,
    "scope": None,
    "entities": (),
    "window": None,
    "query_vector": None,
    "query_time": None,
    "as_of": None,
    "min_score": None,
    "fill": False,
    "chunk_tokens": 0,
    "entity_tokens": 0,
    "mental_model_tokens": 0,
    "prefer_observations": False,
    "pinned": False,
}
"""Default of each option, in the order that signatures list them."""


def takes(
    options: type, defaults: Mapping[str, object] = DEFAULTS
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator for a method with `**options`, typed by a `TypedDict`.

    `help` and `inspect.signature` then list each option with its default, and an unknown one
    raises TypeError, as if all were parameters of the method.

    Args:
        options: the `TypedDict`.
        defaults: default of each option, in the order that signatures list them.
    """
    names = [name for name in defaults if name in options.__annotations__]

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        own = inspect.signature(method)
        parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults[name],
                annotation=_annotation(options.__annotations__[name]),
            )
            for name in names
        ]
        known = {*names, *own.parameters}

        @functools.wraps(method)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            for name in kwargs:
                if name not in known:
                    takes = [each.name for each in parameters[1:]]
                    raise TypeError(
                        f"{method.__name__}() got an unexpected keyword argument {name!r}; "
                        f"it takes {', '.join(takes)}{validation.meant(name, takes)}"
                    )
            return method(*args, **kwargs)

        checked.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked

    return decorate


def _annotation(annotation: object) -> object:
    """Return an annotation as written in the source; a `TypedDict` wraps it in a ForwardRef."""
    return getattr(annotation, "__forward_arg__", annotation)


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A validated recall: the query, the banks, the filter and the limits.

    Attributes:
        entities: names or ids, one of which a memory must mention; looked up in each bank.
        vector: unit vector to search with instead of the query's; None to embed the query.
        arm_limits: maximum hits per arm; overrides the budget.
        fill: use the whole token budget, even for memories of little relevance.
        pinned: put pinned memories that pass the filter first, whatever the query.
    """

    bank_ids: tuple[str, ...]
    query: str
    max_tokens: int
    budget: Budget
    arms: frozenset[Arm]
    filter: MemoryFilter
    asked_at: datetime
    min_score: float | None = None
    fill: bool = False
    chunk_tokens: int = 0
    entity_tokens: int = 0
    mental_model_tokens: int = 0
    entities: tuple[str, ...] = ()
    vector: Vector | None = None
    arm_limits: Mapping[Arm, int] = field(default_factory=dict)
    prefer_observations: bool = False
    pinned: bool = False


def recall_request(
    bank_id: str | Sequence[str],
    query: str,
    *,
    default_tokens: int = 4096,
    zone: tzinfo = UTC,
    **options: Unpack[RecallOptions],
) -> RecallRequest:
    """Validate the arguments of `Hindsight.recall`, which documents them.

    Args:
        bank_id: which bank, or several.
        query: the question.
        default_tokens: the default of `max_tokens`.
        zone: that of times that carry none; see `Settings.timezone`.
        **options: see `RecallOptions`.

    Raises:
        InvalidInputError: an argument cannot be used.
    """
    given: RecallOptions = {**DEFAULTS, **options}
    banks = validation.items_or_one("bank_id", bank_id, "a bank id, or several")
    if not banks:
        raise InvalidInputError("no bank given; give a bank id, or several")
    budget: Budget = validation.choice("budget", given["budget"], get_args(Budget))
    max_tokens = given["max_tokens"]
    vector = _vector(given["query_vector"])
    entities = _entities(given["entities"])
    return RecallRequest(
        bank_ids=tuple(dict.fromkeys(validation.bank_id(bank) for bank in banks)),
        query=_query(query, entities, vector),
        max_tokens=default_tokens
        if max_tokens is None
        else validation.positive("max_tokens", max_tokens),
        budget=budget,
        arms=_arms(given["arms"]),
        filter=memory_filter(given, zone),
        asked_at=validation.time_or_now("query_time", given["query_time"], zone),
        min_score=_min_score(given["min_score"]),
        # Without a question, the filter or the vector says all that is wanted.
        fill=validation.flag("fill", given["fill"]) or validation.is_blank(query),
        chunk_tokens=validation.not_negative("chunk_tokens", given["chunk_tokens"]),
        entity_tokens=validation.not_negative("entity_tokens", given["entity_tokens"]),
        mental_model_tokens=validation.not_negative(
            "mental_model_tokens", given["mental_model_tokens"]
        ),
        entities=entities,
        vector=vector,
        arm_limits=_arm_limits(given["arm_limits"]),
        prefer_observations=validation.flag("prefer_observations", given["prefer_observations"]),
        pinned=validation.flag("pinned", given["pinned"]),
    )


def memory_filter(given: FilterOptions, zone: tzinfo) -> MemoryFilter:
    """Return the filter for complete options, without `entities`.

    Entities belong to one bank, but a recall may search several.

    Args:
        given: the options.
        zone: that of times that carry none; see `Settings.timezone`.

    Raises:
        InvalidInputError: an option cannot be used.
    """
    types, scope, as_of = given["types"], given["scope"], given["as_of"]
    tags_match: TagsMatch = validation.choice(
        "tags_match", given["tags_match"], get_args(TagsMatch)
    )
    return MemoryFilter(
        now=as_datetime(None),
        types=None if types is None else validation.memory_types(types),
        tags=validation.tags(given["tags"]),
        tags_match=tags_match,
        where=conditions({} if given["where"] is None else given["where"], zone),
        scope=validation.label_or_none("scope", scope),
        window=validation.window(given["window"], zone=zone),
        as_of=None if as_of is None else as_datetime(validation.last_moment("as_of", as_of, zone)),
    )


def _query(query: str, entities: Sequence[str], vector: Vector | None) -> str:
    """Return the question. It may be blank with entities, whose names replace it, or a vector."""
    if (entities or vector is not None) and validation.is_blank(validation.text(query, "query")):
        return ", ".join(entities)
    return validation.query(query)


def _entities(names: Sequence[str]) -> tuple[str, ...]:
    given = validation.items("entities", names, "a list of names or ids")
    return tuple(dict.fromkeys(validation.label("an entity", name) for name in given))


def _vector(given: Vector | Sequence[float] | None) -> Vector | None:
    """Return a vector of finite numbers, scaled to unit length."""
    if given is None:
        return None
    try:
        vector = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"query_vector is {validation.shown(given)}; give a sequence of numbers"
        ) from error
    if vector.ndim != 1 or not vector.size:
        raise InvalidInputError(
            f"query_vector has shape {vector.shape}; give one vector, of shape (dimension,)"
        )
    norm = float(np.linalg.norm(vector))
    if not math.isfinite(norm) or norm == 0:
        fault = "only zeros" if norm == 0 else "NaN or infinite numbers"
        raise InvalidInputError(f"query_vector contains {fault}; give finite numbers, not all zero")
    unit: Vector = (vector / norm).astype(np.float32)
    return unit


def _arm_limits(given: Mapping[Arm | str, int] | None) -> dict[Arm, int]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInputError(
            f"arm_limits is {validation.shown(given)}; give a mapping, such as {{'semantic': 20}}"
        )
    return {
        _arm(name): validation.positive(f"arm_limits[{str(name)!r}]", limit)
        for name, limit in given.items()
    }


def _arm(name: Arm | str) -> Arm:
    try:
        return Arm(name)
    except ValueError as error:
        raise InvalidInputError(
            f"unknown arm {validation.shown(name)}; choose from {', '.join(sorted(Arm))}"
        ) from error


def _min_score(value: float | None) -> float | None:
    return None if value is None else validation.share("min_score", value)


_OPERATORS: dict[str, Operator] = {name: name for name in get_args(Operator)}


def conditions(where: Where, zone: tzinfo = UTC) -> tuple[Test, ...]:
    """Return the conditions of `{"field": value}` or `{"field": {"$gte": value, ...}}`.

    `"$and"` and `"$or"` take a list of such mappings, `"$not"` takes one. A time to compare
    `mentioned_at` with is in `zone` if it carries none.

    Raises:
        InvalidInputError: an operator is unknown, or does not accept the type of a value.
    """
    if not isinstance(where, Mapping):
        raise InvalidInputError(
            f"where is {validation.shown(where)}; give a mapping from fields to values or "
            "conditions"
        )
    tests = (test for name, given in where.items() for test in _tests(name, given, zone))
    return tuple(test for test in tests if not tests_nothing(test))


def _tests(name: str, given: object, zone: tzinfo) -> tuple[Test, ...]:
    if name == "$not":
        return (Not(AllOf(conditions(given, zone))),)  # type: ignore[arg-type]
    if name in ("$and", "$or"):
        if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or not given:
            raise InvalidInputError(
                f"where[{name!r}] is {validation.shown(given)}; give a list of mappings"
            )
        alternatives = tuple(AllOf(conditions(each, zone)) for each in given)
        return (AllOf(alternatives) if name == "$and" else AnyOf(alternatives),)
    if not isinstance(name, str):
        raise InvalidInputError(f"where has the field {name!r}; give the name of a field as text")
    if name.startswith("$"):
        raise InvalidInputError(f"unknown operator {name!r} in where; use $and, $or or $not")
    tests = given if isinstance(given, Mapping) else {"$eq": given}
    if not tests:
        raise InvalidInputError(
            f"where[{name!r}] is {{}}; give a value, or an operator such as {{'$gte': 3}}"
        )
    return tuple(_condition(name, operator, value, zone) for operator, value in tests.items())


def _condition(name: str, operator: str, value: object, zone: tzinfo) -> Condition:
    if operator not in _OPERATORS:
        raise InvalidInputError(
            f"unknown operator {operator!r} in where[{name!r}]; the operators are "
            f"{', '.join(_OPERATORS)}"
        )
    kind = _OPERATORS[operator]
    if kind == "$exists":
        if not isinstance(value, bool):
            raise InvalidInputError(f"where[{name!r}]['$exists'] must be True or False")
        return Condition(name, kind, value)
    if kind in ("$contains", "$icontains"):
        return Condition(name, kind, validation.text(value, f"where[{name!r}][{kind!r}]"))
    if kind in ("$in", "$nin"):
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise InvalidInputError(f"where[{name!r}][{operator!r}] must be a list")
        return Condition(name, kind, tuple(_value(name, each, zone) for each in value))
    return Condition(name, kind, _value(name, value, zone))


def _value(name: str, value: object, zone: tzinfo) -> MetadataValue:
    if name == MENTIONED_AT:
        return checked_time(value, zone)
    if value is None:
        raise InvalidInputError(
            f"where[{name!r}] is None; to find memories without the field, give "
            "{'$exists': False}"
        )
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        raise InvalidInputError(
            f"where[{name!r}] is {validation.shown(value)}; for one of several values, give "
            "{'$in': [...]}"
        )
    return validation.metadata_value(name, value)


def _arms(arms: Iterable[Arm | str] | None) -> frozenset[Arm]:
    if arms is None:
        return ALL_ARMS
    given = validation.items_or_one("arms", arms, f"some of {', '.join(sorted(Arm))}")
    chosen = frozenset(map(_arm, given))
    if not chosen:
        raise InvalidInputError(f"arms is empty; choose from {', '.join(sorted(Arm))}")
    return chosen
