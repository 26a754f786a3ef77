"""A retain as it lies in the queue: checked, with its id, document and moments settled.

What is kept is not what the caller said but what became of it at the door, so a replay hours
later stores what the call would have stored: the same document, the same moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.retain.request import Submission

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Operation:
    """A retain that waits. `number` orders the queue, `written` is its submission as JSON."""

    number: int
    id: str
    bank_id: str
    document_id: str
    queued_at: datetime
    written: str

    @property
    def submission(self) -> Submission:
        """What is to be stored.

        Raises:
            InvalidInputError: it cannot be read: the queue was altered, or is of a newer release.
        """
        try:
            return _submissions().validate_json(self.written)
        except ValueError as error:
            raise InvalidInputError(
                f"the queued retain {self.id!r} cannot be read; upgrade hindsight-integrations, or "
                "discard it and retain its text anew"
            ) from error


@dataclass(frozen=True, slots=True)
class SetAside:
    """A retain that failed for its own fault, kept until it is put back or discarded.

    `reason` is the error; `written` the submission as JSON, so that its text can be saved.
    """

    id: str
    bank_id: str
    document_id: str
    queued_at: datetime
    set_aside_at: datetime
    reason: str
    written: str


def write(submission: Submission) -> str:
    """A submission as JSON; `Operation.submission` reads it back equal."""
    return _submissions().dump_json(submission).decode()


def together(operations: Sequence[Operation], key: Callable[[Operation], object]) -> int:
    """How many, from the first on, may be stored in one transaction.

    Those of one bank and one `key`, no two of them of the same document.
    """
    documents: set[str] = set()
    for count, operation in enumerate(operations):
        first = operations[0]
        alike = operation.bank_id == first.bank_id and key(operation) == key(first)
        if not alike or operation.document_id in documents:
            return count
        documents.add(operation.document_id)
    return len(operations)


@cache
def _submissions() -> TypeAdapter[Submission]:
    from pydantic import TypeAdapter

    return TypeAdapter(Submission)
