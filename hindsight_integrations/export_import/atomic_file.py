"""Files that appear at their path only once they are complete.

Until then an older file at the path stays whole. What killed processes left beside it is removed.
"""

from __future__ import annotations

import errno
import gzip
import logging
import os
import re
import sys
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, cast

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError, StoreUnavailableError
from hindsight_integrations.private import PRIVATE

log = logging.getLogger("hindsight_integrations")

PIPE = "-"
"""Path that means standard output, or input."""

_LEVEL = 6
"""Compression level; vectors in base64 gain little by a higher one."""


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a stream whose content becomes the file at `path` if the block ends without error.

    Until then the file has no name (`O_TMPFILE`) or, where the system lacks such files, a hidden
    one in the same folder. The file is readable by its user only.

    Raises:
        InvalidInputError: `path` exists and is no file.
        StoreUnavailableError: the file cannot be written.
    """
    named = validation.file_path("path", path)
    with _mapping_errors(named):
        if named == PIPE:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        target, unfinished = _target(named)
        try:
            with _open_unnamed(target.parent) or _open_hidden(unfinished) as raw:
                with _compressed(raw, target) as out:
                    yield out
                raw.flush()
                os.fsync(raw.fileno())
                _give_name(raw, unfinished)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def writing_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a hidden empty file that becomes the one at `path` if the block succeeds.

    For what has to be opened by its name; otherwise as `writing`, and with its errors.
    """
    named = validation.file_path("path", path)
    with _mapping_errors(named):
        target, unfinished = _target(named)
        try:
            with _open_hidden(unfinished) as raw:
                yield unfinished
                os.fsync(raw.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)


@contextmanager
def _mapping_errors(named: str) -> Iterator[None]:
    """Map what the system raises while the file is written to `StoreUnavailableError`."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailableError(
            f"{named!r} cannot be written: {error.strerror}; check its folder, the "
            "permissions and the free disk space"
        ) from error


def _target(named: str) -> tuple[Path, Path]:
    """Return the path of a file to write, and of a hidden one beside it, free of leftovers."""
    target = Path(named)
    if target.exists() and not target.is_file():
        raise InvalidInputError(f"{str(target)!r} is not a file; give the path of a file to write")
    _remove_leftovers(target)
    return target, target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")


def _open_unnamed(folder: Path) -> IO[bytes] | None:
    """Open a new file without a name in a folder; None where the system or its disk knows none.

    Nothing is left of it if the process is killed.
    """
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_WRONLY, PRIVATE), "wb")
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _open_hidden(path: Path) -> IO[bytes]:
    """Open a new file, locked for as long as it is open."""
    stream = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE), "wb")
    _try_lock(stream)
    return stream


def _give_name(stream: IO[bytes], path: Path) -> None:
    """Give a file its name, if it has none yet."""
    if os.fstat(stream.fileno()).st_nlink:
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder given, Python makes the call that follows the link in /proc to the file.
        os.link(f"/proc/self/fd/{stream.fileno()}", path.name, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _remove_leftovers(target: Path) -> None:
    """Remove the hidden files that killed exports to `target` left beside it."""
    name = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}")
    for path in target.parent.iterdir():
        if name.fullmatch(path.name) and path.is_file() and not _is_being_written(path):
            path.unlink(missing_ok=True)
            log.warning("%s, left behind by an interrupted export, was removed", path)


def _is_being_written(path: Path) -> bool:
    """Return True if a running process is writing the file."""
    with path.open("rb") as stream:
        return not _try_lock(stream)


def _try_lock(stream: IO[bytes]) -> bool:
    """Lock an open file until it is closed; return False if another has locked it.

    Where the system has no such locks, an open file cannot be removed either.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _compressed(raw: IO[bytes], target: Path) -> AbstractContextManager[IO[bytes]]:
    """Open a gzip stream if the path ends in .gz; output is deterministic."""
    if target.suffix != ".gz":
        return nullcontext(raw)
    return cast(IO[bytes], gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0))
