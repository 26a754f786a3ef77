"""Samples that the contract of graph stores is tested with."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from hindsight_integrations.models import Chunk, Document, Entity, Link, LinkKind, Memory, Source
from hindsight_integrations.nlp.late_interaction import DIMENSION
from hindsight_integrations.normalization import entity_norm, text_fingerprint
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    GraphStore,
    MemoryFilter,
    MemoryRecord,
    Vector,
)
from hindsight_integrations.timespan import Precision, TimeSpan

NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
EMBEDDER = EmbedderIdentity("toy", 8)
VALID = MemoryFilter(NOW)
ALL = MemoryFilter(NOW, include_invalid=True)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def day(year: int, month: int, date: int, *, days: float = 1) -> TimeSpan:
    start = datetime(year, month, date, tzinfo=UTC)
    return TimeSpan(start, start + timedelta(days=days), Precision.DAY)


def vector(seed: int, dimension: int = EMBEDDER.dimension) -> Vector:
    values = np.random.default_rng(seed).standard_normal(dimension)
    return (values / np.linalg.norm(values)).astype(np.float32)


def token_vectors(seed: int) -> bytes:
    """Return one compressed token vector: an id, and half a byte a number."""
    return bytes([seed]) * (2 + DIMENSION // 2)


def entity_id(name: str) -> str:
    return f"e:{entity_norm(name)}"


def entity(name: str, *aliases: str, id: str | None = None, bank: str = "b") -> Entity:
    return Entity(id or entity_id(name), bank, name, "person", aliases)


def record(id: str, text: str = "", *, seed: int = 0, **fields: Any) -> MemoryRecord:
    """A memory said at `NOW`; its lexemes are the words of its text."""
    given: dict[str, Any] = {"bank_id": "b", "mentioned_at": NOW, "created_at": NOW}
    memory = Memory(id=id, text=text or id, **given | {"updated_at": NOW} | fields)
    return MemoryRecord(
        memory=memory,
        lexemes=tuple(memory.text.casefold().split()),
        vector=vector(seed),
        fingerprint=text_fingerprint(memory.text),
        entity_ids=tuple(map(entity_id, memory.entities)),
    )


def changed(given: MemoryRecord, **fields: Any) -> MemoryRecord:
    """The record with other values in its memory, and what follows from them."""
    memory = replace(given.memory, **fields)
    return replace(
        given,
        memory=memory,
        lexemes=tuple(memory.text.casefold().split()),
        entity_ids=tuple(map(entity_id, memory.entities)),
    )


def keep(graph: GraphStore, *records: MemoryRecord, **parts: Any) -> tuple[str, ...]:
    """Store new memories with the entities they name, and what else a change set has."""
    bank = records[0].memory.bank_id if records else "b"
    names = dict.fromkeys(name for each in records for name in each.memory.entities)
    entities = (*(entity(name, bank=bank) for name in names), *parts.pop("entities", ()))
    return graph.apply(
        ChangeSet(**{"bank_id": bank, "memories": records, "entities": entities} | parts)
    )


def found(graph: GraphStore, *lexemes: str, limit: int = 99, bank: str = "b") -> list[str]:
    """Return the ids of the valid memories that hold any of the lexemes, best first."""
    return [hit.memory_id for hit in graph.text_search(bank, lexemes, VALID, limit)]


def document(id: str, fingerprint: str = "f", bank: str = "b") -> Document:
    return Document(id, bank, fingerprint, NOW, NOW)


def chunk(id: str, document_id: str, position: int = 0, text: str = "text") -> Chunk:
    return Chunk(id, document_id, position, text, f"f-{text}")


def source(document_id: str | None, position: int = 0, chunk_id: str | None = None) -> Source:
    return Source(document_id, chunk_id, position, NOW)


def link(
    source_id: str, target_id: str, weight: float = 0.5, kind: LinkKind = LinkKind.SEMANTIC
) -> Link:
    return Link(source_id, target_id, kind, weight)
