"""The calls of a memory as JSON: its verbs, read from the public methods, and their values.

A client writes each argument as plain JSON. The service reads it by the method's type hint, and
what does not fit goes to the method as it came, which refuses it in its own words.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import date, timedelta
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from hindsight_integrations import validation
from hindsight_integrations.conclusions import Quotation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.json_form import JsonForm, adapter
from hindsight_integrations.models import Memory, Message
from hindsight_integrations.namespaces.audit import Audit
from hindsight_integrations.namespaces.banks import Banks
from hindsight_integrations.namespaces.changes import Changes
from hindsight_integrations.namespaces.directives import Directives
from hindsight_integrations.namespaces.documents import Documents
from hindsight_integrations.namespaces.entities import Entities
from hindsight_integrations.namespaces.maintenance import Maintenance
from hindsight_integrations.namespaces.memories import Memories
from hindsight_integrations.namespaces.mental_models import MentalModels
from hindsight_integrations.namespaces.observations import Observations
from hindsight_integrations.namespaces.opinions import Opinions
from hindsight_integrations.namespaces.storage import Storage
from hindsight_integrations.namespaces.tags import Tags
from hindsight_integrations.pictures.graph import BankGraph
from hindsight_integrations.results import Forgotten, ForgottenFields
from hindsight_integrations.retain.request import Item
from hindsight_integrations.validation import MemoryLike

NAMESPACES: Mapping[str, type] = {
    "banks": Banks,
    "memories": Memories,
    "documents": Documents,
    "directives": Directives,
    "tags": Tags,
    "entities": Entities,
    "observations": Observations,
    "mental_models": MentalModels,
    "opinions": Opinions,
    "maintenance": Maintenance,
    "audit": Audit,
    "changes": Changes,
    "storage": Storage,
}
"""Class of each namespace of a memory."""

LOCAL = frozenset({"close", "configure"})
"""Verbs of the object itself, which no service has."""

EXPORT, IMPORT = "banks.export", "banks.import_"
"""Verbs whose file is on the client's side: its content is sent."""

AUDIT_EXPORT = "audit.export"
"""A verb of the client alone: it writes a file of what `audit.list` returns."""

BACKUP = "maintenance.backup"
"""A verb that no service offers: its file would be on the service's machine."""

NOT_OFFERED = frozenset({AUDIT_EXPORT, BACKUP})
"""Verbs that are no request to a service."""

_READING = frozenset(
    "recall graph context reflect profile health wait_idle get list stats export history chunks "
    "companions conclusions mentions suggest_merges timeline observe staleness opened check embed "
    "find_ids memories vectors record record_chunks".split()
)
"""Names of methods that change nothing."""

_ELEMENTS: Mapping[tuple[str, str], type] = {
    ("retain_many", "items"): Item,
    ("retain_messages", "messages"): Message,
    ("retain_memories", "memories"): Memory,
    ("observations.add", "sources"): Quotation,
}
"""Type of the elements of arguments; each is read by itself, since the others may be usable."""


@dataclass(frozen=True)
class Verb:
    """A public method that a service offers.

    Attributes:
        name: its name, behind that of its namespace: "recall", "banks.create".
        method: the method, as its class has it.
    """

    name: str
    method: Callable[..., Any]

    @property
    def writes(self) -> bool:
        """True if it may change a memory."""
        return self.name.rpartition(".")[2] not in _READING

    @cached_property
    def signature(self) -> inspect.Signature:
        """The parameters behind `self`."""
        whole = inspect.signature(self.method)
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    @cached_property
    def _hints(self) -> dict[str, Any]:
        """Type hints of all parameters, those of a `TypedDict` of options included."""
        hints = get_type_hints(inspect.unwrap(self.method))
        for option in get_args(hints.get("options")):
            hints |= get_type_hints(option)
        return hints

    @cached_property
    def _result(self) -> TypeAdapter[Any]:
        kind = self._hints["return"]
        return adapter(_CONTENT.get(kind, kind))

    @cache  # noqa: B019 - verbs live as long as the program
    def _adapter(self, name: str) -> TypeAdapter[Any]:
        try:
            return TypeAdapter(_ELEMENTS.get((self.name, name), self._hints[name]))
        except PydanticSchemaGenerationError:  # an array, which JSON has as a list
            return TypeAdapter(object)

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of a call by name.

        Raises:
            TypeError: they do not fit the method.
        """
        try:
            given = dict(self.signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            takes = self.signature.parameters
            hint = "".join(validation.meant(name, takes) for name in kwargs.keys() - takes.keys())
            raise TypeError(
                f"{self.method.__name__}() {error}; arguments: {', '.join(takes)}{hint}"
            ) from error
        return {name: _sent(name, value, given.get("bank_id")) for name, value in given.items()}

    def read(self, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call from JSON, by position and by name.

        Raises:
            InvalidInputError: one is missing or unknown.
        """
        parameters = self.signature.parameters
        if unknown := given.keys() - parameters.keys():
            first = min(unknown)
            raise InvalidInputError(
                f"{self.name} has no argument {first!r}; the arguments are "
                f"{', '.join(parameters)}{validation.meant(first, parameters)}"
            )
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, parameter in parameters.items():
            if name not in given:
                if parameter.default is parameter.empty and parameter.kind != _REST:
                    raise InvalidInputError(f"{self.name} needs the argument {name!r}")
                continue
            if parameter.kind == _REST:
                args = [*kwargs.values(), *given[name]]
                kwargs = {}
            else:
                kwargs[name] = self._read(name, given[name])
        return args, kwargs

    def _read(self, name: str, value: Any) -> Any:
        adapter = self._adapter(name)
        if (self.name, name) in _ELEMENTS and isinstance(value, list):
            return [_fitting(adapter, each) for each in value]
        return _fitting(adapter, value)

    def written(self, result: Any) -> bytes:
        """Return a result as JSON."""
        if isinstance(result, Forgotten):
            result = result.fields
        if isinstance(result, BankGraph):
            result = _GraphContent(replace(result, examples={}), tuple(result.examples.items()))
        return self._result.dump_json(result)

    def result(self, content: bytes) -> Any:
        """Return a result from JSON.

        Raises:
            ValueError: it is not that of this verb.
        """
        result = self._result.validate_json(content)
        if isinstance(result, ForgottenFields):
            return Forgotten(**{each.name: getattr(result, each.name) for each in fields(result)})
        if isinstance(result, _GraphContent):
            return replace(result.graph, examples=dict(result.examples))
        return result


