"""Signatures of adapters that are pydantic models."""

from __future__ import annotations

from inspect import Signature, signature
from typing import Any, TypeVar

Adapter = TypeVar("Adapter", bound=type)


def with_own_signature(adapter: Adapter) -> Adapter:
    """Show the parameters of a model's `__init__` as its signature.

    Pydantic shows the model's fields beside them, in place of `**options`, although `__init__`
    takes no argument for some, and computes others.
    """
    described: Any = adapter
    _, *parameters = signature(described.__init__).parameters.values()
    described.__signature__ = Signature(parameters)
    return adapter
