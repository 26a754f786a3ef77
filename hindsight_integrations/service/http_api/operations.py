"""Operations: work in the background of requests, and work that clients poll for.

The latest are remembered by this process until it ends. Only the work itself is stored: what was
retained stays, and memories that are pending consolidation are consolidated later.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from hindsight_integrations.errors import ConflictError, HindsightError, NotFoundError
from hindsight_integrations.models import utc_now

KEPT = 2000
"""Operations remembered, the latest."""

COMPUTE_SLOTS = 2
"""Operations that run at once, over all banks."""

Status = Literal["pending", "processing", "completed", "failed", "cancelled"]
Work = Callable[[], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One piece of work.

    Attributes:
        kind: "retain", "consolidation", "refresh_mental_model", "bank_export" and so on.
        items: number of items it takes.
        result: what it made, once it is completed.
        subject: ids of what it is about, by their name on the wire.
    """

    id: str
    bank_id: str
    kind: str
    status: Status = "pending"
    items: int = 1
    error: str | None = None
    result: Mapping[str, object] = field(default_factory=dict)
    subject: Mapping[str, str] = field(default_factory=dict)
    created_at: datetime = field(default_factory=utc_now)
    updated_at: datetime = field(default_factory=utc_now)

    @property
    def ended(self) -> bool:
        """True if it is completed, failed or cancelled."""
        return self.status in ("completed", "failed", "cancelled")


class Operations:
    """The operations of a service, and the folder of the files they make."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Operation] = {}
        self._work: dict[tuple[str, str], Work] = {}
        self._running: dict[tuple[str, str], Future[None]] = {}
        self._threads = ThreadPoolExecutor(COMPUTE_SLOTS, thread_name_prefix="hindsight-operation")
        self._files: Path | None = None

    @property
    def files(self) -> Path:
        """Folder of exported archives; deleted by `close`."""
        with self._lock:
            if self._files is None:
                self._files = Path(tempfile.mkdtemp(prefix="hindsight-files-"))
            return self._files

    def note(
        self, bank_id: str, kind: str, *, id: str | None = None, items: int = 1, **subject: str
    ) -> Operation:
        """Record work that was done within a request."""
        id = id or str(uuid.uuid4())
        return self._keep(Operation(id, bank_id, kind, "completed", items, subject=subject))

    def start(self, bank_id: str, kind: str, work: Work, **subject: str) -> Operation:
        """Begin work in a thread; its mapping becomes the operation's result."""
        operation = self._keep(Operation(str(uuid.uuid4()), bank_id, kind, subject=subject))
        self._submit(operation, work)
        return operation

    def get(self, bank_id: str, operation_id: str) -> Operation:
        """Return an operation. Raises `NotFoundError`."""
        with self._lock:
            found = self._known.get((bank_id, operation_id))
        if found is None:
            raise NotFoundError(
                f"bank {bank_id!r} has no operation {operation_id!r}; the service keeps only "
                f"the latest {KEPT} until it stops"
            )
        return found

    def list(self, bank_id: str) -> list[Operation]:
        """Return the operations of a bank, the latest first."""
        with self._lock:
            known = [each for each in self._known.values() if each.bank_id == bank_id]
        return known[::-1]

    def cancel(self, bank_id: str, operation_id: str) -> Operation:
        """Keep an operation from starting. Raises `ConflictError` if it began, or has ended."""
        found = self.get(bank_id, operation_id)
        future = self._running.get((bank_id, operation_id))
        if found.ended or future is None or not future.cancel():
            raise ConflictError(
                f"operation {operation_id!r} is {found.status}; it cannot be stopped"
            )
        return self._keep(replace(found, status="cancelled", updated_at=utc_now()))

    def retry(self, bank_id: str, operation_id: str) -> Operation:
        """Run an operation again that failed or was cancelled. Raises `ConflictError` if not."""
        found = self.get(bank_id, operation_id)
        work = self._work.get((bank_id, operation_id))
        if work is None or found.status not in ("failed", "cancelled"):
            raise ConflictError(f"operation {operation_id!r} is {found.status}; nothing to retry")
        again = replace(found, status="pending", error=None, updated_at=utc_now())
        self._keep(again)
        self._submit(again, work)
        return again

    def delete(self, bank_id: str, operation_id: str) -> None:
        """Forget an operation that has ended. Raises `ConflictError` if it has not."""
        if not self.get(bank_id, operation_id).ended:
            raise ConflictError(f"operation {operation_id!r} has not ended; cancel it first")
        with self._lock:
            self._forget((bank_id, operation_id))

    def close(self) -> None:
        """Finish what runs, drop what waits, and delete the files."""
        self._threads.shutdown(cancel_futures=True)
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)

    def _keep(self, operation: Operation) -> Operation:
        key = operation.bank_id, operation.id
        with self._lock:
            self._known[key] = operation
            over = len(self._known) - KEPT
            if over > 0:
                ended = [each for each, known in self._known.items() if known.ended]
                for old in ended[:over]:
                    self._forget(old)
        return operation

    def _forget(self, key: tuple[str, str]) -> None:
        gone = self._known.pop(key)
        self._work.pop(key, None)
        self._running.pop(key, None)
        if self._files is not None and (name := gone.result.get("storage_key")):
            (self._files / str(name)).unlink(missing_ok=True)

    def _submit(self, operation: Operation, work: Work) -> None:
        key = operation.bank_id, operation.id
        self._work[key] = work
        self._running[key] = self._threads.submit(self._run, operation, work)

    def _run(self, operation: Operation, work: Work) -> None:
        self._keep(replace(operation, status="processing", updated_at=utc_now()))
        try:
            done = replace(operation, status="completed", result=work())
        except HindsightError as error:
            done = replace(operation, status="failed", error=f"{type(error).__name__}: {error}")
        except Exception as error:
            # The thread's own future is read by nobody: the operation tells of the fault.
            self._keep(replace(operation, status="failed", error=type(error).__name__))
            raise
        self._keep(replace(done, updated_at=utc_now()))
