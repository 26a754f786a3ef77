"""The engine a user holds: memory banks that retain, recall and forget.

Each verb checks its arguments and hands over to one stage. Everything else about banks,
memories, entities and upkeep lives in the namespaces.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Self

from hindsight_integrations import assembly, checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.catalog.banks import Banks
from hindsight_integrations.catalog.entities import Entities
from hindsight_integrations.catalog.maintenance import Health, Maintenance
from hindsight_integrations.catalog.memories import Memories
from hindsight_integrations.model import Memory, MemoryType, Message, TimeSpan
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import Where, recall_request
from hindsight_integrations.results import Arm, RecallResult, RetainResult
from hindsight_integrations.retain import batch, prepared
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import (
    Item,
    UpdateMode,
    conversation_submission,
    text_submission,
)
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import (
    Vector,
)


class Hindsight:
    """Long-term memory: banks that retain text, and recall what answers a question.

    With a folder everything is embedded: the graph in SQLite, the vectors in Chroma, the models
    on the CPU. One process owns the folder at a time, and any number of its threads share it.

    Args:
        path: folder of the memory; made if there is none.
        graph: a graph store in place of the folder's, or the URL of a Neo4j server, such as
            "neo4j://localhost:7687". Its credentials are read from `NEO4J_USERNAME`,
            `NEO4J_PASSWORD` and `NEO4J_DATABASE`.
        vectors: a vector index in place of the folder's, or the URL of a Chroma server, such as
            "http://localhost:8000". Its token is read from `CHROMA_TOKEN`.
        embedder: any embedder: one of ours, LangChain's, LlamaIndex's, sentence-transformers',
            or a function from texts to vectors. By default all-MiniLM-L6-v2, bundled.
        reranker: "local" for the built-in one; None for the order of the fusion alone; or any
            reranker: a function of (query, texts) to scores, a LangChain document compressor, a
            LlamaIndex postprocessor, a sentence-transformers CrossEncoder.
        extractor: draws facts from text; by default one that needs no LLM.
        llm: a LangChain chat model or LlamaIndex LLM to extract facts with, if no extractor is
            given.
        settings: tunables; see `Settings`.

    Raises:
        InvalidInputError: neither a folder nor both stores were given.
        StoreLockedError: another process owns the folder.
        StoreUnavailableError: the folder cannot be read or written, or a server not reached.
        SchemaVersionError: a newer release of this package wrote the folder.

    Example:
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        ...     print(memory.recall("alice", "Where did Alice work in spring 2021?")[0].memory.text)
        Alice joined Northwind in March 2021 as a designer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        graph: GraphStore | str | None = None,
        vectors: VectorIndex | str | None = None,
        embedder: object | None = None,
        reranker: object | None = "local",
        extractor: object | None = None,
        llm: object | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._where, self._core = assembly.assemble(
            path=path,
            graph=graph,
            vectors=vectors,
            embedder=embedder,
            reranker=reranker,
            extractor=extractor,
            llm=llm,
            settings=settings or Settings(),
        )
        self.banks = Banks(self._core)
        self.memories = Memories(self._core)
        self.entities = Entities(self._core)
        self.maintenance = Maintenance(self._core)

    @classmethod
    def in_memory(cls, **options: object) -> Self:
        """A memory that lasts as long as this object; takes what the constructor takes."""
        return cls(assembly.IN_MEMORY, **options)  # type: ignore[arg-type]

    @classmethod
    def from_env(cls, **options: object) -> Self:
        """The memory that the environment names.

        `HINDSIGHT_PATH` is its folder (`./hindsight-memory` if unset), `HINDSIGHT_GRAPH` the URL
        of a Neo4j server, `HINDSIGHT_VECTORS` that of a Chroma server, and `HINDSIGHT_<SETTING>`
        overrides a setting.
        """
        given: dict[str, object] = {
            "path": os.environ.get("HINDSIGHT_PATH", "./hindsight-memory"),
            "graph": os.environ.get("HINDSIGHT_GRAPH") or None,
            "vectors": os.environ.get("HINDSIGHT_VECTORS") or None,
            "settings": Settings.from_env(),
        }
        return cls(**(given | options))  # type: ignore[arg-type]

    # Retaining

    def retain(
        self,
        bank_id: str,
        content: str,
        *,
        timestamp: datetime | None = None,
        context: str | None = None,
        document_id: str | None = None,
        metadata: Mapping[str, object] | None = None,
        tags: Sequence[str] = (),
        entities: Sequence[str] = (),
        type: MemoryType | str | None = None,
        confidence: float | None = None,
        update_mode: UpdateMode = "replace",
        expires_at: datetime | None = None,
        scope: str | None = None,
        speaker: str | None = None,
    ) -> RetainResult:
        """Remember a text. A bank that does not exist is created.

        Args:
            bank_id: which bank.
            content: the text, up to `settings.max_content_chars`.
            timestamp: when it was said or written; "yesterday" is counted from it. UTC if it
                carries no timezone; now if not given.
            context: what the text is about, or its title; becomes part of what is searched.
            document_id: your id of the text. Retaining it again costs nothing if it is
                unchanged; otherwise only the paragraphs that changed are replaced.
            metadata: names to text, numbers or booleans, for filtering in recall.
            tags: labels, for filtering in recall.
            entities: names it mentions, beside those that are found in it.
            type: "world", "experience", "opinion" or "observation".
            confidence: 0 to 1.
            update_mode: "append" adds to the document what it does not have yet.
            expires_at: from then on recall passes it over.
            scope: a partition of the bank that recall can be limited to.
            speaker: who says it.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was touched.
            ExtractionError, EmbeddingError, StoreError: it failed; nothing was stored.
        """
        item = Item(
            content, timestamp, context, document_id, metadata, tags, entities, type,
            confidence, update_mode, expires_at, scope, None, speaker,
        )  # fmt: skip
        started = time.perf_counter()
        checks.bank_id(bank_id)
        submission = text_submission(item, self._core.settings.max_content_chars)
        bank = self._core.bank_or_new(bank_id)
        result = retain(self._core.retaining, bank, [submission])
        return replace(result, seconds=time.perf_counter() - started)

    def retain_many(
        self,
        bank_id: str,
        items: Iterable[Item | Mapping[str, object] | str],
        *,
        progress: bool | Callable[[int, int | None], None] | None = None,
    ) -> RetainResult:
        """Remember many texts, in batches, each stored whole or not at all.

        An item that fails is reported in `failed`, with its error, and the others are stored.

        Args:
            bank_id: which bank.
            items: texts, `Item`s, or mappings with the names of `Item`.
            progress: True for a progress bar; or a function of (done, total), where the total
                is None for an iterable of unknown length.
        """
        started = time.perf_counter()
        checks.bank_id(bank_id)
        batch.check_many(items)
        bank = self._core.bank_or_new(bank_id)
        result = batch.retain_many(self._core.retaining, bank, items, progress)
        return replace(result, seconds=time.perf_counter() - started)

    def retain_messages(
        self,
        bank_id: str,
        messages: Sequence[Message | Mapping[str, object]],
        *,
        session: str | None = None,
        context: str | None = None,
        metadata: Mapping[str, object] | None = None,
        tags: Sequence[str] = (),
        update_mode: UpdateMode = "append",
        scope: str | None = None,
    ) -> RetainResult:
        """Remember a conversation: who said what, when, and in answer to what.

        Args:
            bank_id: which bank.
            messages: `Message`s, or mappings with "speaker" and "text" ("role" and "content"
                will do), and if known "timestamp" and "id".
            session: your id of the conversation. Messages it has already are not stored again.
            context: what the conversation is about.
            metadata: for all messages; a message's own comes on top.
            tags: for all messages.
            update_mode: "replace" makes the session consist of just these messages.
            scope: a partition of the bank that recall can be limited to.
        """
        started = time.perf_counter()
        checks.bank_id(bank_id)
        stamp = Item(
            "", context=context, metadata=metadata, tags=tags, update_mode=update_mode, scope=scope
        )
        submission = conversation_submission(
            messages,
            session=session,
            stamp=stamp,
            max_chars=self._core.settings.max_content_chars,
        )
        bank = self._core.bank_or_new(bank_id)
        result = retain(self._core.retaining, bank, [submission])
        return replace(result, seconds=time.perf_counter() - started)

    def retain_memory(
        self, bank_id: str, memory: Memory, *, vector: Vector | Sequence[float] | None = None
    ) -> RetainResult:
        """Store a memory just as given: its text, id, times, entities, and vector if any.

        The same memory again is skipped.

        Raises:
            ConflictError: another memory of this bank has the id.
            EmbeddingError: the vector has the wrong dimension, or is not finite.
        """
        started = time.perf_counter()
        checks.bank_id(bank_id)
        bank = self._core.bank_or_new(bank_id)
        result = prepared.retain_memory(self._core.retaining, bank, memory, vector)
        return replace(result, seconds=time.perf_counter() - started)

    # Recalling

    def recall(
        self,
        bank_id: str | Sequence[str],
        query: str,
        *,
        max_tokens: int | None = None,
        budget: str = "mid",
        types: Iterable[MemoryType | str] | None = None,
        arms: Iterable[Arm | str] | None = None,
        tags: Sequence[str] = (),
        tags_match: str = "any",
        where: Where | None = None,
        scope: str | None = None,
        window: TimeSpan | tuple[datetime, datetime] | None = None,
        query_time: datetime | None = None,
        as_of: datetime | None = None,
        min_score: float | None = None,
        chunk_tokens: int = 0,
        entity_tokens: int = 0,
    ) -> RecallResult:
        """The memories that answer a question, best first, as many as fit a token budget.

        Args:
            bank_id: which bank, or several.
            query: the question, or any text.
            max_tokens: budget of the rendered text, in tokens; `settings.max_tokens` if None.
            budget: how far to look: "low", "mid" or "high".
            types: only memories of these types.
            arms: only these searches: "temporal", "entity", "meaning", "pathway".
            tags: only memories with any of these tags, or, with `tags_match="all"`, all.
            tags_match: "any" or "all".
            where: metadata conditions: `{"field": value}` or `{"field": {"$gte": value}}`, with
                `$eq $ne $gt $gte $lt $lte $in $nin`.
            scope: only memories of this scope.
            window: only memories of this stretch of time.
            query_time: the moment that "last week" is counted from; now if not given.
            as_of: only what was known then.
            min_score: leave out memories that score less, 0 to 1. 0.45 makes recall silent when
                the bank knows nothing of the matter; see docs/recall.md.
            chunk_tokens: budget for the source chunks of the memories.
            entity_tokens: budget for notes on the entities of the memories.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            StoreUnavailableError: every arm failed. A single one that fails is reported in the
                result's `failures`, and the others answer.
        """
        request = recall_request(
            bank_id,
            query,
            max_tokens=self._core.settings.max_tokens if max_tokens is None else max_tokens,
            budget=budget,
            types=types,
            arms=arms,
            tags=tags,
            tags_match=tags_match,
            where=where,
            scope=scope,
            window=window,
            query_time=query_time,
            as_of=as_of,
            min_score=min_score,
            chunk_tokens=chunk_tokens,
            entity_tokens=entity_tokens,
        )
        banks = [self._core.bank(bank) for bank in request.bank_ids]
        return recall(self._core.recalling, banks, request)

    # Forgetting

    def forget(
        self, bank_id: str, ids: str | Sequence[str] = (), *, document_id: str | None = None
    ) -> tuple[str, ...]:
        """Delete memories for good, by id or with a document; returns the ids that went.

        A memory that was also stated in another document stays, with one source less.
        `memories.invalidate` keeps a memory for history instead.

        Raises:
            MemoryNotFoundError, DocumentNotFoundError: one of them does not exist; nothing was
                deleted.
        """
        return self.memories._forget(bank_id, ids, document_id)

    # The engine itself

    def health(self) -> Health:
        """Whether each part answers, and how far the vector index is behind."""
        return self.maintenance.health()

    def close(self) -> None:
        """Release the folder; what was retained is stored already. Twice is harmless."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Hindsight({self._where})"

    aretain = twin(retain)
    aretain_many = twin(retain_many)
    aretain_messages = twin(retain_messages)
    aretain_memory = twin(retain_memory)
    arecall = twin(recall)
    aforget = twin(forget)
    ahealth = twin(health)
    aclose = twin(close)
