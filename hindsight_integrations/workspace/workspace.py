"""`Workspace`: a folder of notes, kept in step with a bank and searched with line numbers."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import ContextManaged, async_variant, in_thread
from hindsight_integrations.client import Hindsight
from hindsight_integrations.durable import Backoff, DurableRetain, Receipt
from hindsight_integrations.errors import (
    BankNotFoundError,
    HindsightError,
    InvalidInputError,
    NotFoundError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Memory, MemoryType, ModelUsage, Source, utc_now
from hindsight_integrations.namespaces.maintenance import Health, PartHealth
from hindsight_integrations.normalization import new_id
from hindsight_integrations.recall.base import Budget
from hindsight_integrations.results import NOTHING_FOUND, Context, Recalled, Reflection
from hindsight_integrations.settings import Settings
from hindsight_integrations.workspace.file_search import FileSearch
from hindsight_integrations.workspace.locations import LineIndex, Lines
from hindsight_integrations.workspace.notes import NoteFolder, NoteKind, NoteRules
from hindsight_integrations.workspace.registry import FOLDER, Registry
from hindsight_integrations.workspace.results import (
    Action,
    Excerpt,
    SearchHit,
    SyncEvent,
    SyncResult,
)
from hindsight_integrations.workspace.shadow import FILE, ShadowEntry, ShadowLog
from hindsight_integrations.workspace.sync import PATIENCE, NoteSync, metadata_of
from hindsight_integrations.workspace.watcher import Debouncer, watch_folder, watching

FACT = "hindsight://facts/"
SESSION = "hindsight://sessions/"

BUDGETS: Mapping[str, Budget] = {"low": "low", "mid": "mid", "medium": "mid", "high": "high"}
"""The recall budgets that hosts name, and ours."""

DEBOUNCE_MS = 30_000


class Workspace(ContextManaged):
    """A folder of notes as memory: MEMORY.md, daily notes, summaries of sessions.

    One root belongs to one bank. In `.hindsight` the root has a record of what was retained, and
    the queue of what waits while the memory is away: then searches read the notes, and a thread
    asks for the memory until it is back.

    Args:
        memory: an open memory, which its owner closes, or a function that opens one: it is called
            at first use and until it succeeds, and what it opened is closed with this object.
        bank_id: the bank; made by the first sync or flush.
        root: the folder.
        rules: which files are notes, and how large they may be.
        max_tokens: budget of a search in tokens, a host's `maxTokens`; the memory's own if None.
        recall_budget: how far a search looks, a host's `recallBudget`: "low", "mid" (or "medium")
            or "high".
        retain_debounce_ms: milliseconds without a write after which `watch` retains a note.
        fallback_to_local: False to raise an error in a search while the memory is away.
        shadow: log each search with the hits of the notes' text search and of the memory, for
            `ShadowReport`, in `.hindsight/shadow.jsonl`.
        backoff: waits between attempts to reach a memory that is away.
        settings: of the memory that a function opens; only `max_content_chars` and
            `timezone` are used here.

    Raises:
        InvalidInputError: there is no such folder, or another argument cannot be used.
        StoreUnavailableError: the root cannot be written to.

    Examples:
        >>> with Workspace(memory, "alice", "./workspace") as workspace:  # doctest: +SKIP
        ...     workspace.sync()
        SyncResult(retained=4)
    """

    def __init__(
        self,
        memory: Hindsight | Callable[[], Hindsight],
        bank_id: str,
        root: str | os.PathLike[str],
        *,
        rules: NoteRules | None = None,
        max_tokens: int | None = None,
        recall_budget: str = "mid",
        retain_debounce_ms: int = DEBOUNCE_MS,
        fallback_to_local: bool = True,
        shadow: bool = False,
        backoff: Backoff | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._bank_id = validation.bank_id(bank_id)
        chosen = NoteRules() if rules is None else validation.instance("rules", rules, NoteRules)
        self._folder = NoteFolder(root, chosen)
        self._max_tokens = max_tokens
        if max_tokens is not None:
            validation.positive("max_tokens", max_tokens)
        self._budget = BUDGETS[validation.choice("recall_budget", recall_budget, BUDGETS)]
        self._debounce = validation.not_negative("retain_debounce_ms", retain_debounce_ms) / 1000
        self._fallback = validation.flag("fallback_to_local", fallback_to_local)
        self._files = FileSearch(self._folder)
        if backoff is not None:
            validation.instance("backoff", backoff, Backoff)
        self._closed = threading.Event()
        self._watches: set[_Watch] = set()
        self._watcher: threading.Thread | None = None
        self._session = new_id("session-")
        self._shadow = validation.flag("shadow", shadow)
        registry = Registry(self._folder.root)
        self._durable = DurableRetain(
            memory, registry.queue, patience=PATIENCE, backoff=backoff, settings=settings
        )
        self._sync = NoteSync(self._durable, registry, self._folder, self._bank_id)

    @property
    def memory(self) -> Hindsight:
        """The memory, opened by the first use.

        Raises:
            StoreUnavailableError: it cannot be opened; its `__cause__` says why.
        """
        return self._durable.memory

    @property
    def bank_id(self) -> str:
        """Id of the bank."""
        return self._bank_id

    @property
    def folder(self) -> NoteFolder:
        """The notes."""
        return self._folder

    @property
    def shadow_log(self) -> ShadowLog:
        """The log of the searches made with `shadow`."""
        return ShadowLog(self._folder.root / FOLDER / FILE)

    def health(self) -> Health:
        """Return the health of the memory, the queue and the notes.

        While the memory is away its part says why and since when retains wait.
        """
        try:
            available = self._durable.available()
            parts = self._durable.health().parts if available else self._away()
        except HindsightError as error:
            parts = (PartHealth("memory", False, str(error)),)
        waiting = self._sync.waiting()
        count = sum(1 for _ in self._folder.paths())
        detail = f"{count} notes, {len(waiting)} of them wait for the memory"
        return Health((*parts, PartHealth("notes", not waiting, detail)))

    def drain(self, timeout: float = 60.0) -> bool:
        """Send what waits at once, for at most `timeout` seconds; True if nothing waits then."""
        return self._durable.drain(timeout)

    def close(self) -> None:
        """Stop watching and sending; the next to open the root sends what waits. Idempotent."""
        self._closed.set()
        for watch in tuple(self._watches):
            watch.end()
        if self._watcher is not None:
            self._watcher.join()
        self._durable.close()

    def __repr__(self) -> str:
        return f"Workspace({self._bank_id!r}, {str(self._folder.root)!r})"

    # Retaining

    def sync(self, paths: Iterable[str] | None = None) -> SyncResult:
        """Make the bank hold what the notes say now: new, changed, renamed and deleted ones.

        A note is a document whose id is its path. Unchanged notes cost nothing, and of changed ones
        only the sections that changed are read. A renamed note is one that was deleted and one that
        is new. A note that fails is reported, and the others are retained.

        Args:
            paths: only these notes or folders, relative to the root; all if None.

        Raises:
            StoreUnavailableError: the root cannot be written to.
        """
        return SyncResult(tuple(self._sync.run(paths)))

    def flush_compaction(self, summary: str, session_id: str) -> Receipt:
        """Retain the summary of a session that its host is about to compact, as experience.

        It is on disk before it is sent, and `queued` in the receipt while the memory is away.

        The same summary again changes nothing; another one of the session is added.

        Raises:
            InvalidInputError: the summary is blank or too long, or the id cannot be used.
            HindsightError: the memory refused it, and nothing waits.
        """
        path = SESSION + validation.label("session_id", session_id)
        return self._durable.retain(
            self._bank_id,
            summary,
            document_id=path,
            context=NoteKind.SESSION_SUMMARY.context,
            metadata=metadata_of(path, NoteKind.SESSION_SUMMARY),
            type=MemoryType.EXPERIENCE,
            update_mode="append",
        )

    def watch(
        self,
        stop: threading.Event | None = None,
        on_event: Callable[[SyncEvent], None] | None = None,
    ) -> Counter[str]:
        """Sync, then retain each note that changes once it was left alone for the debounce time.

        Returns, with all that was written retained or queued, when `stop` is set, Ctrl-C is
        pressed or `close` is called. A note that fails or waits is tried again after the debounce
        time.

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
        waiting: set[str] = set()

        def retain(paths: Sequence[str] | None) -> list[str]:
            again = []
            for event in self._sync.run(paths):
                is_waiting = event.action is Action.WAITING
                if is_waiting or event.action is Action.FAILED:
                    again.append(event.path)
                if event.action is Action.UNCHANGED or (is_waiting and event.path in waiting):
                    continue
                (waiting.add if is_waiting else waiting.discard)(event.path)
                counts[str(event.action)] += 1
                if on_event is not None:
                    on_event(event)
            return again

        stop = stop or threading.Event()
        watch = _Watch(stop, threading.current_thread())
        self._watches.add(watch)
        try:
            if self._closed.is_set():
                stop.set()
            watch_folder(self._folder.root, Debouncer(self._debounce), retain, stop)
        finally:
            self._watches.discard(watch)
            watch.ended.set()
        return counts

    async def awatch(
        self,
        stop: threading.Event | None = None,
        on_event: Callable[[SyncEvent], None] | None = None,
    ) -> Counter[str]:
        """`watch`, without blocking the event loop; it also ends when it is cancelled.

        A thread watches, and calls `on_event`. After a cancellation it retains what was written
        until then; `close` waits for it.
        """
        stop = stop or threading.Event()
        try:
            return await in_thread(self.watch, stop, on_event)
        finally:
            stop.set()

    def start_watching(self, on_event: Callable[[SyncEvent], None] | None = None) -> None:
        """Watch in a thread of its own until `close`, which waits until all is carried over.

        Args:
            on_event: called in that thread with each event; see `watch`.

        Raises:
            MissingExtraError: the package `watchfiles` is not installed.
            InvalidInputError: it is being watched already.
        """
        watching()  # here, so that the caller gets the error
        if self._watcher is not None:
            raise InvalidInputError("this workspace is already being watched")
        self._watcher = threading.Thread(
            target=self.watch, args=(None, on_event), name="hindsight-watch", daemon=True
        )
        self._watcher.start()

    # Reading

    def search(self, query: str, max_results: int = 6, min_score: float = 0.0) -> list[SearchHit]:
        """Return the memories of the bank that bear on a question, best first.

        Line numbers are those of the note as it is now; the lines hold the memory. While the
        memory is away, hits are sections of the notes that share words with the question, with
        the source "files".

        Args:
            query: the question, or any text.
            max_results: most hits.
            min_score: leave out hits of a smaller score, 0 to 1.

        Raises:
            InvalidInputError: an argument cannot be used.
            EmbedderMismatchError, ModelError: see `Hindsight.recall`.
            StoreUnavailableError: the memory is away, and `fallback_to_local` is False.
        """
        started = time.perf_counter()
        away = False
        try:
            hits = self.search_memory(query, max_results, min_score)
        except StoreUnavailableError:
            if not self._fallback:
                raise
            away = True
            hits = self.search_files(query, max_results, min_score)
        if self._shadow:
            searched = time.perf_counter()
            files = self.search_files(query, max_results, min_score)
            entry = ShadowEntry(
                at=utc_now(),
                session=self._session,
                query=query,
                files=tuple(files),
                memory=tuple(hits),
                files_seconds=time.perf_counter() - searched,
                memory_seconds=searched - started,
                away=away,
            )
            self.shadow_log.add(entry)
        return hits

    def search_memory(
        self, query: str, max_results: int = 6, min_score: float = 0.0
    ) -> list[SearchHit]:
        """Return the hits of the memory alone; see `search`.

        Raises:
            StoreUnavailableError: the memory is away.
        """
        wanted = validation.query(query)
        most = validation.positive("max_results", max_results)
        least = validation.share("min_score", min_score)
        memory = self._reached()
        try:
            return self._recalled(memory, wanted, most, least)
        except HindsightError as error:
            if not self._durable.note_failure(error):
                raise
            raise StoreUnavailableError(f"the memory is not available: {error}") from error

    def search_files(
        self, query: str, max_results: int = 6, min_score: float = 0.0
    ) -> list[SearchHit]:
        """Return the sections of the notes that share words with a query; see `search`.

        The score is the share of the best BM25 score that the words of the query could have.
        """
        most = validation.positive("max_results", max_results)
        least = validation.share("min_score", min_score)
        return self._files.search(validation.query(query), most, least)

    def reflect(self, query: str) -> Reflection:
        """Return an answer from the bank, with the memories it rests on; see `Hindsight.reflect`.

        Raises:
            StoreUnavailableError: the memory is away.
            InvalidInputError, ModelError: see `Hindsight.reflect`.
        """
        memory = self._reached()
        try:
            return memory.reflect(self._bank_id, query)
        except BankNotFoundError:
            return Reflection(
                self._bank_id, query, NOTHING_FOUND, (), Context(self._bank_id, query), ModelUsage()
            )

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
            StoreUnavailableError: it is a memory's path, and the memory is away.
        """
        first = validation.positive("from_line", from_line)
        count = None if lines is None else validation.positive("lines", lines)
        if isinstance(path, str) and path.startswith(FACT):
            memory = self._reached().memories.get(self._bank_id, path.rpartition("/")[2])
            return Excerpt(memory.text, _uri(memory), 0, 0)
        all_lines = self._folder.read(path).text.removesuffix("\n").split("\n")
        chosen = all_lines[first - 1 : None if count is None else first - 1 + count]
        if not chosen:
            raise NotFoundError(f"{path} has {len(all_lines)} lines, so none from line {first} on")
        return Excerpt("\n".join(chosen), path, first, first - 1 + len(chosen))

    def _reached(self) -> Hindsight:
        """Return the memory; raise `StoreUnavailableError` at once while it is away."""
        if not self._durable.available():
            raise StoreUnavailableError(
                f"the memory is not available: {self._durable.state().last_error}"
            )
        return self.memory

    def _recalled(self, memory: Hindsight, query: str, most: int, least: float) -> list[SearchHit]:
        try:
            found = memory.recall(
                self._bank_id,
                query,
                max_tokens=self._max_tokens,
                budget=self._budget,
                min_score=least,
            )
        except BankNotFoundError:
            return []
        finder = _Finder(memory, self._bank_id, self._folder)
        return [_hit(item, finder.locate(item.memory)) for item in islice(found, most)]

    def _away(self) -> tuple[PartHealth, ...]:
        state = self._durable.state()
        detail = f"away, searches read the notes: {state.last_error}"
        return PartHealth("memory", False, detail), PartHealth("queue", state.ok, str(state))

    ahealth = async_variant(health)
    adrain = async_variant(drain)
    aclose = async_variant(close)
    async_sync = async_variant(sync)  # `async` is a word of the language
    aflush_compaction = async_variant(flush_compaction)
    asearch = async_variant(search)
    asearch_memory = async_variant(search_memory)
    asearch_files = async_variant(search_files)
    areflect = async_variant(reflect)
    aget = async_variant(get)
    astart_watching = async_variant(start_watching)


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    """A running watch: the event that stops it, its thread, and the event set when it has ended."""

    stop: threading.Event
    thread: threading.Thread
    ended: threading.Event = field(default_factory=threading.Event)

    def end(self) -> None:
        """Stop it and wait until it has ended, unless it runs in this thread."""
        self.stop.set()
        if self.thread is not threading.current_thread():
            self.ended.wait()


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
