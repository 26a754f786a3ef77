"""Retains that are acknowledged once they are on disk, even if their store is not available."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from hindsight_integrations import forks, validation
from hindsight_integrations.asynchronous import ContextManaged, async_variant
from hindsight_integrations.client import Hindsight
from hindsight_integrations.durable.queue import DeadLetter, Operation, ReplayQueue
from hindsight_integrations.durable.replayer import Backoff, Replayer, ReplayState
from hindsight_integrations.errors import HindsightError, StoreUnavailableError
from hindsight_integrations.models import MemoryType
from hindsight_integrations.namespaces.maintenance import Health, PartHealth
from hindsight_integrations.results import Failed, RetainResult, Skipped, SkipReason
from hindsight_integrations.retain.foreign import has_random_id, with_content
from hindsight_integrations.retain.pipeline import as_item, check_many
from hindsight_integrations.retain.request import (
    Item,
    Submission,
    UpdateMode,
    conversation_submission,
    text_submission,
)
from hindsight_integrations.settings import Settings

PATIENCE = 10.0
"""Seconds that a call waits for its store before it returns with the retain still queued."""

_PROBE_TIMEOUT = 2.0
"""Seconds that an open memory has to answer a check of its availability."""

_OPENING_TIMEOUT = 30.0
"""Seconds that a memory has to open, its models included."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Outcome of a durable retain. Every acknowledged document is stored, or will be.

    Attributes:
        result: the part already stored; `failed` lists items that were refused.
        document_ids: the acknowledged documents.
        queued: ids of the operations waiting on disk.
    """

    result: RetainResult
    document_ids: tuple[str, ...]
    queued: tuple[str, ...] = ()


class _OpeningLock:
    """A lock that is free in a forked process, even if a thread of the parent held it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def after_fork(self) -> None:
        """Replace the parent's lock."""
        self.lock = threading.Lock()


