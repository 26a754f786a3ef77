"""Connections to one SQLite file: one writer, any number of readers, errors in our own terms.

A write takes the process's lock, then a lock file (so that no two processes checkpoint at once),
then `BEGIN IMMEDIATE`. A read borrows a connection of its own and sees one state of the file
throughout. A store in memory has a single connection, which reads and writes take in turn.

What is deleted is overwritten (`secure_delete`). The write-ahead log still has it until the log is
copied into the file and emptied, which `empty_log` does.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from hindsight_integrations.errors import (
    ClosedError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_integrations.private import PRIVATE, create_private
from hindsight_integrations.stores.integrity import text_of
from hindsight_integrations.stores.refusals import storable
from hindsight_integrations.stores.sqlite.schema import copy_schema, migrate

log = logging.getLogger("hindsight_integrations")

BUSY_SECONDS = 30.0
"""Seconds that a write waits for that of another process before it gives up."""

_EMPTYING_MS = 1000
"""Milliseconds to wait for readers before the log is emptied. The writes that follow try again and
do not wait: a long reader, such as a backup, holds none of them up."""

_OLDEST = (3, 35, 0)
"""The first SQLite with `RETURNING`."""

_WAL_PAGES = 4000
"""Pages of 4 KiB the write-ahead log grows to before it is copied into the file: a change set of
100 memories writes about 700, and each copying waits for the disk."""

_MOST_IDLE = 4
"""Connections kept for later reads: each holds up to 32 MB of pages."""

LOWER = "unicode_lower"
"""A function of our connections: SQLite's own `lower` knows ASCII only. It takes bytes, since
Python calls no function with a text that is no UTF-8."""

_KINDS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreLockedError, "another process is writing to it; try again"),
    sqlite3.SQLITE_LOCKED: (StoreLockedError, "another connection is using it; try again"),
    sqlite3.SQLITE_FULL: (StoreUnavailableError, "the disk is full; free some space"),
    sqlite3.SQLITE_READONLY: (
        StoreUnavailableError,
        "it is read-only; allow writing to its folder",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        StoreUnavailableError,
        "it cannot be opened; check the path and its permissions",
    ),
    sqlite3.SQLITE_PERM: (StoreUnavailableError, "access is denied; check its rights"),
    sqlite3.SQLITE_IOERR: (StoreUnavailableError, "reading or writing failed; check the disk"),
    sqlite3.SQLITE_CORRUPT: (StoreCorruptError, "it is damaged; restore a backup"),
    sqlite3.SQLITE_NOTADB: (StoreCorruptError, "it is no database; restore a backup"),
}


def store_error(error: sqlite3.Error, name: str) -> StoreError:
    """Return the `StoreError` for an error of SQLite; `name` says which store it was."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    kind, advice = _KINDS.get(code, (StoreError, "run the doctor, and report this if it recurs"))
    return kind(f"the memory store {name}: {error}; {advice}")


def _lower(value: str | bytes | None) -> str | None:
    text = text_of(value) if isinstance(value, bytes) else value
    return None if text is None else text.lower()


class Connections:
    """The connections to one file, or to one database in memory if `path` is None.

    Raises:
        SchemaVersionError: the file was written by a newer release.
        StoreError: it cannot be opened, read or written.
    """

    def __init__(self, path: Path | None, *, durable: bool = False) -> None:
        self._path = path
        self._name = "in memory" if path is None else str(path)
        self._lock = threading.Lock()
        self._pool_lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._log_holds_removed = False
        if sqlite3.sqlite_version_info < _OLDEST:
            raise StoreUnavailableError(
                f"this Python has SQLite {sqlite3.sqlite_version}, but the memory store needs "
                f"{'.'.join(map(str, _OLDEST))} or later; use a newer build of Python"
            )
        with self._errors():
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                create_private(path)  # SQLite gives its log the same rights
            self._file_lock = (
                FileLock(f"{path}.lock", timeout=BUSY_SECONDS, mode=PRIVATE) if path else None
            )
            self._writer = self._connect()
            try:
                with self._file_lock or nullcontext():
                    self._writer.execute("PRAGMA journal_mode = WAL")
                self._writer.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
                self._writer.execute("PRAGMA secure_delete = ON")
                self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                if path is None:
                    copy_schema(self._writer)
                with self.write() as cursor:
                    migrate(cursor)
                self.empty_log()  # of what a killed process had removed
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor that sees one committed state until the block ends."""
        with self._errors(), self._reader() as connection:
            try:
                connection.execute("BEGIN")  # inside: Ctrl-C is raised when it has begun
                yield connection.cursor()
            finally:
                connection.rollback()

    @contextmanager
    def write(self) -> Iterator[sqlite3.Cursor]:
        """Yield a cursor in a transaction, which is undone if the block raises."""
        with self._errors(), self._lock, self._file_lock or nullcontext():
            self._check_open()
            try:
                self._writer.execute("BEGIN IMMEDIATE")  # inside, as in `read`
                yield self._writer.cursor()
                self._writer.execute("COMMIT")
            finally:
                self._writer.rollback()
            if self._log_holds_removed:
                self._try_to_empty(wait_ms=0)

    @property
    def name(self) -> str:
        """The path of the file, or "in memory"."""
        return self._name

    def empty_log(self) -> None:
        """Copy the write-ahead log into the file and empty it; later, if readers are slow to end.

        It is tried again by the writes that follow until it is done.
        """
        if self._path is None:
            return
        with self._errors(), self._lock, self._file_lock or nullcontext():
            self._check_open()
            self._try_to_empty(wait_ms=_EMPTYING_MS)

    def _try_to_empty(self, *, wait_ms: int) -> None:
        self._log_holds_removed = True
        try:
            self._writer.execute(f"PRAGMA busy_timeout = {wait_ms}")
            (busy, _, _) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._log_holds_removed = bool(busy)
        except sqlite3.Error as error:  # what was written is stored all the same
            log.warning(
                "the write-ahead log of %s still contains deleted data: %s", self._name, error
            )
        finally:
            self._writer.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")

    def close(self) -> None:
        """Close all connections; reads in progress end first and close their own."""
        with self._errors(), self._lock, self._pool_lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            self._writer.close()

    def _connect(self, *, query_only: bool = False) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            connection.text_factory = text_of
            connection.create_function(LOWER, 1, _lower, deterministic=True)
            connection.execute("PRAGMA cache_size = -32000")  # KiB
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA query_only = {query_only}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        if self._path is None:
            with self._lock:
                self._check_open()
                yield self._writer
            return
        with self._pool_lock:
            self._check_open()
            connection = self._idle.pop() if self._idle else self._connect(query_only=True)
        try:
            yield connection
        finally:
            with self._pool_lock:
                if self._closed or len(self._idle) >= _MOST_IDLE:
                    connection.close()
                else:
                    self._idle.append(connection)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the memory store {self._name} was closed; open it again")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with storable():
                yield
        except sqlite3.Error as error:
            raise store_error(error, self._name) from error
        except Timeout as error:
            raise StoreLockedError(
                f"the memory store {self._name}: another process has been writing to it for "
                f"{BUSY_SECONDS:g} s; try again, or end that process"
            ) from error
        except OSError as error:
            raise StoreUnavailableError(
                f"the memory store {self._name} cannot be opened: {error}; check the path and "
                "its permissions"
            ) from error
