"""Memory for LangChain and LangGraph.

    from hindsight_integrations.langchain import HindsightMiddleware, HindsightRetriever

Each name is loaded when it is first used; docs/langchain.md shows them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.adapting.lazy import loader

if TYPE_CHECKING:
    from hindsight_integrations.langchain.classic import HindsightMemory as HindsightMemory
    from hindsight_integrations.langchain.legacy import HindsightChatMessageHistory
    from hindsight_integrations.langchain.middleware import HindsightMiddleware
    from hindsight_integrations.langchain.models import HindsightEmbeddings, HindsightReranker
    from hindsight_integrations.langchain.nodes import recall_node, retain_node
    from hindsight_integrations.langchain.retriever import HindsightRetriever
    from hindsight_integrations.langchain.store import HindsightStore
    from hindsight_integrations.langchain.toolkit import HindsightToolkit
    from hindsight_integrations.langchain.tools import (
        forget_tool,
        recall_tool,
        reflect_tool,
        retain_tool,
    )

_HOME_OF = {
    "HindsightChatMessageHistory": "legacy",
    "HindsightEmbeddings": "models",
    "HindsightMemory": "classic",
    "HindsightMiddleware": "middleware",
    "HindsightReranker": "models",
    "HindsightRetriever": "retriever",
    "HindsightStore": "store",
    "HindsightToolkit": "toolkit",
    "forget_tool": "tools",
    "recall_node": "nodes",
    "recall_tool": "tools",
    "reflect_tool": "tools",
    "retain_node": "nodes",
    "retain_tool": "tools",
}

_EXTRA = '"hindsight-integrations[langchain]"'
_INSTALLED_BY = {
    "langchain": _EXTRA,
    "langchain_core": _EXTRA,
    "langgraph": _EXTRA,
    "langchain_classic": "langchain-classic",
}

# Not the memory for classic chains: `import *` must not ask for a package that few have.
__all__ = [
    "HindsightChatMessageHistory",
    "HindsightEmbeddings",
    "HindsightMiddleware",
    "HindsightReranker",
    "HindsightRetriever",
    "HindsightStore",
    "HindsightToolkit",
    "forget_tool",
    "recall_node",
    "recall_tool",
    "reflect_tool",
    "retain_node",
    "retain_tool",
]

__getattr__ = loader(__name__, _HOME_OF, _INSTALLED_BY)


def __dir__() -> list[str]:
    return sorted(__all__)
