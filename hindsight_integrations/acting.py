"""Actor and reason of changes: noted in the audit with each change that a block of code makes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from hindsight_integrations import validation

ENGINE = "hindsight"
"""Actor of work in the background."""


class Acting(NamedTuple):
    """Actor and reason; None where nobody named them."""

    actor: str | None = None
    reason: str | None = None


_current: ContextVar[Acting] = ContextVar("hindsight_acting", default=Acting())  # noqa: B039


def acting() -> Acting:
    """Return who acts in this thread or task."""
    return _current.get()


@contextmanager
def acting_as(actor: str, reason: str | None = None) -> Iterator[None]:
    """Name the actor of all changes made in a `with` block, awaited calls included.

    Work that runs in the background afterwards, such as consolidation, has the actor "hindsight".

    Args:
        actor: a person, an agent or a program; of your choice.
        reason: why. That of a deletion, and of an edit of entities, is kept for good, so name
            nothing in it that is to be forgotten.

    Raises:
        InvalidInputError: an argument cannot be used.

    Example:
        >>> from hindsight_integrations import Hindsight, acting_as
        >>> with Hindsight.in_memory() as memory, acting_as("ann@example.org", "on request"):
        ...     _ = memory.retain("b", "The canteen opens at noon.")
        ...     print(memory.audit.list("b")[0].actor)
        ann@example.org
    """
    token = _current.set(Acting(validation.label("actor", actor), validation.reason(reason)))
    try:
        yield
    finally:
        _current.reset(token)
