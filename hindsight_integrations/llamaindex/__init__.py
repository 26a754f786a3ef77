# ruff: noqa: F403, F405
"""Adapters for LlamaIndex: the public import path.

    from hindsight_integrations.llamaindex import HindsightMemory, HindsightRetriever

The code is in `hindsight_integrations.integrations.llamaindex`; each name loads at first use.
"""

from typing import TYPE_CHECKING

from hindsight_integrations.integrations import llamaindex as _adapters

if TYPE_CHECKING:
    from hindsight_integrations.integrations.llamaindex import *

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


if not TYPE_CHECKING:  # a type checker shall refuse a name that does not exist

    def __getattr__(name: str) -> object:
        return getattr(_adapters, name)


def __dir__() -> list[str]:
    return dir(_adapters)
