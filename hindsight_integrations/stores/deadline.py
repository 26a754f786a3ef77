"""Deadlines that calls hand down to servers, and servers that do not answer.

A caller sets what the stores may take in a block; each request to a server then takes at most half
of what is left, so that there is time for others. A server that answers nobody for some seconds is
asked by no call for a while, so that not every one waits for it: they fail at once. Whether it is
silent, or was slow with what it was asked for, is told by a question that costs it nothing, asked
at once and after each pause, beside the calls.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from hindsight_integrations.errors import StoreUnavailableError

log = logging.getLogger(__name__)

ANSWER_SECONDS = 60.0
"""Time for one answer where no caller sets less: a check of a big bank takes long."""

PAUSE_SECONDS = 5.0
"""Time for which a silent server is not asked."""

LEAST_SECONDS = 1.0
"""A request counts as unanswered after so long; less may be the rest of a deadline."""

SILENT_SECONDS = 3.0
"""A server is silent that answers nobody for so long, over one request or several: a pause of a
busy server, or of this process, may outlast the little that one caller's deadline has left."""

PROBE_SECONDS = 5.0
"""Seconds to wait for the answer to a probe; the next probe uses another connection."""


class _Limit(NamedTuple):
    until: float = math.inf
    each: float = ANSWER_SECONDS
    asking: bool = False


_limit: ContextVar[_Limit] = ContextVar("_limit", default=_Limit())  # noqa: B039 - immutable


@contextmanager
def limited(
    seconds: float = math.inf, *, each: float = ANSWER_SECONDS, asking: bool = False
) -> Iterator[None]:
    """Limit what the stores may take in a block, within the limits of a block around it.

    Args:
        seconds: for all requests together.
        each: for one request.
        asking: ask a silent server too, as a check of its health does.
    """
    around = _limit.get()
    inner = _Limit(
        min(around.until, time.monotonic() + seconds),
        min(around.each, each),
        around.asking or asking,
    )
    token = _limit.set(inner)
    try:
        yield
    finally:
        _limit.reset(token)


def seconds_left() -> float:
    """Return the seconds that the next request may take."""
    limit = _limit.get()
    return max(0.0, min(limit.each, (limit.until - time.monotonic()) / 2))


class ServerAvailability:
    """Knowledge of one server, of whether it answers.

    Args:
        where: the server, for errors.
        probe: asks the server what costs it nothing, by way of this object.
    """

    def __init__(self, where: str, probe: Callable[[], object]) -> None:
        self._where = where
        self._probe = probe
        self._lock = threading.Lock()
        self._probing = False
        self._probed_at = -math.inf
        self._asked_again_at: float | None = None
        self._answered_at = -math.inf
        self._answered = threading.Event()  # set unless the server is taken for silent
        self._answered.set()
        self._silent_from = math.inf  # when the first request began that it left unanswered

    def check(self) -> None:
        """Return if the server may be asked.

        While it was asked just now whether it is silent or slow, wait for the answer, for
        `LEAST_SECONDS` at most.

        Raises:
            StoreUnavailableError: it did not answer lately.
        """
        if _limit.get().asking:
            return
        with self._lock:
            if self._asked_again_at is None:
                return
            if time.monotonic() >= self._asked_again_at:
                self._ask_beside()
            left = self._probed_at + LEAST_SECONDS - time.monotonic()
        if self._answered.wait(max(0.0, min(left, seconds_left()))):
            return
        with self._lock:
            pause = max(0.0, (self._asked_again_at or -math.inf) - time.monotonic())
        raise StoreUnavailableError(
            f"{self._where} did not answer and is retried in {pause:.0f} s; check that the "
            "server runs and that nothing blocks it"
        )

    def silent(self, seconds: float) -> StoreUnavailableError:
        """Note that it did not answer for so many seconds; return the error to raise.

        If it answered others meanwhile it is slow, and may be asked.
        """
        now = time.monotonic()
        if seconds >= LEAST_SECONDS and self._answered_at < now - seconds:
            with self._lock:
                self._silent_from = min(self._silent_from, now - seconds)
                if now - self._silent_from >= SILENT_SECONDS:
                    if self._asked_again_at is None:
                        self._answered.clear()
                        self._ask_beside()
                    self._asked_again_at = now + PAUSE_SECONDS
        return StoreUnavailableError(
            f"{self._where} did not answer within {seconds:.1f} s; check that the server "
            "runs and that nothing blocks it"
        )

    def answered(self) -> None:
        """Note that it answered."""
        with self._lock:
            self._answered_at = time.monotonic()
            self._silent_from = math.inf
            self._asked_again_at = None
            self._answered.set()

    def _ask_beside(self) -> None:
        """Ask the server in a thread, unless one waits for its answer; the lock is held."""
        now = time.monotonic()
        self._asked_again_at = now + PAUSE_SECONDS
        if not self._probing:
            self._probing, self._probed_at = True, now
            threading.Thread(target=self._ask, name="hindsight-probe", daemon=True).start()

    def _ask(self) -> None:
        token = _limit.set(_Limit(each=PROBE_SECONDS, asking=True))
        try:
            self._probe()
        except Exception as error:  # noqa: BLE001 - whatever it is, the server did not answer
            log.debug("%s does not answer: %s", self._where, error)
        finally:
            _limit.reset(token)
            with self._lock:
                self._probing = False
