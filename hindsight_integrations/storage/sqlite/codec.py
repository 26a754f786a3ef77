"""Values to columns and back: banks, memories, their sources, mental models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

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
from hindsight_integrations.storage.requests import (
    EmbedderStamp,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.storage.sqlite.keys import Row, SqlValue, vector_key
from hindsight_integrations.storage.values import micros, micros_or_none, moment, moment_or_none

_NONE, _EMPTY = "[]", "{}"
"""JSON of most tags, times and metadata; parsing it would take a third of reading a memory."""

_SPANS_KEPT = 8192
"""Times that stay read: recall after recall meets the same memories."""

BANK_COLUMNS = (
    "id, name, mission, background, skepticism, literalism, empathy, directives, "
    "created_at, updated_at, embedder, dimension"
)
STORED_BANK_COLUMNS = f"no, revision, edition, {BANK_COLUMNS}"
MEMORY_COLUMNS = "id, type, mentioned_at, expires_at, invalidated_at, scope, occurred, fingerprint"
CONTENT_COLUMNS = (
    "confidence, created_at, updated_at, speaker, tags, metadata, invalidated_because, context, "
    "text, kind, reasoning"
)
SOURCE_COLUMNS = (
    "document_id, chunk_id, position, mentioned_at, reference, evidence, quote, supports"
)
MENTAL_MODEL_COLUMNS = (
    "id, name, text, source_query, max_tokens, tags, sources, auto_refresh, created_at, "
    "refreshed_at"
)


def bank_row(bank: Bank) -> tuple[SqlValue, ...]:
    """`BANK_COLUMNS` without the embedder."""
    traits = bank.disposition
    return (
        bank.id,
        bank.name,
        bank.mission,
        bank.background,
        traits.skepticism,
        traits.literalism,
        traits.empathy,
        _json(bank.directives),
        micros(bank.created_at),
        micros(bank.updated_at),
    )


def stored_bank(row: Row) -> StoredBank:
    """Of a row of `STORED_BANK_COLUMNS`."""
    no, revision, edition, *stated, embedder, dimension = row
    id_, name, mission, background, *traits, directives, created, updated = stated
    bank = Bank(
        id=id_,
        name=name,
        mission=mission,
        background=background,
        disposition=Disposition(*traits),
        directives=tuple(json.loads(directives)),
        created_at=moment(created),
        updated_at=moment(updated),
    )
    stamp = EmbedderStamp(embedder, dimension)
    return StoredBank(bank, vector_key(no, revision), stamp, edition)


def memory_row(record: MemoryRecord) -> tuple[SqlValue, ...]:
    """`MEMORY_COLUMNS` of a record."""
    memory = record.memory
    spans = [(micros(s.start), micros(s.end), s.precision.value) for s in memory.occurred]
    return (
        memory.id,
        memory.type.value,
        micros(memory.mentioned_at),
        micros_or_none(memory.expires_at),
        micros_or_none(memory.invalidated_at),
        memory.scope,
        _json(spans),
        record.fingerprint,
    )


def content_row(memory: Memory) -> tuple[SqlValue, ...]:
    """`CONTENT_COLUMNS` of a memory."""
    return (
        memory.confidence,
        micros(memory.created_at),
        micros(memory.updated_at),
        memory.speaker,
        _json(memory.tags),
        metadata_text(memory.metadata),
        memory.invalidated_because,
        memory.context,
        memory.text,
        memory.kind,
        memory.reasoning,
    )


def memory_of(
    row: Row, *, bank_id: str, sources: Sequence[Source] = (), entities: Sequence[str] = ()
) -> Memory:
    """The memory of a row of `MEMORY_COLUMNS` and `CONTENT_COLUMNS`."""
    id_, type_, mentioned_at, expires_at, invalidated_at, scope, occurred, _ = row[:8]
    confidence, created_at, updated_at, speaker, tags, metadata, because, context, text = row[8:17]
    return Memory(
        id=id_,
        bank_id=bank_id,
        text=text,
        type=MemoryType(type_),
        occurred=spans_of(occurred),
        mentioned_at=moment(mentioned_at),
        speaker=speaker,
        context=context,
        entities=tuple(entities),
        tags=tuple(json.loads(tags)) if tags != _NONE else (),
        metadata=json.loads(metadata) if metadata != _EMPTY else {},
        confidence=confidence,
        scope=scope,
        sources=tuple(sources),
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        expires_at=moment_or_none(expires_at),
        invalidated_at=moment_or_none(invalidated_at),
        invalidated_because=because,
        kind=row[17],
        reasoning=row[18],
    )


@lru_cache(_SPANS_KEPT)
def spans_of(occurred: str) -> tuple[TimeSpan, ...]:
    """The times of a row's `occurred`."""
    if occurred == _NONE:
        return ()
    return tuple(
        TimeSpan(moment(start), moment(end), Precision(precision))
        for start, end, precision in json.loads(occurred)
    )


def source_row(source: Source, evidence: int | None) -> tuple[SqlValue, ...]:
    """`SOURCE_COLUMNS` of a source; `evidence` is the key of the memory it names, if any."""
    return (
        source.document_id,
        source.chunk_id,
        source.position,
        micros(source.mentioned_at),
        source.reference,
        evidence,
        source.quote,
        source.supports,
    )


def source_of(row: Row) -> Source:
    """The source that `source_row` was given; the row has the id of the memory for its key."""
    document_id, chunk_id, position, mentioned_at, reference, memory_id, quote, supports = row
    return Source(
        document_id,
        chunk_id,
        position,
        moment(mentioned_at),
        reference,
        memory_id,
        quote,
        bool(supports),
    )


def mental_model_row(model: MentalModel) -> tuple[SqlValue, ...]:
    """`MENTAL_MODEL_COLUMNS` of a mental model."""
    return (
        model.id,
        model.name,
        model.text,
        model.source_query,
        model.max_tokens,
        _json(model.tags),
        _json(model.sources),
        model.auto_refresh,
        micros(model.created_at),
        micros(model.refreshed_at),
    )


def mental_model_of(row: Row, bank_id: str) -> MentalModel:
    """The mental model that `mental_model_row` was given."""
    id_, name, text, query, max_tokens, tags, sources, auto_refresh, created, refreshed = row
    return MentalModel(
        id=id_,
        bank_id=bank_id,
        name=name,
        text=text,
        source_query=query,
        max_tokens=max_tokens,
        tags=tuple(json.loads(tags)),
        sources=tuple(json.loads(sources)),
        auto_refresh=bool(auto_refresh),
        created_at=moment(created),
        refreshed_at=moment(refreshed),
    )


def _json(value: Sequence[object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
