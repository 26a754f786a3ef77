"""Memories as LlamaIndex nodes: the text as it was said, with when, by whom, and why it came."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from hindsight_integrations import checks
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.model import Memory
from hindsight_integrations.results import Recalled

SHOWN = ("mentioned_at", "speaker", "context")
"""Metadata that a model reads with the text; the rest is for programs."""


def recalled_nodes(memories: Iterable[Recalled]) -> list[NodeWithScore]:
    """Recalled memories, in their order, with their scores and the reasons why they came."""
    return [
        NodeWithScore(
            node=memory_node(one.memory, [found.reason for found in one.arms]), score=one.score
        )
        for one in memories
    ]


def memory_node(memory: Memory, reasons: Iterable[str] = ()) -> TextNode:
    """A memory as a node of the same id, whose source is the memory's document.

    Its metadata are the memory's own fields, as far as it has them, and yours beside them; a
    field of yours that is named like one of the memory's gives way.
    """
    fields: dict[str, object] = {
        "bank_id": memory.bank_id,
        "type": memory.type.value,
        "mentioned_at": memory.mentioned_at.isoformat(timespec="minutes"),
        "occurred_start": memory.occurred_start and memory.occurred_start.isoformat(),
        "occurred_end": memory.occurred_end and memory.occurred_end.isoformat(),
        "speaker": memory.speaker,
        "context": memory.context,
        "entities": list(memory.entities),
        "tags": list(memory.tags),
        "confidence": memory.confidence,
        "proof_count": memory.proof_count,
        "document_id": memory.document_id,
        "reasons": list(reasons),
    }
    metadata = {**memory.metadata, **{k: v for k, v in fields.items() if v not in (None, [])}}
    source = memory.document_id
    return TextNode(
        id_=memory.id,
        text=memory.text,
        metadata=metadata,
        excluded_llm_metadata_keys=[key for key in metadata if key not in SHOWN],
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {},
    )


def moment(field: str, value: object) -> datetime:
    """A moment in a node's metadata: a datetime, a date, or either as ISO 8601 text.

    Raises:
        InvalidInputError: it is none of these.
    """
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(
            f"a node's {field} is {checks.shown(value)}; give a datetime or ISO 8601 text, such as "
            "2024-05-07T13:56"
        ) from error
