"""Lists by limit and offset, over the engine's pages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import BankNotFoundError
from hindsight_integrations.models import Memory, every_item
from hindsight_integrations.namespaces.selection import SelectionOptions, selection
from hindsight_integrations.service.http_api.routing import MAX_PAGE, part_of
from hindsight_integrations.stores.base import MEMORY
from hindsight_integrations.stores.reads import every_id

Test: TypeAlias = Callable[[Memory], bool]

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


def latest(
    memory: Hindsight,
    bank_id: str,
    options: SelectionOptions,
    limit: int,
    offset: int = 0,
    *,
    document_id: str | None = None,
    tests: Sequence[Test] = (),
) -> tuple[list[Memory], int]:
    """Return memories that pass, the latest stored first, and the number of all that do.

    A bank that is not there has none. The store selects by `options` and `document_id`; of those
    that are not returned the ids are enough, unless there are `tests` that all have to pass too.
    """
    if tests:
        chosen = memories(memory, bank_id, options, document_id)
        return _last_of((m for m in chosen if all(test(m) for test in tests)), limit, offset)
    try:
        memory.runtime.bank(bank_id)
    except BankNotFoundError:
        return [], 0
    filter = selection(memory.runtime, bank_id, options, state="valid")
    if document_id is not None:
        filter = replace(filter, document_id=validation.label("document_id", document_id))
    ids = every_id(memory.graph_store, bank_id, filter)
    shown = memory.graph_store.read(bank_id, MEMORY, part_of(ids[::-1], limit, offset))
    return list(shown.values()), len(ids)


def _last_of(values: Iterator[Memory], limit: int, offset: int) -> tuple[list[Memory], int]:
    last: deque[Memory] = deque(maxlen=offset + limit)
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
