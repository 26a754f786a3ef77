"""Queue on disk: retains in the order they were called, in a SQLite file of their own.

Any number of processes may add to one file; the one that has claimed it sends. An added retain is
on the disk when the call returns: one wait, since the file has a write-ahead log. A lock file keeps
two processes from checkpointing that log at once, which SQLite before 3.51.3 does not survive.

An operation holds the validated submission, not the caller's arguments, so a replay hours later
stores what the call would have stored: the same document, the same timestamps.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from hindsight_integrations import forks, validation
from hindsight_integrations.errors import (
    ClosedError,
    ForkedError,
    InvalidInputError,
    SchemaVersionError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_integrations.json_form import adapter
from hindsight_integrations.models import utc_now
from hindsight_integrations.normalization import new_id
from hindsight_integrations.private import PRIVATE, create_private
from hindsight_integrations.retain.request import Submission
from hindsight_integrations.stores.sqlite.connection import BUSY_SECONDS, store_error
from hindsight_integrations.stores.times import micros

_APPLICATION_ID = 0x48524551
"""SQLite's `application_id` of a queue, "HREQ"; a file without it is another program's."""

_VERSION = 2
"""SQLite's `user_version` of a queue."""

_SCHEMA = (
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
    """CREATE TABLE waiting (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        bank_id TEXT NOT NULL,
        document_id TEXT NOT NULL,
        queued_at TEXT NOT NULL,
        submission TEXT NOT NULL)""",
    """CREATE TABLE set_aside (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        bank_id TEXT NOT NULL,
        document_id TEXT NOT NULL,
        queued_at TEXT NOT NULL,
        submission TEXT NOT NULL,
        set_aside_at TEXT NOT NULL,
        reason TEXT NOT NULL)""",
    "CREATE TABLE queue (identity TEXT NOT NULL)",
    "INSERT INTO queue (identity) VALUES (lower(hex(randomblob(8))))",
)

