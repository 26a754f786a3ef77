"""`Hindsight`, the client: memory banks that retain, recall, reflect and forget.

Each verb validates its arguments and calls one stage. Everything else about banks, memories,
entities and maintenance is in the namespaces, such as `memory.banks`, which `opened.py` opens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Unpack

from pydantic import BaseModel

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Memory, MemoryType
from hindsight_integrations.namespaces import pictured
from hindsight_integrations.namespaces.forgetting import forget
from hindsight_integrations.namespaces.maintenance import Health
from hindsight_integrations.namespaces.retaining import (
    checked_memories,
    retain_memories,
    retain_memory,
)
from hindsight_integrations.namespaces.selection import SELECTION, SelectionOptions
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.opened import OpenedMemory
from hindsight_integrations.pictures.graph import BankGraph
from hindsight_integrations.pictures.timeline import BankTimeline
from hindsight_integrations.recall import pipeline as recalling
from hindsight_integrations.recall.request import (
    ContextOptions,
    RecallOptions,
    RecallRequest,
    SearchOptions,
    recall_request,
    takes,
)
from hindsight_integrations.reflect import answer
from hindsight_integrations.reflect import context as contexts
from hindsight_integrations.reflect.answers import extractive
from hindsight_integrations.reflect.consolidation import Consolidation
from hindsight_integrations.reflect.profile import PROFILE_TOKENS, Profile, profile_of
from hindsight_integrations.reflect.search import with_mental_models
from hindsight_integrations.results import (
    Context,
    Forgotten,
    RecallResult,
    Reflection,
    RetainResult,
    Skipped,
    SkipReason,
)
from hindsight_integrations.retain import pipeline as retaining
from hindsight_integrations.retain.foreign import with_content
from hindsight_integrations.retain.request import (
    Item,
    UpdateMode,
    conversation_submission,
    text_submission,
)
from hindsight_integrations.stores.base import Vector
from hindsight_integrations.validation import MemoryLike


class Hindsight(OpenedMemory):
    """Long-term memory: banks that retain text and recall the memories that answer a question.

    With a folder everything is embedded: the graph in SQLite, the vectors in Chroma, the models
    on the CPU. One process owns the folder at a time; all its threads can share the client.
    Opening the folder twice in one process gives the same engine. After a fork, open it in the
    child.

    Args:
        path: folder of the memory, created if missing; or the URL of a memory service.
        graph: a graph store in place of the folder's, or the URL of a Neo4j server, such as
            "neo4j://localhost:7687". Its credentials are read from `NEO4J_USERNAME`,
            `NEO4J_PASSWORD` and `NEO4J_DATABASE`.
        vectors: a vector index in place of the folder's, or the URL of a Chroma server, such as
            "http://localhost:8000", whose token is read from `CHROMA_TOKEN`; or the URL of a Neo4j
            server, with the same credentials as the graph.
        embedder: the name of an installed model, such as "e5-small-v2" (docs/models.md explains
            how to install one); or any embedder: one of this package, of LangChain, LlamaIndex or
            sentence-transformers, or a function from texts to vectors. The default is the bundled
            `MemoryMiniLM`, all-MiniLM-L6-v2 adapted to memory.
        reranker: "local" for the built-in one; None to rank by the fused searches alone; or any
            reranker: a function from (query, texts) to scores, a LangChain document compressor, a
            LlamaIndex postprocessor, a sentence-transformers CrossEncoder.
        extractor: extracts facts from text: a function from a `Passage` to a list of facts
            (`Fact`s, mappings with their fields, or texts), or an object with
            `extract(passages, known)`; either may be asynchronous. The default needs no LLM.
        llm: a LangChain chat model, a LlamaIndex LLM or a function (system, user) -> reply. Used
            by reflect and consolidate, and to extract facts if no extractor is given.
        settings: tunables; see `Settings`.
        before_retain: a function that takes an `Incoming`, or a list of such functions, to edit or
            refuse each text before it is stored, such as `Redactor()`.

    Raises:
        InvalidInputError: neither a folder nor both stores were given, or an argument cannot be
            used.
        ModelFilesError: the model named as embedder is not installed, or its files are altered.
        StoreLockedError: another process owns the folder.
        StoreUnavailableError: the folder cannot be read or written, or a server cannot be reached.
        SchemaVersionError: a newer release of this package wrote the folder.

    Examples:
        >>> with Hindsight.in_memory() as memory:
        ...     _ = memory.retain("alice", "Alice joined Northwind in March 2021 as a designer.")
        ...     print(memory.recall("alice", "Where did Alice work in spring 2021?")[0].memory.text)
        Alice joined Northwind in March 2021 as a designer.
    """

    # Retain

    def retain(
        self,
        bank_id: str,
        content: object,
        *,
        timestamp: datetime | date | str | None = None,
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
            content: the text, up to `settings.max_content_chars`; or a LangChain `Document` or a
                LlamaIndex node, whose id, metadata and file date are used unless you give others.
                A document with no id, or a random one, is identified by its content.
            timestamp: when it was said or written; "yesterday" is the day before in its timezone,
                or in `settings.timezone` if it has none. Now if not given.
            context: what the text is about, or its title; searched together with the text.
            document_id: your id for the text. Retaining an unchanged text again does nothing;
                otherwise only the paragraphs that changed are replaced.
            metadata: a mapping from names to text, numbers or booleans, for filtering in recall.
            tags: labels, for filtering in recall.
            entities: names it mentions, at most 100, in addition to those found in the text.
            type: "world", "experience", "opinion" or "observation".
            confidence: 0 to 1.
            update_mode: "replace" updates the document to this text; "append" only adds the parts
                it does not have yet.
            expires_at: recall ignores it from this time on.
            scope: a partition of the bank that recall can be limited to.
            speaker: who says it.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was changed.
            ConflictError: the text would replace the messages of a conversation.
            ExtractionError, EmbeddingError, StoreError: a model or store failed; nothing was
                stored.
        """
        item = Item(
            content,  # type: ignore[arg-type]
            timestamp, context, document_id, metadata, tags, entities, type,
            confidence, update_mode, expires_at, scope, None, speaker,
        )  # fmt: skip
        started = time.perf_counter()
        validation.bank_id(bank_id)
        item = with_content(item)
        settings = self._runtime.settings
        text_submission(item, settings.max_content_chars, settings.zone)  # before a bank is made
        bank = self._runtime.bank_or_new(bank_id)
        submission = retaining.submission_of(self._runtime.retaining, bank_id, item)
        result = retaining.retain(self._runtime.retaining, bank, [submission])
        return self._finished(result, started)

    def retain_many(
        self,
        bank_id: str,
        items: Iterable[object],
        *,
        progress: bool | Callable[[int, int | None], None] | None = None,
    ) -> RetainResult:
        """Remember many texts, in batches; each batch is stored completely or not at all.

        An item that fails is reported in the `failed` of the result, with its error, and logged as
        a warning without its text; the others are stored.

        Args:
            bank_id: which bank.
            items: texts, `Item`s, mappings with the fields of `Item`, or documents as in `retain`.
            progress: True for a progress bar; or a function called with (done, total), where the
                total is None for an iterable of unknown length.
        """
        started = time.perf_counter()
        validation.bank_id(bank_id)
        retaining.check_many(items)
        validation.progress(progress, or_flag=True)
        opened = partial(self._runtime.bank_or_new, bank_id)
        result = retaining.retain_many(self._runtime.retaining, bank_id, opened, items, progress)
        retaining.warn_of_failed(result)
        return self._finished(result, started)

    def retain_messages(
        self,
        bank_id: str,
        messages: Sequence[object],
        *,
        session: str | None = None,
        context: str | None = None,
        metadata: Mapping[str, object] | None = None,
        tags: Sequence[str] = (),
        update_mode: UpdateMode = "append",
        scope: str | None = None,
    ) -> RetainResult:
        """Remember a conversation: who said what, when, and in reply to what.

        Args:
            bank_id: which bank.
            messages: `Message`s; mappings with "speaker" and "text", and optionally "timestamp"
                and "id"; or messages of a chat API ("role" and "content"), LangChain or
                LlamaIndex, of which only those of the user and the agent are retained.
            session: your id for the conversation. Messages it already has are not stored again.
                Without a session, messages that repeat a stored conversation continue it.
            context: what the conversation is about.
            metadata: for all messages; a message's own metadata overrides it.
            tags: for all messages.
            update_mode: "append" adds new messages; "replace" also removes stored messages of the
                session that are not among these.
            scope: a partition of the bank that recall can be limited to.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was changed.
            ConflictError: the messages would replace a text.
            ExtractionError, EmbeddingError, StoreError: a model or store failed; nothing was
                stored.
        """
        started = time.perf_counter()
        validation.bank_id(bank_id)
        shared = Item(
            "", context=context, metadata=metadata, tags=tags, update_mode=update_mode, scope=scope
        )
        submission = conversation_submission(
            messages,
            session=session,
            shared=shared,
            max_chars=self._runtime.settings.max_content_chars,
            zone=self._runtime.settings.zone,
        )
        is_there = self._runtime.has_bank(bank_id)
        if not submission.turns and not (is_there and submission.mode == "replace"):
            return RetainResult(bank_id, skipped=(Skipped("", SkipReason.EMPTY),))
        bank = self._runtime.bank_or_new(bank_id)
        result = retaining.retain(self._runtime.retaining, bank, [submission])
        return self._finished(result, started)

    def retain_memory(
        self, bank_id: str, memory: Memory, *, vector: Vector | Sequence[float] | None = None
    ) -> RetainResult:
        """Store a memory exactly as given: its text, id, times, entities, and vector if any.

        If the bank already has a memory with this id, that one is corrected: its old values are
        kept in its history, it stays invalidated if it was, and the conclusions that cite it are
        rewritten. If only `mentioned_at` differs, or nothing, the memory is skipped.

        Raises:
            ConflictError: the id belongs to an observation or opinion that the engine drew.
            EmbeddingError: the vector has the wrong dimension, or is not finite.
        """
        started = time.perf_counter()
        validation.bank_id(bank_id)
        most = self._runtime.settings.max_content_chars
        (memory,), _ = checked_memories([memory], None, most)
        bank = self._runtime.bank_or_new(bank_id)
        result = retain_memory(self._runtime, bank, memory, vector)
        return self._finished(result, started)

    def retain_memories(
        self,
        bank_id: str,
        memories: Sequence[Memory],
        *,
        vectors: Sequence[Vector | Sequence[float] | None] | None = None,
        dated: bool = True,
    ) -> RetainResult:
        """Store memories exactly as given, in batches; see `retain_memory`.

        Args:
            bank_id: which bank.
            memories: each with an id of its own.
            vectors: for each memory a vector of the bank's embedder, or None to compute it.
            dated: False if `mentioned_at` is only the import time; it is then left out of the
                indexed text.

        Raises:
            InvalidInputError: a field cannot be used, or there are not as many vectors as
                memories.
        """
        started = time.perf_counter()
        validation.bank_id(bank_id)
        validation.flag("dated", dated)
        most = self._runtime.settings.max_content_chars
        given, codes = checked_memories(memories, vectors, most)
        if not given:
            return RetainResult(bank_id)
        bank = self._runtime.bank_or_new(bank_id)
        result = retain_memories(self._runtime, bank, given, codes, dated=dated)
        return self._finished(result, started)

    def _finished(self, result: RetainResult, started: float) -> RetainResult:
        self._runtime.reflect_later(result.bank_id)
        return replace(result, seconds=time.perf_counter() - started)

    # Recall and reflect

    @takes(RecallOptions)
    def recall(
        self, bank_id: str | Sequence[str], query: str, **options: Unpack[RecallOptions]
    ) -> RecallResult:
        """Return the memories relevant to a question, best first, within a token budget.

        Memories unlikely to be relevant are omitted. The result is empty for small talk
        ("Thanks!") and if nothing in the bank resembles the question.

        Args:
            bank_id: which bank, or several.
            query: the question, or any text; may be blank if `entities` or `query_vector` is given.
            max_tokens: maximum tokens of the rendered text; `settings.max_tokens` if None.
            budget: search effort: "low", "mid" or "high" (candidates per arm; higher is slower).
            types: only memories of these types.
            arms: only these searches: "temporal", "entity", "semantic", "keyword".
            arm_limits: maximum hits per arm, such as `{"keyword": 20}`; overrides `budget`. Only
                hits and their neighbouring turns are then ranked; small banks are no longer ranked
                as a whole.
            tags: only memories with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            where: conditions on metadata and on the memory's own `type`, `speaker`, `context`,
                `scope`, `document_id`, `tags`, `entities` and `mentioned_at`: `{"field": value}` or
                `{"field": {"$gte": value}}`, with `$eq $ne $gt $gte $lt $lte $in $nin $contains
                $icontains $exists`; combine conditions with `$and`, `$or` (lists) and `$not`.
            scope: only memories of this scope.
            entities: only memories that mention one of these people, places or things, given by
                name, alias or id. A name the bank does not know matches nothing.
            window: only memories of this period: a `TimeSpan`, or (start, end), one of which may
                be None. The end does not belong to it; a date is the beginning of its day.
            query_vector: search by this vector of the same embedder instead of the query's own.
            query_time: the time that "last week" is relative to, in its timezone, or in
                `settings.timezone` if it has none; now if not given.
            as_of: only what was known at this time; a date is the end of its day.
            min_score: leave out memories with a lower `relevance`, the probability that a memory
                belongs to the answer, 0 to 1.
            fill: use the whole token budget, even for memories of little relevance.
            chunk_tokens: budget for the source chunks of the memories.
            entity_tokens: budget for notes on entities: first those named in the question or in
                `entities`, with observations about them, then those mentioned by the memories.
            mental_model_tokens: budget for mental models relevant to the question.
            prefer_observations: return observations instead of the facts they quote, even if they
                are longer.
            pinned: put pinned memories that pass the filters first, whatever the query.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            StoreUnavailableError: every arm failed. If only some fail, they are reported in the
                result's `failures` and the others answer.
        """
        request = self._request(bank_id, query, options)
        deps, current = self._runtime.recalling, self._runtime.bank
        banks = [self._runtime.remembered_bank(bank) for bank in request.bank_ids]
        result = recalling.recall(deps, banks, request, current)
        if request.mental_model_tokens:
            result = with_mental_models(deps, [*map(current, request.bank_ids)], request, result)
        return result

    @takes(ContextOptions)
    def context(self, bank_id: str, query: str, **options: Unpack[ContextOptions]) -> Context:
        """Return what the bank knows about a question, as text for a prompt, without an LLM.

        The sections are mental models, observations, facts and experiences, and beliefs; each item
        has its dates and a label to cite it by. The bank's directives come first, and doubtful
        items are worded according to the bank's disposition.

        Args:
            bank_id: which bank.
            query: the question, or any text.
            max_tokens: budget of the text, in tokens; `settings.max_tokens` if None.
            budget: search effort: "low", "mid" or "high".
            types: only memories of these types, and no mental models.
            tags: only items with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            where: conditions, as in `recall`; they do not apply to mental models.
            scope: only memories of this scope, and no mental models.
            entities: only memories that mention one of these, and no mental models; see `recall`.
            window: only memories of this period, and no mental models; see `recall`.
            query_time: the time that "last week" is relative to, in its timezone, or in
                `settings.timezone` if it has none; now if not given.
            as_of: only what was known at this time; a date is the end of its day.
            min_score: leave out memories with a lower `relevance`, 0 to 1; see `recall`.
            fill: use the whole token budget, even for memories of little relevance.
            prefer_observations: return observations instead of the facts they quote, even if they
                are longer.
            pinned: put pinned memories that pass the filters first, whatever the query.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            StoreUnavailableError: every arm of recall failed. If only some fail, they are reported
                in the result's `failures` and the others answer.
        """
        request = self._request(validation.bank_id(bank_id), query, options)
        return contexts.context(self._runtime.recalling, self._runtime.bank(bank_id), request)

    @takes(SearchOptions)
    def reflect(
        self,
        bank_id: str,
        query: str,
        *,
        llm: object | None = None,
        response_schema: type[BaseModel] | Mapping[str, object] | None = None,
        max_iterations: int = answer.ITERATIONS,
        timeout: float = answer.SECONDS,
        **options: Unpack[SearchOptions],
    ) -> Reflection:
        """Answer a question from the bank, citing the memories the answer rests on.

        A language model searches mental models first, then observations, then facts, and answers
        from what it found. Citations of anything else are removed from the text and reported in
        `foreign`. If the bank holds nothing to answer from, the model is not called.

        Without a language model the answer quotes the memories that state it, each with its
        citation: the best supported sentence, a dated list for "when", or a list if several
        memories answer. If no memory answers, `text` says so and `bool(result)` is False.

        Args:
            bank_id: which bank.
            query: the question.
            llm: a LangChain chat model, a LlamaIndex LLM or a function (system, user) -> reply;
                the client's own if None.
            max_tokens: budget of the evidence, in tokens; `settings.max_tokens` if None.
            budget: effort of each search: "low", "mid" or "high".
            response_schema: a pydantic model class or a JSON schema; the answer is also returned in
                this form, as `.structured`, with one more model call.
            types: only memories of these types, and no mental models.
            tags: only items with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            where: conditions, as in `recall`; they do not apply to mental models.
            scope: only memories of this scope, and no mental models.
            entities: only memories that mention one of these, and no mental models; see `recall`.
            window: only memories of this period, and no mental models; see `recall`.
            query_time: the time that "last week" is relative to, in its timezone, or in
                `settings.timezone` if it has none; now if not given.
            as_of: only what was known at this time; a date is the end of its day.
            min_score: leave out memories with a lower `relevance`, 0 to 1; see `recall`.
            fill: use the whole token budget, even for memories of little relevance.
            max_iterations: maximum number of model calls; in the last one the model must answer.
            timeout: seconds for the whole call.

        Raises:
            InvalidInputError: an argument cannot be used, or `response_schema` was given without
                a language model.
            BankNotFoundError: there is no such bank.
            EmbedderMismatchError: the bank's vectors come from another embedder.
            ModelError: the model failed, or did not answer in time.
            StoreUnavailableError: every arm of recall failed.
        """
        request = self._request(validation.bank_id(bank_id), query, options)
        bounds = answer.Bounds(max_iterations, timeout)
        form = None if response_schema is None else answer.as_form(response_schema)
        model = self._runtime.model if llm is None else as_model(llm)
        bank = self._runtime.bank(bank_id)
        if model is not None:
            return answer.reflect(self._runtime.recalling, bank, request, model, bounds, form)
        if form is not None:
            raise InvalidInputError(
                "response_schema needs a language model; give one as llm=, here or to Hindsight"
            )
        return extractive.reflect(self._runtime.recalling, bank, request)

    def profile(
        self,
        bank_id: str,
        person: str,
        *,
        max_tokens: int = PROFILE_TOKENS,
        query_time: datetime | date | str | None = None,
    ) -> Profile:
        """Return the facts, preferences and current matters of a person, without an LLM.

        Each line is a sentence of a memory. Doubtful, outdated and past statements are left out.

        Args:
            bank_id: which bank.
            person: a name or alias; or a speaker, such as "user".
            max_tokens: budget of the text, in tokens.
            query_time: the time that counts as the present; now if not given.
        """
        bank = self._runtime.bank(bank_id)
        return profile_of(self._runtime.recalling, bank, person, max_tokens, query_time)

    # See

    @takes(SelectionOptions, SELECTION)
    def graph(
        self,
        bank_id: str,
        *,
        center: str | None = None,
        hops: int = 2,
        limit: int = 60,
        **options: Unpack[SelectionOptions],
    ) -> BankGraph:
        """Return a picture of the entities of a bank and which memories connect them.

        At the end of a notebook cell it is interactive; `print` shows it as text, and
        `save("bank.html")` (or .svg, .png, .graphml, .json) writes a file. Observations and
        opinions drawn from memories are left out, unless `types` asks for them.

        Args:
            bank_id: which bank.
            center: an entity by name or id; only entities connected with it are shown.
            hops: maximum number of connections between `center` and another entity, up to 100.
            limit: maximum number of entities, up to 1000: the nearest to `center`, then the most
                mentioned.
            text: only memories whose text contains this. This and the following arguments select
                memories as in `memories.list`.
            speaker, types: only what this person said; only memories of these types.
            tags: only memories with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            where: conditions, as in `recall`.
            scope: only memories of this scope.
            entities: only memories that mention one of these entities, by name or id.
            window: only memories of this period, as in `recall`.
            as_of: only what was known at this time; a date is the end of its day.
            changed_since: only memories stored or changed at or after this time.
            state: "valid" (the default), "invalidated", "expired" or "any".

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError, EntityNotFoundError: there is no such bank, or entity.
        """
        return pictured.bank_graph(self._runtime, bank_id, center, hops, limit, options)

    @takes(SelectionOptions, SELECTION)
    def timeline(
        self, bank_id: str, *, limit: int = 500, **options: Unpack[SelectionOptions]
    ) -> BankTimeline:
        """Return a picture of memories at the times that they name, one lane for each entity.

        A memory whose text names no time is placed at the time it was said. Shown and saved like
        `graph`, but not as GraphML.

        Args:
            bank_id: which bank.
            limit: maximum number of memories, up to 5000, spread evenly over those selected.
            text, speaker, types, tags, tags_match, where, scope: select memories, as in `graph`.
            entities, window, as_of, changed_since, state: the same.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError, EntityNotFoundError: there is no such bank, or entity.
        """
        return pictured.bank_timeline(self._runtime, bank_id, limit, options)

    def _request(
        self, bank_id: str | Sequence[str], query: str, options: SearchOptions
    ) -> RecallRequest:
        settings = self._runtime.settings
        return recall_request(
            bank_id, query, default_tokens=settings.max_tokens, zone=settings.zone, **options
        )

    # Forget, consolidate

    @takes(SelectionOptions, SELECTION)
    def forget(
        self,
        bank_id: str,
        ids: str | MemoryLike | Sequence[str | MemoryLike] = (),
        *,
        document_id: str | None = None,
        after: timedelta | None = None,
        dry_run: bool = False,
        **options: Unpack[SelectionOptions],
    ) -> Forgotten:
        """Delete memories permanently, by id, by document or by filter; return their ids.

        Their histories are deleted too. Observations and opinions that cite them also lose their
        histories, and are rewritten in the same transaction from the remaining memories, or
        deleted if none remain. The text that a memory was extracted from is only deleted with its
        document. A memory that was also stated in another document stays, with one source fewer.
        To keep a memory and its history but hide it from recall, use `memories.invalidate`.

        Args:
            bank_id: which bank.
            ids: a memory or several: ids, or memories themselves, such as recall's results.
            document_id: a document, or the session of a conversation, with its text and with
                everything the session stores: messages, and entries of a reflection memory.
            after: grace period during which `memories.restore` can undo this. The memories are
                hidden at once, and deleted when it ends.
            dry_run: delete nothing; the result lists what would be deleted, and the conclusions
                that would be deleted or rewritten with it.
            text: those whose text contains this, ignoring case. This and the following arguments
                select memories together; they cannot be combined with `ids` or `document_id`.
            speaker, types: those that this person said; those of these types.
            tags: those with any of these tags, or, with `tags_match="all"`, all of them.
            tags_match: "any" or "all".
            where: conditions, as in `recall`.
            scope: those of this scope.
            entities: those that mention one of these entities, by name or id.
            window: those of this period, as in `recall`.
            as_of: those known at this time; a date is the end of its day.
            changed_since: those stored or changed at or after this time.
            state: "valid", "invalidated", "expired" or "any" (the default).

        Raises:
            InvalidInputError: nothing to forget was named, or an argument cannot be used.
            MemoryNotFoundError, DocumentNotFoundError, EntityNotFoundError: one of them does not
                exist; nothing was deleted.
        """
        return forget(
            self._runtime, bank_id, ids, document_id, options, after=after, dry_run=dry_run
        )

    def consolidate(self, bank_id: str) -> Consolidation:
        """Draw observations and update opinions from all pending memories, now.

        This also runs in the background after each retain, unless `settings.consolidate` is off; a
        second run over the same memories adds nothing. With an `llm` the model proposes
        observations, and each proposal is validated before it is stored. Mental models with
        `auto_refresh` are refreshed afterwards.

        Raises:
            BankNotFoundError: there is no such bank.
            EmbeddingError, StoreError: a batch failed; earlier batches stay stored. If the
                language model fails, this is reported in `failures`, and its memories stay pending.
        """
        self._runtime.bank(bank_id)
        return sum(self._runtime.consolidations(bank_id), Consolidation(bank_id))

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait until background work is done, including work left by earlier processes.

        Args:
            timeout: maximum seconds to wait; no limit if None.

        Returns:
            True if all is done; False on timeout.
        """
        if timeout is not None:
            validation.seconds("timeout", timeout, zero=True)
        self._runtime.check_open()
        return self._runtime.worker.wait_idle(timeout)

    def health(self) -> Health:
        """Check that each part responds, and report how far the vector index lags behind."""
        return self.maintenance.health()

    aretain = async_variant(retain)
    aretain_many = async_variant(retain_many)
    aretain_messages = async_variant(retain_messages)
    aretain_memory = async_variant(retain_memory)
    aretain_memories = async_variant(retain_memories)
    arecall = async_variant(recall)
    acontext = async_variant(context)
    areflect = async_variant(reflect)
    aprofile = async_variant(profile)
    agraph = async_variant(graph)
    atimeline = async_variant(timeline)
    aforget = async_variant(forget)
    aconsolidate = async_variant(consolidate)
    await_idle = async_variant(wait_idle)
    ahealth = async_variant(health)
