"""Store memories that are ready made, with the text, id, times and entities that a caller gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import (
    Entity,
    Memory,
    ObservationKind,
    Source,
    TurnKind,
    as_datetime,
)
from hindsight_integrations.nlp.embeddings import checked_vector
from hindsight_integrations.results import RetainResult
from hindsight_integrations.retain.document_diff import RetainDependencies
from hindsight_integrations.retain.enrichment import IndexContext, indexed_of, record_of
from hindsight_integrations.retain.entity_resolution import Resolver
from hindsight_integrations.retain.extraction import Mention
from hindsight_integrations.stores.base import ChangeSet, MemoryRecord, StoredBank, Vector
from hindsight_integrations.timespan import with_offset

_KINDS = (*ObservationKind, *TurnKind)


def retain_memory(
    deps: RetainDependencies,
    bank: StoredBank,
    memory: Memory,
    vector: Vector | Sequence[float] | None,
) -> RetainResult:
    """Store a memory under an id that the bank does not have yet, with the vector or a new one.

    Raises:
        InvalidInputError: a field cannot be used.
        ConflictError: the bank has a memory of this id.
        EmbeddingError: the vector cannot be used.
    """
    return store_made(deps, bank, *made_records(deps, bank, [memory], [vector]))


class MadeRecord(NamedTuple):
    """The record of a ready-made memory, and the entities that it adds to the bank."""

    record: MemoryRecord
    created: tuple[Entity, ...]


def store_made(deps: RetainDependencies, bank: StoredBank, *made: MadeRecord) -> RetainResult:
    """Store records under ids that the bank does not have yet.

    Raises:
        ConflictError: the bank has a memory of one of the ids; nothing was stored.
    """
    expiry = bank.bank.expiry
    records = tuple(
        replace(each.record, memory=expiry.applied_to(each.record.memory)) for each in made
    )
    entities = {entity.id: entity for each in made for entity in each.created}
    with deps.lock(bank.key):
        deps.graph.apply(
            ChangeSet(bank.bank.id, entities=tuple(entities.values()), memories=records)
        )
    deps.flush(bank.key)
    return RetainResult(bank.bank.id, stored=tuple(record.memory for record in records))


def made_records(
    deps: RetainDependencies,
    bank: StoredBank,
    memories: Sequence[Memory],
    vectors: Sequence[Vector | Sequence[float] | None],
    *,
    dated: bool = True,
) -> list[MadeRecord]:
    """Return the records of memories, each with the vector given or a new one.

    `dated` is False if their dates are not to be searched by.

    Raises:
        InvalidInputError: a field cannot be used.
        EmbeddingError: a vector cannot be used.
    """
    bank_id = bank.bank.id
    most = deps.settings.max_content_chars
    memories = [replace(checked_memory(each, most), bank_id=bank_id) for each in memories]
    texts = [indexed_of(memory, IndexContext(dated)) for memory in memories]
    encoded = deps.encoder.encode(texts)
    dimension = deps.encoder.embedder.dimension
    with deps.lock(bank.key):
        match, apart = deps.settings.entity_match, bank.bank.kept_apart
        resolution = Resolver(deps.graph, bank_id, match, apart).resolve(
            [[Mention(name) for name in memory.entities] for memory in memories],
            [memory.mentioned_at for memory in memories],
        )
    made = []
    for n, (memory, vector, ids) in enumerate(
        zip(memories, vectors, resolution.entity_ids, strict=True)
    ):
        code = encoded[n]
        if vector is not None:
            code = replace(code, vector=checked_vector(vector, dimension))
        memory = replace(memory, entities=tuple(resolution.names[e] for e in ids))
        created = tuple(entity for entity in resolution.created if entity.id in ids)
        made.append(MadeRecord(record_of(memory, texts[n], code, ids), created))
    return made


def checked_memory(memory: object, max_chars: int) -> Memory:
    """Return a caller's memory with all fields checked.

    Raises:
        InvalidInputError: it is no `Memory`, or a field cannot be used.
    """
    if not isinstance(memory, Memory):
        raise InvalidInputError(f"memory is {validation.shown(memory)}; give a Memory")
    sources = validation.instances("memory.sources", memory.sources, Source)
    return replace(
        memory,
        id=validation.label("memory.id", memory.id),
        text=validation.content(memory.text, max_chars),
        type=validation.memory_type(memory.type),
        occurred=validation.spans("memory.occurred", memory.occurred),
        mentioned_at=with_offset(validation.timestamp("memory.mentioned_at", memory.mentioned_at)),
        speaker=validation.label_or_none("speaker", memory.speaker),
        context=_text("memory.context", memory.context, validation.MAX_CONTEXT),
        entities=validation.entities(memory.entities, "memory.entities"),
        tags=validation.tags(memory.tags),
        metadata=validation.metadata(memory.metadata),
        confidence=validation.confidence(memory.confidence),
        scope=validation.label_or_none("scope", memory.scope),
        sources=sources,
        created_at=as_datetime(validation.timestamp("memory.created_at", memory.created_at)),
        updated_at=as_datetime(validation.timestamp("memory.updated_at", memory.updated_at)),
        expires_at=_time("memory.expires_at", memory.expires_at),
        invalidated_at=_time("memory.invalidated_at", memory.invalidated_at),
        invalidated_because=validation.reason(memory.invalidated_because),
        kind=None if memory.kind is None else validation.choice("memory.kind", memory.kind, _KINDS),
        reasoning=_text("memory.reasoning", memory.reasoning, validation.MAX_CONTEXT),
        derived=False,
        pinned=validation.flag("memory.pinned", memory.pinned),
    )


def _text(what: str, value: str | None, most: int) -> str | None:
    return None if value is None else validation.text(value, what, most=most)


def _time(what: str, value: datetime | None) -> datetime | None:
    return None if value is None else as_datetime(validation.timestamp(what, value))