_COLUMNS = "id, bank_id, document_id, queued_at, submission"
"""Columns that both tables share."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A retain that waits. `number` orders the queue, `written` is its submission as JSON."""

    number: int
    id: str
    bank_id: str
    document_id: str
    queued_at: datetime
    written: str

    @property
    def submission(self) -> Submission:
        """The submission to be stored.

        Raises:
            InvalidInputError: it cannot be read: the queue was altered, or is of a newer release.
        """
        try:
            submission: Submission = adapter(Submission).validate_json(self.written)
            return submission
        except ValueError as error:
            raise InvalidInputError(
                f"the queued retain {self.id!r} cannot be read; upgrade hindsight-integrations, "
                "or discard it and retain its text again"
            ) from error


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A retain that failed permanently, kept until it is requeued or discarded.

    `reason` is the error; `written` the submission as JSON, so that its text can be saved.
    """

    id: str
    bank_id: str
    document_id: str
    queued_at: datetime
    set_aside_at: datetime
    reason: str
    written: str


class Extent(NamedTuple):
    """Number of waiting retains, when the first was queued, and number of dead letters."""

    waiting: int
    oldest: datetime | None
    set_aside: int


def batch_length(operations: Sequence[Operation], key: Callable[[Operation], object]) -> int:
    """Count the leading operations that may be stored in one transaction.

    They are of one bank and one `key`, and no two of them of the same document.
    """
    documents: set[str] = set()
    for count, operation in enumerate(operations):
        first = operations[0]
        alike = operation.bank_id == first.bank_id and key(operation) == key(first)
        if not alike or operation.document_id in documents:
            return count
        documents.add(operation.document_id)
    return len(operations)


class ReplayQueue:
    """Retains that wait for their store. Threads may share it.

    Args:
        path: the queue's file, made if there is none; its folder must exist.

    Attributes:
        identity: a name of 16 letters and digits that no other file has, and that this one keeps.
        forked: True in a process that was forked after the queue was opened.

    Raises:
        InvalidInputError: the file is another program's.
        SchemaVersionError: another release wrote it.
        StoreError: it cannot be opened, read or written. All methods raise this one, and nothing
            of a failed write is kept.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self._guard = threading.Lock()
        self._closed = False
        self.forked = False
        self._writer = FileLock(
            f"{self.path}.lock", timeout=BUSY_SECONDS, mode=PRIVATE, thread_local=False
        )
        self._sender = FileLock(f"{self.path}.sender", timeout=0, mode=PRIVATE, thread_local=False)
        with self._errors():
            if self.path.parent.is_dir():
                create_private(self.path)  # SQLite gives its log the same rights
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise
        forks.watch(self)

    # Adding and sending

    def add(self, bank_id: str, submissions: Sequence[Submission]) -> tuple[Operation, ...]:
        """Append submissions to the queue, all or none; they are on the disk on return."""
        now, to_json = utc_now().isoformat(), adapter(Submission).dump_json
        rows = [
            (new_id("op-"), bank_id, submission.document_id, now, to_json(submission).decode())
            for submission in submissions
        ]
        with self._writing() as cursor:
            return tuple(map(_operation, _append(cursor, rows)))

    def head(self, limit: int) -> list[Operation]:
        """Return the first waiting operations, at most `limit`, in order."""
        with self._reading() as cursor:
            rows = cursor.execute(
                f"SELECT number, {_COLUMNS} FROM waiting ORDER BY number LIMIT ?", (limit,)
            )
            return [_operation(row) for row in rows]

    def acknowledge(self, operations: Sequence[Operation]) -> None:
        """Remove stored operations; not synced to disk, since their bank has the checkpoint."""
        with self._writing("NORMAL") as cursor:
            cursor.executemany(
                "DELETE FROM waiting WHERE number = ?", [(o.number,) for o in operations]
            )
            is_done = cursor.execute("SELECT 1 FROM waiting LIMIT 1").fetchone() is None
        if is_done:
            self._empty_log()

    def extent(self) -> Extent:
        """Count the operations that wait and those set aside."""
        with self._reading() as cursor:
            waiting, oldest, set_aside = cursor.execute(
                "SELECT (SELECT count(*) FROM waiting), "
                "(SELECT queued_at FROM waiting ORDER BY number LIMIT 1), "
                "(SELECT count(*) FROM set_aside)"
            ).fetchone()
        return Extent(waiting, oldest and datetime.fromisoformat(oldest), set_aside)

    # Dead letters

    def set_aside(self, operation: Operation, reason: str) -> None:
        """Move an operation from the queue to the dead letters, so that the next can be sent."""
        with self._writing() as cursor:
            cursor.execute(
                f"INSERT INTO set_aside ({_COLUMNS}, set_aside_at, reason) "
                f"SELECT {_COLUMNS}, ?, ? FROM waiting WHERE number = ?",
                (utc_now().isoformat(), validation.text(reason, "reason"), operation.number),
            )
            cursor.execute("DELETE FROM waiting WHERE number = ?", (operation.number,))

    def list_set_aside(self) -> list[DeadLetter]:
        """Return the dead letters, earliest first."""
        with self._reading() as cursor:
            rows = cursor.execute(
                f"SELECT {_COLUMNS}, set_aside_at, reason FROM set_aside ORDER BY number"
            )
            return [_dead_letter(row) for row in rows]

    def requeue(self) -> int:
        """Move all dead letters to the end of the queue; returns how many."""
        with self._writing() as cursor:
            rows = cursor.execute(f"SELECT {_COLUMNS} FROM set_aside ORDER BY number").fetchall()
            _append(cursor, rows)
            return cursor.execute("DELETE FROM set_aside").rowcount

    def discard(self, ids: Sequence[str]) -> int:
        """Delete dead letters for good; returns how many there were."""
        with self._writing() as cursor:
            cursor.executemany("DELETE FROM set_aside WHERE id = ?", [(id,) for id in ids])
            count = cursor.rowcount
        self._empty_log()
        return count

    # Processes

    def check_open(self) -> None:
        """Raise `ClosedError` if the queue was closed, or opened before the process was forked."""
        if self.forked:
            raise ForkedError(
                f"the queue {str(self.path)!r} was opened before its process was forked into "
                f"process {os.getpid()}; open it after forking"
            )
        if self._closed:
            raise ClosedError(f"the queue {str(self.path)!r} was closed; open it again")

    def after_fork(self) -> None:
        """Give up the parent's connection and locks, in a process that was forked."""
        self.forked = True
        self._guard = threading.Lock()
        forks.never_free(self._connection)

    def claim(self) -> bool:
        """Try to become the one object that sends, until `close` or the end of the process."""
        self.check_open()
        with self._errors():
            try:
                self._sender.acquire()
            except Timeout:
                return False
            return True

    def close(self) -> None:
        """Close the file and let another process send; waiting operations stay.

        A second call does nothing, nor does one in a forked process.
        """
        if self.forked:
            return
        with self._errors(), self._guard, self._writer:
            self._closed = True
            self._connection.close()
            self._sender.release(force=True)

    def _prepare(self) -> None:
        execute = self._connection.execute
        # Acknowledged retains leave no text behind in the file, and a long queue no long file.
        execute("PRAGMA secure_delete = ON")
        execute("PRAGMA auto_vacuum = FULL")
        with self._writing():
            (application_id,) = execute("PRAGMA application_id").fetchone()
            (version,) = execute("PRAGMA user_version").fetchone()
            (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and application_id != _APPLICATION_ID:
                raise InvalidInputError(
                    f"{str(self.path)!r} is a database but not a retain queue; give the queue "
                    "its own file"
                )
            if tables and version != _VERSION:
                raise SchemaVersionError(
                    f"the queue {str(self.path)!r} has schema version {version}, but this "
                    f"release reads version {_VERSION}; use the release that wrote it"
                )
            for statement in () if tables else _SCHEMA:
                execute(statement)
            (self.identity,) = execute("SELECT identity FROM queue").fetchone()
        with self._writer:
            execute("PRAGMA journal_mode = WAL")

    def _empty_log(self) -> None:
        """Empty the write-ahead log, which still holds what was acknowledged, unless it is read."""
        with self._guarded(), self._writer:
            try:
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._errors(), self._guard:
            self.check_open()
            yield

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Cursor]:
        with self._guarded():
            yield self._connection.cursor()

    @contextmanager
    def _writing(self, synchronous: str = "FULL") -> Iterator[sqlite3.Cursor]:
        with self._guarded(), self._writer:
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            try:
                self._connection.execute("BEGIN IMMEDIATE")  # inside: Ctrl-C is raised after it
                yield self._connection.cursor()
                self._connection.execute("COMMIT")
            finally:
                self._connection.rollback()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise store_error(error, f"of queued retains {str(self.path)!r}") from error
        except Timeout as error:
            raise StoreLockedError(
                f"the queue {str(self.path)!r}: another process has been writing to it for "
                f"{BUSY_SECONDS:g} s; try again, or end that process"
            ) from error
        except (OSError, NotImplementedError) as error:  # the latter: a file system without locks
            raise StoreUnavailableError(
                f"the queue {str(self.path)!r} cannot be used: {error}; give a file on a local "
                "disk that this user may write to"
            ) from error


def _append(cursor: sqlite3.Cursor, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Insert rows of `_COLUMNS` at the end; returns them with their new numbers first.

    A number is the time in microseconds, or one more than the last. So a file restored from a
    backup goes on above all that was sent since.
    """
    (last,) = cursor.execute(
        "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'waiting'"
    ).fetchone()
    first = max(last + 1, micros(utc_now()))
    numbered = [(number, *row) for number, row in enumerate(rows, start=first)]
    cursor.executemany(
        f"INSERT INTO waiting (number, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", numbered
    )
    return numbered


def _operation(row: tuple[Any, ...]) -> Operation:
    number, id, bank_id, document_id, queued_at, written = row
    return Operation(number, id, bank_id, document_id, datetime.fromisoformat(queued_at), written)


def _dead_letter(row: tuple[Any, ...]) -> DeadLetter:
    id, bank_id, document_id, queued_at, written, set_aside_at, reason = row
    times = datetime.fromisoformat(queued_at), datetime.fromisoformat(set_aside_at)
    return DeadLetter(id, bank_id, document_id, *times, reason, written)
