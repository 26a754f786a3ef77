"""All the memories that pass a filter, read page by page."""

from __future__ import annotations

from collections.abc import Iterator

from hindsight_integrations.checks import MAX_PAGE
from hindsight_integrations.model import Memory
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import MemoryFilter


def every_memory(graph: GraphStore, bank_id: str, filter: MemoryFilter) -> Iterator[Memory]:
    """The memories of a bank that pass the filter, in storing order."""
    cursor: str | None = None
    while True:
        page = graph.list_memories(bank_id, filter, limit=MAX_PAGE, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return
