# ruff: noqa: F403
"""Adapters for LlamaIndex: the public import path.

    from hindsight_integrations.llamaindex import HindsightMemory, HindsightRetriever

The code is in `hindsight_integrations.integrations.llamaindex`; each name loads at first use.
"""

from typing import TYPE_CHECKING

from hindsight_integrations.integrations import llamaindex as _adapters

if TYPE_CHECKING:
    from hindsight_integrations.integrations.llamaindex import *
else:  # a type checker reads the names above, and refuses one that does not exist
    __all__ = _adapters.__all__

    def __getattr__(name: str) -> object:
        return getattr(_adapters, name)


def __dir__() -> list[str]:
    return dir(_adapters)
