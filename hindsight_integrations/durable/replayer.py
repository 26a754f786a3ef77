"""Thread that sends queued retains: in order, with backoff between failed attempts.

A call appends its retains to the queue and, while attempts succeed, waits for their turn. A
failure of the store ends the wait of every caller: their retains are on disk.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import TypeAlias

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import within
from hindsight_integrations.durable.queue import Operation, ReplayQueue, batch_length
from hindsight_integrations.errors import (
    OUTAGES,
    ConflictError,
    EmbedderMismatchError,
    HindsightError,
    InvalidInputError,
    NotFoundError,
    StoreUnavailableError,
)
from hindsight_integrations.models import utc_now
from hindsight_integrations.results import RetainResult
from hindsight_integrations.retain.request import Submission

log = logging.getLogger("hindsight_integrations")

Send: TypeAlias = Callable[[Sequence[Operation]], RetainResult]
"""Stores operations of one bank in one transaction, skipping those already applied."""

BATCH_SIZE = 64
"""Retains sent in one transaction, at most: what `retain_many` stores at once."""

MAX_ATTEMPTS = 5
"""Attempts for a retain whose failure may or may not be permanent."""

POLL_SECONDS = 1.0
"""Seconds between reads of the queue for what other processes added."""

_CLOSE_TIMEOUT = 10.0
"""Seconds that `close` gives an attempt in progress to end."""

ANSWER_VALID_SECONDS = 5.0
"""Seconds for which an answer of the store is taken as its state, before it is asked again."""

_DOUBLINGS = 60
"""Cap of the exponent: the wait is `longest` long before, and 2.0**60 is still a float."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits of 0 to `first` seconds after one failure, to twice that after two, to `longest`.

    Full jitter: each failure doubles the longest wait, and the wait is drawn evenly from all of
    it, so that the many clients of one server do not come back together. Source: M. Brooker,
    "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).

    Raises:
        InvalidInputError: not 0 < first <= longest.
    """

    first: float = 0.5
    longest: float = 60.0

    def __post_init__(self) -> None:
        if not 0 < self.first <= self.longest < float("inf"):
            raise InvalidInputError(
                f"backoff is {self.first!r} to {self.longest!r} seconds; give two numbers above "
                "0, the smaller first"
            )

    def ceiling(self, failures: int) -> float:
        """Return the longest wait in seconds after `failures` in a row, at least one."""
        return min(self.longest, self.first * 2.0 ** min(failures - 1, _DOUBLINGS))

    def wait(self, failures: int, chance: float) -> float:
        """Return the wait in seconds, where `chance` is drawn evenly from 0 to 1."""
        return chance * self.ceiling(failures)


class FailureCause(Enum):
    """Cause of a failed retain; decides whether it is sent again or set aside."""

    OUTAGE = "outage"
    """The store can take no retain at all: send again until it can."""
    PERMANENT = "permanent"
    """The retain fails each time, until someone corrects it or the bank."""
    UNKNOWN = "unknown"
    """A model, another writer or a bug: send `MAX_ATTEMPTS` times, then treat as permanent."""


_PERMANENT = (InvalidInputError, NotFoundError, ConflictError, EmbedderMismatchError)


def classify_error(error: Exception) -> FailureCause:
    """Return the cause of `error`, raised by a retain."""
    if isinstance(error, OUTAGES):
        return FailureCause.OUTAGE
    return FailureCause.PERMANENT if isinstance(error, _PERMANENT) else FailureCause.UNKNOWN


@dataclass(slots=True)
class Call:
    """Retains of one caller, and their outcome while it waits.

    Attributes:
        operations: all retains of the call.
        waiting: numbers of those still queued.
        results: of those stored, one for each transaction.
        refused: by number, the errors of those that failed permanently.
    """

    operations: tuple[Operation, ...]
    waiting: set[int]
    results: list[RetainResult] = field(default_factory=list)
    refused: dict[int, Exception] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplayState:
    """State of the queue and of its sender.

    Attributes:
        waiting: retains on disk that are not stored yet.
        oldest: when the first of them was queued.
        set_aside: retains that failed permanently.
        sending: True if this process sends; else another that has the queue open does.
        failures: failed attempts in a row.
        next_attempt: when the store is tried again, after a failure.
        last_error: why the last attempt failed; None once one has succeeded.
        away: True while the store can take no retain and answer no question.
        stopped: True if the thread that sends was ended from outside, as by `sys.exit` in an
            extractor; close the queue and open it again.
    """

    waiting: int
    oldest: datetime | None
    set_aside: int
    sending: bool
    failures: int
    next_attempt: datetime | None
    last_error: str | None
    away: bool = False
    stopped: bool = False

    @property
    def ok(self) -> bool:
        """True if the last attempt succeeded, nothing was set aside, and the thread runs."""
        return not self.failures and not self.set_aside and not self.stopped

    def __str__(self) -> str:
        parts = [f"waiting: {self.waiting}"]
        if self.oldest is not None:
            parts.append(f"since {self.oldest:%Y-%m-%d %H:%M:%S} UTC")
        if self.set_aside:
            parts.append(f"set aside: {self.set_aside}")
        if not self.sending:
            parts.append("another process sends")
        if self.stopped:
            parts.append("the thread that sends has ended; close the queue and open it again")
        if self.last_error is not None:
            parts.append(f"the last attempt failed: {self.last_error}")
        return ", ".join(parts)


class Replayer:
    """Sends the operations of a queue, from one thread of the one process that has claimed it.

    Args:
        queue: holds the operations.
        send: stores operations, or raises.
        probe: asks the store for something small, and raises if it does not answer.
        backoff: waits between failed attempts.
    """

    def __init__(
        self, queue: ReplayQueue, send: Send, probe: Callable[[], object], backoff: Backoff
    ) -> None:
        self._queue = queue
        self._send = send
        self._probe = probe
        self._backoff = backoff
        self._condition = threading.Condition()  # guards everything below
        self._calls: dict[int, Call] = {}
        self._sending = queue.claim()
        self._closing = False
        self._ended = False
        self._finish: Callable[[], None] | None = None
        self._is_responsive = True  # the last attempt succeeded in time: callers wait for theirs
        self._is_outage = False
        self._answered_at = -ANSWER_VALID_SECONDS
        self._failures = 0
        self._unknown_failures = 0
        self._batch_limit = BATCH_SIZE
        self._next_attempt_at = 0.0
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="hindsight-replay", daemon=True)
        self._thread.start()

    def submit(self, bank_id: str, submissions: Sequence[Submission], patience: float) -> Call:
        """Queue submissions, and wait at most `patience` seconds until they are stored.

        Returns at once during an outage, while the store is slow, or if another process sends.

        Raises:
            StoreError: the queue cannot be written; nothing was queued.
        """
        with self._condition:
            added = self._queue.add(bank_id, submissions)
            call = Call(added, {operation.number for operation in added})
            self._condition.notify_all()
            if self._sending and self._is_responsive and not self._closing and not self._ended:
                self._calls |= dict.fromkeys(call.waiting, call)
                try:
                    if not self._condition.wait_for(lambda: self._is_finished(call), patience):
                        self._is_responsive = False
                finally:
                    self._stop_waiting(call)
        return call

    def drain(self, timeout: float) -> bool:
        """Send at once, for at most `timeout` seconds; True if the store has all that waited."""
        until = time.monotonic() + timeout
        with self._condition:
            self._next_attempt_at = 0.0
            self._condition.notify_all()
            while self._queue.extent().waiting or self._is_outage:
                left = until - time.monotonic()
                if left <= 0 or self._closing or self._ended:
                    return False
                self._condition.wait(min(left, POLL_SECONDS))
        return True

    def state(self) -> ReplayState:
        """Return the state of the queue and of its sender."""
        extent = self._queue.extent()
        with self._condition:
            left = self._next_attempt_at - time.monotonic()
            return ReplayState(
                waiting=extent.waiting,
                oldest=extent.oldest,
                set_aside=extent.set_aside,
                sending=self._sending,
                failures=self._failures,
                next_attempt=utc_now() + timedelta(seconds=left) if left > 0 else None,
                last_error=validation.well_formed(str(self._error)) if self._error else None,
                away=self._is_outage,
                stopped=self._ended and not self._closing,
            )

    def is_available(self, deadline: float) -> bool:
        """Return True if the store answers, asking it unless it just did.

        During a known outage it is not asked here: the thread does so, with backoff.

        Args:
            deadline: seconds that it has to answer.

        Raises:
            ClosedError: the queue was closed, or opened before this process was forked.
        """
        self._queue.check_open()
        with self._condition:
            if self._is_outage:
                return False
            if time.monotonic() - self._answered_at < ANSWER_VALID_SECONDS:
                return True
        try:
            within(deadline, self._probe)
        except TimeoutError:
            self.note_failure(StoreUnavailableError(f"no answer within {deadline:g} seconds"))
            return False
        except HindsightError as error:
            if not self.note_failure(error):
                raise
            return False
        with self._condition:
            self._answered_at = time.monotonic()
        return True

    def note_failure(self, error: Exception) -> bool:
        """Return True if an error of a reader means an outage of the store, and record it."""
        is_outage = classify_error(error) is FailureCause.OUTAGE
        with self._condition:
            if is_outage and not self._is_outage:
                self._postpone(error, outage=True)
        return is_outage

    def close(self, finish: Callable[[], None]) -> None:
        """Stop sending, and call `finish`: now, or when the attempt in progress has ended.

        The attempt has ten seconds to end before this returns; later the thread calls `finish`.
        """
        with self._condition:
            self._closing = True
            self._calls.clear()
            self._condition.notify_all()
        self._thread.join(_CLOSE_TIMEOUT)
        with self._condition:
            if not self._ended:
                self._finish = finish
                return
        finish()

    def after_fork(self) -> None:
        """Replace the lock in a forked process: the parent may have held it."""
        self._condition = threading.Condition()
        self._calls.clear()

    # Callers; all below runs with `_condition` held, or takes it

    def _is_finished(self, call: Call) -> bool:
        """Return True if nothing of the call is waited for: all stored, refused or given up."""
        return self._calls.keys().isdisjoint(call.waiting)

    def _stop_waiting(self, call: Call) -> None:
        for number in call.waiting:
            self._calls.pop(number, None)

    def _pop_call(self, operation: Operation) -> Call | None:
        """Return the call that waits for an operation, if any, and end its wait for it."""
        call = self._calls.pop(operation.number, None)
        if call is not None:
            call.waiting.remove(operation.number)
        return call

    # The thread

    def _run(self) -> None:
        try:
            while not self._closing:
                self._step_safely()
        finally:
            with self._condition:
                self._ended = True
                self._calls.clear()
                self._condition.notify_all()
                finish = self._finish
            if finish is not None:
                self._finish_late(finish)

    def _step_safely(self) -> None:
        """Take a step; after an error, whichever it is, put off the next attempt."""
        try:
            self._step()
        except HindsightError as error:  # the queue's own file
            self._postpone(error)
        except Exception as error:
            log.exception("unexpected error while sending queued retains")
            self._postpone(error)

    def _finish_late(self, finish: Callable[[], None]) -> None:
        """Call `finish` from the thread, after `close` returned without it."""
        try:
            finish()
        except Exception:
            log.exception("the queue and its memory could not be closed")

    def _step(self) -> None:
        with self._condition:
            if self._closing:
                return
            batch = self._next_batch()
            left = self._next_attempt_at - time.monotonic()
            if not batch and (left > 0 or not self._is_outage):
                self._condition.wait(POLL_SECONDS if left <= 0 else min(left, POLL_SECONDS))
                return
        if batch:
            self._attempt(batch)
        else:
            self._check_availability()

    def _check_availability(self) -> None:
        """Ask a store that had an outage, and for which nothing waits, whether it answers."""
        try:
            self._probe()
        except HindsightError as error:
            self._postpone(error, outage=classify_error(error) is FailureCause.OUTAGE)
        else:
            with self._condition:
                self._record_answer()

    def _attempt(self, batch: Sequence[Operation]) -> None:
        try:
            result = self._send(batch)
            self._queue.acknowledge(batch)
        except HindsightError as error:
            self._record_failure(batch, error)
        except Exception as error:
            log.exception("unexpected error while retaining a queued text")
            self._record_failure(batch, error)
        else:
            self._record_stored(batch, result)

    def _next_batch(self) -> list[Operation]:
        """Return the operations to send now: all of one caller, or all of none."""
        self._sending = self._sending or self._queue.claim()
        if not self._sending or time.monotonic() < self._next_attempt_at:
            return []
        head = self._queue.head(self._batch_limit)
        return head[: batch_length(head, lambda operation: id(self._calls.get(operation.number)))]

    def _record_stored(self, batch: Sequence[Operation], result: RetainResult) -> None:
        with self._condition:
            calls = [self._pop_call(operation) for operation in batch]
            if calls[0] is not None:
                calls[0].results.append(result)
            self._batch_limit = min(BATCH_SIZE, 2 * self._batch_limit)
            self._record_answer()

    def _record_failure(self, batch: Sequence[Operation], error: Exception) -> None:
        cause = classify_error(error)
        with self._condition:
            if cause is FailureCause.OUTAGE:
                self._postpone(error, outage=True)
            elif len(batch) > 1:  # one of them fails: halve the batch until it is found
                self._batch_limit = len(batch) // 2
            elif cause is FailureCause.PERMANENT or self._unknown_failures + 1 == MAX_ATTEMPTS:
                self._refuse(batch[0], error)
            else:
                self._unknown_failures += 1
                self._postpone(error)

    def _refuse(self, operation: Operation, error: Exception) -> None:
        """Report the error to the caller if it still waits; set the retain aside if not."""
        if operation.number in self._calls:
            self._queue.acknowledge([operation])
        else:
            self._queue.set_aside(operation, f"{type(error).__name__}: {error}")
        if call := self._pop_call(operation):
            call.refused[operation.number] = error
        self._record_answer()

    def _record_answer(self) -> None:
        """Record that the store was reached, whatever it answered: no failure counts any more."""
        if self._is_outage:
            log.info("the store is available again")
        self._is_responsive = True
        self._is_outage = False
        self._answered_at = time.monotonic()
        self._failures = self._unknown_failures = 0
        self._error = None
        self._condition.notify_all()

    def _postpone(self, error: Exception, *, outage: bool = False) -> None:
        """Schedule the next attempt, and end the wait of every caller.

        An outage is one warning, however many attempts it takes.
        """
        with self._condition:
            level = logging.DEBUG if outage and self._is_outage else logging.WARNING
            self._is_outage = outage
            self._failures += 1
            wait = self._backoff.wait(self._failures, random.random())
            self._next_attempt_at = time.monotonic() + wait
            self._error = error
            self._is_responsive = False
            self._calls.clear()
            self._condition.notify_all()
        log.log(level, "%s; retains stay queued, next attempt in %.1f s", error, wait)
