"""Indexing memories again, of the same text as when they were retained.

Two things of that text are not stored with a memory: whether the caller gave its time, and which
question it answered. Its terms tell: they were taken from that text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

from hindsight_integrations.language.lexemes import lexemes
from hindsight_integrations.model import Chunk, Memory
from hindsight_integrations.retain.draft import RetainParts
from hindsight_integrations.retain.enrich import Standing, answered_question, indexed_of
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import EmbedderStamp, MemoryRecord, Vector


def standings(graph: GraphStore, bank_id: str, records: Iterable[MemoryRecord]) -> list[Standing]:
    """Where each of the memories stood when it was indexed.

    If the question it answers has been taken out of its document, it stands without.
    """

    @cache
    def chunks(document_id: str) -> list[Chunk]:
        return graph.get_chunks(bank_id, document_id)

    def before(memory: Memory) -> Iterator[str]:
        for source in memory.sources:
            for chunk in reversed(chunks(source.document_id) if source.document_id else []):
                if chunk.position < source.position:
                    yield chunk.text

    return [_standing(record, before(record.memory)) for record in records]


def _standing(record: MemoryRecord, before: Iterable[str]) -> Standing:
    """What accounts for the terms of a memory; `before` is what was said, the latest first."""
    asking = (text for text in before if answered_question(record.memory.text, text))
    for preceding in chain([None], asking):
        for dated in (True, False):
            standing = Standing(dated, preceding)
            if _terms(record.memory, standing) == record.lexemes:
                return standing
    opening = _terms(replace(record.memory, text=""), Standing())
    return Standing(dated=record.lexemes[: len(opening)] == opening)


def _terms(memory: Memory, standing: Standing) -> tuple[str, ...]:
    return tuple(lexemes(indexed_of(memory, standing)))


def reindex(
    parts: RetainParts,
    bank_id: str,
    stamp: EmbedderStamp,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Make all vectors of a bank anew, under its lock; see `Maintenance.reindex`."""
    ids = list(parts.graph.memory_ids(bank_id))
    for start in range(0, len(ids), parts.settings.batch_size):
        some = ids[start : start + parts.settings.batch_size]
        parts.graph.stage_vectors(bank_id, _rows(parts, bank_id, some), stamp)
        if progress is not None:
            progress(start + len(some), len(ids))
    parts.graph.adopt_staged(bank_id, stamp)
    parts.flush()
    return len(ids)


def _rows(
    parts: RetainParts, bank_id: str, ids: Sequence[str]
) -> list[tuple[str, Vector, bytes | None]]:
    records = parts.graph.get_records(bank_id, ids)
    stood = standings(parts.graph, bank_id, records.values())
    texts = [
        indexed_of(record.memory, standing)
        for record, standing in zip(records.values(), stood, strict=True)
    ]
    encoded = parts.encoder.encode(texts)
    return [(id, code.vector, code.interaction) for id, code in zip(records, encoded, strict=True)]
