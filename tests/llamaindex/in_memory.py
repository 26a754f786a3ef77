"""LlamaIndex's own parts, in memory: what the contract tests have to be fair to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from llama_index.core import VectorStoreIndex
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import (
    BaseMemoryBlock,
    FactExtractionMemoryBlock,
    StaticMemoryBlock,
    VectorMemoryBlock,
)
from llama_index.core.prompts import RichPromptTemplate
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.tools.tool_spec.base import BaseToolSpec
from llama_index.core.vector_stores import SimpleVectorStore, VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryResult

from hindsight_integrations.integrations.llamaindex.models import HindsightEmbedding
from hindsight_integrations.llamaindex.testing import ScriptedChat

EMBEDDING = HindsightEmbedding()


def vector_retriever(texts: Sequence[str]) -> BaseRetriever:
    index = VectorStoreIndex([TextNode(text=text) for text in texts], embed_model=EMBEDDING)
    return index.as_retriever(similarity_top_k=3)


class KeepingVectorStore(SimpleVectorStore):
    """The in-memory vector store, with the nodes themselves, which `VectorMemoryBlock` wants."""

    stores_text: bool = True

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        self._nodes = getattr(self, "_nodes", {}) | {node.node_id: node for node in nodes}
        return super().add(nodes, **kwargs)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        if not self.data.embedding_dict:
            return VectorStoreQueryResult(nodes=[], similarities=[], ids=[])
        found = super().query(query, **kwargs)
        found.nodes = [self._nodes[id] for id in found.ids or []]
        return found


def vector_block() -> BaseMemoryBlock[Any]:
    return VectorMemoryBlock(vector_store=KeepingVectorStore(), embed_model=EMBEDDING)


def static_block() -> BaseMemoryBlock[Any]:
    return StaticMemoryBlock(static_content="The user's name is Alice.")


def fact_block() -> BaseMemoryBlock[Any]:
    """Its model repeats what it reads, as facts."""

    class Repeating(ScriptedChat):
        def _reply(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
            told = [m.content or "" for m in messages if m.role != "system"]
            facts = "".join(f"<fact>{text}</fact>" for text in told)
            return ChatMessage(f"<facts>{facts}</facts>", role="assistant")

    return FactExtractionMemoryBlock(
        llm=Repeating("").llm,
        fact_extraction_prompt_template=RichPromptTemplate("Facts?"),
    )


class ClockToolSpec(BaseToolSpec):
    """The smallest spec there is."""

    spec_functions: ClassVar[list[Any]] = [("tell_time", "atell_time"), "name_day"]

    def tell_time(self, city: str) -> str:
        """The time in a city."""
        return f"Noon in {city}."

    async def atell_time(self, city: str) -> str:
        """The time in a city."""
        return self.tell_time(city)

    def name_day(self, number: int = 1) -> str:
        """The name of a day of the week."""
        return ("Monday", "Tuesday")[number - 1]


CLOCK_CALLS: Mapping[str, Mapping[str, Any]] = {
    "tell_time": {"city": "Porto"},
    "name_day": {"number": 2},
}
