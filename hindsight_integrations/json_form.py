"""The JSON form of results: the same from `to_dict()`, the service's engine API and `--json`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_type_hints

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema

T = TypeVar("T")


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


def json_value(value: object) -> Any:
    """Return a time, duration, path or other single value as JSON has it.

    Raises:
        TypeError: JSON has no form of it.
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise TypeError(str(error)) from error


def as_object(kind: type[T]) -> type[T]:
    """Let JSON have a named tuple as an object of its fields: pydantic makes a list of it.

    Both forms are read.
    """

    def schema(kind: Any, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        written = core_schema.typed_dict_schema(
            {
                name: core_schema.typed_dict_field(handler.generate_schema(hint))
                for name, hint in get_type_hints(kind, include_extras=True).items()
            }
        )
        serialization = core_schema.plain_serializer_function_ser_schema(
            lambda value: value._asdict(), return_schema=written
        )
        return cast("CoreSchema", {**handler(source), "serialization": serialization})

    kind.__get_pydantic_core_schema__ = classmethod(schema)  # type: ignore[attr-defined]
    return kind


class JsonForm:
    """Base of the values that methods return, which are dataclasses."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values of JSON, as the service's `/v1/engine` answers with them.

        Times are ISO 8601 text, an error is `{"type": ..., "message": ...}`.
        """
        return json_fields(self)
