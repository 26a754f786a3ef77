"""Lists by limit and offset, over the engine's pages."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TypeVar

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.models import Memory, every_item
from hindsight_integrations.namespaces.selection import SelectionOptions
from hindsight_integrations.service.http_api.routing import MAX_PAGE

T = TypeVar("T")

ALL_TYPES = ("world", "experience", "opinion", "observation")


def has_bank(memory: Hindsight, bank_id: str) -> bool:
    """Return True if there is a bank of this id."""
    return memory.graph_store.get_bank(validation.bank_id(bank_id)) is not None


def memories(
    memory: Hindsight, bank_id: str, options: SelectionOptions, document_id: str | None = None
) -> Iterator[Memory]:
    """Return the memories that pass, in the order of storing; none of a bank that is not there."""
    try:
        yield from every_item(
            lambda cursor: memory.memories.list(
                bank_id, document_id=document_id, limit=MAX_PAGE, cursor=cursor, **options
            )
        )
    except BankNotFoundError:
        return


def latest(values: Iterator[T], limit: int, offset: int) -> tuple[list[T], int]:
    """Return `limit` values from the `offset`th last on, the last first, and the number of all."""
    last: deque[T] = deque(maxlen=offset + limit)
    total = 0
    for value in values:
        last.append(value)
        total += 1
    return list(last)[::-1][offset:], total


def chunk_indexes(memory: Hindsight, bank_id: str, document_id: str) -> dict[str, int]:
    """Return the number of each chunk within its document, from 0, by the chunk's id.

    `Chunk.position` only orders them: it leaves room for chunks that are inserted.
    """
    chunks = memory.documents.chunks(bank_id, document_id)
    return {chunk.id: index for index, chunk in enumerate(chunks)}
