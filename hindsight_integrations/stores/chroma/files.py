"""Files of an embedded Chroma: the mark of a clean end, and leftovers to delete.

The mark holds size and time of every file. If it is found unchanged, the index is as Chroma left
it; without it, or after any change, the files have to be tried first.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path
from uuid import UUID

from hindsight_integrations.private import create_private

IDENTITY = "identity"
"""Name of the collection that gives an index its id, and never has vectors."""

_DATABASE = "chroma.sqlite3"
_MARK = "closed-cleanly.json"


def holds_index(folder: Path) -> bool:
    """Return True if Chroma has written anything there."""
    database = folder / _DATABASE
    return database.is_file() and database.stat().st_size > 0


def was_used(folder: Path) -> bool:
    """Return True if Chroma's tables name a collection of vectors, or cannot be read."""
    if not holds_index(folder):
        return False
    try:
        uri = f"{(folder / _DATABASE).as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            used = "SELECT 1 FROM collections WHERE name NOT LIKE ? LIMIT 1"
            return database.execute(used, (f"%-{IDENTITY}",)).fetchone() is not None
    except sqlite3.Error:
        return True


def prepare(folder: Path) -> None:
    """Make the folder ready for Chroma, with a database that only its user may open."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_mark(folder)
    create_private(folder / _DATABASE)
    close_to_others(folder)


def close_to_others(folder: Path) -> None:
    """Take the rights from what Chroma made in the folder that others do not have on the folder."""
    kept = ~0o077 | stat.S_IMODE(folder.stat().st_mode)
    for path in folder.rglob("*"):
        with suppress(PermissionError):  # of another user
            path.chmod(stat.S_IMODE(path.stat().st_mode) & kept)


def mark_closed(folder: Path) -> None:
    """Write the mark of a clean end; Chroma must have closed the folder."""
    create_private(folder / _MARK)
    close_to_others(folder)
    (folder / _MARK).write_text(json.dumps(_files(folder)), encoding="utf-8")


def remove_mark(folder: Path) -> None:
    """Remove the mark: an end is unclean until it is written again."""
    (folder / _MARK).unlink(missing_ok=True)


def closed_cleanly(folder: Path) -> bool:
    """Return True if the last owner left the mark, and no file has changed since."""
    try:
        left = json.loads((folder / _MARK).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    return bool(left == _files(folder))


def remove_leftovers(folder: Path) -> None:
    """Delete the files of collections that Chroma dropped from its tables but left on the disk.

    Chroma must not have the folder open.
    """
    with closing(sqlite3.connect(f"{(folder / _DATABASE).as_uri()}?mode=ro", uri=True)) as database:
        used = {name for (name,) in database.execute("SELECT id FROM segments")}
    for path in folder.iterdir():
        if path.is_dir() and _is_uuid(path.name) and path.name not in used:
            shutil.rmtree(path)


def _is_uuid(name: str) -> bool:
    try:
        return str(UUID(name)) == name
    except ValueError:
        return False


def _files(folder: Path) -> dict[str, list[int]]:
    stats = {
        path.relative_to(folder).as_posix(): path.stat()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _MARK
    }
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}
