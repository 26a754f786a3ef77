"""Sources of memories that are to be stored: which of them still name something that exists."""

from __future__ import annotations

from collections.abc import Container, Iterable

from hindsight_integrations.models import Memory, Source, is_conclusion
from hindsight_integrations.stores.refusals import unsupported


def cited_ids(sources: Iterable[Source]) -> list[str]:
    """Return the ids of the memories that sources name, sorted, each once."""
    return sorted({source.memory_id for source in sources if source.memory_id is not None})


def is_live(source: Source, existing: Container[str]) -> bool:
    """Return True unless a source names a memory that is not among the existing ones."""
    return source.memory_id is None or source.memory_id in existing


def live_sources(bank_id: str, memory: Memory, existing: Container[str]) -> tuple[Source, ...]:
    """Return the sources of a memory that are live.

    Raises:
        ConflictError: without the others nothing supports a conclusion.
    """
    live = tuple(source for source in memory.sources if is_live(source, existing))
    if is_conclusion(memory) and not any(source.supports for source in live):
        raise unsupported(bank_id, memory.id)
    return live
