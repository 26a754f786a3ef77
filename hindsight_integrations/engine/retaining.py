"""The verbs that remember: text, many texts, conversations, prepared memories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.core import Core
from hindsight_integrations.model import Memory, MemoryType, Message
from hindsight_integrations.results import RetainResult
from hindsight_integrations.retain import batch, prepared
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import (
    Item,
    UpdateMode,
    conversation_submission,
    text_submission,
)
from hindsight_integrations.storage.requests import Vector


class Retaining:
    """What `Hindsight` offers for remembering."""

    _core: Core

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
        self._core.reflect_later(bank_id)
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
        self._core.reflect_later(bank_id)
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
        self._core.reflect_later(bank_id)
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
        self._core.reflect_later(bank_id)
        return replace(result, seconds=time.perf_counter() - started)

    aretain = twin(retain)
    aretain_many = twin(retain_many)
    aretain_messages = twin(retain_messages)
    aretain_memory = twin(retain_memory)
