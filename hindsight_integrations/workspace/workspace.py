"""`Workspace`: a folder of notes, kept in step with a bank and searched with line numbers."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import islice
from pathlib import PurePath

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    DocumentNotFoundError,
    HindsightError,
    InvalidInputError,
    NotFoundError,
)
from hindsight_integrations.models import Bank, Memory, MemoryType, Source, utc_now
from hindsight_integrations.results import Recalled, RetainResult, SkipReason
from hindsight_integrations.retain.request import Item
from hindsight_integrations.workspace.locations import LineIndex, Lines
from hindsight_integrations.workspace.notes import NoteFolder, NoteKind, NoteRules, kind_of
from hindsight_integrations.workspace.registry import Registry
from hindsight_integrations.workspace.watcher import Debouncer, watch_folder

FACT = "hindsight://facts/"
SESSION = "hindsight://sessions/"

BUDGETS = {"low": "low", "mid": "mid", "medium": "mid", "high": "high"}
"""The recall budgets that hosts name, and ours."""

DEBOUNCE_MS = 30_000


class Action(StrEnum):
    """Outcome of a note in a sync."""

    RETAINED = "retained"
    UNCHANGED = "unchanged"
    DELETED = "deleted"
    """The note is gone, blank or no longer included, and its memories left."""
    REFUSED = "refused"
    """It is a link, too large, or not text; what was retained of it before is kept."""
    FAILED = "failed"
    """The memory could not store it; the next sync tries again."""


@dataclass(frozen=True, slots=True)
class SyncEvent:
    """One note in a sync, or one summary that was flushed.

    Attributes:
        path: of the note, relative to the root.
        stored: number of memories written.
        removed: number of memories deleted.
        detail: why it was refused or failed.
        error: the error of a note that failed.
        at: when.
    """

    action: Action
    path: str
    stored: int = 0
    removed: int = 0
    detail: str | None = None
    error: Exception | None = field(default=None, compare=False)
    at: datetime = field(default_factory=utc_now, compare=False)


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The events of a sync, one a note, in order of path."""

    events: tuple[SyncEvent, ...]

    def paths(self, action: Action | str) -> list[str]:
        """Return the paths of the notes with this outcome."""
        return [event.path for event in self.events if event.action == action]

    @property
    def counts(self) -> Counter[str]:
        """Notes by their outcome."""
        return Counter(str(event.action) for event in self.events)

    @property
    def ok(self) -> bool:
        """True if no note failed."""
        return not self.paths(Action.FAILED)

    def __repr__(self) -> str:
        return f"SyncResult({', '.join(f'{name}={n}' for name, n in self.counts.items())})"


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A memory that a search found, and where it stands.

    Attributes:
        text: the memory.
        path: its note, relative to the root; "hindsight://facts/{type}/{id}" if it stands in none,
            or not any more. `Workspace.get` takes both.
        start_line: first line of the note that holds it, counted from 1; 0 without a note.
        end_line: last such line; 0 without a note.
        score: probability that it belongs to the answer, 0 to 1.
        entities: names of what it mentions.
        confidence: 0 to 1, for opinions and uncertain facts.
    """

    text: str
    path: str
    start_line: int
    end_line: int
    score: float
    entities: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a note, the first of them `start_line`; of a memory without a note both are 0."""

    text: str
    path: str
    start_line: int
    end_line: int


