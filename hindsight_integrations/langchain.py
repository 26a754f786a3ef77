# ruff: noqa: F403
"""Adapters for LangChain and LangGraph: the public import path.

    from hindsight_integrations.langchain import HindsightMiddleware, HindsightRetriever

The code is in `hindsight_integrations.integrations.langchain`; each name loads at first use.
"""

from typing import TYPE_CHECKING

from hindsight_integrations.integrations import langchain as _adapters

if TYPE_CHECKING:
    from hindsight_integrations.integrations.langchain import *
    from hindsight_integrations.integrations.langchain import HindsightMemory as HindsightMemory
else:  # a type checker reads the names above, and refuses one that does not exist
    __all__ = _adapters.__all__

    def __getattr__(name: str) -> object:
        return getattr(_adapters, name)


def __dir__() -> list[str]:
    return dir(_adapters)
