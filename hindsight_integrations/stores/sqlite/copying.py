"""Copies of a SQLite file that others go on writing: one state of it, in one file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from hindsight_integrations.errors import InvalidInputError, StoreCorruptError
from hindsight_integrations.stores.sqlite.check import check_file
from hindsight_integrations.stores.sqlite.connection import BUSY_SECONDS, store_error
from hindsight_integrations.stores.sqlite.schema import migrate

STEP = 4096
"""Pages of 4 KiB that are copied between two reports of progress: 16 MiB."""

Progress = Callable[[int, int | None], None]


class Copied(NamedTuple):
    """Numbers of banks and of memories in a copy."""

    banks: int
    memories: int


def copy_file(source: Path, target: Path, progress: Progress | None = None) -> Copied:
    """Copy the memory in the file `source` into the empty file `target`; see `copy`.

    The file is only read, so that no process that has it open is disturbed.

    Raises:
        InvalidInputError: `source` holds no memory.
    """
    try:
        opened = sqlite3.connect(
            f"{source.absolute().as_uri()}?mode=ro",
            timeout=BUSY_SECONDS,
            isolation_level=None,
            uri=True,
        )
        with closing(opened) as connection:
            connection.execute("BEGIN")
            return copy(connection, target, progress)
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB or "no such table" in str(error):
            raise InvalidInputError(
                f"{str(source)!r} is not a backup of a memory; give a file written by "
                "hindsight-memory backup"
            ) from error
        raise store_error(error, str(source)) from error


def copy(source: sqlite3.Connection, target: Path, progress: Progress | None = None) -> Copied:
    """Copy one committed state of a memory into the empty file `target`, and check the copy.

    Others read and write meanwhile: what they commit after the copying began is not in it.

    Args:
        source: a connection in a transaction.
        target: an empty file; the copy needs no other file beside it.
        progress: called with (done, total), in pages of 4 KiB.

    Raises:
        StoreCorruptError: the copy, and so the source, is damaged.
        sqlite3.Error: the source cannot be read, or the target cannot be written.
    """

    def report(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with closing(_opened(target)) as copied:
        # The first reading fixes the state that is copied; without it each commit of another
        # connection would make SQLite begin again.
        source.execute("SELECT identity FROM store").fetchone()
        source.backup(copied, pages=STEP, progress=report)
        copied.execute("PRAGMA journal_mode = DELETE")  # a log is of use to a file that is open
        if faults := check_file(copied.cursor()):
            raise StoreCorruptError(
                f"the memory to be copied is damaged ({faults[0].problem}), and no copy was "
                "kept; run the doctor, or restore an older backup"
            )
        (banks,) = copied.execute(
            "SELECT count(*) FROM banks WHERE deleted = 0 AND importing IS NULL"
        ).fetchone()
        (memories,) = copied.execute(
            "SELECT count(*) FROM memories WHERE bank IN "
            "(SELECT no FROM banks WHERE deleted = 0 AND importing IS NULL)"
        ).fetchone()
        return Copied(banks, memories)


def make_another(path: Path) -> None:
    """Bring a copy up to this release, and give it an identity of its own.

    A server keeps the vectors of a graph under its identity, and two graphs with one would
    take the vectors of the other for faults. For the same reason no index is noted in it.

    Raises:
        SchemaVersionError: a newer release wrote it.
    """
    with closing(_opened(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        migrate(connection.cursor())
        connection.execute("UPDATE store SET identity = lower(hex(randomblob(8))), index_note = ''")
        connection.execute("COMMIT")


def _opened(path: Path) -> sqlite3.Connection:
    """Open a file that nobody else knows yet: it is made again if this is interrupted."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    return connection
