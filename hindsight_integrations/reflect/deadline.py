"""Work that is waited for only so long."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """What the work returns or raises, if it does so in time.

    A thread cannot be stopped: late work runs on to its end, and what it gives is dropped.

    Raises:
        TimeoutError: it took longer.
    """
    outcome: Future[T] = Future()
    here = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(here.run(work))
        except BaseException as error:  # noqa: BLE001 - raised where the outcome is waited for
            outcome.set_exception(error)

    Thread(target=run, name="hindsight-ask", daemon=True).start()
    return outcome.result(timeout=max(0.0, seconds))