_REST = inspect.Parameter.VAR_POSITIONAL

_OF_MEMORIES = frozenset({"memory_id", "ids", "memory_ids", "sources"})
"""Arguments that name memories."""


def _sent(name: str, value: object, bank_id: object) -> object:
    """Return an argument with the ids of the memories that were given in place of them."""
    if name not in _OF_MEMORIES:
        return value
    if isinstance(value, MemoryLike):
        return validation.memory_id(name, value, str(bank_id))
    if isinstance(value, JsonForm):
        return validation.memory_ids(name, value, str(bank_id))  # which refuses it
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return [_sent(name, each, bank_id) for each in value]
    return value


@dataclass(frozen=True)
class _GraphContent:
    """`BankGraph`, whose examples have keys that JSON has not."""

    graph: BankGraph
    examples: tuple[tuple[str | tuple[str, str], tuple[str, ...]], ...]


_CONTENT: Mapping[type, type] = {Forgotten: ForgottenFields, BankGraph: _GraphContent}
"""Form of the results that are not JSON as they are."""


@cache
def verbs(engine: type) -> dict[str, Verb]:
    """Return the verbs of a memory and of its namespaces, by name."""
    found = {name: Verb(name, method) for name, method in _methods(engine)}
    for space, kind in NAMESPACES.items():
        found |= {
            f"{space}.{name}": Verb(f"{space}.{name}", method) for name, method in _methods(kind)
        }
    return found


def _methods(owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods that do the work: those with an asynchronous variant."""
    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if name not in LOCAL and not name.startswith("_") and hasattr(owner, f"a{name}"):
            yield name, method


_UNDATED = frozenset({"metadata", "where"})
"""Arguments and fields whose values are text, numbers and booleans: no date, as in a folder."""


def plain(value: object, what: str) -> Any:
    """Return a value as JSON holds it.

    Args:
        value: of an argument.
        what: name of the argument, for messages.

    Raises:
        InvalidInputError: it is a live object, which cannot be sent.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value.value if isinstance(value, Enum) else value
        case date() if what not in _UNDATED:  # a datetime is one
            return value.isoformat()
        case timedelta():
            return to_jsonable_python(value)
        case np.ndarray() | np.generic():
            return value.tolist()
        case Path():
            return str(value)
        case Mapping():
            return {
                plain(key, what): plain(each, key if key in _UNDATED else what)
                for key, each in value.items()
            }
        case Sequence() | Set() if not isinstance(value, bytes | bytearray | memoryview):
            return [plain(each, what) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: plain(
                getattr(value, each.name), each.name if each.name in _UNDATED else what
            )
            for each in fields(value)
        }
    if isinstance(value, Iterator):
        return [plain(each, what) for each in value]
    raise InvalidInputError(
        f"{what} contains {value!r:.80}, which cannot be sent to a service; give plain "
        f"values{' (text instead of a date)' if isinstance(value, date) else ''}, and pass "
        "models and functions to the memory that the service opens"
    )


def _fitting(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return a value of JSON as the type hint has it, or as it is if it does not fit.

    Nor does an object with fields that the dataclass lacks, which pydantic would leave out, or a
    text for several values, which it would take apart: the memory refuses or reads these itself.
    """
    try:
        fitted = adapter.validate_json(json.dumps(value), strict=True)
    except (ValidationError, ValueError):
        return value
    if isinstance(value, str) and isinstance(fitted, Iterator):
        return value
    if isinstance(value, dict) and is_dataclass(fitted):
        return fitted if value.keys() <= {each.name for each in fields(fitted)} else value
    return fitted
