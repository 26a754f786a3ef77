"""Long-term memory for AI agents.

    from hindsight_integrations import Hindsight

    with Hindsight("./memories") as memory:
        memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        print(memory.recall("alice", "Where did Alice work in spring 2021?").text)

Importing the package is cheap: each name is loaded when it is first used, and models and stores
when the first engine needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hindsight_integrations._version import __version__

if TYPE_CHECKING:
    from hindsight_integrations.conclusions import Observation, Opinion, Quotation, Trend
    from hindsight_integrations.conversation import Insight, ReflectionMemory, Remark, Session
    from hindsight_integrations.engine import Hindsight
    from hindsight_integrations.errors import (
        BankExistsError,
        BankNotFoundError,
        ClosedError,
        ConflictError,
        ContentTooLargeError,
        DocumentNotFoundError,
        EmbedderMismatchError,
        EmbeddingError,
        EntityNotFoundError,
        ExtractionError,
        HindsightError,
        InvalidInputError,
        MemoryNotFoundError,
        MissingExtraError,
        ModelError,
        ModelFilesError,
        NotFoundError,
        RerankError,
        SchemaVersionError,
        StoreCorruptError,
        StoreError,
        StoreLockedError,
        StoreUnavailableError,
    )
    from hindsight_integrations.language.llm import ModelUsage
    from hindsight_integrations.language.minilm import MiniLM
    from hindsight_integrations.model import (
        Bank,
        BankStats,
        Disposition,
        Entity,
        Memory,
        MemoryType,
        MentalModel,
        Message,
        ObservationKind,
        Page,
        Precision,
        Source,
        TimeSpan,
    )
    from hindsight_integrations.moving.exporting import ExportResult
    from hindsight_integrations.moving.importing import ImportResult
    from hindsight_integrations.reflect.consolidate import Consolidation
    from hindsight_integrations.reflect.llm_consolidate import LLMConsolidator
    from hindsight_integrations.reflections import (
        Bound,
        Context,
        ContextItem,
        Lookup,
        Reflection,
        Section,
        Staleness,
        Tool,
    )
    from hindsight_integrations.replay.backoff import Backoff
    from hindsight_integrations.replay.durable import DurableRetain, Receipt
    from hindsight_integrations.results import Arm, Recalled, RecallResult, RetainResult
    from hindsight_integrations.retain.extract import SentenceExtractor
    from hindsight_integrations.retain.llm_extract import LLMExtractor
    from hindsight_integrations.retain.request import Item
    from hindsight_integrations.settings import Settings
    from hindsight_integrations.storage.chroma_vectors import ChromaVectors
    from hindsight_integrations.storage.neo4j import Neo4jGraph
    from hindsight_integrations.storage.sqlite import SqliteGraph

_HOMES = {
    "conclusions": ("Observation", "Opinion", "Quotation", "Trend"),
    "conversation": ("Insight", "ReflectionMemory", "Remark", "Session"),
    "engine": ("Hindsight",),
    "errors": (
        "BankExistsError",
        "BankNotFoundError",
        "ClosedError",
        "ConflictError",
        "ContentTooLargeError",
        "DocumentNotFoundError",
        "EmbedderMismatchError",
        "EmbeddingError",
        "EntityNotFoundError",
        "ExtractionError",
        "HindsightError",
        "InvalidInputError",
        "MemoryNotFoundError",
        "MissingExtraError",
        "ModelError",
        "ModelFilesError",
        "NotFoundError",
        "RerankError",
        "SchemaVersionError",
        "StoreCorruptError",
        "StoreError",
        "StoreLockedError",
        "StoreUnavailableError",
    ),
    "language.llm": ("ModelUsage",),
    "language.minilm": ("MiniLM",),
    "model": (
        "Bank",
        "BankStats",
        "Disposition",
        "Entity",
        "Memory",
        "MemoryType",
        "MentalModel",
        "Message",
        "ObservationKind",
        "Page",
        "Precision",
        "Source",
        "TimeSpan",
    ),
    "moving.exporting": ("ExportResult",),
    "moving.importing": ("ImportResult",),
    "reflect.consolidate": ("Consolidation",),
    "reflect.llm_consolidate": ("LLMConsolidator",),
    "reflections": (
        "Bound",
        "Context",
        "ContextItem",
        "Lookup",
        "Reflection",
        "Section",
        "Staleness",
        "Tool",
    ),
    "replay.backoff": ("Backoff",),
    "replay.durable": ("DurableRetain", "Receipt"),
    "results": ("Arm", "RecallResult", "Recalled", "RetainResult"),
    "retain.extract": ("SentenceExtractor",),
    "retain.llm_extract": ("LLMExtractor",),
    "retain.request": ("Item",),
    "settings": ("Settings",),
    "storage.chroma_vectors": ("ChromaVectors",),
    "storage.neo4j": ("Neo4jGraph",),
    "storage.sqlite": ("SqliteGraph",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Arm",
    "Backoff",
    "Bank",
    "BankExistsError",
    "BankNotFoundError",
    "BankStats",
    "Bound",
    "ChromaVectors",
    "ClosedError",
    "ConflictError",
    "Consolidation",
    "ContentTooLargeError",
    "Context",
    "ContextItem",
    "Disposition",
    "DocumentNotFoundError",
    "DurableRetain",
    "EmbedderMismatchError",
    "EmbeddingError",
    "Entity",
    "EntityNotFoundError",
    "ExportResult",
    "ExtractionError",
    "Hindsight",
    "HindsightError",
    "ImportResult",
    "Insight",
    "InvalidInputError",
    "Item",
    "LLMConsolidator",
    "LLMExtractor",
    "Lookup",
    "Memory",
    "MemoryNotFoundError",
    "MemoryType",
    "MentalModel",
    "Message",
    "MiniLM",
    "MissingExtraError",
    "ModelError",
    "ModelFilesError",
    "ModelUsage",
    "Neo4jGraph",
    "NotFoundError",
    "Observation",
    "ObservationKind",
    "Opinion",
    "Page",
    "Precision",
    "Quotation",
    "RecallResult",
    "Recalled",
    "Receipt",
    "Reflection",
    "ReflectionMemory",
    "Remark",
    "RerankError",
    "RetainResult",
    "SchemaVersionError",
    "Section",
    "SentenceExtractor",
    "Session",
    "Settings",
    "Source",
    "SqliteGraph",
    "Staleness",
    "StoreCorruptError",
    "StoreError",
    "StoreLockedError",
    "StoreUnavailableError",
    "TimeSpan",
    "Tool",
    "Trend",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
