"""Recall as a LlamaIndex retriever, and reflection as a query engine."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Unpack

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.callbacks.base import EventContext
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.vector_stores import MetadataFilters

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.integrations.common import (
    HANDFUL,
    check_options,
    checked_memory,
    recall,
    reflect,
    shown_bank,
)
from hindsight_integrations.integrations.llamaindex.conversions import (
    BankId,
    ReflectOptions,
    bank_of,
    checked_bank,
    custom_query_vector,
    emit_search_events,
    memory_node,
    plain_bank,
    recalled_nodes,
    where_from,
)
from hindsight_integrations.models import Memory, MentalModel
from hindsight_integrations.recall.request import RecallOptions, SearchOptions
from hindsight_integrations.results import Reflection


@dataclass
class RecallQuery(QueryBundle):  # type: ignore[misc]
    """A question with its own options, which override those of the retriever.

    Use it wherever a `QueryBundle` is accepted: with a retriever, or a query engine over one.

    Examples:
        >>> RecallQuery("Who joined?", options={"types": ["world"], "tags": ["team"]}).query_str
        'Who joined?'
    """

    options: RecallOptions = field(default_factory=RecallOptions)


class HindsightRetriever(BaseRetriever):  # type: ignore[misc]
    """Memories of a bank as nodes, best first.

    A node has the memory's id and text, the score from 0 to 1, and as metadata the memory's type,
    times, speaker, entities, tags, your own metadata, and the reasons why it was found.

    Args:
        memory: the open memory.
        bank_id: the bank's id, or several, or a function without arguments that returns the id for
            each question; banks that do not exist are read as empty.
        similarity_top_k: number of nodes, if there are as many; if None the relevant ones, at most
            10. It may be set later, too.
        filters: LlamaIndex's metadata filters, instead of `where`.
        callback_manager: LlamaIndex's callbacks.
        **options: options of `Hindsight.recall`: `max_tokens`, `budget`, `types`, `arms`, `tags`,
            `where`, `scope`, `entities`, `window`, `query_vector`, `arm_limits`, `as_of`,
            `min_score` and so on. A `RecallQuery` overrides
            them for one question.

    Raises:
        InvalidInputError: an option has no such name, or a filter cannot be used.

    Examples:
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
        bank_id: BankId | Sequence[str],
        *,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[RecallOptions],
    ) -> None:
        check_options(options, RecallOptions, also=("similarity_top_k", "filters"))
        if filters is not None:
            if options.get("where"):
                raise InvalidInputError("both filters and where were given; give one of them")
            options["where"] = where_from(filters)
        self._memory = checked_memory(memory)
        self._bank_id = _checked_banks(bank_id)
        self.similarity_top_k = similarity_top_k
        self._options = options
        super().__init__(callback_manager=callback_manager)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._memory!r}, {shown_bank(self._bank_id)}, "
            f"similarity_top_k={self.similarity_top_k})"
        )

    @property
    def similarity_top_k(self) -> int | None:
        """The number of nodes, if there are as many; None for the relevant ones, at most 10.

        Raises:
            InvalidInputError: it is set to what is no whole number of at least 1.
        """
        return self._similarity_top_k

    @similarity_top_k.setter
    def similarity_top_k(self, number: int | None) -> None:
        if number is not None:
            validation.positive("similarity_top_k", number)
        self._similarity_top_k = number

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options: RecallOptions = {"fill": self.similarity_top_k is not None, **self._options}
        vector = custom_query_vector(self._memory, query_bundle)
        if vector is not None:
            options["query_vector"] = vector
        if isinstance(query_bundle, RecallQuery):
            check_options(query_bundle.options, RecallOptions)
            options = {**options, **query_bundle.options}
        banks = bank_of(self._bank_id) if callable(self._bank_id) else self._bank_id
        result = recall(self._memory, banks, query_bundle.query_str, **options)
        return recalled_nodes(result.memories[: self.similarity_top_k or HANDFUL])

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await in_thread(self._retrieve, query_bundle)


def _checked_banks(bank_id: BankId | Sequence[str]) -> BankId | Sequence[str]:
    """Return the argument of a retriever, if it can be used."""
    if isinstance(bank_id, str) or callable(bank_id):
        return checked_bank(bank_id)
    banks = tuple(map(plain_bank, validation.items_or_one("bank_id", bank_id, "a bank's id")))
    if not banks:
        raise InvalidInputError("no bank given; give a bank's id, or several")
    return banks


