"""What recall found, as LangChain's documents."""

from __future__ import annotations

from langchain_core.documents import Document

from hindsight_integrations.results import Recalled


def as_document(recalled: Recalled) -> Document:
    """A recalled memory as a document; see `HindsightRetriever` for its metadata.

    All metadata can be written as JSON, so that traces and checkpoints can hold it.
    """
    memory = recalled.memory
    source = memory.sources[0] if memory.sources else None
    return Document(
        id=memory.id,
        page_content=recalled.text,
        metadata={
            "id": memory.id,
            "bank_id": memory.bank_id,
            "score": recalled.score,
            "rank": recalled.rank,
            "type": memory.type.value,
            "mentioned_at": memory.mentioned_at.isoformat(),
            "occurred": [
                {"start": span.start.isoformat(), "end": span.end.isoformat()}
                for span in memory.occurred
            ],
            "speaker": memory.speaker,
            "context": memory.context,
            "entities": list(memory.entities),
            "tags": list(memory.tags),
            "source": memory.document_id,
            "reference": source.reference if source else None,
            "proof_count": memory.proof_count,
            "reasons": [arm.reason for arm in recalled.arms],
            "fields": dict(memory.metadata),
        },
    )
