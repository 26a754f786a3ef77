"""LlamaIndex's values and the engine's: options, metadata filters, nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilters
from pydantic import BaseModel

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, MemoryType
from hindsight_integrations.recall.request import SearchOptions, Where
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.results import Recalled


class ChatOptions(TypedDict, total=False):
    """The keyword arguments of `Hindsight.recall` that make sense for a whole chat."""

    max_tokens: int
    budget: str
    types: Iterable[MemoryType | str] | None
    tags: Sequence[str]
    tags_match: str
    where: Where | None
    entities: Sequence[str]
    min_score: float | None
    fill: bool


class ReflectOptions(SearchOptions, total=False):
    """The keyword arguments of `Hindsight.reflect`."""

    llm: object | None
    response_schema: type[BaseModel] | Mapping[str, object] | None
    max_iterations: int
    timeout: float


_OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
}


def where_from(filters: MetadataFilters) -> Where:
    """Return LlamaIndex's metadata filters as `where` conditions, which all have to hold.

    Raises:
        InvalidInputError: they combine other than by AND, or use an operator that recall lacks.
    """
    where: dict[str, dict[str, Any]] = {}
    for key, operator, value in _tests(filters):
        if operator in where.setdefault(key, {}):
            raise InvalidInputError(f"filters test {key!r} twice by {operator!r}; test it once")
        where[key][operator] = value
    return where


def _tests(filters: MetadataFilters) -> Iterator[tuple[str, str, object]]:
    if filters.condition not in (None, FilterCondition.AND):
        raise InvalidInputError(
            f"filters are combined by {filters.condition.value!r}; recall combines by 'and' (use "
            "the operator 'in' for alternatives, or a retriever for each)"
        )
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            yield from _tests(one)
        elif one.operator in _OPERATORS:
            yield one.key, _OPERATORS[one.operator], one.value
        else:
            raise InvalidInputError(
                f"the filter on {one.key!r} uses {one.operator.value!r}; recall has "
                f"{', '.join(operator.value for operator in _OPERATORS)}"
            )


SHOWN = ("mentioned_at", "speaker", "context")
"""Metadata that a model reads with the text; the rest is for programs."""


def recalled_nodes(memories: Iterable[Recalled]) -> list[NodeWithScore]:
    """Return recalled memories as nodes in the same order, with scores and reasons."""
    return [
        NodeWithScore(
            node=memory_node(recalled.memory, recalled.reasons),
            score=recalled.score,
        )
        for recalled in memories
    ]


def memory_node(memory: Memory, reasons: Iterable[str] = ()) -> TextNode:
    """Return a memory as a node of the same id, whose source is the memory's document.

    Its metadata are the memory's fields that have a value, and the memory's own metadata, whose
    fields give way to those of the same name.
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
    shown = {key: as_line(str(metadata[key])) for key in SHOWN if key in metadata}
    source = memory.document_id
    return TextNode(
        id_=memory.id,
        text=as_item(memory.text),
        metadata=metadata | shown,
        excluded_llm_metadata_keys=[key for key in metadata if key not in SHOWN],
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {},
    )


def timestamp(field: str, value: object) -> datetime:
    """Return a time in a node's metadata: a datetime, a date, or either as ISO 8601 text.

    Raises:
        InvalidInputError: the value is none of these.
    """
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInputError(
            f"a node's {field} is {validation.shown(value)}; give a datetime or ISO 8601 text, "
            "such as 2024-05-07T13:56"
        ) from error
