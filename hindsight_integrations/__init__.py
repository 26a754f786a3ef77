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
from warnings import warn

from hindsight_integrations._version import __version__

if TYPE_CHECKING:
    from hindsight_integrations.acting import acting_as
    from hindsight_integrations.client import Hindsight
    from hindsight_integrations.conclusions import Observation, Opinion, Quotation, Trend
    from hindsight_integrations.durable import Backoff, DurableRetain, Receipt
    from hindsight_integrations.errors import (
        AccessDeniedError,
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
        ForkedError,
        GuardError,
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
    from hindsight_integrations.export_import import BackupResult, ExportResult, ImportResult
    from hindsight_integrations.history import AuditEntry
    from hindsight_integrations.models import (
        Arm,
        Bank,
        BankStats,
        Chunk,
        Disposition,
        Document,
        Entity,
        Expiry,
        Memory,
        MemoryType,
        MentalModel,
        Message,
        ModelUsage,
        ObservationKind,
        Page,
        Precision,
        Source,
        TimeSpan,
        TurnKind,
    )
    from hindsight_integrations.namespaces.entities import Companion, TimelineEntry
    from hindsight_integrations.nlp.minilm import MemoryMiniLM, MiniLM
    from hindsight_integrations.reflect.consolidation import Consolidation
    from hindsight_integrations.reflect.llm_rules import LLMConsolidator
    from hindsight_integrations.reflect.profile import Profile, ProfileLine
    from hindsight_integrations.reflect.profile_reader import ProfileSection
    from hindsight_integrations.results import (
        Bound,
        Changed,
        Context,
        ContextItem,
        Forgotten,
        Lookup,
        Recalled,
        RecallResult,
        Reflection,
        RetainResult,
        Section,
        Skipped,
        SkipReason,
        Staleness,
        Tool,
    )
    from hindsight_integrations.retain.extraction import Fact, Mention, Passage, SentenceExtractor
    from hindsight_integrations.retain.guard import Incoming, SourceTrust
    from hindsight_integrations.retain.llm_extraction import LLMExtractor
    from hindsight_integrations.retain.merge_suggestions import MergeSuggestion
    from hindsight_integrations.retain.redaction import Redactor
    from hindsight_integrations.retain.request import Item
    from hindsight_integrations.sessions import (
        Evidence,
        Exchange,
        Insight,
        MemoryEntry,
        ReflectionMemory,
        Session,
    )
    from hindsight_integrations.settings import Settings
    from hindsight_integrations.sharding import Moved, Shards
    from hindsight_integrations.stores.chroma.index import ChromaVectors
    from hindsight_integrations.stores.neo4j import Neo4jGraph, Neo4jVectors
    from hindsight_integrations.stores.sqlite import SqliteGraph
    from hindsight_integrations.workspace import NoteRules, Workspace

_HOMES = {
    "acting": ("acting_as",),
    "client": ("Hindsight",),
    "conclusions": ("Observation", "Opinion", "Quotation", "Trend"),
    "durable": ("Backoff", "DurableRetain", "Receipt"),
    "errors": (
        "AccessDeniedError",
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
        "ForkedError",
        "GuardError",
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
    "export_import": ("BackupResult", "ExportResult", "ImportResult"),
    "history": ("AuditEntry",),
    "models": (
        "Arm",
        "Bank",
        "BankStats",
        "Chunk",
        "Disposition",
        "Document",
        "Entity",
        "Expiry",
        "Memory",
        "MemoryType",
        "MentalModel",
        "Message",
        "ModelUsage",
        "ObservationKind",
        "Page",
        "Precision",
        "Source",
        "TimeSpan",
        "TurnKind",
    ),
    "namespaces.entities": ("Companion", "TimelineEntry"),
    "nlp.minilm": ("MemoryMiniLM", "MiniLM"),
    "reflect.consolidation": ("Consolidation",),
    "reflect.llm_rules": ("LLMConsolidator",),
    "reflect.profile": ("Profile", "ProfileLine"),
    "reflect.profile_reader": ("ProfileSection",),
    "results": (
        "Bound",
        "Changed",
        "Context",
        "ContextItem",
        "Forgotten",
        "Lookup",
        "RecallResult",
        "Recalled",
        "Reflection",
        "RetainResult",
        "Section",
        "SkipReason",
        "Skipped",
        "Staleness",
        "Tool",
    ),
    "retain.extraction": ("Fact", "Mention", "Passage", "SentenceExtractor"),
    "retain.guard": ("Incoming", "SourceTrust"),
    "retain.llm_extraction": ("LLMExtractor",),
    "retain.merge_suggestions": ("MergeSuggestion",),
    "retain.redaction": ("Redactor",),
    "retain.request": ("Item",),
    "sessions": (
        "Evidence",
        "Exchange",
        "Insight",
        "MemoryEntry",
        "ReflectionMemory",
        "Session",
    ),
    "settings": ("Settings",),
    "sharding": ("Moved", "Shards"),
    "stores.chroma.index": ("ChromaVectors",),
    "stores.neo4j": ("Neo4jGraph", "Neo4jVectors"),
    "stores.sqlite": ("SqliteGraph",),
    "workspace": ("NoteRules", "Workspace"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AccessDeniedError",
    "Arm",
    "AuditEntry",
    "Backoff",
    "BackupResult",
    "Bank",
    "BankExistsError",
    "BankNotFoundError",
    "BankStats",
    "Bound",
    "Changed",
    "ChromaVectors",
    "Chunk",
    "ClosedError",
    "Companion",
    "ConflictError",
    "Consolidation",
    "ContentTooLargeError",
    "Context",
    "ContextItem",
    "Disposition",
    "Document",
    "DocumentNotFoundError",
    "DurableRetain",
    "EmbedderMismatchError",
    "EmbeddingError",
    "Entity",
    "EntityNotFoundError",
    "Evidence",
    "Exchange",
    "Expiry",
    "ExportResult",
    "ExtractionError",
    "Fact",
    "Forgotten",
    "ForkedError",
    "GuardError",
    "Hindsight",
    "HindsightError",
    "ImportResult",
    "Incoming",
    "Insight",
    "InvalidInputError",
    "Item",
    "LLMConsolidator",
    "LLMExtractor",
    "Lookup",
    "Memory",
    "MemoryEntry",
    "MemoryMiniLM",
    "MemoryNotFoundError",
    "MemoryType",
    "MentalModel",
    "Mention",
    "MergeSuggestion",
    "Message",
    "MiniLM",
    "MissingExtraError",
    "ModelError",
    "ModelFilesError",
    "ModelUsage",
    "Moved",
    "Neo4jGraph",
    "Neo4jVectors",
    "NotFoundError",
    "NoteRules",
    "Observation",
    "ObservationKind",
    "Opinion",
    "Page",
    "Passage",
    "Precision",
    "Profile",
    "ProfileLine",
    "ProfileSection",
    "Quotation",
    "RecallResult",
    "Recalled",
    "Receipt",
    "Redactor",
    "Reflection",
    "ReflectionMemory",
    "RerankError",
    "RetainResult",
    "SchemaVersionError",
    "Section",
    "SentenceExtractor",
    "Session",
    "Settings",
    "Shards",
    "SkipReason",
    "Skipped",
    "Source",
    "SourceTrust",
    "SqliteGraph",
    "Staleness",
    "StoreCorruptError",
    "StoreError",
    "StoreLockedError",
    "StoreUnavailableError",
    "TimeSpan",
    "TimelineEntry",
    "Tool",
    "Trend",
    "TurnKind",
    "Workspace",
    "__version__",
    "acting_as",
]


import_module(f"{__name__}.rendering").show_controls_in_logs(__name__)

_RENAMED = {"Remark": "MemoryEntry"}
"""Deprecated names of public classes."""


def __getattr__(name: str) -> object:
    if name in _RENAMED:
        warn(f"{name} is now {_RENAMED[name]}", DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
