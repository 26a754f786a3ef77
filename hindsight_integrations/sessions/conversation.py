"""Base of conversations: work in the background, and records stored in a bank."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Generic, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import ContextManaged, async_variant
from hindsight_integrations.errors import BankNotFoundError, StoreCorruptError
from hindsight_integrations.models import Chunk, Document, RecordPart, utc_now
from hindsight_integrations.namespaces.storage import Storage
from hindsight_integrations.retain.request import digest
from hindsight_integrations.stores.times import micros

log = logging.getLogger("hindsight_integrations")


class Identified(Protocol):
    """An item with an id of its own."""

    @property
    def id(self) -> str | None:
        """Id under which the item is recorded."""
        ...


T = TypeVar("T", bound=Identified)

_FORMAT = "conversation record 1"
"""Fingerprint of the documents that records are stored as."""


MOST_ERRORS = 100
"""Errors of failed tasks that are kept; all are counted."""


class Tasks:
    """Runs tasks in order in one thread; a task that fails is logged and counted, never raised.

    The first task starts the thread. All methods may be called from any thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._latest: Future[None] | None = None
        self._count = Lock()
        self.failures = 0
        """Number of failed tasks."""
        self.errors: deque[Exception] = deque(maxlen=MOST_ERRORS)
        """Errors of the latest failed tasks, oldest first."""

    def submit(self, task: Callable[[], object]) -> None:
        """Run a task in the background, after those that wait; in this thread at shutdown."""
        try:
            self._latest = self._pool.submit(self.run, task)
        except RuntimeError:  # the interpreter shuts down, and starts no thread any more
            self.run(task)

    def run(self, task: Callable[[], object]) -> None:
        """Run a task in this thread; it raises no more than in the background."""
        try:
            task()
        except Exception as error:
            with self._count:
                self.failures += 1
                self.errors.append(error)
            log.exception("%s: a task failed; the conversation continues without it", self._name)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds; return True if all submitted tasks have run."""
        return self._latest is None or not wait([self._latest], timeout).not_done

    def close(self) -> None:
        """Wait until all tasks have run, and accept no more."""
        self._pool.shutdown(wait=True)


class Conversation(ContextManaged):
    """A conversation with a background thread. Threads may share it.

    Args:
        name: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._turn = Lock()  # guards the state, that of subclasses too
        self._closed = False
        self._tasks = Tasks(name)

    @property
    def failures(self) -> int:
        """Number of tasks that failed while no caller waited for them."""
        return self._tasks.failures

    @property
    def errors(self) -> tuple[Exception, ...]:
        """Errors of the latest of them, oldest first."""
        return tuple(self._tasks.errors)

    @property
    def last_error(self) -> Exception | None:
        """Error of the last of them."""
        return self._tasks.errors[-1] if self._tasks.errors else None

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds; return True if nothing is left to do in background."""
        return self._tasks.wait(timeout)

    def close(self) -> None:
        """Wait until all background work is done. A second call does nothing."""
        with self._turn:
            self._closed = True
        self._tasks.close()

    await_idle = async_variant(wait_idle)
    aclose = async_variant(close)


class Record(Generic[T]):
    """Items of one kind, by id, in the order they were added, as chunks of a document.

    One thread writes at a time.

    Args:
        storage: of the memory.
        bank_id: the bank; created if there is none.
        session_id: the conversation.
        part: names what of it is recorded; with `session_id` it makes the document's id.
        kind: type of the items, a dataclass that JSON can hold.
    """

    def __init__(
        self, storage: Storage, bank_id: str, session_id: str, part: RecordPart, kind: type[T]
    ) -> None:
        name = f"{validation.label('session_id', session_id)}#{part}"
        self.document_id = validation.label(f"session_id with #{part}", name)
        self._storage = storage
        self._bank_id = bank_id
        self._json: TypeAdapter[T] = TypeAdapter(kind)
        stored = storage.open_record(bank_id, name)
        if stored is not None and not stored.is_record:
            raise StoreCorruptError(
                f"document {name!r} of bank {bank_id!r} was retained and is not part of a "
                "conversation; forget it, or give the conversation another id"
            )
        self._since = stored.created_at if stored else utc_now()
        self._position = max((chunk.position for chunk in self._chunks()), default=0)

    def items(self) -> dict[str, T]:
        """Return all items by id."""
        return {str(item.id): item for item in map(self._item, self._chunks())}

    def append(self, id: str, item: T) -> T:
        """Append an item unless its id is taken; returns the item that has the id."""
        known = self._storage.record_chunk(self._bank_id, self._chunk_id(id))
        if known is not None:
            return self._item(known)
        # The clock orders the items of several processes too, unless it is set back.
        self._position = max(self._position + 1, micros(utc_now()))
        self._store([self._chunk(id, self._position, item)])
        return item

    def rewrite(self, items: Mapping[str, T]) -> None:
        """Replace items at their positions; those that are gone stay gone."""
        ids = {self._chunk_id(id): id for id in items}
        changed = [
            self._chunk(id, chunk.position, items[id])
            for chunk in self._chunks()
            if (id := ids.get(chunk.id)) is not None
        ]
        if changed:
            self._store(changed)

    def remove(self, ids: Iterable[str]) -> None:
        """Delete items; ids that are not there are ignored."""
        wanted = set(map(self._chunk_id, ids))
        if gone := [chunk.id for chunk in self._chunks() if chunk.id in wanted]:
            self._storage.remove_from_record(self._bank_id, gone)

    def exists(self) -> bool:
        """Return True if anything was recorded, and neither document nor bank deleted since."""
        try:
            return self._storage.record(self._bank_id, self.document_id) is not None
        except BankNotFoundError:
            return False

    def _chunks(self) -> tuple[Chunk, ...]:
        try:
            return self._storage.record_chunks(self._bank_id, self.document_id)
        except BankNotFoundError:  # deleted meanwhile, with the record
            return ()

    def _store(self, chunks: Sequence[Chunk]) -> None:
        document = Document(
            self.document_id, self._bank_id, _FORMAT, self._since, utc_now(), is_record=True
        )
        self._storage.write_record(self._bank_id, document, chunks)

    def _chunk(self, id: str, position: int, item: T) -> Chunk:
        text = self._json.dump_json(item).decode()
        return Chunk(self._chunk_id(id), self.document_id, position, text, digest(text))

    def _item(self, chunk: Chunk) -> T:
        try:
            return self._json.validate_json(chunk.text)
        except ValidationError as error:
            raise StoreCorruptError(
                f"{chunk.id!r} of bank {self._bank_id!r} is not part of a conversation; forget "
                f"the document {self.document_id!r}, or give the conversation another id"
            ) from error

    def _chunk_id(self, id: str) -> str:
        """Return a chunk id that no other document of the bank has, whatever their ids are."""
        return f"{self.document_id}/{digest(self.document_id, id)}"
