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

LATEST = 30.0
"""Seconds after which a bank is consolidated even while it is still being written to."""

LONGEST_PAUSE = 1.0
"""Longest pause in seconds; after each batch the worker pauses for as long as that took."""


class Worker:
    """Runs consolidations one after another in a thread of its own.

    No error reaches the caller of `wake`: it is logged, and kept for `state`.

    Args:
        work: consolidates a bank, a batch at each step.
        delay: seconds after the last `wake` for any bank before it begins, so that retaining has
            the processor to itself.
        patience: seconds without work after which the thread ends, so that it keeps no unclosed
            engine alive; the next call to `wake` starts another.
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
        self._woken: dict[str, float] = {}
        self._leftovers: set[str] = set()
        self._last_woken = 0.0
        self._thread: threading.Thread | None = None
        self._busy = False
        self._waiters = 0
        self._closed = False
        self._leaving = False
        self._fault: str | None = None

    def wake(self, bank_id: str, *, leftover: bool = False) -> None:
        """Schedule a bank for consolidation; returns at once.

        Args:
            bank_id: the bank.
            leftover: what waits in it is another process's, which `close` does not finish.
        """
        now = time.monotonic()
        with self._changed:
            if self._closed:
                return
            if not leftover:
                self._leftovers.discard(bank_id)
            elif bank_id not in self._woken:
                self._leftovers.add(bank_id)
            self._woken.setdefault(bank_id, now)
            self._last_woken = now
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="hindsight-reflect", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Process all pending banks without throttling; return False on timeout."""
        with self._changed:
            self._waiters += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._woken and not self._busy, timeout)
            finally:
                self._waiters -= 1

    def state(self) -> tuple[bool, str]:
        """Return whether the last consolidation succeeded, and the state in words."""
        with self._changed:
            if self._fault is not None:
                return False, self._fault
            waiting = len(self._woken) + self._busy
            return True, f"banks to reflect on: {waiting}" if waiting else "nothing is waiting"

    def close(self, *, finish: bool = True) -> None:
        """Consolidate the banks that were woken, leftovers aside, and stop; idempotent.

        Args:
            finish: if False, stop within the current batch; the graph knows what still waits.
        """
        with self._changed:
            self._closed = True
            for bank_id in self._leftovers if finish else list(self._woken):
                self._woken.pop(bank_id, None)
            self._leaving |= not finish
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    @property
    def is_leaving(self) -> bool:
        """True once `close` was told not to finish what waits."""
        return self._leaving

    def _run(self) -> None:
        while (bank_id := self._next()) is not None:
            try:
                with acting_as(ENGINE, "consolidation"):
                    self._reflect(bank_id)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next(self) -> str | None:
        """Wait for a bank that has been quiet for long enough; None if no work is left."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._woken or self._closed, self._patience)
                if not self._woken:
                    self._thread = None
                    return None
                first, bank_id = min((first, id) for id, first in self._woken.items())
                left = min(self._last_woken + self._delay, first + LATEST) - time.monotonic()
                if left <= 0 or self._hurried():
                    del self._woken[bank_id]
                    self._busy = True
                    return bank_id
                self._changed.wait(left)

    def _hurried(self) -> bool:
        return self._closed or self._waiters > 0

    def _reflect(self, bank_id: str) -> None:
        failures: list[str] = []
        try:
            for done in self._work(bank_id):
                failures += map(str, done.failures)
                if self._leaving or (self._closed and bank_id in self._leftovers):
                    break
                self._rest(done.seconds)
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
            self._fault = f"bank {bank_id!r}: {failures[-1]}" if failures else None

    def _rest(self, seconds: float) -> None:
        """Pause for as long as the last batch took, unless somebody waits."""
        with self._changed:
            if not self._hurried():
                self._changed.wait_for(self._hurried, min(seconds, LONGEST_PAUSE))
