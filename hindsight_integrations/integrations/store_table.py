"""Items by namespace and key in SQLite: the table of LangGraph's store and LlamaIndex's chat store.

The table `unsent` is an outbox: changes that recall does not know yet, written in the same
transaction as the item, so that none is lost if the process ends before it is sent.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from hindsight_integrations import validation
from hindsight_integrations.errors import (
    ClosedError,
    InvalidInputError,
    SchemaVersionError,
    StoreUnavailableError,
)

Namespace = tuple[str, ...]

VERSION = 1
BUSY_TIMEOUT = 10.0
"""Seconds to wait for another process's transaction."""

# A namespace is stored as its labels, each followed by a full stop, which no label contains.
# Ids grow, and order namespaces and items by when they were inserted.
_SCHEMA = """
CREATE TABLE namespaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank TEXT NOT NULL,
    path TEXT NOT NULL,
    UNIQUE (bank, path)
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    namespace INTEGER NOT NULL REFERENCES namespaces ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    ttl REAL,
    expires_at TEXT,
    UNIQUE (namespace, key)
);
CREATE INDEX expiring ON items (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE unsent (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    bank TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (bank, path, key)
);
"""

_PUT = """
INSERT INTO items
    (namespace, key, value, text, created_at, updated_at, ttl, expires_at)
SELECT id, ?, ?, ?, ?, ?, ?, ? FROM namespaces WHERE bank = ? AND path = ?
ON CONFLICT (namespace, key) DO UPDATE SET
    value = excluded.value, text = excluded.text,
    updated_at = excluded.updated_at, ttl = excluded.ttl, expires_at = excluded.expires_at
"""

_SELECT = """
SELECT items.id, text, path, key, value, created_at, updated_at
FROM items JOIN namespaces ON namespaces.id = items.namespace
"""


class Row(NamedTuple):
    """A stored item; queries search it by its `text`, none if that is blank."""

    id: int
    text: str
    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class Unsent(NamedTuple):
    """A change that recall does not know yet; a blank text means that the item was deleted."""

    id: int
    namespace: Namespace
    key: str
    text: str
    expires_at: datetime | None


