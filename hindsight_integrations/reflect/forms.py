"""The form an answer is asked for in: a pydantic model, or a JSON schema made into one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self

from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]
from jsonschema.validators import Draft202012Validator, validator_for  # type: ignore[import-untyped]
from pydantic import BaseModel, RootModel, model_validator
from referencing import Registry

from hindsight_integrations.errors import InvalidInputError


class _Filled(RootModel[dict[str, Any]]):
    """An object that fits a JSON schema."""


def as_form(schema: object) -> type[BaseModel]:
    """The pydantic model that a reply is read into.

    Args:
        schema: a pydantic model class, or the JSON schema of an object. References within the
            schema are followed; those to other places are not.

    Raises:
        InvalidInputError: it is neither.
    """
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema
    if not isinstance(schema, Mapping):
        raise InvalidInputError(
            f"response_schema is a {type(schema).__name__}; give a pydantic model class, or a "
            "JSON schema as a dict"
        )
    if schema.get("type", "object") != "object":
        raise InvalidInputError(
            f"response_schema describes a JSON {schema['type']!r}; describe an object, with the "
            f"{schema['type']!r} as one of its properties"
        )
    described = dict(schema)
    kind = validator_for(described, default=Draft202012Validator)
    try:
        kind.check_schema(described)
    except SchemaError as error:
        raise InvalidInputError(f"response_schema is no JSON schema: {error.message}") from error
    return _form_of(described, kind(described, registry=Registry()))


def unwrapped(filled: BaseModel) -> object:
    """What the caller gets: an instance of his model, or a dict that fits his schema."""
    return filled.root if isinstance(filled, _Filled) else filled


def _form_of(described: dict[str, Any], validator: Any) -> type[_Filled]:
    class Form(_Filled):
        @model_validator(mode="after")
        def _fits(self) -> Self:
            fault = next(validator.iter_errors(self.root), None)
            if fault is not None:
                raise ValueError(f"{fault.json_path}: {fault.message}")
            return self

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {**described, "title": cls.__name__}

    # Providers take the title for the name of a tool, and refuse blanks in it.
    Form.__name__ = re.sub(r"[^A-Za-z0-9_-]+", "_", str(described.get("title") or "Form"))[:64]
    Form.__doc__ = str(described.get("description") or _Filled.__doc__)
    return Form
