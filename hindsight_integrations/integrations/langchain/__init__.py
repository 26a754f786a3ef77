"""Memory for LangChain and LangGraph.

    from hindsight_integrations.langchain import HindsightMiddleware, HindsightRetriever

Each name is loaded when it is first used; docs/langchain.md shows them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.integrations.lazy import loader

if TYPE_CHECKING:
    from hindsight_integrations.integrations.langchain.classic import (
        HindsightMemory as HindsightMemory,
    )
    from hindsight_integrations.integrations.langchain.conversions import as_items
    from hindsight_integrations.integrations.langchain.legacy import HindsightChatMessageHistory
    from hindsight_integrations.integrations.langchain.middleware import (
        HindsightMiddleware,
        recall_node,
        retain_node,
    )
    from hindsight_integrations.integrations.langchain.models import (
        HindsightEmbeddings,
        HindsightReranker,
    )
    from hindsight_integrations.integrations.langchain.reflection import (
        ReflectionChatMessageHistory,
        ReflectionMiddleware,
    )
    from hindsight_integrations.integrations.langchain.retriever import HindsightRetriever
    from hindsight_integrations.integrations.langchain.store import HindsightStore
    from hindsight_integrations.integrations.langchain.tools import (
        HindsightToolkit,
        correct_tool,
        forget_tool,
        history_tool,
        recall_tool,
        reflect_tool,
        retain_tool,
        workspace_tools,
    )
    from hindsight_integrations.integrations.langchain.vector_index import (
        GivenVectors,
        LangChainVectors,
    )
    from hindsight_integrations.integrations.langchain.vectorstore import HindsightVectorStore

_HOME_OF = {
    "GivenVectors": "vector_index",
    "HindsightChatMessageHistory": "legacy",
    "HindsightEmbeddings": "models",
    "HindsightMemory": "classic",
    "HindsightMiddleware": "middleware",
    "HindsightReranker": "models",
    "HindsightRetriever": "retriever",
    "HindsightStore": "store",
    "HindsightToolkit": "tools",
    "HindsightVectorStore": "vectorstore",
    "LangChainVectors": "vector_index",
    "ReflectionChatMessageHistory": "reflection",
    "ReflectionMiddleware": "reflection",
    "as_items": "conversions",
    "correct_tool": "tools",
    "forget_tool": "tools",
    "history_tool": "tools",
    "recall_node": "middleware",
    "recall_tool": "tools",
    "reflect_tool": "tools",
    "retain_node": "middleware",
    "retain_tool": "tools",
    "workspace_tools": "tools",
}

_EXTRA = '"hindsight-integrations[langchain]"'
_INSTALLED_BY = {
    "langchain": _EXTRA,
    "langchain_core": _EXTRA,
    "langgraph": _EXTRA,
    "langchain_classic": "langchain-classic",
}

# Without HindsightMemory: `import *` must not need langchain-classic.
__all__ = [
    "GivenVectors",
    "HindsightChatMessageHistory",
    "HindsightEmbeddings",
    "HindsightMiddleware",
    "HindsightReranker",
    "HindsightRetriever",
    "HindsightStore",
    "HindsightToolkit",
    "HindsightVectorStore",
    "LangChainVectors",
    "ReflectionChatMessageHistory",
    "ReflectionMiddleware",
    "as_items",
    "correct_tool",
    "forget_tool",
    "history_tool",
    "recall_node",
    "recall_tool",
    "reflect_tool",
    "retain_node",
    "retain_tool",
    "workspace_tools",
]

if not TYPE_CHECKING:  # a type checker shall refuse a name that does not exist
    __getattr__ = loader(__name__, _HOME_OF, _INSTALLED_BY)


def __dir__() -> list[str]:
    return sorted(__all__)
