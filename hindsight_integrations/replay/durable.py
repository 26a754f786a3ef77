"""Retains that are acknowledged once they are on disk, whether their store answers or not."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import Closing, twin
from hindsight_integrations.catalog.maintenance import Health, PartHealth
from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import HindsightError, StoreUnavailableError
from hindsight_integrations.model import MemoryType, Message
from hindsight_integrations.replay.backoff import Backoff
from hindsight_integrations.replay.operation import Operation, SetAside
from hindsight_integrations.replay.queue import ReplayQueue
from hindsight_integrations.replay.replayer import Replayer, ReplayState
from hindsight_integrations.results import Failed, RetainResult
from hindsight_integrations.retain.batch import as_item, check_many
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import (
    Item,
    Submission,
    UpdateMode,
    conversation_submission,
    text_submission,
)
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.requests import Mark

PATIENCE = 10.0
"""Seconds that a call waits for its store before it leaves the retain to the queue."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a durable retain. All it acknowledges is stored by now, or will be.

    Attributes:
        result: what is stored by now; in `failed`, what was refused and is not acknowledged.
        document_ids: of all that is acknowledged.
        queued: ids of the operations that wait on disk.
    """

    result: RetainResult
    document_ids: tuple[str, ...]
    queued: tuple[str, ...] = ()


class DurableRetain(Closing):
    """Retains into a memory whose stores may be away, by way of a queue on disk.

    Each call is written to the queue before it is sent. If the store takes it, the receipt says
    what was stored; if the store is away, the call returns at once and a thread sends what is
    queued, in order and once, when the store is back: in this process or in a later one.

    Args:
        memory: where to retain: an open `Hindsight`, which stays its owner's, or a function that
            opens one. A function is called until it succeeds, so that retains are taken even
            when a server is away from the start; what it opened is closed with this object.
        queue: path of the queue's file, made if there is none; one a memory. Several processes
            may name the same: the first sends for all.
        patience: seconds that a call waits for a store that neither answers nor fails.
        backoff: waits between failed attempts.
        settings: those of the memory that a function opens; `max_content_chars` counts here.

    Raises:
        InvalidInputError, SchemaVersionError, StoreError: the queue's file cannot be used.

    Example:
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
        self._open = memory if callable(memory) else None
        self._memory = None if callable(memory) else memory
        self._opening = threading.Lock()
        given = settings or Settings() if callable(memory) else memory._core.settings
        self._max_chars = given.max_content_chars
        self._patience = patience
        self._queue = ReplayQueue(queue)
        self._replayer = Replayer(self._queue, self._send, backoff or Backoff())
        if self._memory is not None:
            self._memory._core.probes["queue"] = self._probe

    @property
    def memory(self) -> Hindsight:
        """The memory, opened now if it is not open yet.

        Raises:
            StoreUnavailableError: it cannot be opened; its `__cause__` says why.
        """
        with self._opening:
            if self._memory is None:
                assert self._open is not None
                try:
                    self._memory = self._open()
                except Exception as error:
                    raise StoreUnavailableError(f"the memory cannot be opened: {error}") from error
                self._memory._core.probes["queue"] = self._probe
            return self._memory

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
    ) -> Receipt:
        """Remember a text, now or when the store is back; see `Hindsight.retain`.

        What has no timestamp was said at the moment of this call, however late it is stored.

        Raises:
            InvalidInputError: an argument cannot be used; nothing was queued.
            StoreUnavailableError: the queue cannot be written; nothing was queued.
            HindsightError: the memory refused it for its own fault; it is not queued.
        """
        item = Item(
            content, timestamp, context, document_id, metadata, tags, entities, type,
            confidence, update_mode, expires_at, scope, None, speaker,
        )  # fmt: skip
        return self._retain(bank_id, text_submission(item, self._max_chars))

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
    ) -> Receipt:
        """Remember a conversation, now or when the store is back.

        See `Hindsight.retain_messages` for the arguments, and `retain` for what it raises.
        """
        stamp = Item(
            "", context=context, metadata=metadata, tags=tags, update_mode=update_mode, scope=scope
        )
        submission = conversation_submission(
            messages, session=session, stamp=stamp, max_chars=self._max_chars
        )
        return self._retain(bank_id, submission)

    def retain_many(
        self, bank_id: str, items: Iterable[Item | Mapping[str, object] | str]
    ) -> Receipt:
        """Remember many texts, now or when the store is back; see `Hindsight.retain_many`.

        All that can be used are queued together, or none. An item that cannot be used, or that
        the memory refuses, is reported in `result.failed`, and the others are stored.
        """
        check_many(items)
        accepted: dict[int, Submission] = {}
        failed: list[Failed] = []
        for index, item in enumerate(items):
            try:
                accepted[index] = text_submission(as_item(item, index), self._max_chars)
            except HindsightError as error:
                failed.append(Failed(index, error))
        return self._submit(bank_id, accepted, failed)

    # The queue

    def drain(self, timeout: float = 60.0) -> bool:
        """Try now, and until nothing waits or `timeout` seconds are over; whether nothing waits."""
        return self._replayer.drain(timeout)

    def state(self) -> ReplayState:
        """How many retains wait, since when, when they are sent next and what went wrong."""
        return self._replayer.state()

    def health(self) -> Health:
        """The memory's own, which has the queue as a part; the queue's alone until it is open."""
        if self._memory is not None:
            return self._memory.health()
        return Health((PartHealth("queue", *self._probe()),))

    def set_aside(self) -> list[SetAside]:
        """Retains that failed for their own fault when no caller waited, with the error."""
        return self._queue.list_set_aside()

    def put_back(self) -> int:
        """Queue again all that was set aside, behind what waits; returns how many."""
        return self._queue.put_back()

    def discard(self, ids: Sequence[str]) -> int:
        """Delete some of what was set aside for good; returns how many there were."""
        return self._queue.discard(ids)

    def close(self) -> None:
        """Stop sending; what waits is sent by whoever opens the queue next. Twice is harmless.

        An attempt in progress has some seconds to end; if it does not, what it holds is sent
        again, and stored once.
        """
        if self._memory is not None:
            self._memory._core.probes.pop("queue", None)
        if self._replayer.close():
            self._queue.close()
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
        """Queue submissions, given by their index in the call, and tell what became of them."""
        started = time.perf_counter()
        call = self._replayer.submit(
            checks.bank_id(bank_id), list(submissions.values()), self._patience
        )
        refused = [
            Failed(index, call.refused[each.number])
            for index, each in zip(submissions, call.operations, strict=True)
            if each.number in call.refused
        ]
        unstored = RetainResult(bank_id, failed=(*failed, *refused))
        return Receipt(
            replace(
                RetainResult.merged(bank_id, [*call.results, unstored]),
                seconds=time.perf_counter() - started,
            ),
            tuple(e.document_id for e in call.operations if e.number not in call.refused),
            tuple(each.id for each in call.operations if each.number in call.waiting),
        )

    def _probe(self) -> tuple[bool, str]:
        """Whether the queue is as it should be, and how it stands."""
        try:
            state = self.state()
        except HindsightError as error:
            return False, str(error)
        return state.ok, str(state)

    def _send(self, operations: Sequence[Operation]) -> RetainResult:
        """Store operations of one bank, save those that it has: they only have to be struck."""
        core = self.memory._core
        bank = core.bank_or_new(operations[0].bank_id)
        applied = core.graph.mark(bank.bank.id, self._queue.identity)
        due = [each for each in operations if each.number > applied]
        if not due:
            return RetainResult(bank.bank.id)
        mark = Mark(self._queue.identity, due[-1].number)
        result = retain(core.retaining, bank, [each.submission for each in due], mark)
        core.reflect_later(bank.bank.id)
        return result

    aretain = twin(retain)
    aretain_messages = twin(retain_messages)
    aretain_many = twin(retain_many)
    adrain = twin(drain)
    astate = twin(state)
    ahealth = twin(health)
    aset_aside = twin(set_aside)
    aput_back = twin(put_back)
    adiscard = twin(discard)
    aclose = twin(close)
