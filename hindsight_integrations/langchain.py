# ruff: noqa: F403, F405
"""Adapters for LangChain and LangGraph: the public import path.

    from hindsight_integrations.langchain import HindsightMiddleware, HindsightRetriever

The code is in `hindsight_integrations.integrations.langchain`; each name loads at first use.
"""

from typing import TYPE_CHECKING

from hindsight_integrations.integrations import langchain as _adapters

if TYPE_CHECKING:
    from hindsight_integrations.integrations.langchain import *
    from hindsight_integrations.integrations.langchain import HindsightMemory as HindsightMemory

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

    def __getattr__(name: str) -> object:
        return getattr(_adapters, name)


def __dir__() -> list[str]:
    return dir(_adapters)
