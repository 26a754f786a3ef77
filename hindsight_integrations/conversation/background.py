"""One thread that does things in order, and that no error stops."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock

log = logging.getLogger("hindsight_integrations")


class Tasks:
    """Runs tasks one after the other; a task that fails is logged and counted, never raised.

    The thread is started by the first task. All methods may be called from any thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._latest: Future[None] | None = None
        self._count = Lock()
        self.failures = 0
        """Tasks that failed so far."""
        self.last_error: Exception | None = None
        """Why the last of them did."""

    def submit(self, task: Callable[[], object]) -> None:
        """Run a task after those that wait."""
        self._latest = self._pool.submit(self.run, task)

    def run(self, task: Callable[[], object]) -> None:
        """Run a task here and now, with no more right to raise than in the background."""
        try:
            task()
        except Exception as error:
            with self._count:
                self.failures += 1
                self.last_error = error
            log.exception("%s: a task failed; the conversation goes on without it", self._name)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what was submitted has run, at most `timeout` seconds; whether it has."""
        return self._latest is None or not wait([self._latest], timeout).not_done

    def close(self) -> None:
        """Wait until all tasks have run, and take no more."""
        self._pool.shutdown(wait=True)
