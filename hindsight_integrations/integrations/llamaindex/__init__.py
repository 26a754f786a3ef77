"""Memory for LlamaIndex: retriever, chat memory, tools, query engine, ingestion, models.

    from hindsight_integrations import Hindsight
    from hindsight_integrations.llamaindex import HindsightRetriever

    retriever = HindsightRetriever(Hindsight("./memories"), "alice")

Most parts take the engine and a bank; all work in synchronous and asynchronous code. LlamaIndex is
imported when the first name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.integrations.lazy import loader

if TYPE_CHECKING:
    from hindsight_integrations.integrations.llamaindex.chat_store import HindsightChatStore
    from hindsight_integrations.integrations.llamaindex.ingest import HindsightTransform
    from hindsight_integrations.integrations.llamaindex.memory import (
        HindsightMemory,
        HindsightSerializer,
    )
    from hindsight_integrations.integrations.llamaindex.memory_block import HindsightMemoryBlock
    from hindsight_integrations.integrations.llamaindex.models import (
        FunctionLLM,
        HindsightEmbedding,
        HindsightRerank,
        HindsightTimeFilter,
    )
    from hindsight_integrations.integrations.llamaindex.profile import HindsightProfileBlock
    from hindsight_integrations.integrations.llamaindex.reflection import ReflectionChatMemory
    from hindsight_integrations.integrations.llamaindex.retriever import (
        HindsightQueryEngine,
        HindsightRetriever,
        RecallQuery,
    )
    from hindsight_integrations.integrations.llamaindex.tools import (
        HindsightToolSpec,
        workspace_tools,
    )
    from hindsight_integrations.integrations.llamaindex.vector_index import LlamaIndexVectors
    from hindsight_integrations.integrations.llamaindex.vectorstore import HindsightVectorStore

_HOME_OF = {
    "FunctionLLM": "models",
    "HindsightChatStore": "chat_store",
    "HindsightEmbedding": "models",
    "HindsightMemory": "memory",
    "HindsightMemoryBlock": "memory_block",
    "HindsightProfileBlock": "profile",
    "HindsightQueryEngine": "retriever",
    "HindsightRerank": "models",
    "HindsightRetriever": "retriever",
    "HindsightSerializer": "memory",
    "HindsightTimeFilter": "models",
    "HindsightToolSpec": "tools",
    "HindsightTransform": "ingest",
    "HindsightVectorStore": "vectorstore",
    "LlamaIndexVectors": "vector_index",
    "RecallQuery": "retriever",
    "ReflectionChatMemory": "reflection",
    "workspace_tools": "tools",
}

__all__ = [
    "FunctionLLM",
    "HindsightChatStore",
    "HindsightEmbedding",
    "HindsightMemory",
    "HindsightMemoryBlock",
    "HindsightProfileBlock",
    "HindsightQueryEngine",
    "HindsightRerank",
    "HindsightRetriever",
    "HindsightSerializer",
    "HindsightTimeFilter",
    "HindsightToolSpec",
    "HindsightTransform",
    "HindsightVectorStore",
    "LlamaIndexVectors",
    "RecallQuery",
    "ReflectionChatMemory",
    "workspace_tools",
]

__getattr__ = loader(__name__, _HOME_OF, {"llama_index": '"hindsight-integrations[llamaindex]"'})


def __dir__() -> list[str]:
    return sorted(__all__)
