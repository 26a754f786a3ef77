"""Recall as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Unpack

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import MetadataFilters

from hindsight_integrations import checks
from hindsight_integrations.adapting.banks import recall
from hindsight_integrations.adapting.options import check_options
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.llamaindex.filters import where_from
from hindsight_integrations.llamaindex.nodes import recalled_nodes
from hindsight_integrations.llamaindex.options import RecallOptions


@dataclass
class RecallQuery(QueryBundle):  # type: ignore[misc]
    """A question with recall options of its own, which come on top of the retriever's.

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
        bank_id: which bank, or several. One that does not exist is taken as empty.
        similarity_top_k: nodes at most; by default as many as fit `max_tokens`.
        filters: LlamaIndex's metadata filters, in place of `where`.
        callback_manager: LlamaIndex's callbacks.
        **options: those of `Hindsight.recall`: `max_tokens`, `budget`, `types`, `arms`, `tags`,
            `where`, `scope`, `window`, `as_of`, `min_score` and so on. A `RecallQuery` overrides
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
        check_options(options, RecallOptions.__annotations__)
        if similarity_top_k is not None:
            checks.positive("similarity_top_k", similarity_top_k)
        if filters is not None:
            if options.get("where"):
                raise InvalidInputError("both filters and where were given; give one of them")
            options["where"] = where_from(filters)
        self._memory = memory
        self._bank_id = bank_id
        self._most = similarity_top_k
        self._options = options
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        options = self._options
        if isinstance(query_bundle, RecallQuery):
            check_options(query_bundle.options, RecallOptions.__annotations__)
            options = {**options, **query_bundle.options}
        result = recall(self._memory, self._bank_id, query_bundle.query_str, **options)
        return recalled_nodes(result.memories[: self._most])

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
