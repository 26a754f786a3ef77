"""Base of the arguments that a model gives to a tool."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, model_validator


class ToolArguments(BaseModel):
    """Arguments of a tool: `null` for an optional one counts as not given.

    Models fill in every argument of a schema, and write `null` where they have nothing to say.
    """

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_given(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        optional = {name for name, field in fields.items() if not field.is_required()}
        return {
            name: value
            for name, value in given.items()
            if value is not None or name not in optional
        }
