"""Parallel running: a log of each search with the hits of the files and of the memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from threading import Lock

from hindsight_integrations.errors import InvalidInputError, StoreUnavailableError
from hindsight_integrations.json_form import adapter
from hindsight_integrations.private import create_private
from hindsight_integrations.workspace.results import SearchHit, escaped, hit_table

FILE = "shadow.jsonl"

_EXAMPLES = 10
"""Searches whose first hits differ that a report shows."""


@dataclass(frozen=True, slots=True)
class ShadowEntry:
    """One search, and what both found.

    Attributes:
        session: id of the opened workspace that searched.
        memory: hits that were returned; those of the files while the memory was away.
        memory_seconds: time that these took.
        away: True if the memory was away; None in a log of an earlier version.
    """

    at: datetime
    session: str
    query: str
    files: tuple[SearchHit, ...]
    memory: tuple[SearchHit, ...]
    files_seconds: float
    memory_seconds: float
    away: bool | None = None

    @property
    def was_away(self) -> bool:
        """True if the memory was away, and its hits are those of the files.

        Of an entry of an earlier version only the hits tell.
        """
        if self.away is not None:
            return self.away
        return any(hit.source == "files" for hit in self.memory)

    @property
    def shared(self) -> float:
        """Share of the notes found by either that both found; 1 if neither found any."""
        files, memory = ({hit.path for hit in hits} for hits in (self.files, self.memory))
        return len(files & memory) / len(files | memory) if files | memory else 1.0


class ShadowLog:
    """A file of JSON Lines with the searches; several processes may add to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()

    def add(self, entry: ShadowEntry) -> None:
        """Append an entry.

        Raises:
            StoreUnavailableError: the file cannot be written.
        """
        line = json.dumps({**asdict(entry), "at": entry.at.isoformat()}, ensure_ascii=False)
        try:
            create_private(self.path)
            with self._lock, self.path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise StoreUnavailableError(
                f"{self.path} cannot be written ({error.strerror}); search without shadow"
            ) from error

    def read(self) -> list[ShadowEntry]:
        """Return all entries, oldest first.

        Raises:
            InvalidInputError: there is no such file, or a line of it cannot be read.
        """
        try:
            lines = filter(None, self.path.read_text(encoding="utf-8").split("\n"))
            return [adapter(ShadowEntry).validate_json(line) for line in lines]
        except FileNotFoundError as error:
            raise InvalidInputError(
                f"there is no {self.path}; first search with shadow=True (--shadow) for some "
                "sessions"
            ) from error
        except ValueError as error:
            raise InvalidInputError(f"{self.path} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """Comparison of both searches over all entries of a log."""

    entries: Sequence[ShadowEntry]

    @property
    def compared(self) -> list[ShadowEntry]:
        """Entries of searches that the memory answered."""
        return [entry for entry in self.entries if not entry.was_away]

    @property
    def figures(self) -> dict[str, float]:
        """Counts, shares and median times of the searches that the memory answered."""
        compared = self.compared
        figures: dict[str, float] = {
            "sessions": len({entry.session for entry in self.entries}),
            "searches": len(self.entries),
            "while_away": len(self.entries) - len(compared),
            "only_files_found": sum(bool(e.files) and not e.memory for e in compared),
            "only_memory_found": sum(bool(e.memory) and not e.files for e in compared),
            "same_first_note": sum(_same_first(e) for e in compared),
        }
        if compared:
            figures["notes_shared"] = sum(e.shared for e in compared) / len(compared)
            figures["files_seconds"] = median(e.files_seconds for e in compared)
            figures["memory_seconds"] = median(e.memory_seconds for e in compared)
        return figures

    @property
    def markdown(self) -> str:
        """The report as Markdown; texts of notes are escaped."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from ("# Searches of the files and of the memory", "", "| | |", "|---|---|")
        for name, value in self.figures.items():
            yield f"| {name.replace('_', ' ')} | {value:.3g} |"
        differing = [e for e in self.compared if _first(e.files) != _first(e.memory)]
        yield from ("", "## First hits that differ")
        for entry in differing[-_EXAMPLES:]:
            yield from ("", f"### {escaped(entry.query)}", "")
            yield from hit_table(entry.files[:1], entry.memory[:1])


def _same_first(entry: ShadowEntry) -> bool:
    """Return True if both found something, and the same note first."""
    first = _first(entry.files)
    return first is not None and first == _first(entry.memory)


def _first(hits: Sequence[SearchHit]) -> str | None:
    return hits[0].path if hits else None