class HindsightQueryEngine(BaseQueryEngine):  # type: ignore[misc]
    """Answer questions from a bank: a model searches it, and cites the memories it answers from.

    The response's source nodes are the memories that the answer cites. Without a model the answer
    quotes the memories that state it, with dates, or says that none does. Each search is reported
    to LlamaIndex's instrumentation, with its nodes.

    Args:
        memory: the open memory.
        bank_id: the bank's id, or a function without arguments that returns it for each question; a
            bank that does not exist is read as empty.
        response_synthesizer: a LlamaIndex synthesizer that writes the answer instead, with its own
            model and prompts (`get_prompts`, `update_prompts`), and streaming if it streams. The
            source nodes are then everything that was found and passed to the model.
        streaming: True for a `StreamingResponse`. With a synthesizer, set streaming there.
        callback_manager: LlamaIndex's callbacks.
        **options: options of `Hindsight.reflect`: `llm` (for example a LlamaIndex LLM; the memory's
            own if not given), `max_tokens`, `budget`, `tags`, `where` and so on. A `RecallQuery`
            overrides them for one question.

    Raises:
        InvalidInputError: an option has no such name.

    Examples:
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
        bank_id: BankId,
        *,
        response_synthesizer: BaseSynthesizer | None = None,
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[ReflectOptions],
    ) -> None:
        check_options(options, ReflectOptions)
        self._streaming = validation.flag("streaming", streaming)
        if response_synthesizer is not None:
            own = sorted({*options} - {*SearchOptions.__annotations__})
            if own or streaming:
                raise InvalidInputError(
                    f"{own[0] if own else 'streaming'!r} cannot be combined with a "
                    "response_synthesizer, which writes the answer; set it there, or leave one "
                    "of them out"
                )
        self._memory = checked_memory(memory)
        self._bank_id = checked_bank(bank_id)
        self._synthesizer = response_synthesizer and validation.instance(
            "response_synthesizer", response_synthesizer, BaseSynthesizer
        )
        self._options = options
        super().__init__(callback_manager)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._memory!r}, {shown_bank(self._bank_id)})"

    def as_tool(
        self,
        name: str = "memory",
        description: str = "Answers questions from what is remembered of earlier conversations.",
    ) -> QueryEngineTool:
        """Return this engine as a tool, for agents and for a `RouterQueryEngine`."""
        return QueryEngineTool.from_defaults(self, name=name, description=description)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with self._query_event(query_bundle) as event:
            response = self._respond(query_bundle)
            event.on_end({EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        with self._query_event(query_bundle) as event:
            response = await self._arespond(query_bundle)
            event.on_end({EventPayload.RESPONSE: response})
        return response

    def _query_event(self, query_bundle: QueryBundle) -> AbstractContextManager[EventContext]:
        """Return the context that reports the question to LlamaIndex's callbacks."""
        payload = {EventPayload.QUERY_STR: query_bundle.query_str}
        event: AbstractContextManager[EventContext] = self.callback_manager.event(
            CBEventType.QUERY, payload=payload
        )
        return event

    def _respond(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if self._synthesizer is not None:
            return self._synthesizer.synthesize(query_bundle, self._retrieve_nodes(query_bundle))
        reflection = self._reflect(query_bundle)
        details = _details(reflection)
        if not self._streaming:
            return Response(reflection.text, _cited_nodes(reflection), details)
        return StreamingResponse(
            iter(_split_words(reflection.text)), _cited_nodes(reflection), details
        )

    async def _arespond(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if self._synthesizer is not None:
            found = await in_thread(self._retrieve_nodes, query_bundle)
            return await self._synthesizer.asynthesize(query_bundle, found)
        reflection = await in_thread(self._reflect, query_bundle)
        details = _details(reflection)
        if not self._streaming:
            return Response(reflection.text, _cited_nodes(reflection), details)

        async def pieces() -> AsyncIterator[str]:
            for piece in _split_words(reflection.text):
                yield piece

        return AsyncStreamingResponse(pieces(), _cited_nodes(reflection), details)

    def _reflect(self, query_bundle: QueryBundle) -> Reflection:
        options = self._options_for(query_bundle)
        bank = bank_of(self._bank_id)
        reflection = reflect(self._memory, bank, query_bundle.query_str, **options)
        sources = {item.id: item.source for item in reflection.context}
        made = [(lookup.query, lookup.found) for lookup in reflection.lookups]
        # Without a model there is one search, and the context is what it found.
        for query, found in made or [(query_bundle.query_str, tuple(sources))]:
            nodes = [NodeWithScore(node=_node(sources[id])) for id in found if id in sources]
            emit_search_events(query, nodes)
        return reflection

    def _retrieve_nodes(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._options_for(query_bundle)
        bank = bank_of(self._bank_id)
        vector = custom_query_vector(self._memory, query_bundle)
        if vector is not None:
            options.setdefault("query_vector", vector)
        nodes = recalled_nodes(recall(self._memory, bank, query_bundle.query_str, **options))
        emit_search_events(query_bundle.query_str, nodes)
        return nodes

    def _options_for(self, query_bundle: QueryBundle) -> dict[str, Any]:
        options: dict[str, Any] = dict(self._options)
        if isinstance(query_bundle, RecallQuery):
            known = ReflectOptions if self._synthesizer is None else RecallOptions
            check_options(query_bundle.options, known)
            options |= query_bundle.options
        return options

    def _get_prompt_modules(self) -> PromptMixinType:
        return {} if self._synthesizer is None else {"response_synthesizer": self._synthesizer}


def _split_words(text: str) -> list[str]:
    """Split a text into words, each with the white space around it."""
    return re.findall(r"\s*\S+\s*", text)


def _cited_nodes(reflection: Reflection) -> list[NodeWithScore]:
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
