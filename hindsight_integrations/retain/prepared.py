"""Prepared memories: the caller made the text, the times, the entities and maybe the vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hindsight_integrations import checks
from hindsight_integrations.errors import ConflictError, InvalidInputError
from hindsight_integrations.language.embed import checked
from hindsight_integrations.model import Memory, as_moment
from hindsight_integrations.results import RetainResult, Skipped, SkipReason
from hindsight_integrations.retain.draft import RetainParts
from hindsight_integrations.retain.enrich import indexed_of, record_of
from hindsight_integrations.retain.ports import Mention
from hindsight_integrations.retain.resolve import Resolver
from hindsight_integrations.storage.requests import (
    ChangeSet,
    StoredBank,
    Vector,
)


def retain_memory(
    parts: RetainParts,
    bank: StoredBank,
    memory: Memory,
    vector: Vector | Sequence[float] | None,
) -> RetainResult:
    """Store one memory as it is.

    Raises:
        InvalidInputError: a field cannot be used.
        ConflictError: another memory has its id.
        EmbeddingError: the vector cannot be used.
    """
    bank_id = bank.bank.id
    memory = _checked(memory, bank_id, parts.settings.max_content_chars)
    indexed = indexed_of(memory)
    encoded = parts.encoder.encode([indexed])[0]
    if vector is not None:
        embedder = parts.encoder.embedder
        given = np.asarray(vector, dtype=np.float32).reshape(1, -1)
        row = checked(given, 1, embedder.dimension, "the vector given")[0]
        encoded = replace(encoded, vector=row)
    with parts.lock(bank.key):
        old = parts.graph.get_memories(bank_id, [memory.id]).get(memory.id)
        if old is not None:
            if old.text == memory.text:
                same = Skipped(memory.text[:80], SkipReason.UNCHANGED, memory.id)
                return RetainResult(bank_id, skipped=(same,))
            raise ConflictError(
                f"bank {bank_id!r} has another memory {memory.id!r}; give this one an id of its "
                f"own, or change that one with memories.update"
            )
        resolution = Resolver(parts.graph, bank_id, parts.settings.entity_match).resolve(
            [[Mention(name) for name in memory.entities]], [memory.mentioned_at]
        )
        ids = resolution.entity_ids[0]
        memory = replace(memory, entities=tuple(resolution.names[e] for e in ids))
        record = record_of(memory, indexed, encoded, ids)
        parts.graph.apply(ChangeSet(bank_id, entities=resolution.created, memories=(record,)))
    parts.flush()
    return RetainResult(bank_id, stored=(memory,))


def _checked(memory: Memory, bank_id: str, max_chars: int) -> Memory:
    if not isinstance(memory, Memory):
        raise InvalidInputError(f"memory is {checks.shown(memory)}; give a Memory")
    return replace(
        memory,
        id=checks.label("memory.id", memory.id),
        bank_id=bank_id,
        text=checks.content(memory.text, max_chars),
        type=checks.memory_type(memory.type),
        mentioned_at=as_moment(checks.moment("memory.mentioned_at", memory.mentioned_at)),
        speaker=None if memory.speaker is None else checks.label("speaker", memory.speaker),
        context=None if memory.context is None else checks.text(memory.context, "context"),
        entities=tuple(checks.label("an entity", name) for name in memory.entities),
        tags=checks.tags(memory.tags),
        metadata=checks.metadata(memory.metadata),
        confidence=checks.confidence(memory.confidence),
        scope=None if memory.scope is None else checks.label("scope", memory.scope),
        expires_at=None if memory.expires_at is None else as_moment(memory.expires_at),
    )
