"""Values to properties and back: moments, banks, memories, their sources, mental models."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from hindsight_integrations.model import (
    Bank,
    Disposition,
    Memory,
    MemoryType,
    MentalModel,
    Precision,
    Source,
    TimeSpan,
)
from hindsight_integrations.storage.conditions import metadata_text
from hindsight_integrations.storage.neo4j.facets import facets_of
from hindsight_integrations.storage.neo4j.keys import BankKey, vector_key
from hindsight_integrations.storage.neo4j.lucene import indexed
from hindsight_integrations.storage.requests import EmbedderStamp, MemoryRecord, StoredBank
from hindsight_integrations.timespan import as_utc

Properties: TypeAlias = dict[str, Any]
"""Of a node; a property of None is none."""

_SEQUENCE_BITS = 32


def text_of(moment: datetime) -> str:
    """ISO 8601 in UTC, always to the microsecond."""
    return as_utc(moment).isoformat(timespec="microseconds")


def text_or_none(moment: datetime | None) -> str | None:
    """The same, of a moment that may be absent."""
    return None if moment is None else text_of(moment)


def moment_of(text: str) -> datetime:
    """The moment that `text_of` was given."""
    return datetime.fromisoformat(text)


def moment_or_none(text: str | None) -> datetime | None:
    """The same, of a moment that may be absent."""
    return None if text is None else datetime.fromisoformat(text)


def bank_properties(bank: Bank) -> Properties:
    """Of a bank, without its embedder."""
    traits = bank.disposition
    return {
        "id": bank.id,
        "name": bank.name,
        "mission": bank.mission,
        "background": bank.background,
        "skepticism": traits.skepticism,
        "literalism": traits.literalism,
        "empathy": traits.empathy,
        "directives": list(bank.directives),
        "created_at": text_of(bank.created_at),
        "updated_at": text_of(bank.updated_at),
    }


def stored_bank(node: Mapping[str, Any]) -> StoredBank:
    """Of a bank's properties."""
    bank = Bank(
        id=node["id"],
        name=node["name"],
        mission=node["mission"],
        background=node["background"],
        disposition=Disposition(node["skepticism"], node["literalism"], node["empathy"]),
        directives=tuple(node["directives"]),
        created_at=moment_of(node["created_at"]),
        updated_at=moment_of(node["updated_at"]),
    )
    stamp = EmbedderStamp(node["embedder"], node["dimension"])
    key = vector_key(node["key"], node["revision"])
    return StoredBank(bank, key, stamp, node.get("edition", 0))


def memory_properties(bank: BankKey, seq: int, record: MemoryRecord) -> Properties:
    """Of a memory, all but its vectors; `seq` is its number in the order of storing."""
    memory = record.memory
    return {
        "key": bank.of(memory.id),
        "bank": bank.key,
        "id": memory.id,
        "text": memory.text,
        "type": memory.type.value,
        "speaker": memory.speaker,
        "context": memory.context,
        "tags": list(memory.tags),
        "metadata": metadata_text(memory.metadata),
        "confidence": memory.confidence,
        "scope": memory.scope,
        "occurred": list(map(_span_text, memory.occurred)),
        "mentioned_at": text_of(memory.mentioned_at),
        "created_at": text_of(memory.created_at),
        "updated_at": text_of(memory.updated_at),
        "expires_at": text_or_none(memory.expires_at),
        "invalidated_at": text_or_none(memory.invalidated_at),
        "invalidated_because": memory.invalidated_because,
        "kind": memory.kind,
        "reasoning": memory.reasoning,
        "fingerprint": record.fingerprint,
        "lexemes": indexed(record.lexemes),
        "facets": facets_of(memory),
        **source_properties(seq, memory.sources),
    }


def source_properties(seq: int, sources: Sequence[Source]) -> Properties:
    """Properties of a memory that follow from its sources, and its place in a document."""
    first = sources[0] if sources else Source()
    return {
        "seq": seq,
        "sources": list(dict.fromkeys(map(_source_text, sources))),
        "proofs": sum(source.supports for source in dict.fromkeys(sources)),
        "document_id": first.document_id,
        "place": (first.position << _SEQUENCE_BITS) + seq,
    }


def memory_of(node: Mapping[str, Any], bank_id: str, entities: Iterable[str]) -> Memory:
    """Of a memory's properties, and the names of its entities."""
    return Memory(
        id=node["id"],
        bank_id=bank_id,
        text=node["text"],
        type=MemoryType(node["type"]),
        occurred=spans_of(node["occurred"]),
        mentioned_at=moment_of(node["mentioned_at"]),
        speaker=node.get("speaker"),
        context=node.get("context"),
        entities=tuple(entities),
        tags=tuple(node["tags"]),
        metadata=json.loads(node["metadata"]),
        confidence=node.get("confidence"),
        scope=node.get("scope"),
        sources=sources_of(node["sources"]),
        created_at=moment_of(node["created_at"]),
        updated_at=moment_of(node["updated_at"]),
        expires_at=moment_or_none(node.get("expires_at")),
        invalidated_at=moment_or_none(node.get("invalidated_at")),
        invalidated_because=node.get("invalidated_because"),
        kind=node.get("kind"),
        reasoning=node.get("reasoning"),
    )


def mental_model_properties(bank: BankKey, model: MentalModel) -> Properties:
    """Of a mental model."""
    return {
        "key": bank.of(model.id),
        "bank": bank.key,
        "id": model.id,
        "name": model.name,
        "text": model.text,
        "source_query": model.source_query,
        "max_tokens": model.max_tokens,
        "tags": list(model.tags),
        "sources": list(model.sources),
        "auto_refresh": model.auto_refresh,
        "created_at": text_of(model.created_at),
        "refreshed_at": text_of(model.refreshed_at),
    }


def mental_model_of(node: Mapping[str, Any], bank_id: str) -> MentalModel:
    """Of a mental model's properties."""
    return MentalModel(
        id=node["id"],
        bank_id=bank_id,
        name=node["name"],
        text=node["text"],
        source_query=node.get("source_query"),
        max_tokens=node["max_tokens"],
        tags=tuple(node["tags"]),
        sources=tuple(node["sources"]),
        auto_refresh=node["auto_refresh"],
        created_at=moment_of(node["created_at"]),
        refreshed_at=moment_of(node["refreshed_at"]),
    )


def spans_of(occurred: Iterable[str]) -> tuple[TimeSpan, ...]:
    """The times of a memory's `occurred`."""
    parts = (each.split("/") for each in occurred)
    return tuple(
        TimeSpan(moment_of(start), moment_of(end), Precision(precision))
        for start, end, precision in parts
    )


def sources_of(sources: Iterable[str]) -> tuple[Source, ...]:
    """The sources of a memory's `sources`."""
    rows = map(json.loads, sources)
    return tuple(
        Source(document_id, chunk_id, position, moment_of(said), *rest)
        for document_id, chunk_id, position, said, *rest in rows
    )


def _span_text(span: TimeSpan) -> str:
    return f"{text_of(span.start)}/{text_of(span.end)}/{span.precision}"


def _source_text(source: Source) -> str:
    row = (
        source.document_id,
        source.chunk_id,
        source.position,
        text_of(source.mentioned_at),
        source.reference,
        source.memory_id,
        source.quote,
        source.supports,
    )
    return json.dumps(row, ensure_ascii=False)
