"""The JSON form of results: the same from `to_dict()` and from the service's engine API."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return what writes and reads values of a type as JSON."""
    from pydantic import TypeAdapter  # takes a while to load

    return TypeAdapter(kind)


def json_fields(value: object) -> dict[str, Any]:
    """Return the fields of a dataclass as values of JSON."""
    kind: Any = type(value)
    fields: dict[str, Any] = adapter(kind).dump_python(value, mode="json")
    return fields


class JsonForm:
    """Base of the values that methods return, which are dataclasses."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values of JSON, as the service's `/v1/engine` answers with them.

        Times are ISO 8601 text, an error is `{"type": ..., "message": ...}`.
        """
        return json_fields(self)
