"""A draft as it is stored: an ordinary memory that rests on others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.language.encode import EncodedText, TextEncoder
from hindsight_integrations.model import Bank, Change, Memory, MemoryType, Source, TimeSpan
from hindsight_integrations.naming import entity_norm, new_id, word_runs
from hindsight_integrations.reflect.confidence import observation_confidence
from hindsight_integrations.reflect.opinions import belief
from hindsight_integrations.reflect.ports import Draft
from hindsight_integrations.retain.enrich import indexed_of, record_of
from hindsight_integrations.storage.requests import MemoryRecord
from hindsight_integrations.storage.values import DRAWN, RESTED

_MOST_TIMES = 8
_LONGEST_NAME = 4


def is_drawn(memory: Memory) -> bool:
    """Whether the engine drew this conclusion: it rewrites no others."""
    return memory.id.startswith(DRAWN)


def conclusion(
    bank: Bank,
    draft: Draft,
    evidence: Mapping[str, MemoryRecord],
    before: Memory | None,
    now: datetime,
    *,
    topic: str | None = None,
) -> MemoryRecord:
    """The memory that a draft becomes, still without its own vector.

    What all of its evidence has in common it has too: tags, metadata, scope. It is as old as
    the latest of it, tells its times, and expires with the first of it to expire. One that was
    held to be wrong stays so.

    Args:
        bank: whose it is.
        draft: what it says.
        evidence: the memories it rests on, by id.
        before: the conclusion that it takes the place of.
        now: the moment of writing.
        topic: what an opinion is on; None of an observation.
    """
    rested = [evidence[piece.memory_id] for piece in draft.evidence]
    facts = [record.memory for record in rested]
    entities = _entities(draft.text, rested)
    sources = tuple(
        Source(
            mentioned_at=fact.mentioned_at,
            memory_id=fact.id,
            quote=piece.quote,
            supports=piece.supports,
        )
        for piece, fact in zip(draft.evidence, facts, strict=True)
    )
    memory = Memory(
        id=before.id if before else new_id(DRAWN),
        bank_id=bank.id,
        text=draft.text,
        type=MemoryType.OBSERVATION if topic is None else MemoryType.OPINION,
        occurred=_times(facts),
        mentioned_at=max(fact.mentioned_at for fact in facts),
        context=topic,
        entities=tuple(entities.values()),
        tags=_common_tags(facts),
        metadata=dict(_common_items(facts)),
        confidence=_confidence(bank, draft, facts, topic),
        scope=facts[0].scope,
        sources=sources,
        created_at=before.created_at if before else now,
        updated_at=now,
        expires_at=min((f.expires_at for f in facts if f.expires_at), default=None),
        invalidated_at=before.invalidated_at if before else None,
        invalidated_because=before.invalidated_because if before else None,
        kind=draft.kind,
        reasoning=draft.reasoning,
    )
    lent = EncodedText(rested[0].vector, None)
    return record_of(memory, indexed_of(memory), lent, tuple(entities))


def told(
    before: Memory, after: Memory, action: str, reason: str, *, quotable: bool
) -> Iterator[Change]:
    """What goes into the history when a conclusion is written anew.

    Args:
        before: as it was.
        after: as it is now.
        action: what wrote it.
        reason: why it reads otherwise.
        quotable: whether its old text may stay; not if it rested on a memory that is gone.
    """
    at = after.updated_at
    if before.text != after.text:
        old = before.text if quotable else None
        yield Change(after.id, action, "text", old, after.text, at, reason)
    yield from left(before, action, at, but=after.sources)


def left(
    before: Memory, action: str, at: datetime, *, but: Sequence[Source] = ()
) -> Iterator[Change]:
    """What goes into the histories of memories that a conclusion rests on no more, or that went."""
    rests = {source.memory_id for source in but}
    rested = {source.memory_id for source in before.sources if source.memory_id is not None}
    for id in sorted(rested - rests):
        yield Change(id, action, RESTED, before.id, None, at)


def encoded(encoder: TextEncoder, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """The records with the vectors of their own texts.

    Raises:
        EmbeddingError: the embedder failed.
    """
    found = encoder.encode([indexed_of(record.memory) for record in records])
    return [
        replace(record, vector=code.vector, interaction=code.interaction)
        for record, code in zip(records, found, strict=True)
    ]


def _confidence(bank: Bank, draft: Draft, facts: Sequence[Memory], topic: str | None) -> float:
    skepticism = bank.disposition.skepticism
    if topic is None:
        return observation_confidence(len(draft.evidence), skepticism)
    told = zip((fact.mentioned_at for fact in facts), draft.evidence, strict=True)
    in_time = sorted(told, key=lambda pair: (pair[0], pair[1].memory_id))
    return belief([piece.supports for _, piece in in_time], skepticism)


def _entities(text: str, evidence: Sequence[MemoryRecord]) -> dict[str, str]:
    """Of the entities that the evidence mentions, those named in the text: id to name."""
    named = {run.norm for run in word_runs(text, _LONGEST_NAME)}
    return {
        entity_id: name
        for record in evidence
        for entity_id, name in zip(record.entity_ids, record.memory.entities, strict=True)
        if entity_norm(name) in named
    }


def _times(facts: Sequence[Memory]) -> tuple[TimeSpan, ...]:
    return tuple(sorted({span for fact in facts for span in fact.occurred})[-_MOST_TIMES:])


def _common_tags(facts: Sequence[Memory]) -> tuple[str, ...]:
    return tuple(tag for tag in facts[0].tags if all(tag in fact.tags for fact in facts))


def _common_items(facts: Sequence[Memory]) -> list[tuple[str, str | int | float | bool]]:
    return [
        (name, value)
        for name, value in facts[0].metadata.items()
        if all(name in fact.metadata and fact.metadata[name] == value for fact in facts)
    ]