class StoreTable:
    """Items of all banks in one SQLite file; not thread-safe, so callers hold a lock."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._open = True
        with _mapped_errors(self._path):
            self._db = sqlite3.connect(
                self._path, timeout=BUSY_TIMEOUT, check_same_thread=False, isolation_level=None
            )
        try:
            with _mapped_errors(self._path):
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA foreign_keys = ON")
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        with self.transaction():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise SchemaVersionError(
                    f"{self._path!r} was written by a newer release (version {version}; this "
                    f"one reads {VERSION}); upgrade hindsight-integrations"
                )
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {VERSION}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything that the block writes, or nothing.

        Raises:
            ClosedError: the table was closed.
            InvalidInputError: a key or label holds broken unicode.
            StoreUnavailableError: the file cannot be read or written.
        """
        if not self._open:
            raise ClosedError("this store is closed; open a new one on the same file")
        with _mapped_errors(self._path):
            try:
                self._db.execute("BEGIN IMMEDIATE")  # inside: Ctrl-C is raised when it has begun
                yield
                self._db.execute("COMMIT")
            finally:
                self._db.rollback()

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._open = False
        self._db.close()

    def get(self, bank: str, namespace: Namespace, key: str) -> Row | None:
        """Return the item, or None."""
        return next(
            self._rows("bank = ? AND path = ? AND key = ?", bank, _path(namespace), key), None
        )

    def scan(self, bank: str, prefix: Namespace) -> Iterator[Row]:
        """Yield the items below a namespace: namespaces, and items in each, in insertion order."""
        start = _path(prefix)
        if not start:
            return self._rows("bank = ?", bank)
        return self._rows("bank = ? AND path >= ? AND path < ?", bank, start, start[:-1] + "/")

    def namespaces(self, bank: str) -> list[Namespace]:
        """Return every namespace that has an item."""
        rows = self._db.execute("SELECT path FROM namespaces WHERE bank = ?", (bank,))
        return [_namespace(path) for (path,) in rows]

    def put(
        self,
        bank: str,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        text: str,
        ttl: float | None,
        now: datetime,
    ) -> None:
        """Store an item, or replace it, keeping its position and its creation time.

        Args:
            bank: the bank of the item.
            namespace: its namespace.
            key: its name in the namespace.
            value: the value, which must be serialisable as JSON.
            text: the text that queries search it by; blank to exclude it from queries.
            ttl: minutes until it expires, counted from when it was last touched.
            now: the current time.
        """
        path, at = _path(namespace), _iso(now)
        old = self.get(bank, namespace, key)
        self._db.execute(
            "INSERT OR IGNORE INTO namespaces (bank, path) VALUES (?, ?)", (bank, path)
        )
        self._db.execute(
            _PUT,
            (key, _json(value), text, at, at, ttl, _expiry(now, ttl), bank, path),
        )
        if text or (old and old.text):
            self._queue_change(bank, path, key, text)

    def delete(self, bank: str, namespace: Namespace, key: str) -> None:
        """Remove an item, and its namespace if that was the last one in it."""
        row = self.get(bank, namespace, key)
        if row is not None:
            self._remove(bank, _path(namespace), row)

    def expire(self, now: datetime) -> int:
        """Remove every expired item, and return their number."""
        ended = self._db.execute(
            "SELECT bank, items.id FROM items JOIN namespaces ON namespaces.id = items.namespace "
            "WHERE expires_at <= ?",
            (_iso(now),),
        ).fetchall()
        expired = [(bank, row) for bank, id in ended for row in self._rows("items.id = ?", id)]
        for bank, row in expired:
            self._remove(bank, _path(row.namespace), row)
        return len(expired)

    def touch(self, bank: str, rows: Iterable[Row], now: datetime) -> bool:
        """Restart the time to live of items that have one; return True if a change was queued."""
        is_queued = False
        for row in rows:
            (ttl,) = self._db.execute("SELECT ttl FROM items WHERE id = ?", (row.id,)).fetchone()
            if ttl is not None:
                end = _expiry(now, ttl)
                self._db.execute("UPDATE items SET expires_at = ? WHERE id = ?", (end, row.id))
                if row.text:
                    self._queue_change(bank, _path(row.namespace), row.key, row.text)
                    is_queued = True
        return is_queued

    def banks(self) -> list[str]:
        """Return the banks that have changes which recall does not know yet."""
        return [bank for (bank,) in self._db.execute("SELECT DISTINCT bank FROM unsent")]

    def unsent(self, bank: str) -> list[Unsent]:
        """Return the changes that recall does not know yet, oldest first."""
        rows = self._db.execute(
            "SELECT unsent.id, unsent.path, unsent.key, unsent.text, expires_at FROM unsent "
            "LEFT JOIN namespaces USING (bank, path) LEFT JOIN items ON "
            "items.namespace = namespaces.id AND items.key = unsent.key "
            "WHERE unsent.bank = ? ORDER BY unsent.id",
            (bank,),
        )
        return [
            Unsent(number, _namespace(path), key, text, end and datetime.fromisoformat(end))
            for number, path, key, text, end in rows
        ]

    def sent(self, ids: Sequence[int]) -> None:
        """Mark changes as known to recall; an item that changed again has another row."""
        self._db.executemany("DELETE FROM unsent WHERE id = ?", [(number,) for number in ids])

    def _rows(self, condition: str, *values: str | int) -> Iterator[Row]:
        rows = self._db.execute(
            f"{_SELECT} WHERE {condition} ORDER BY namespace, items.id",
            values,
        )
        for number, text, path, key, value, created, updated in rows:
            yield Row(
                number,
                text,
                _namespace(path),
                key,
                json.loads(value),
                datetime.fromisoformat(created),
                datetime.fromisoformat(updated),
            )

    def _remove(self, bank: str, path: str, row: Row) -> None:
        self._db.execute("DELETE FROM items WHERE id = ?", (row.id,))
        self._db.execute(
            "DELETE FROM namespaces WHERE bank = ? AND path = ? AND NOT EXISTS "
            "(SELECT * FROM items WHERE namespace = namespaces.id)",
            (bank, path),
        )
        if row.text:
            self._queue_change(bank, path, row.key, "")

    def _queue_change(self, bank: str, path: str, key: str, text: str) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO unsent (bank, path, key, text) VALUES (?, ?, ?, ?)",
            (bank, path, key, text),
        )


@contextmanager
def _mapped_errors(path: str) -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{validation.shown(error.object)} contains broken unicode; give printable text"
        ) from error
    except sqlite3.Error as error:
        raise StoreUnavailableError(
            f"the store's file {path!r} cannot be read or written: {error}; give the path of a "
            "file that this user may write to"
        ) from error


def row_digest(*texts: str) -> str:
    """Return a fixed-length digest of texts."""
    return hashlib.blake2b(json.dumps(texts).encode(), digest_size=16).hexdigest()


def as_label(text: str) -> str:
    """Return a text as a label of a namespace, which contains no full stop."""
    return text.replace("%", "%25").replace(".", "%2E")


def _path(namespace: Namespace) -> str:
    return "".join(f"{label}." for label in namespace)


def _namespace(path: str) -> Namespace:
    return tuple(path.split(".")[:-1])


def _json(value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the value {validation.shown(value)} cannot be written as JSON ({error}); give text, "
            "numbers, booleans, None, and lists and mappings of them"
        ) from error


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


def _expiry(now: datetime, ttl: float | None) -> str | None:
    if ttl is None:
        return None
    try:
        return _iso(now + timedelta(minutes=ttl))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"ttl is {validation.shown(ttl)}; give minutes, or None to keep the item forever"
        ) from error
