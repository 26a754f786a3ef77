"""Reflection as a LlamaIndex query engine."""

from __future__ import annotations

import asyncio
from typing import Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool

from hindsight_integrations.adapting.banks import reflect
from hindsight_integrations.adapting.options import check_options
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.llamaindex.nodes import memory_node
from hindsight_integrations.llamaindex.options import ReflectOptions
from hindsight_integrations.llamaindex.retriever import RecallQuery
from hindsight_integrations.model import Memory, MentalModel
from hindsight_integrations.reflections import Reflection


class HindsightQueryEngine(BaseQueryEngine):  # type: ignore[misc]
    """Answers from a bank: a model searches it, and answers with citations.

    The response's source nodes are the memories that the answer cites. Without a model the
    answer is what the bank knows of the question, set out with dates.

    Args:
        memory: the engine.
        bank_id: which bank. One that does not exist is taken as empty.
        callback_manager: LlamaIndex's callbacks.
        **options: those of `Hindsight.reflect`: `llm` (a LlamaIndex LLM for instance; the
            engine's own if not given), `max_tokens`, `budget`, `tags`, `where` and so on. A
            `RecallQuery` overrides them for one question.

    Raises:
        InvalidInputError: an option has no such name.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        ...     answer = HindsightQueryEngine(memory, "alice").query("Where does Alice work?")
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
        check_options(options, ReflectOptions.__annotations__)
        self._memory = memory
        self._bank_id = bank_id
        self._options = options
        super().__init__(callback_manager)

    def as_tool(
        self,
        name: str = "memory",
        description: str = "Answers questions from what is remembered of earlier conversations.",
    ) -> QueryEngineTool:
        """This engine as a tool, for agents and for a `RouterQueryEngine`."""
        return QueryEngineTool.from_defaults(self, name=name, description=description)

    def _query(self, query_bundle: QueryBundle) -> Response:
        options = self._options
        if isinstance(query_bundle, RecallQuery):
            check_options(query_bundle.options, ReflectOptions.__annotations__)
            options = {**options, **query_bundle.options}  # type: ignore[typeddict-unknown-key]
        found = reflect(self._memory, self._bank_id, query_bundle.query_str, **options)
        return Response(found.text, _cited(found), _details(found))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def _cited(found: Reflection) -> list[NodeWithScore]:
    sources = {item.id: item.source for item in found.context}
    return [
        NodeWithScore(node=_node(sources[cited])) for cited in found.sources if cited in sources
    ]


def _node(source: Memory | MentalModel) -> TextNode:
    if isinstance(source, Memory):
        return memory_node(source)
    metadata = {"bank_id": source.bank_id, "type": "mental_model", "name": source.name}
    return TextNode(id_=source.id, text=source.text, metadata=metadata)


def _details(found: Reflection) -> dict[str, object]:
    details = {
        "bank_id": found.bank_id,
        "model_calls": found.usage.calls,
        "failures": [str(failure) for failure in found.failures],
        "structured": found.structured,
    }
    return {name: value for name, value in details.items() if value not in (None, [])}
