"""The files banks are moved in: compressed by their name, whole or not there, or a pipe."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import uuid
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, cast

from hindsight_integrations.errors import (
    InvalidInputError,
    StoreCorruptError,
    StoreUnavailableError,
)

PIPE = "-"
"""Standard output, or input."""

LONGEST = 64 * 1024 * 1024
"""Most bytes read as one line: a file that is not ours may have none."""

_GZIP = b"\x1f\x8b"
"""What a compressed file begins with, whatever its name."""

_LEVEL = 6
"""Of compression; vectors in base64 gain little by more."""


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file at `path` if the block ends well.

    Until then it stands beside it under a hidden name, so an older file stays whole.

    Raises:
        InvalidInputError: there is something else than a file at `path`.
        StoreUnavailableError: it cannot be written.
    """
    try:
        if os.fspath(path) == PIPE:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        target = Path(path)
        if target.exists() and not target.is_file():
            raise InvalidInputError(f"{str(target)!r} is no file; give the path of one to write")
        unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
        raw = unfinished.open("wb")
        try:
            with raw:
                with _packed(raw, target) as out:
                    yield out
                raw.flush()
                os.fsync(raw.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailableError(
            f"{os.fspath(path)!r} cannot be written: {error.strerror}; check its folder, its "
            "rights and the space on the disk"
        ) from error


@dataclass(frozen=True, slots=True)
class BankFile:
    """An open file that is read more than once; `name` is what errors call it."""

    stream: IO[bytes]
    name: str

    def lines(self) -> Iterator[bytes]:
        """Its lines from the first, each with its line break.

        Raises:
            InvalidInputError: it cannot be read.
            StoreCorruptError: it is compressed, and breaks off or was altered.
        """
        number = 1
        try:
            for line in iter(partial(self._from_start().readline, LONGEST), b""):
                yield line
                number += 1
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.damaged(number, f"the compressed data are damaged: {error}") from error
        except OSError as error:
            raise _unreadable(self.name, error) from error

    def damaged(self, line: int, why: str) -> StoreCorruptError:
        """The error that says what is wrong in which line."""
        return StoreCorruptError(
            f"{self.name}, line {line}: {why}. Nothing was imported; copy the file again, or "
            "export the bank anew"
        )

    def _from_start(self) -> IO[bytes]:
        self.stream.seek(0)
        packed = self.stream.read(len(_GZIP)) == _GZIP
        self.stream.seek(0)
        return cast(IO[bytes], gzip.GzipFile(fileobj=self.stream)) if packed else self.stream


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[BankFile]:
    """The file at `path`, or what comes from standard input, put aside to be read twice.

    It stays the same file for the block, even if another takes its place in the folder.

    Raises:
        InvalidInputError: it cannot be read.
    """
    piped = os.fspath(path) == PIPE
    name = "standard input" if piped else repr(os.fspath(path))
    with ExitStack() as opened:
        try:
            if piped:
                stream: IO[bytes] = opened.enter_context(TemporaryFile())
                shutil.copyfileobj(sys.stdin.buffer, stream)
            else:
                stream = opened.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise _unreadable(name, error) from error
        yield BankFile(stream, name)


def _packed(raw: IO[bytes], target: Path) -> AbstractContextManager[IO[bytes]]:
    """What compresses if the name says so; always the same bytes of the same content."""
    if target.suffix != ".gz":
        return nullcontext(raw)
    return cast(IO[bytes], gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0))


def _unreadable(name: str, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"{name} cannot be read: {error.strerror}")
