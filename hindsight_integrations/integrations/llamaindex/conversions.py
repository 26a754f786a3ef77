"""LlamaIndex's values and the engine's: options, metadata filters, nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypedDict

import numpy as np
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.retrieval import (
    RetrievalEndEvent,
    RetrievalStartEvent,
)
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from pydantic import BaseModel

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.collection import own_metadata
from hindsight_integrations.integrations.common import BRACES, returned_bank, unfilled
from hindsight_integrations.models import Memory, MemoryType
from hindsight_integrations.nlp.embeddings import query_vector
from hindsight_integrations.recall.request import SearchOptions, Where
from hindsight_integrations.rendering import as_item, as_line
from hindsight_integrations.results import Recalled
from hindsight_integrations.stores.base import Vector

BankId: TypeAlias = str | Callable[[], str]
"""A bank's id, or a function that returns that of the run, such as `current_user.get` of a
`contextvars.ContextVar`: parts that many users share then read and write the bank of each."""


def plain_bank(bank_id: object) -> str:
    """Return a bank's id.

    Raises:
        InvalidInputError: it cannot be used, or has a brace: here no placeholder is filled.
    """
    if callable(bank_id):
        raise InvalidInputError(
            f"bank_id is the function {validation.shown(bank_id)}; this part takes the id of one "
            "bank: make one for each user"
        )
    given = validation.new_bank_id(bank_id)
    if BRACES.search(given):
        raise unfilled(
            "bank_id",
            given,
            "give each user a part of their own, a function that returns the user's bank where "
            "one is taken, such as current_user.get, or an id without braces",
        )
    return given


def checked_bank(bank_id: BankId) -> BankId:
    """Return the argument, if it can be used.

    Raises:
        InvalidInputError: it is neither a bank's id nor a function, or it has a brace.
    """
    return bank_id if callable(bank_id) else plain_bank(bank_id)


def bank_of(bank_id: BankId) -> str:
    """Return the bank of this run."""
    return returned_bank(bank_id()) if callable(bank_id) else bank_id


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


def custom_query_vector(memory: Hindsight, question: QueryBundle) -> Vector | None:
    """Return the vector of the texts that are embedded in place of a question; None if none are.

    It is the mean of their vectors, as LlamaIndex makes it of them: `HyDEQueryTransform` gives an
    answer that it made up.
    """
    if not question.custom_embedding_strs:
        return None
    vectors = [query_vector(memory.embedder, text) for text in question.custom_embedding_strs]
    mean: Vector = np.mean(vectors, axis=0, dtype=np.float32)
    return mean


_OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.TEXT_MATCH: "$contains",
    FilterOperator.TEXT_MATCH_INSENSITIVE: "$icontains",
}


def where_from(filters: MetadataFilters) -> Where:
    """Return LlamaIndex's metadata filters as `where` conditions.

    "contains", "any" and "all" look at tags, entities and other lists: those of metadata are kept
    as JSON (see `HindsightTransform`).

    Raises:
        InvalidInputError: they are none, or one has a value that its operator cannot take.
    """
    validation.instance("filters", filters, MetadataFilters)
    tests = [
        where_from(one) if isinstance(one, MetadataFilters) else _where(one)
        for one in filters.filters
    ]
    if not tests:
        return {}
    match filters.condition:
        case FilterCondition.OR:
            return {"$or": tests}
        case FilterCondition.NOT:
            return {"$not": {"$or": tests}}
    return {"$and": tests}


def _where(one: MetadataFilter) -> Where:
    if one.operator in _OPERATORS:
        return {one.key: {_OPERATORS[one.operator]: one.value}}
    if one.operator == FilterOperator.IS_EMPTY:
        return {"$or": [{one.key: {"$exists": False}}, {one.key: {"$in": ["", "[]"]}}]}
    if one.operator == FilterOperator.CONTAINS:
        return _containing(one.key, one.value)
    if not isinstance(one.value, list):
        raise InvalidInputError(
            f"the filter on {one.key!r} compares {one.operator.value!r} with "
            f"{validation.shown(one.value)}; give a list"
        )
    combined = "$and" if one.operator == FilterOperator.ALL else "$or"
    each = [_containing(one.key, value) for value in one.value]
    return {combined: each} if each else {one.key: {"$in": []}}


def _containing(key: str, value: object) -> Where:
    """Return the condition that one value of a field, or one element of its list, is `value`."""
    text = json.dumps(value, ensure_ascii=False)
    parts = [text] if isinstance(value, str) else [f"{a}{text}{b}" for a in "[ " for b in ",]"]
    return {"$or": [{key: value}, *({key: {"$contains": part}} for part in parts)]}


_dispatcher = get_dispatcher(__name__)


def emit_search_events(query: str, nodes: list[NodeWithScore]) -> None:
    """Report to LlamaIndex's instrumentation a search that no retriever of LlamaIndex made."""
    _dispatcher.event(RetrievalStartEvent(str_or_query_bundle=query))
    _dispatcher.event(RetrievalEndEvent(str_or_query_bundle=query, nodes=nodes))


PROMPT_KEYS = ("mentioned_at", "speaker", "context")
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


class MemoryNode(TextNode):  # type: ignore[misc]
    """A memory as a node: equal for all questions, so that several questions' nodes are merged."""

    @property
    def hash(self) -> str:
        """Hash of the memory, without the reasons why a question found it."""
        told = {key: value for key, value in self.metadata.items() if key != "reasons"}
        return str(TextNode(text=self.text, metadata=told).hash)


def memory_node(memory: Memory, reasons: Iterable[str] = ()) -> MemoryNode:
    """Return a memory as a node of the same id, whose source is the memory's document.

    Its metadata are the memory's fields that have a value, and the memory's own metadata, whose
    fields give way to those of the same name; but `source` is theirs, or else the document.
    """
    sources = memory.sources
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
        "reference": sources[0].reference if sources else None,
        "source": own_metadata(memory).get("source", memory.document_id),
        "reasons": list(reasons),
    }
    metadata = {**own_metadata(memory), **{k: v for k, v in fields.items() if v not in (None, [])}}
    shown = {key: as_line(str(metadata[key])) for key in PROMPT_KEYS if key in metadata}
    source = memory.document_id
    return MemoryNode(
        id_=memory.id,
        text=as_item(memory.text),
        metadata=metadata | shown,
        excluded_llm_metadata_keys=[key for key in metadata if key not in PROMPT_KEYS],
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {},
    )