class Workspace:
    """A folder of notes as memory: MEMORY.md, daily notes, summaries of sessions.

    One root belongs to one bank. In `.hindsight` the root has a record of what was retained.

    Args:
        memory: an open memory, which its owner closes.
        bank_id: the bank; made by the first sync or flush.
        root: the folder.
        rules: which files are notes, and how large they may be.
        max_tokens: budget of a search in tokens, a host's `maxTokens`; the memory's own if None.
        recall_budget: how far a search looks, a host's `recallBudget`: "low", "mid" (or "medium")
            or "high".
        retain_debounce_ms: milliseconds without a write after which `watch` retains a note.

    Raises:
        InvalidInputError: there is no such folder, or another argument cannot be used.

    Example:
        >>> workspace = Workspace(memory, "alice", "./workspace")  # doctest: +SKIP
        >>> workspace.sync()  # doctest: +SKIP
        SyncResult(retained=4)
    """

    def __init__(
        self,
        memory: Hindsight,
        bank_id: str,
        root: str | os.PathLike[str],
        *,
        rules: NoteRules | None = None,
        max_tokens: int | None = None,
        recall_budget: str = "mid",
        retain_debounce_ms: int = DEBOUNCE_MS,
    ) -> None:
        self._memory = memory
        self._bank_id = validation.bank_id(bank_id)
        self._folder = NoteFolder(root, rules or NoteRules())
        self._registry = Registry(self._folder.root)
        given = None if max_tokens is None else validation.positive("max_tokens", max_tokens)
        self._max_tokens = given
        self._budget = BUDGETS[validation.choice("recall_budget", recall_budget, BUDGETS)]
        if retain_debounce_ms < 0:
            raise InvalidInputError(
                f"retain_debounce_ms is {retain_debounce_ms}; give milliseconds, 0 or more"
            )
        self._debounce = retain_debounce_ms / 1000

    # Retaining

    def sync(self, paths: Iterable[str] | None = None) -> SyncResult:
        """Make the bank hold what the notes say now: new, changed, renamed and deleted ones.

        A note is a document whose id is its path. Unchanged notes cost nothing, and of changed ones
        only the sections that changed are read. A renamed note is one that was deleted and one that
        is new. A note that fails is reported, and the others are retained.

        Args:
            paths: only these notes or folders, relative to the root; all if None.

        Raises:
            StoreUnavailableError: the root or the stores cannot be written to.
        """
        return SyncResult(tuple(self._sync(paths)))

    def flush_compaction(self, summary: str, session_id: str) -> RetainResult:
        """Retain the summary of a session that its host is about to compact, as experience.

        The same summary again changes nothing; another one of the session is added.

        Raises:
            InvalidInputError: the summary is blank or too long, or the id cannot be used.
            StoreError, ModelError: it failed; nothing was stored.
        """
        path = SESSION + validation.label("session_id", session_id)
        return self._memory.retain(
            self._bank_id,
            summary,
            document_id=path,
            context=NoteKind.SESSION_SUMMARY.context,
            metadata=_metadata(path, NoteKind.SESSION_SUMMARY),
            type=MemoryType.EXPERIENCE,
            update_mode="append",
        )

    def watch(
        self,
        stop: threading.Event | None = None,
        on_event: Callable[[SyncEvent], None] | None = None,
    ) -> Counter[str]:
        """Sync, then retain each note that changes once it was left alone for the debounce time.

        Returns, with all that was written retained, when `stop` is set or Ctrl-C is pressed. A note
        that fails is tried again after the debounce time.

        Args:
            stop: ends it; may be set from any thread.
            on_event: called in this thread with each event but those of unchanged notes.

        Returns:
            These events by their action.

        Raises:
            MissingExtraError: the package `watchfiles` is not installed.
            StoreUnavailableError: the root cannot be written to.
        """
        counts: Counter[str] = Counter()

        def retain(paths: Sequence[str] | None) -> list[str]:
            failed = []
            for event in self._sync(paths):
                if event.action is Action.UNCHANGED:
                    continue
                counts[str(event.action)] += 1
                if event.action is Action.FAILED:
                    failed.append(event.path)
                if on_event is not None:
                    on_event(event)
            return failed

        watch_folder(
            self._folder.root, Debouncer(self._debounce), retain, stop or threading.Event()
        )
        return counts

    # Reading

    def search(self, query: str, max_results: int = 6, min_score: float = 0.0) -> list[SearchHit]:
        """Return the memories of the bank that bear on a question, best first.

        Line numbers are those of the note as it is now; the lines hold the memory.

        Args:
            query: the question, or any text.
            max_results: most hits.
            min_score: leave out hits of a smaller score, 0 to 1.

        Raises:
            InvalidInputError: an argument cannot be used.
            EmbedderMismatchError, StoreUnavailableError: see `Hindsight.recall`.
        """
        most = validation.positive("max_results", max_results)
        try:
            found = self._memory.recall(
                self._bank_id,
                query,
                max_tokens=self._max_tokens,
                budget=self._budget,
                min_score=min_score,
            )
        except BankNotFoundError:
            return []
        finder = _Finder(self._memory, self._bank_id, self._folder)
        return [_hit(one, finder.locate(one.memory)) for one in islice(found, most)]

    def get(self, path: str, from_line: int = 1, lines: int | None = None) -> Excerpt:
        """Return lines of a note, or of a memory that stands in none.

        Only notes are read: nothing outside the root, no hidden file and no session context.

        Args:
            path: relative to the root, or "hindsight://facts/{type}/{id}".
            from_line: the first line, counted from 1.
            lines: how many; all that follow if None.

        Raises:
            NotFoundError: there is no such note or memory.
            InvalidInputError: the note cannot be read as text, or a line number is not positive.
        """
        first = validation.positive("from_line", from_line)
        count = None if lines is None else validation.positive("lines", lines)
        if isinstance(path, str) and path.startswith(FACT):
            memory = self._memory.memories.get(self._bank_id, path.rpartition("/")[2])
            return Excerpt(memory.text, _uri(memory), 0, 0)
        every = self._folder.read(path).text.removesuffix("\n").split("\n")
        chosen = every[first - 1 : None if count is None else first - 1 + count]
        if not chosen:
            raise NotFoundError(f"{path} has {len(every)} lines, and none from line {first} on")
        return Excerpt("\n".join(chosen), path, first, first - 1 + len(chosen))

    # Steps of a sync

    def _sync(self, wanted: Iterable[str] | None) -> Iterator[SyncEvent]:
        given = None if wanted is None else [path.rstrip("/") for path in wanted]
        with self._registry.locked():
            bank = self._bank()
            known = self._registry.paths(bank)
            present = set(self._present(given))
            gone = sorted(path for path in known - present if _covered(path, given))
            # Recorded before it is retained: a note deleted after a crash in between is known.
            self._registry.replace(bank, known | present)
            for path in gone:
                event = self._delete(path)
                if event.action is Action.DELETED:
                    known.discard(path)
                yield event
            for path in sorted(present):
                outcome = self._retain(path)
                if outcome is None or (outcome.action is Action.REFUSED and path not in known):
                    present.discard(path)
                if outcome is None:
                    outcome = self._delete(path) if path in known else None
                    known.discard(path)
                if outcome is not None:
                    yield outcome
            self._registry.replace(bank, known | present)

    def _present(self, given: Sequence[str] | None) -> Iterator[str]:
        """Yield the paths of the notes there are, all or those given and below those given."""
        if given is None:
            yield from self._folder.paths()
            return
        for path in given:
            if ".." in PurePath(path).parts or PurePath(path).is_absolute():
                raise InvalidInputError(f"{path!r} is outside the root; give a path relative to it")
            place = self._folder.root / path
            folder_link = place.is_symlink() and place.is_dir()
            if folder_link or place.parent.resolve() != place.parent:
                continue  # links of folders are not followed
            if place.is_dir():
                yield from self._folder.paths(path)
            elif os.path.lexists(place) and self._folder.rules.admit(path):
                yield path

    def _bank(self) -> Bank:
        banks = self._memory.banks
        try:
            return banks.get(self._bank_id)
        except BankNotFoundError:
            try:
                return banks.create(self._bank_id)
            except BankExistsError:  # another process was faster
                return banks.get(self._bank_id)

    def _delete(self, path: str) -> SyncEvent:
        try:
            removed = self._memory.documents.delete(self._bank_id, path)
        except (DocumentNotFoundError, InvalidInputError):  # it was never stored
            removed = ()
        except HindsightError as error:
            return SyncEvent(Action.FAILED, path, detail=str(error), error=error)
        return SyncEvent(Action.DELETED, path, removed=len(removed))

    def _retain(self, path: str) -> SyncEvent | None:
        """Retain a note; return None if there is nothing in it, or it is gone again."""
        try:
            note = self._folder.read(path)
        except NotFoundError:
            return None
        except InvalidInputError as error:
            return SyncEvent(Action.REFUSED, path, detail=str(error))
        if validation.is_blank(note.text):
            return None
        kind = kind_of(path)
        item = Item(
            note.text,
            context=kind.context,
            document_id=path,
            metadata=_metadata(path, kind),
            type=MemoryType.EXPERIENCE if kind is NoteKind.SESSION_SUMMARY else None,
            file=path,
            modified=note.modified,
            markdown=True,
        )
        return _retained(path, self._memory.retain_many(self._bank_id, [item]))

    async_sync = async_variant(sync)  # `async` is a word of the language
    aflush_compaction = async_variant(flush_compaction)
    asearch = async_variant(search)
    aget = async_variant(get)
    awatch = async_variant(watch)


