"""Values of the engine in the wire's shape."""

from __future__ import annotations

from datetime import datetime

from hindsight_integrations.models import Arm, Bank, Entity, Memory, MemoryType, Metadata
from hindsight_integrations.results import Recalled
from hindsight_integrations.service.http_api import answers


def time_text(time: datetime | None) -> str | None:
    """Return a time in ISO 8601; None if there is none."""
    return None if time is None else time.isoformat()


def metadata_texts(metadata: Metadata) -> dict[str, str]:
    """Return metadata with each value as text: clients read nothing else in results."""
    return {name: str(value) for name, value in metadata.items()}


def source_ids(memory: Memory) -> list[str] | None:
    """Return the memories that a conclusion rests on; None for what rests on none."""
    found = [source.memory_id for source in memory.sources if source.memory_id]
    return found or None


def chunk_id(memory: Memory) -> str | None:
    """Return the chunk that a memory was first stated in."""
    return memory.sources[0].chunk_id if memory.sources else None


def traits(bank: Bank) -> answers.Traits:
    """Return the disposition of a bank."""
    given = bank.disposition
    return answers.Traits(
        skepticism=given.skepticism, literalism=given.literalism, empathy=given.empathy
    )


def profile(bank: Bank) -> answers.Profile:
    """Return the profile of a bank; one without a name is called by its id."""
    return answers.Profile(
        bank_id=bank.id,
        name=bank.name or bank.id,
        disposition=traits(bank),
        mission=bank.mission,
        background=bank.background,
    )


def _edited(memory: Memory) -> str | None:
    return time_text(memory.updated_at) if memory.updated_at > memory.created_at else None


def _date(memory: Memory) -> str:
    return (memory.occurred_start or memory.mentioned_at).isoformat()


def memory_item(memory: Memory) -> answers.MemoryItem:
    """Return a memory as lists have it."""
    return answers.MemoryItem(
        id=memory.id,
        text=memory.text,
        context=memory.context or "",
        date=_date(memory),
        fact_type=memory.type.value,
        document_id=memory.document_id,
        mentioned_at=memory.mentioned_at.isoformat(),
        occurred_start=time_text(memory.occurred_start),
        occurred_end=time_text(memory.occurred_end),
        entities=", ".join(memory.entities),
        chunk_id=chunk_id(memory),
        proof_count=memory.proof_count,
        tags=list(memory.tags),
        metadata=dict(memory.metadata),
        state="invalidated" if memory.invalidated_at else "valid",
        invalidation_reason=memory.invalidated_because,
        invalidated_at=time_text(memory.invalidated_at),
        edited_at=_edited(memory),
        updated_at=memory.updated_at.isoformat(),
        source_memory_ids=source_ids(memory),
    )


def memory_detail(memory: Memory) -> answers.MemoryDetail:
    """Return a memory with all that is known of it."""
    shared = set(answers.MemoryDetail.model_fields) - {"entities"}
    return answers.MemoryDetail(
        **memory_item(memory).model_dump(include=shared),
        type=memory.type.value,
        entities=list(memory.entities),
        speaker=memory.speaker,
    )


def result(memory: Memory, scores: answers.Scores | None = None) -> answers.Result:
    """Return a memory as recall has it."""
    return answers.Result(
        id=memory.id,
        text=memory.text,
        type=memory.type.value,
        entities=list(memory.entities),
        context=memory.context,
        occurred_start=time_text(memory.occurred_start),
        occurred_end=time_text(memory.occurred_end),
        mentioned_at=memory.mentioned_at.isoformat(),
        document_id=memory.document_id,
        metadata=metadata_texts(memory.metadata),
        chunk_id=chunk_id(memory),
        tags=list(memory.tags),
        source_fact_ids=source_ids(memory) if memory.type is MemoryType.OBSERVATION else None,
        scores=scores,
    )


def scores(recalled: Recalled) -> answers.Scores:
    """Return the scores of a recalled memory; the reranker has none of its own."""
    found = {each.arm: float(each.score) for each in recalled.arms}
    return answers.Scores(
        final=recalled.relevance,
        semantic=found.get(Arm.SEMANTIC),
        keyword=found.get(Arm.KEYWORD),
    )


def fact(memory: Memory) -> answers.Fact:
    """Return a memory that an answer rests on."""
    return answers.Fact(**result(memory).model_dump(include=set(answers.Fact.model_fields)))


def said(memory: Memory) -> answers.Said:
    """Return an observation about an entity."""
    return answers.Said(text=memory.text, mentioned_at=memory.mentioned_at.isoformat())


def entity_item(entity: Entity) -> answers.EntityItem:
    """Return an entity as lists have it; its kind and other names are its metadata."""
    return answers.EntityItem(
        id=entity.id,
        canonical_name=entity.name,
        mention_count=entity.mention_count,
        first_seen=time_text(entity.first_seen),
        last_seen=time_text(entity.last_seen),
        metadata={"kind": entity.kind, "aliases": list(entity.aliases)},
    )
