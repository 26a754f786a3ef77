"""Idempotency of calls with an operation id: each is carried out once, and an id has one call."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from hindsight_integrations.errors import ConflictError
from hindsight_integrations.models import utc_now
from hindsight_integrations.stores.base import CHECKPOINT, GraphStore, QueueCheckpoint
from hindsight_integrations.stores.reads import read_one

DONE = 2**31 - 1
"""Number of the last part of a call: the call is complete."""

KNOWN_FOR = timedelta(days=30)
"""Time for which a bank knows the id of a call, from when its last part was stored."""


_lock = threading.Lock()
_turns: dict[tuple[str, str], list[threading.Lock]] = {}
"""Locks of the calls in progress: one list entry for each request that runs or waits."""


@contextmanager
def in_turn(bank_id: str, operation_id: str) -> Iterator[None]:
    """Let no other request of this process do the same call meanwhile."""
    call = bank_id, operation_id
    with _lock:
        waiting = _turns.setdefault(call, [])
        waiting.append(waiting[0] if waiting else threading.Lock())
    try:
        with waiting[0]:
            yield
    finally:
        with _lock:
            waiting.pop()
            if not waiting:
                del _turns[call]


def checkpoint_of(operation_id: str, digest: str, number: int = DONE) -> QueueCheckpoint:
    """Return the checkpoint that a bank stores with the part of a call that has this number."""
    return QueueCheckpoint(_queue(operation_id), number, digest, utc_now() + KNOWN_FOR)


def last_part(graph: GraphStore, bank_id: str, operation_id: str, digest: str | None = None) -> int:
    """Return the number of the last part of a call that is stored, 0 if none is.

    The bank must exist. `digest` is a hash of what the call says; None takes any.

    Raises:
        ConflictError: the id is that of another call.
    """
    queue = _queue(operation_id)
    found = read_one(graph, bank_id, CHECKPOINT, queue, QueueCheckpoint(queue, 0))
    if None not in (digest, found.digest) and found.digest != digest:
        raise another_call(operation_id)
    return found.number


def another_call(operation_id: str) -> ConflictError:
    """Return the error that refuses a call whose id is that of another one."""
    return ConflictError(
        f"operation id {operation_id!r} was already used for another call; give each "
        "call its own id"
    )


def _queue(operation_id: str) -> str:
    return f"operation:{operation_id}"
