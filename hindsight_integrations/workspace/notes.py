"""The notes of a folder: which files they are, of which kind, and how one is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError, NotFoundError
from hindsight_integrations.models import Precision
from hindsight_integrations.retain.file_dates import DateSource, file_date

SESSION_CONTEXT = frozenset(
    f"{name}.md"
    for name in (
        "agent", "agents", "boot", "bootstrap", "claude", "gemini", "heartbeat", "identity",
        "persona", "soul", "system", "tools", "user",
    )
)  # fmt: skip
"""Names, in lower case, of files that a host gives its agent in every session: never memory."""

MAX_BYTES = 1_000_000

_SUMMARY_FOLDERS = frozenset({"session", "sessions", "compaction", "compactions"})


class NoteKind(StrEnum):
    """Kind of a note, the `type` in the metadata of its memories."""

    DAILY_LOG = "daily_log"
    """The name gives a day: memory/2026-02-03.md."""
    CURATED = "curated"
    """Every other note: MEMORY.md."""
    SESSION_SUMMARY = "session_summary"
    """The note lies in a folder "sessions" or "compaction", or was flushed before a compaction."""

    @property
    def context(self) -> str:
        """The context that its memories are retained with."""
        return _CONTEXTS[self]


_CONTEXTS = {
    NoteKind.DAILY_LOG: "daily memory log",
    NoteKind.CURATED: "curated long-term memory",
    NoteKind.SESSION_SUMMARY: "session compaction summary",
}


def kind_of(path: str) -> NoteKind:
    """Return the kind of a note, by its path relative to the root."""
    if _SUMMARY_FOLDERS.intersection(map(str.casefold, PurePosixPath(path).parts[:-1])):
        return NoteKind.SESSION_SUMMARY
    date = file_date(path)
    is_day = date and (date.source, date.precision) == (DateSource.NAME, Precision.DAY)
    return NoteKind.DAILY_LOG if is_day else NoteKind.CURATED


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it was read: its path relative to the root, text, and last change."""

    path: str
    text: str
    modified: datetime


@dataclass(frozen=True, slots=True)
class NoteRules:
    """Choice of the files of a folder that are notes.

    A pattern without a slash is matched with a file's name, one with a slash with its path relative
    to the root; `*` stands for any characters, slashes among them. Hidden files, files in hidden
    folders and files of session context (SOUL.md, AGENTS.md, TOOLS.md, USER.md, IDENTITY.md and
    their like, in any folder and spelling) are never notes.

    Attributes:
        include: patterns of notes.
        exclude: patterns of files that are none, though included.
        max_bytes: largest size of a note.

    Raises:
        InvalidInputError: patterns are a single text, or the size is not positive.
    """

    include: Sequence[str] = ("*.md", "*.txt")
    exclude: Sequence[str] = ()
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        for name in ("include", "exclude"):
            if isinstance(getattr(self, name), str):
                raise InvalidInputError(f"{name} is a single text; give a list of patterns")
            for pattern in validation.items(name, getattr(self, name), "a list of patterns"):
                validation.text(pattern, f"a pattern of {name}")
        if self.max_bytes < 1:
            raise InvalidInputError(f"max_bytes is {self.max_bytes}; give at least 1")

    def admit(self, path: str) -> bool:
        """Return True if a file with this path, relative to the root, is a note."""
        parts = path.split("/")
        if any(part.startswith(".") for part in parts) or not all(parts):
            return False
        if parts[-1].casefold() in SESSION_CONTEXT:
            return False
        return _matches(path, self.include) and not _matches(path, self.exclude)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatchcase(path if "/" in each else name, each) for each in patterns)


class NoteFolder:
    """The notes below a root folder. Nothing outside it is ever read.

    Raises:
        InvalidInputError: there is no such folder.
    """

    def __init__(self, root: str | os.PathLike[str], rules: NoteRules) -> None:
        path = validation.folder_path("root", root)
        if not path.is_dir():
            raise InvalidInputError(
                f"root is {str(root)!r}, which is not a folder; give a folder of notes"
            )
        self.root = path.resolve()
        self.rules = rules

    def paths(self, below: str = "") -> Iterator[str]:
        """Yield the paths of all notes below a folder of the root, in order."""
        for folder, folders, files in os.walk(self.root / below):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            relative = Path(folder).relative_to(self.root)
            for name in sorted(files):
                path = (relative / name).as_posix()
                if self.rules.admit(path):
                    yield path

    def read(self, path: str) -> Note:
        """Return a note.

        Every part of the path must be the name of an entry of its folder, in the same spelling, and
        no link: "..", absolute paths, links and other spellings of a name lead nowhere.

        Raises:
            NotFoundError: there is no such note.
            InvalidInputError: it is a link, too large, or not UTF-8 text.
        """
        place = self._place(path)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with open(os.open(place, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
                state = os.fstat(file.fileno())
                if not stat.S_ISREG(state.st_mode):
                    raise _no_note(path)
                data = file.read(self.rules.max_bytes + 1)
        except FileNotFoundError as error:
            raise _no_note(path) from error
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
        if len(data) > self.rules.max_bytes:
            raise InvalidInputError(
                f"{path} is larger than {self.rules.max_bytes:,} bytes; split it, or raise "
                "max_bytes"
            )
        modified = datetime.fromtimestamp(state.st_mtime, UTC)
        return Note(path, _decoded(path, data), modified)

    def _place(self, path: str) -> Path:
        """Return where a note lies; each part of its path is looked up by its exact name."""
        if not isinstance(path, str) or not self.rules.admit(path):
            raise _no_note(path)
        place = self.root
        for part in path.split("/"):
            try:
                names = os.listdir(place)
            except OSError as error:
                raise _no_note(path) from error
            if part not in names:
                raise _no_note(path)
            place /= part
            if place.is_symlink():
                raise InvalidInputError(f"{path} is behind a symbolic link; give the file itself")
        return place


def _decoded(path: str, data: bytes) -> str:
    if b"\0" in data:
        raise InvalidInputError(f"{path} is binary; notes are UTF-8 text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 text (byte {error.start}); convert it, or exclude it"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _no_note(path: object) -> NotFoundError:
    return NotFoundError(
        f"there is no note {path!r}; give a path relative to the root, with the exact "
        "spelling of the file"
    )
