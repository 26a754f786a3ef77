"""Memory for LlamaIndex: retriever, chat memory, tools, query engine, ingestion, models.

    from hindsight_integrations import Hindsight
    from hindsight_integrations.llamaindex import HindsightRetriever

    retriever = HindsightRetriever(Hindsight("./memories"), "alice")

Each part takes the engine and a bank, and works alike in synchronous and asynchronous code.
LlamaIndex is imported when the first name is used.
"""

# ruff: noqa: F401 (imported for type checkers only; `__getattr__` loads them)

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hindsight_integrations.errors import MissingExtraError

if TYPE_CHECKING:
    from hindsight_integrations.llamaindex.block import HindsightMemoryBlock
    from hindsight_integrations.llamaindex.ingest import HindsightTransform
    from hindsight_integrations.llamaindex.memory import HindsightMemory, HindsightSerializer
    from hindsight_integrations.llamaindex.models import FunctionLLM, HindsightEmbedding
    from hindsight_integrations.llamaindex.postprocess import HindsightRerank, HindsightTimeFilter
    from hindsight_integrations.llamaindex.query_engine import HindsightQueryEngine
    from hindsight_integrations.llamaindex.retriever import HindsightRetriever, RecallQuery
    from hindsight_integrations.llamaindex.tools import HindsightToolSpec

_HOMES = {
    "block": ("HindsightMemoryBlock",),
    "ingest": ("HindsightTransform",),
    "memory": ("HindsightMemory", "HindsightSerializer"),
    "models": ("FunctionLLM", "HindsightEmbedding"),
    "postprocess": ("HindsightRerank", "HindsightTimeFilter"),
    "query_engine": ("HindsightQueryEngine",),
    "retriever": ("HindsightRetriever", "RecallQuery"),
    "tools": ("HindsightToolSpec",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*sorted(_HOME_OF)]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("llama_index"):
            raise
        raise MissingExtraError(
            f"{name} needs LlamaIndex; run: pip install 'hindsight-integrations[llamaindex]'"
        ) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
