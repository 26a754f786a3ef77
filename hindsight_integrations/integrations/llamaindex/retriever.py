"""Recall as a LlamaIndex retriever, and reflection as a query engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.vector_stores import MetadataFilters

from hindsight_integrations import validation
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import (
    HANDFUL,
    check_options,
    checked_memory,
    recall,
    reflect,
)
from hindsight_integrations.integrations.llamaindex.conversions import (
    ReflectOptions,
    memory_node,
    recalled_nodes,
    where_from,
)
from hindsight_integrations.models import Memory, MentalModel
from hindsight_integrations.recall.request import RecallOptions
from hindsight_integrations.results import Reflection


@dataclass
class RecallQuery(QueryBundle):  # type: ignore[misc]
    """A question with options of its own, which override the retriever's.

    Give it wherever a `QueryBundle` goes: to a retriever, or to a query engine over one.

    Example:
        >>> RecallQuery("Who joined?", options={"types": ["world"], "tags": ["team"]}).query_str
        'Who joined?'
    """

    options: RecallOptions = field(default_factory=RecallOptions)


class HindsightRetriever(BaseRetriever):  # type: ignore[misc]
    """Memories of a bank as nodes, best first.

    A node has the memory's id and text, the score from 0 to 1, and as metadata the memory's type,
    times, speaker, entities, tags, your own metadata, and the reasons why it was found.

    Args:
        memory: the engine.
        bank_id: the bank's id, or several; banks that do not exist are read as empty.
        similarity_top_k: number of nodes, if there are as many; if None the relevant ones, at most
            10.
        filters: LlamaIndex's metadata filters, instead of `where`.
        callback_manager: LlamaIndex's callbacks.
        **options: those of `Hindsight.recall`: `max_tokens`, `budget`, `types`, `arms`, `tags`,
            `where`, `scope`, `entities`, `window`, `query_vector`, `arm_limits`, `as_of`,
            `min_score` and so on. A `RecallQuery` overrides
            them for one question.

    Raises:
        InvalidInputError: an option has no such name, or a filter cannot be used.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        ...     retriever = HindsightRetriever(memory, "alice", similarity_top_k=3)
        ...     for found in retriever.retrieve("Where did Alice work in spring 2021?"):
        ...         print(found.text)
        Alice joined Northwind in March 2021 as a designer.
    """

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str | Sequence[str],
        *,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[RecallOptions],
    ) -> None:
        check_options(options, RecallOptions)
        if similarity_top_k is not None:
            validation.positive("similarity_top_k", similarity_top_k)
        if filters is not None:
            if options.get("where"):
                raise InvalidInputError("both filters and where were given; give one of them")
            options["where"] = where_from(filters)
        self._memory = checked_memory(memory)
        self._bank_id = bank_id
        self._most = similarity_top_k or HANDFUL
        options.setdefault("fill", similarity_top_k is not None)
        self._options = options
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._options
        if isinstance(query_bundle, RecallQuery):
            check_options(query_bundle.options, RecallOptions)
            options = {**options, **query_bundle.options}
        result = recall(self._memory, self._bank_id, query_bundle.query_str, **options)
        return recalled_nodes(result.memories[: self._most])

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class HindsightQueryEngine(BaseQueryEngine):  # type: ignore[misc]
    """Answers from a bank: a model searches it, and cites the memories it answers from.

    The response's source nodes are the memories that the answer cites. Without a model the
    answer quotes the memories that state it, with dates, or says that none does.

    Args:
        memory: the engine.
        bank_id: the bank's id; a bank that does not exist is read as empty.
        callback_manager: LlamaIndex's callbacks.
        **options: those of `Hindsight.reflect`: `llm` (a LlamaIndex LLM for instance; the
            engine's own if not given), `max_tokens`, `budget`, `tags`, `where` and so on. A
            `RecallQuery` overrides them for one question.

    Raises:
        InvalidInputError: an option has no such name.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        ...     asking = HindsightQueryEngine(memory, "alice")
        ...     answer = asking.query("When did Alice join Northwind?")
        ...     print(answer.source_nodes[0].text)
        Alice joined Northwind in March 2021 as a designer.
    """

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        *,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[ReflectOptions],
    ) -> None:
        check_options(options, ReflectOptions)
        self._memory = checked_memory(memory)
        self._bank_id = bank_id
        self._options = options
        super().__init__(callback_manager)

    def as_tool(
        self,
        name: str = "memory",
        description: str = "Answers questions from what is remembered of earlier conversations.",
    ) -> QueryEngineTool:
        """Return this engine as a tool, for agents and for a `RouterQueryEngine`."""
        return QueryEngineTool.from_defaults(self, name=name, description=description)

    def _query(self, query_bundle: QueryBundle) -> Response:
        options = self._options
        if isinstance(query_bundle, RecallQuery):
            check_options(query_bundle.options, ReflectOptions)
            options = {**options, **query_bundle.options}  # type: ignore[typeddict-unknown-key]
        reflection = reflect(self._memory, self._bank_id, query_bundle.query_str, **options)
        return Response(reflection.text, _cited(reflection), _details(reflection))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def _cited(reflection: Reflection) -> list[NodeWithScore]:
    sources = {item.id: item.source for item in reflection.context}
    return [
        NodeWithScore(node=_node(sources[cited]))
        for cited in reflection.sources
        if cited in sources
    ]


def _node(source: Memory | MentalModel) -> TextNode:
    if isinstance(source, Memory):
        return memory_node(source)
    metadata = {"bank_id": source.bank_id, "type": "mental_model", "name": source.name}
    return TextNode(id_=source.id, text=source.text, metadata=metadata)


def _details(reflection: Reflection) -> dict[str, object]:
    details = {
        "bank_id": reflection.bank_id,
        "model_calls": reflection.usage.calls,
        "failures": [str(failure) for failure in reflection.failures],
        "structured": reflection.structured,
    }
    return {name: value for name, value in details.items() if value not in (None, [])}
