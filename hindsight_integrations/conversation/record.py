"""What a conversation keeps of its own, in the bank's graph store.

Each item is a chunk of one document of the bank, as JSON. There it is as durable as the bank's
memories, on every graph store; it leaves with the bank, and travels in its exports. A file beside
the memory would need a place even where the stores are servers, and would outlive the bank. No
memory cites these chunks, so recall never sees them: to be kept is not to be retained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from hindsight_integrations import checks
from hindsight_integrations.core import Core
from hindsight_integrations.errors import BankNotFoundError, StoreCorruptError
from hindsight_integrations.model import Chunk, Document, utc_now
from hindsight_integrations.retain.request import digest
from hindsight_integrations.storage.requests import ChangeSet
from hindsight_integrations.storage.values import micros

T = TypeVar("T")

_FORMAT = "conversation record 1"


class Record(Generic[T]):
    """Items of one kind, by id, in the order they were added.

    One thread writes at a time. The bank's lock is not taken: whoever holds it may be embedding
    a whole bank anew, and these writes touch neither memories nor vectors.

    Args:
        core: of the memory; the bank is made if there is none.
        bank_id: which bank.
        session_id: which conversation.
        part: what of it is recorded; together they name the document.
        kind: a dataclass of what JSON can hold.
    """

    def __init__(self, core: Core, bank_id: str, session_id: str, part: str, kind: type[T]) -> None:
        name = f"{checks.label('session_id', session_id)}#{part}"
        self.document_id = checks.label(f"session_id with #{part}", name)
        core.bank_or_new(bank_id)
        self._core = core
        self._bank_id = bank_id
        self._json: TypeAdapter[T] = TypeAdapter(kind)
        stored = core.graph.get_document(bank_id, name)
        self._since = stored.created_at if stored else utc_now()
        self._position = max((chunk.position for chunk in self._chunks()), default=0)

    def items(self) -> dict[str, T]:
        """All there are, by id."""
        return {self._id(chunk): self._item(chunk) for chunk in self._chunks()}

    def append(self, id: str, item: T) -> T:
        """Put an item behind the others, unless its id is taken; returns the one that has it."""
        self._core.bank_or_new(self._bank_id)
        for chunk in self._core.graph.chunks_by_id(self._bank_id, [self._chunk_id(id)]).values():
            return self._item(chunk)
        # The clock orders the items of several processes too; one that is put back does not.
        self._position = max(self._position + 1, micros(utc_now()))
        self._store([self._chunk(id, self._position, item)])
        return item

    def rewrite(self, items: Mapping[str, T]) -> None:
        """Exchange items in their places; those that are gone stay gone."""
        changed = [
            self._chunk(id, chunk.position, items[id])
            for chunk in self._chunks()
            if (id := self._id(chunk)) in items
        ]
        if changed:
            self._store(changed)

    def remove(self, ids: Iterable[str]) -> None:
        """Delete items, as far as they are there."""
        wanted = set(map(self._chunk_id, ids))
        if gone := [chunk.id for chunk in self._chunks() if chunk.id in wanted]:
            self._core.graph.apply(ChangeSet(self._bank_id, remove_chunks=tuple(gone)))

    def exists(self) -> bool:
        """Whether anything was recorded, and neither document nor bank deleted since."""
        try:
            return self._core.graph.get_document(self._bank_id, self.document_id) is not None
        except BankNotFoundError:
            return False

    def _chunks(self) -> list[Chunk]:
        self._core.check_open()
        try:
            return self._core.graph.get_chunks(self._bank_id, self.document_id)
        except BankNotFoundError:  # deleted meanwhile, and all of this with it
            return []

    def _store(self, chunks: Sequence[Chunk]) -> None:
        document = Document(self.document_id, self._bank_id, _FORMAT, self._since, utc_now())
        self._core.graph.apply(
            ChangeSet(self._bank_id, documents=(document,), chunks=tuple(chunks))
        )

    def _chunk(self, id: str, position: int, item: T) -> Chunk:
        text = self._json.dump_json(item).decode()
        return Chunk(self._chunk_id(id), self.document_id, position, text, digest(text))

    def _item(self, chunk: Chunk) -> T:
        try:
            return self._json.validate_json(chunk.text)
        except ValidationError as error:
            raise StoreCorruptError(
                f"{chunk.id!r} of bank {self._bank_id!r} is no part of a conversation; forget the "
                f"document {self.document_id!r}, or give the conversation another id"
            ) from error

    def _chunk_id(self, id: str) -> str:
        return f"{self.document_id}/{id}"

    def _id(self, chunk: Chunk) -> str:
        return chunk.id.removeprefix(f"{self.document_id}/")
