"""Memory for LlamaIndex: retriever, chat memory, tools, query engine, ingestion, models.

    from hindsight_integrations import Hindsight
    from hindsight_integrations.llamaindex import HindsightRetriever

    retriever = HindsightRetriever(Hindsight("./memories"), "alice")

Each part takes the engine and a bank, and works alike in synchronous and asynchronous code.
LlamaIndex is imported when the first name is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.adapting.lazy import loader

if TYPE_CHECKING:
    from hindsight_integrations.llamaindex.block import HindsightMemoryBlock
    from hindsight_integrations.llamaindex.ingest import HindsightTransform
    from hindsight_integrations.llamaindex.memory import HindsightMemory, HindsightSerializer
    from hindsight_integrations.llamaindex.models import FunctionLLM, HindsightEmbedding
    from hindsight_integrations.llamaindex.postprocess import HindsightRerank, HindsightTimeFilter
    from hindsight_integrations.llamaindex.query_engine import HindsightQueryEngine
    from hindsight_integrations.llamaindex.retriever import HindsightRetriever, RecallQuery
    from hindsight_integrations.llamaindex.tools import HindsightToolSpec

_HOME_OF = {
    "FunctionLLM": "models",
    "HindsightEmbedding": "models",
    "HindsightMemory": "memory",
    "HindsightMemoryBlock": "block",
    "HindsightQueryEngine": "query_engine",
    "HindsightRerank": "postprocess",
    "HindsightRetriever": "retriever",
    "HindsightSerializer": "memory",
    "HindsightTimeFilter": "postprocess",
    "HindsightToolSpec": "tools",
    "HindsightTransform": "ingest",
    "RecallQuery": "retriever",
}

__all__ = [
    "FunctionLLM",
    "HindsightEmbedding",
    "HindsightMemory",
    "HindsightMemoryBlock",
    "HindsightQueryEngine",
    "HindsightRerank",
    "HindsightRetriever",
    "HindsightSerializer",
    "HindsightTimeFilter",
    "HindsightToolSpec",
    "HindsightTransform",
    "RecallQuery",
]

__getattr__ = loader(__name__, _HOME_OF, {"llama_index": '"hindsight-integrations[llamaindex]"'})


def __dir__() -> list[str]:
    return sorted(__all__)
