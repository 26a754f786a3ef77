"""Background consolidation: one thread for each engine, while there is work for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

from hindsight_integrations.acting import ENGINE, acting_as
from hindsight_integrations.errors import HindsightError, NotFoundError
from hindsight_integrations.reflect.consolidation import Consolidation

log = logging.getLogger("hindsight_integrations")

MAX_DELAY = 30.0
"""Longest delay of a consolidation, in seconds, while other writes keep coming."""

MAX_PAUSE = 1.0
"""Longest pause between batches, in seconds; a pause otherwise takes as long as the last batch."""


class Worker:
    """Runs consolidations one after another in a background thread.

    Errors are logged and reported by `state`; none reaches the caller of `wake`.

    Args:
        work: consolidates a bank; yields after each batch.
        delay: seconds without a `wake` for any bank before a consolidation starts, so that it does
            not compete with retain for the CPU.
        patience: seconds without work after which the thread ends, so that it does not keep an
            unclosed engine alive; the next `wake` starts a new one.
    """

    def __init__(
        self,
        work: Callable[[str], Iterator[Consolidation]],
        delay: float,
        patience: float = 10.0,
    ) -> None:
        self._work = work
        self._delay = delay
        self._patience = patience
        self._changed = threading.Condition()
        self._pending: dict[str, float] = {}
        self._other_process_banks: set[str] = set()
        self._last_wake = 0.0
        self._thread: threading.Thread | None = None
        self._busy = False
        self._waiting_callers = 0
        self._closed = False
        self._is_aborting = False
        self._last_error: str | None = None

    def wake(self, bank_id: str, *, leftover: bool = False) -> None:
        """Schedule a bank for consolidation; returns at once.

        Args:
            bank_id: the bank.
            leftover: the pending work is left from another process; `close` does not finish it.
        """
        now = time.monotonic()
        with self._changed:
            if self._closed:
                return
            if not leftover:
                self._other_process_banks.discard(bank_id)
            elif bank_id not in self._pending:
                self._other_process_banks.add(bank_id)
            self._pending.setdefault(bank_id, now)
            self._last_wake = now
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="hindsight-reflect", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Process all pending banks without throttling; return False on timeout."""
        with self._changed:
            self._waiting_callers += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._pending and not self._busy, timeout)
            finally:
                self._waiting_callers -= 1

    def state(self) -> tuple[bool, str]:
        """Return whether the last consolidation succeeded, and the state in words."""
        with self._changed:
            if self._last_error is not None:
                return False, self._last_error
            waiting = len(self._pending) + self._busy
            return True, f"banks to reflect on: {waiting}" if waiting else "nothing is waiting"

    def close(self, *, finish: bool = True) -> None:
        """Consolidate the pending banks, except leftovers, and stop; idempotent.

        Args:
            finish: if False, stop within the current batch; the rest stays pending in the graph.
        """
        with self._changed:
            self._closed = True
            for bank_id in self._other_process_banks if finish else list(self._pending):
                self._pending.pop(bank_id, None)
            self._is_aborting |= not finish
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    @property
    def is_aborting(self) -> bool:
        """True once `close(finish=False)` was called: the current batch has to end early."""
        return self._is_aborting

    def _run(self) -> None:
        while (bank_id := self._next_bank()) is not None:
            try:
                with acting_as(ENGINE, "consolidation"):
                    self._consolidate(bank_id)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next_bank(self) -> str | None:
        """Wait until a pending bank is due and return it; None if no work is left."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._pending or self._closed, self._patience)
                if not self._pending:
                    self._thread = None
                    return None
                first_wake, bank_id = min(
                    (first_wake, id) for id, first_wake in self._pending.items()
                )
                seconds_left = (
                    min(self._last_wake + self._delay, first_wake + MAX_DELAY) - time.monotonic()
                )
                if seconds_left <= 0 or self._is_unthrottled():
                    del self._pending[bank_id]
                    self._busy = True
                    return bank_id
                self._changed.wait(seconds_left)

    def _is_unthrottled(self) -> bool:
        return self._closed or self._waiting_callers > 0

    def _consolidate(self, bank_id: str) -> None:
        failures: list[str] = []
        try:
            for done in self._work(bank_id):
                failures += map(str, done.failures)
                if self._is_aborting or (self._closed and bank_id in self._other_process_banks):
                    break
                self._throttle(done.seconds)
        except NotFoundError:
            log.debug("bank %r was deleted before it was consolidated", bank_id)
        except HindsightError as error:
            failures.append(str(error))
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}")
            log.exception("consolidating bank %r failed", bank_id)
        for failure in failures:
            log.warning("consolidating bank %r: %s", bank_id, failure)
        with self._changed:
            self._last_error = f"bank {bank_id!r}: {failures[-1]}" if failures else None

    def _throttle(self, seconds: float) -> None:
        """Pause for as long as the last batch took, unless a caller waits or the worker closes."""
        with self._changed:
            if not self._is_unthrottled():
                self._changed.wait_for(self._is_unthrottled, min(seconds, MAX_PAUSE))
