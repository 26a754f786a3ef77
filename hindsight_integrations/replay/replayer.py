"""The thread that sends what is queued: in order, and after a failure not before its time.

A call puts its retains at the end of the queue and, while all is well, waits for its turn. A
failure for which the store is to blame sends everyone who waits home: their retains are on disk.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.model import utc_now
from hindsight_integrations.replay.backoff import Backoff
from hindsight_integrations.replay.fault import Fault, fault_of
from hindsight_integrations.replay.operation import Operation, together
from hindsight_integrations.replay.queue import ReplayQueue
from hindsight_integrations.results import RetainResult
from hindsight_integrations.retain.request import Submission

log = logging.getLogger("hindsight_integrations")

Send: TypeAlias = Callable[[Sequence[Operation]], RetainResult]
"""Stores operations of one bank in one transaction, save those that it has already."""

BATCH = 64
"""Retains sent in one transaction, at most: what `retain_many` stores at once."""

TRIES = 5
"""How often a retain is sent whose failure may be its own fault or not."""

LOOK = 1.0
"""Seconds after which the queue is looked at for what other processes added."""

_LAST_ATTEMPT = 10.0
"""Seconds that `close` gives an attempt in progress to end."""


@dataclass(slots=True)
class Call:
    """Retains of one caller, and what has become of them while it waited.

    `waiting` has the numbers of those still queued, `refused` the errors of those that failed for
    their own fault.
    """

    operations: tuple[Operation, ...]
    waiting: set[int]
    results: list[RetainResult] = field(default_factory=list)
    refused: dict[int, Exception] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplayState:
    """How the queue stands.

    Attributes:
        waiting: retains on disk that are not stored yet.
        oldest: when the first of them was called.
        set_aside: retains that failed for their own fault.
        sending: whether this process sends; if not, another that has the queue open does.
        failures: failed attempts in a row.
        next_attempt: when the store is asked again, after a failure.
        last_error: why the last attempt failed; None once one has succeeded.
    """

    waiting: int
    oldest: datetime | None
    set_aside: int
    sending: bool
    failures: int
    next_attempt: datetime | None
    last_error: str | None

    @property
    def ok(self) -> bool:
        """Whether the store takes what it is sent, and nothing was set aside."""
        return not self.failures and not self.set_aside

    def __str__(self) -> str:
        parts = [f"waiting: {self.waiting}"]
        if self.oldest is not None:
            parts.append(f"since {self.oldest:%Y-%m-%d %H:%M:%S} UTC")
        if self.set_aside:
            parts.append(f"set aside: {self.set_aside}")
        if not self.sending:
            parts.append("another process sends")
        if self.last_error is not None:
            parts.append(f"the last attempt failed: {self.last_error}")
        return ", ".join(parts)


class Replayer:
    """Sends what a queue holds, from one thread of the one process that has claimed it.

    Args:
        queue: what is to be sent.
        send: stores operations, or raises.
        backoff: waits between failed attempts.
    """

    def __init__(self, queue: ReplayQueue, send: Send, backoff: Backoff) -> None:
        self._queue = queue
        self._send = send
        self._backoff = backoff
        self._turn = threading.Condition()  # guards everything below
        self._calls: dict[int, Call] = {}
        self._sending = queue.claim()
        self._closing = False
        self._prompt = True  # whether the last attempt was answered well and in time
        self._failures = 0
        self._doubts = 0
        self._limit = BATCH
        self._due = 0.0
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="hindsight-replay", daemon=True)
        self._thread.start()

    def submit(self, bank_id: str, submissions: Sequence[Submission], patience: float) -> Call:
        """Queue submissions, and wait for at most `patience` seconds until they are stored.

        Returns at once while the store is away or slow, or if another process sends.

        Raises:
            StoreError: the queue cannot be written; nothing was queued.
        """
        with self._turn:
            added = self._queue.add(bank_id, submissions)
            call = Call(added, {each.number for each in added})
            self._turn.notify_all()
            if self._sending and self._prompt and not self._closing:
                self._calls |= dict.fromkeys(call.waiting, call)
                try:
                    if not self._turn.wait_for(lambda: self._is_over(call), patience):
                        self._prompt = False
                finally:
                    self._leave(call)
        return call

    def drain(self, timeout: float) -> bool:
        """Try now, and until nothing waits or `timeout` seconds are over; whether nothing waits."""
        until = time.monotonic() + timeout
        with self._turn:
            self._due = 0.0
            self._turn.notify_all()
            while self._queue.extent().waiting:
                left = until - time.monotonic()
                if left <= 0 or self._closing:
                    return False
                self._turn.wait(min(left, LOOK))
        return True

    def state(self) -> ReplayState:
        """How the queue stands."""
        extent = self._queue.extent()
        with self._turn:
            left = self._due - time.monotonic()
            return ReplayState(
                waiting=extent.waiting,
                oldest=extent.oldest,
                set_aside=extent.set_aside,
                sending=self._sending,
                failures=self._failures,
                next_attempt=utc_now() + timedelta(seconds=left) if left > 0 else None,
                last_error=str(self._error) if self._error else None,
            )

    def close(self) -> bool:
        """Stop sending; whether the attempt in progress, if any, has ended."""
        with self._turn:
            self._closing = True
            self._calls.clear()
            self._turn.notify_all()
        self._thread.join(_LAST_ATTEMPT)
        return not self._thread.is_alive()

    # Callers; all below runs with `_turn` held, or takes it

    def _is_over(self, call: Call) -> bool:
        """Whether nothing of it is waited for any more: stored, refused or sent home."""
        return self._calls.keys().isdisjoint(call.waiting)

    def _leave(self, call: Call) -> None:
        for number in call.waiting:
            self._calls.pop(number, None)

    def _settle(self, operation: Operation) -> Call | None:
        """The call that waits for an operation, if any, which has it off its hands now."""
        call = self._calls.pop(operation.number, None)
        if call is not None:
            call.waiting.remove(operation.number)
        return call

    # The thread

    def _run(self) -> None:
        while not self._closing:
            try:
                self._step()
            except HindsightError as error:  # the queue's own file
                self._put_off(error)

    def _step(self) -> None:
        with self._turn:
            if self._closing:
                return
            batch = self._next_batch()
            if not batch:
                left = self._due - time.monotonic()
                self._turn.wait(LOOK if left <= 0 else min(left, LOOK))
                return
        try:
            result = self._send(batch)
            self._queue.strike(batch)
        except HindsightError as error:
            self._failed(batch, error)
        except Exception as error:
            log.exception("a queued retain met an unexpected error")
            self._failed(batch, error)
        else:
            self._stored(batch, result)

    def _next_batch(self) -> list[Operation]:
        """What to send now: of one caller, or all of it of none."""
        self._sending = self._sending or self._queue.claim()
        if not self._sending or time.monotonic() < self._due:
            return []
        head = self._queue.head(self._limit)
        return head[: together(head, lambda each: id(self._calls.get(each.number)))]

    def _stored(self, batch: Sequence[Operation], result: RetainResult) -> None:
        with self._turn:
            calls = [self._settle(operation) for operation in batch]
            if calls[0] is not None:
                calls[0].results.append(result)
            self._limit = min(BATCH, 2 * self._limit)
            self._answered()

    def _failed(self, batch: Sequence[Operation], error: Exception) -> None:
        fault = fault_of(error)
        with self._turn:
            if fault is Fault.AWAY:
                self._put_off(error)
            elif len(batch) > 1:  # one of them is to blame: halve until it is found
                self._limit = len(batch) // 2
            elif fault is Fault.OWN or self._doubts + 1 == TRIES:
                self._refuse(batch[0], error)
            else:
                self._doubts += 1
                self._put_off(error)

    def _refuse(self, operation: Operation, error: Exception) -> None:
        """Tell the caller if it still waits; set the retain aside if not."""
        if operation.number in self._calls:
            self._queue.strike([operation])
        else:
            self._queue.set_aside(operation, f"{type(error).__name__}: {error}")
        if call := self._settle(operation):
            call.refused[operation.number] = error
        self._answered()

    def _answered(self) -> None:
        """The store was there, whatever it said."""
        self._prompt = True
        self._failures = self._doubts = 0
        self._error = None
        self._turn.notify_all()

    def _put_off(self, error: Exception) -> None:
        """Send everyone home, and try again after a while."""
        with self._turn:
            self._failures += 1
            wait = self._backoff.wait(self._failures, random.random())
            self._due = time.monotonic() + wait
            self._error = error
            self._prompt = False
            self._calls.clear()
            self._turn.notify_all()
        log.warning("retains wait in their queue, next attempt in %.1f s: %s", wait, error)