def _retained(path: str, result: RetainResult) -> SyncEvent:
    if result.failed:
        error = result.failed[0].error
        return SyncEvent(Action.FAILED, path, detail=str(error), error=error)
    same = bool(result.skipped) and all(s.reason is SkipReason.UNCHANGED for s in result.skipped)
    unchanged = same and not result.stored and not result.removed
    action = Action.UNCHANGED if unchanged else Action.RETAINED
    return SyncEvent(action, path, len(result.stored), len(result.removed))


def _covered(path: str, given: Sequence[str] | None) -> bool:
    return given is None or any(path == each or path.startswith(f"{each}/") for each in given)


def _metadata(path: str, kind: NoteKind) -> dict[str, str]:
    return {"source": "workspace", "path": path, "type": str(kind)}


def _uri(memory: Memory) -> str:
    return f"{FACT}{memory.type}/{memory.id}"


def _hit(recalled: Recalled, found: tuple[str, Lines] | None) -> SearchHit:
    path, lines = found or (_uri(recalled.memory), Lines(0, 0))
    memory = recalled.memory
    return SearchHit(
        memory.text, path, *lines, recalled.score, tuple(memory.entities), memory.confidence
    )


class _Finder:
    """Finds memories in the notes as they are now; reads each note once."""

    def __init__(self, memory: Hindsight, bank_id: str, folder: NoteFolder) -> None:
        self._memory = memory
        self._bank_id = bank_id
        self._folder = folder
        self._notes: dict[str, tuple[LineIndex, dict[str, str]] | None] = {}

    def locate(self, memory: Memory) -> tuple[str, Lines] | None:
        """Return the path and the lines of the first note that states a memory."""
        for source in memory.sources:
            path = source.document_id
            if path is None or path.startswith(SESSION):
                continue
            if path not in self._notes:
                self._notes[path] = self._read(path)
            if lines := _lines(self._notes[path], memory, source):
                return path, lines
        return None

    def _read(self, path: str) -> tuple[LineIndex, dict[str, str]] | None:
        try:
            text = self._folder.read(path).text
            chunks = self._memory.documents.chunks(self._bank_id, path)
        except (NotFoundError, InvalidInputError):
            return None  # no note of that name, or none any more
        return LineIndex(text), {chunk.id: chunk.text for chunk in chunks}


def _lines(
    note: tuple[LineIndex, dict[str, str]] | None, memory: Memory, source: Source
) -> Lines | None:
    if note is None:
        return None
    index, chunks = note
    return index.locate(memory.text, chunks.get(source.chunk_id or ""), chunks.values())