class DurableRetain(ContextManaged):
    """Retain into a memory whose stores may be unavailable, through a queue on disk.

    Each call is written to the queue before it is sent. If the store is available, the receipt says
    what was stored. Otherwise the call returns at once, and a thread sends the queue, in order and
    exactly once, when the store is available again: in this process or in a later one.

    Args:
        memory: an open `Hindsight`, which the caller closes, or a function that opens one. The
            function is called until it succeeds, so that retains are accepted even if a server is
            not available at the start; the memory it opened is closed with this object.
        queue: path of the queue's file, created if missing; use one for each memory. Several
            processes may use the same file: the first one sends for all.
        patience: maximum seconds that a call waits for a store that neither answers nor fails.
        backoff: waiting times between failed attempts.
        settings: settings of the memory that the function opens; only `max_content_chars` and
            `timezone` are used.

    Raises:
        InvalidInputError, SchemaVersionError, StoreError: the queue's file cannot be used.

    Examples:
        >>> memory = Hindsight("./memories", vectors="http://localhost:8000")  # doctest: +SKIP
        >>> with DurableRetain(memory, "./retains.queue") as durable:  # doctest: +SKIP
        ...     receipt = durable.retain("alice", "Alice joined Northwind in March 2021.")
    """

    def __init__(
        self,
        memory: Hindsight | Callable[[], Hindsight],
        queue: str | os.PathLike[str],
        *,
        patience: float = PATIENCE,
        backoff: Backoff | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._open: Callable[[], Hindsight] | None = None
        self._memory: Hindsight | None = None
        if callable(memory):
            self._open = memory
            used = settings or Settings()
        else:
            self._memory = validation.memory("memory", memory)
            used = self._memory.settings
        self._opening = _OpeningLock()
        self._max_chars, self._zone = used.max_content_chars, used.zone
        self._patience = patience
        self._queue = ReplayQueue(queue)
        self._replayer = Replayer(
            self._queue, self._send, self._check_storage, backoff or Backoff()
        )
        if self._memory is not None:
            self._memory.probes["queue"] = self._probe
        forks.watch(self._opening)
        forks.watch(self._replayer)

    @property
    def memory(self) -> Hindsight:
        """The memory, opened on first access.

        Raises:
            StoreUnavailableError: it cannot be opened; see the `__cause__` of this error.
            ClosedError: it was never opened, and this object was closed, or opened before this
                process was forked.
        """
        with self._opening.lock:
            if self._memory is None:
                assert self._open is not None
                self._queue.check_open()
                try:
                    self._memory = self._open()
                except Exception as error:
                    raise StoreUnavailableError(f"the memory cannot be opened: {error}") from error
                self._memory.probes["queue"] = self._probe
            return self._memory

    # Retaining

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
    ) -> Receipt:
        """Remember a text, now or when the store is available; see `Hindsight.retain`.

        Without a timestamp, the text is dated to this call, however late it is stored. A
        framework's document with a random id is identified by its content, and stored only once.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was queued.
            StoreUnavailableError: the queue cannot be written; nothing was queued.
            HindsightError: the memory refused the text because of the text itself; it is not
                queued.
        """
        item = Item(
            content,  # type: ignore[arg-type]
            timestamp, context, document_id, metadata, tags, entities, type,
            confidence, update_mode, expires_at, scope, None, speaker,
        )  # fmt: skip
        return self._retain(bank_id, self._submission(with_content(item)))

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
    ) -> Receipt:
        """Remember a conversation, now or when the store is available.

        See `Hindsight.retain_messages` for the arguments, and `retain` for the errors.
        """
        shared = Item(
            "", context=context, metadata=metadata, tags=tags, update_mode=update_mode, scope=scope
        )
        submission = conversation_submission(
            messages, session=session, shared=shared, max_chars=self._max_chars, zone=self._zone
        )
        if not submission.turns and submission.mode != "replace":
            skipped = (Skipped("", SkipReason.EMPTY),)
            return Receipt(RetainResult(validation.bank_id(bank_id), skipped=skipped), (), ())
        return self._retain(bank_id, submission)

    def retain_many(self, bank_id: str, items: Iterable[object]) -> Receipt:
        """Remember many texts, now or when the store is available; see `Hindsight.retain_many`.

        Either all usable items are queued, or none. An item that cannot be used, or that the memory
        refuses, is reported in `result.failed`, and the others are stored.
        """
        check_many(items)
        accepted: dict[int, Submission] = {}
        failed: list[Failed] = []
        for index, item in enumerate(items):
            try:
                accepted[index] = self._submission(as_item(item, index))
            except HindsightError as error:
                failed.append(Failed(index, error))
        return self._submit(bank_id, accepted, failed)

    def _submission(self, item: Item) -> Submission:
        submission = text_submission(item, self._max_chars, self._zone)
        if has_random_id(item):
            return replace(submission, document_id=f"sha256:{submission.fingerprint}")
        return submission

    # The queue

    def drain(self, timeout: float = 60.0) -> bool:
        """Send the queue now, for at most `timeout` seconds.

        Returns:
            True if the queue is empty and the store is available.
        """
        return self._replayer.drain(validation.seconds("timeout", timeout, zero=True))

    def available(self) -> bool:
        """Return True if the memory can be opened and its graph answers.

        It is checked at most every five seconds, and has two seconds to answer, or thirty to open.
        During an outage the result is False at once, and the sending thread retries with backoff.

        Raises:
            HindsightError: the check failed for another reason than an outage.
        """
        return self._replayer.is_available(_PROBE_TIMEOUT if self._memory else _OPENING_TIMEOUT)

    def note_failure(self, error: Exception) -> bool:
        """Return True if an error means that the memory is unavailable, and record the outage.

        Locked, damaged and closed stores count as unavailable too.
        """
        return self._replayer.note_failure(error)

    def state(self) -> ReplayState:
        """Return how many retains are waiting, since when, the next attempt and the last error."""
        return self._replayer.state()

    def health(self) -> Health:
        """Return the health of memory and queue; of the queue only, until the memory is open."""
        if self._memory is not None:
            return self._memory.health()
        return Health((PartHealth("queue", *self._probe()),))

    def set_aside(self) -> list[DeadLetter]:
        """Return dead letters: retains refused for their content after their call returned."""
        return self._queue.list_set_aside()

    def requeue(self) -> int:
        """Add all dead letters to the end of the queue again; return how many."""
        return self._queue.requeue()

    def discard(self, ids: Sequence[str]) -> int:
        """Delete dead letters permanently; return how many there were."""
        return self._queue.discard(ids)

    def close(self) -> None:
        """Stop sending; whoever opens the queue next sends the rest. Idempotent.

        An attempt in progress has ten seconds to finish. After that, queue and memory are closed
        when it ends; if the process ends before, its retains are sent again, but stored only once.
        In a process that was forked, this does nothing.
        """
        if self._queue.forked:
            return
        if self._memory is not None:
            self._memory.probes.pop("queue", None)
        self._replayer.close(self._finish)

    def _finish(self) -> None:
        """Close the queue, and the memory if it was opened here."""
        self._queue.close()
        with self._opening.lock:
            if self._open is not None and self._memory is not None:
                self._memory.close()

    def __repr__(self) -> str:
        return f"DurableRetain({str(self._queue.path)!r})"

    def _retain(self, bank_id: str, submission: Submission) -> Receipt:
        receipt = self._submit(bank_id, {0: submission}, [])
        for failure in receipt.result.failed:
            raise failure.error
        return receipt

    def _submit(
        self, bank_id: str, submissions: Mapping[int, Submission], failed: Iterable[Failed]
    ) -> Receipt:
        """Queue submissions, given by their index in the call, and return the outcome."""
        started = time.perf_counter()
        call = self._replayer.submit(
            validation.bank_id(bank_id), list(submissions.values()), self._patience
        )
        refused = [
            Failed(index, call.refused[operation.number])
            for index, operation in zip(submissions, call.operations, strict=True)
            if operation.number in call.refused
        ]
        unstored = RetainResult(bank_id, failed=(*failed, *refused))
        return Receipt(
            replace(
                RetainResult.merged(bank_id, [*call.results, unstored]),
                seconds=time.perf_counter() - started,
            ),
            tuple(o.document_id for o in call.operations if o.number not in call.refused),
            tuple(o.id for o in call.operations if o.number in call.waiting),
        )

    def _probe(self) -> tuple[bool, str]:
        """Return whether the queue works, and its state in words."""
        try:
            state = self.state()
        except HindsightError as error:
            return False, str(error)
        return state.ok, str(state)

    def _check_storage(self) -> None:
        self.memory.storage.check()

    def _send(self, operations: Sequence[Operation]) -> RetainResult:
        """Store operations of one bank, skipping those it already has."""
        return self.memory.storage.retain_queued(
            operations[0].bank_id,
            self._queue.identity,
            [(operation.number, operation.submission) for operation in operations],
        )

    aretain = async_variant(retain)
    aretain_messages = async_variant(retain_messages)
    aretain_many = async_variant(retain_many)
    adrain = async_variant(drain)
    aavailable = async_variant(available)
    anote_failure = async_variant(note_failure)
    astate = async_variant(state)
    ahealth = async_variant(health)
    aset_aside = async_variant(set_aside)
    arequeue = async_variant(requeue)
    adiscard = async_variant(discard)
    aclose = async_variant(close)
