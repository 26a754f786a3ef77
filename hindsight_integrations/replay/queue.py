"""The queue on disk: retains in the order they were called, in a SQLite file of their own.

Any number of processes may add to one file; the one that has claimed it sends. What is added is
on the disk when the call returns: one wait, since the file has a write-ahead log. A lock file keeps
two processes from copying that log back at once, which SQLite before 3.51.3 does not bear.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from hindsight_integrations.errors import (
    ClosedError,
    InvalidInputError,
    SchemaVersionError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_integrations.model import utc_now
from hindsight_integrations.naming import new_id
from hindsight_integrations.replay.operation import Operation, SetAside, write
from hindsight_integrations.retain.request import Submission
from hindsight_integrations.storage.sqlite.connection import BUSY_SECONDS, store_error
from hindsight_integrations.storage.values import micros

_OURS = 0x48524551
"""SQLite's `application_id` of a queue, "HREQ"; a file without it is someone else's."""

_VERSION_1 = (
    f"PRAGMA application_id = {_OURS}",
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
)

_VERSION_2 = (
    "CREATE TABLE queue (identity TEXT NOT NULL)",
    "INSERT INTO queue (identity) VALUES (lower(hex(randomblob(8))))",
)

_MIGRATIONS = (_VERSION_1, _VERSION_2)
"""Statements that lead from version n (its place in this list) to n + 1. Only ever appended to."""

_MOVED = "id, bank_id, document_id, queued_at, submission"


class Extent(NamedTuple):
    """How many retains wait, since when the first of them, and how many are set aside."""

    waiting: int
    oldest: datetime | None
    set_aside: int


class ReplayQueue:
    """Retains that wait for their store. Threads may share it.

    Args:
        path: the queue's file, made if there is none; its folder must exist.

    Attributes:
        identity: a name of 16 letters and digits that no other file has, and that this one keeps.

    Raises:
        InvalidInputError: the file is another program's.
        SchemaVersionError: a newer release wrote it.
        StoreError: it cannot be opened, read or written. All methods raise this one, and what
            failed to be written is not there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        self._guard = threading.Lock()
        self._closed = False
        self._writer = FileLock(f"{self.path}.lock", timeout=BUSY_SECONDS, thread_local=False)
        self._sender = FileLock(f"{self.path}.sender", timeout=0, thread_local=False)
        with self._errors():
            self._connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    # Adding and sending

    def add(self, bank_id: str, submissions: Sequence[Submission]) -> tuple[Operation, ...]:
        """Write submissions to the end of the queue, all or none; on the disk on return."""
        now = utc_now().isoformat()
        rows = [
            (new_id("op-"), bank_id, each.document_id, now, write(each)) for each in submissions
        ]
        with self._writing() as cursor:
            return tuple(map(_operation, _append(cursor, rows)))

    def head(self, limit: int) -> list[Operation]:
        """The first that wait, at most `limit`, in order."""
        with self._reading() as cursor:
            rows = cursor.execute(
                f"SELECT number, {_MOVED} FROM waiting ORDER BY number LIMIT ?", (limit,)
            )
            return [_operation(row) for row in rows]

    def strike(self, operations: Sequence[Operation]) -> None:
        """Take out what is stored; not waited for, since its bank bears the mark."""
        with self._writing("NORMAL") as cursor:
            cursor.executemany(
                "DELETE FROM waiting WHERE number = ?", [(each.number,) for each in operations]
            )

    def extent(self) -> Extent:
        """How much there is."""
        with self._reading() as cursor:
            waiting, oldest, set_aside = cursor.execute(
                "SELECT (SELECT count(*) FROM waiting), "
                "(SELECT queued_at FROM waiting ORDER BY number LIMIT 1), "
                "(SELECT count(*) FROM set_aside)"
            ).fetchone()
        return Extent(waiting, oldest and datetime.fromisoformat(oldest), set_aside)

    # Setting aside

    def set_aside(self, operation: Operation, reason: str) -> None:
        """Take one out of the order and keep it, so that those behind it can go on."""
        with self._writing() as cursor:
            cursor.execute(
                f"INSERT INTO set_aside ({_MOVED}, set_aside_at, reason) "
                f"SELECT {_MOVED}, ?, ? FROM waiting WHERE number = ?",
                (utc_now().isoformat(), reason, operation.number),
            )
            cursor.execute("DELETE FROM waiting WHERE number = ?", (operation.number,))

    def list_set_aside(self) -> list[SetAside]:
        """Those set aside, earliest first."""
        with self._reading() as cursor:
            rows = cursor.execute(
                f"SELECT {_MOVED}, set_aside_at, reason FROM set_aside ORDER BY number"
            )
            return [_set_aside(row) for row in rows]

    def put_back(self) -> int:
        """Move all that are set aside to the end of the queue; returns how many."""
        with self._writing() as cursor:
            rows = cursor.execute(f"SELECT {_MOVED} FROM set_aside ORDER BY number").fetchall()
            _append(cursor, rows)
            return cursor.execute("DELETE FROM set_aside").rowcount

    def discard(self, ids: Sequence[str]) -> int:
        """Delete some of those set aside for good; returns how many there were."""
        with self._writing() as cursor:
            cursor.executemany("DELETE FROM set_aside WHERE id = ?", [(each,) for each in ids])
            return cursor.rowcount

    # Processes

    def claim(self) -> bool:
        """Whether this object is the one that sends, until `close` or the end of the process."""
        with self._errors():
            try:
                self._sender.acquire()
            except Timeout:
                return False
            return True

    def close(self) -> None:
        """Close the file, and let another process send; what waits stays. Twice is harmless."""
        with self._errors(), self._guard, self._writer:
            self._closed = True
            self._connection.close()
            self._sender.release(force=True)

    def _prepare(self) -> None:
        execute = self._connection.execute
        # What was sent leaves no text behind in the file, and a long queue no long file.
        execute("PRAGMA secure_delete = ON")
        execute("PRAGMA auto_vacuum = FULL")
        with self._writing():
            (ours,) = execute("PRAGMA application_id").fetchone()
            (version,) = execute("PRAGMA user_version").fetchone()
            (tables,) = execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and ours != _OURS:
                raise InvalidInputError(
                    f"{str(self.path)!r} is a database, but no queue of retains; give the queue a "
                    "file of its own"
                )
            if version > len(_MIGRATIONS):
                raise SchemaVersionError(
                    f"the queue {str(self.path)!r} has schema version {version}, and this release "
                    f"knows versions up to {len(_MIGRATIONS)}; upgrade hindsight-integrations"
                )
            for statements in _MIGRATIONS[version:]:
                for statement in statements:
                    execute(statement)
            execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
            (self.identity,) = execute("SELECT identity FROM queue").fetchone()
        with self._writer:
            execute("PRAGMA journal_mode = WAL")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Cursor]:
        with self._errors(), self._guard:
            self._check_open()
            yield self._connection.cursor()

    @contextmanager
    def _writing(self, synchronous: str = "FULL") -> Iterator[sqlite3.Cursor]:
        with self._errors(), self._guard, self._writer:
            self._check_open()
            self._connection.execute(f"PRAGMA synchronous = {synchronous}")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.cursor()
                self._connection.execute("COMMIT")
            finally:
                self._connection.rollback()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the queue {str(self.path)!r} was closed; open it anew")

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
    """Put rows of `_MOVED` at the end; returns them with the numbers they got.

    A number is a moment in microseconds, or one more than the last. So a file that is put back
    from a backup goes on above all that was sent since.
    """
    (last,) = cursor.execute(
        "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'waiting'"
    ).fetchone()
    first = max(last + 1, micros(utc_now()))
    numbered = [(number, *row) for number, row in enumerate(rows, start=first)]
    cursor.executemany(
        f"INSERT INTO waiting (number, {_MOVED}) VALUES (?, ?, ?, ?, ?, ?)", numbered
    )
    return numbered


def _operation(row: tuple[Any, ...]) -> Operation:
    number, id, bank_id, document_id, queued_at, written = row
    moment = datetime.fromisoformat(queued_at)
    return Operation(number, id, bank_id, document_id, moment, written)


def _set_aside(row: tuple[Any, ...]) -> SetAside:
    id, bank_id, document_id, queued_at, written, set_aside_at, reason = row
    moments = datetime.fromisoformat(queued_at), datetime.fromisoformat(set_aside_at)
    return SetAside(id, bank_id, document_id, *moments, reason, written)
