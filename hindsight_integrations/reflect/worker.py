"""Reflecting in the background: one thread an engine, for as long as there is work for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

from hindsight_integrations.errors import HindsightError, NotFoundError
from hindsight_integrations.reflect.consolidate import Consolidation

log = logging.getLogger("hindsight_integrations")

LATEST = 30.0
"""Seconds after which a bank is reflected on even while it is still being written to."""

LONGEST_PAUSE = 1.0
"""Seconds. After each batch the worker rests for as long as that took, up to this."""


class Worker:
    """Runs consolidations one after another in a thread of its own.

    Nothing it does is seen by whoever woke it: an error is logged, and kept for `state`.

    Args:
        work: reflects on a bank, a batch at each step.
        delay: seconds of quiet, after it was last woken for any bank, before it begins: what is
            being retained has the processor to itself.
        patience: seconds without work after which the thread ends, so that an engine nobody
            closed is not kept alive by it; the next call to `wake` starts another.
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
        self._last_woken = 0.0
        self._thread: threading.Thread | None = None
        self._busy = False
        self._waiters = 0
        self._closed = False
        self._leaving = False
        self._fault: str | None = None

    def wake(self, bank_id: str) -> None:
        """There is something to reflect on in this bank; returns at once."""
        now = time.monotonic()
        with self._changed:
            if self._closed:
                return
            self._woken.setdefault(bank_id, now)
            self._last_woken = now
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="hindsight-reflect", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Have it work without rest until nothing is left; False if the time was too short."""
        with self._changed:
            self._waiters += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._woken and not self._busy, timeout)
            finally:
                self._waiters -= 1

    def state(self) -> tuple[bool, str]:
        """Whether all went well of late, and in words."""
        with self._changed:
            if self._fault is not None:
                return False, self._fault
            waiting = len(self._woken) + self._busy
            return True, f"banks to reflect on: {waiting}" if waiting else "nothing is waiting"

    def close(self, *, finish: bool = True) -> None:
        """Finish what is waiting, and stop; calling it twice is harmless.

        Args:
            finish: if not, stop after the batch at hand. The graph knows what still waits.
        """
        with self._changed:
            self._closed = True
            if not finish:
                self._leaving = True
                self._woken.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while (bank_id := self._next()) is not None:
            try:
                self._reflect(bank_id)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()

    def _next(self) -> str | None:
        """The bank that has been quiet for long enough; None if there is no more to do."""
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
                if self._leaving:
                    break
                self._rest(done.seconds)
        except NotFoundError:
            log.debug("bank %r was deleted before it was reflected on", bank_id)
        except HindsightError as error:
            failures.append(str(error))
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}")
            log.exception("reflecting on bank %r failed", bank_id)
        for failure in failures:
            log.warning("reflecting on bank %r: %s", bank_id, failure)
        with self._changed:
            self._fault = f"bank {bank_id!r}: {failures[-1]}" if failures else None

    def _rest(self, seconds: float) -> None:
        """Leave the processor to others for as long as the last batch had it."""
        with self._changed:
            if not self._hurried():
                self._changed.wait_for(self._hurried, min(seconds, LONGEST_PAUSE))
