"""`memory.storage`: low-level reads and writes for adapters, conversations and queues.

Extensions of this package use it, whether the stores are in this process or behind a service.
Programs should use the methods of `Hindsight` and the other namespaces instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Chunk, Document, Memory, Source
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.nlp.embeddings import query_vector
from hindsight_integrations.recall.request import conditions
from hindsight_integrations.results import RetainResult
from hindsight_integrations.retain.pipeline import retain
from hindsight_integrations.retain.request import Submission
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import (
    CHECKPOINT,
    CHUNK,
    DOCUMENT,
    DOCUMENT_CHUNKS,
    EVERYTHING,
    MEMORY,
    RECORD,
    ChangeSet,
    EmbedderIdentity,
    MemoryFilter,
    QueueCheckpoint,
)
from hindsight_integrations.stores.reads import every_id, read_one


@dataclass(frozen=True, slots=True)
class Opened:
    """The settings and embedder that a memory was opened with.

    Attributes:
        guarded: True if `before_retain` sees each text before it is stored.
    """

    settings: Settings
    embedder: EmbedderIdentity
    guarded: bool = False


class Storage(Namespace):
    """Records, vectors and queued retains of a memory."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def opened(self) -> Opened:
        """Return the memory's settings and embedder, and whether `before_retain` is set."""
        self._runtime.check_open()
        guarded = bool(self._runtime.retaining.before_retain)
        return Opened(self._runtime.settings, self._runtime.embedder_identity, guarded)

    def check(self) -> None:
        """Check that the graph store answers.

        Raises:
            ClosedError: the memory is closed.
            StoreError: the store does not answer.
        """
        self._runtime.check_open()
        self._runtime.graph.get_bank("")

    def embed(self, texts: Sequence[str], *, queries: bool = False) -> list[list[float]]:
        """Return a unit vector of the memory's embedder for each text.

        Args:
            texts: the texts.
            queries: True if they are questions, which some embedders treat differently.
        """
        self._runtime.check_open()
        embedder = self._runtime.encoder.embedder
        given = [
            validation.text(text, "texts") for text in validation.items("texts", texts, "texts")
        ]
        if queries:
            return [query_vector(embedder, text).tolist() for text in given]
        rows: list[list[float]] = embedder.embed(given).tolist() if given else []
        return rows

    # Memories, for the vector stores of frameworks

    def find_ids(self, bank_id: str, where: Mapping[str, object]) -> list[str]:
        """Return the ids of all memories that match, including invalidated and expired ones."""
        self._runtime.bank(bank_id)
        filter = MemoryFilter(
            None, where=conditions(where, self._runtime.settings.zone), include_invalid=True
        )
        return every_id(self._runtime.graph, bank_id, filter)

    def memories(self, bank_id: str, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the existing memories with these ids."""
        self._runtime.bank(bank_id)
        known = self._runtime.graph.filter_ids(bank_id, _ids(ids), EVERYTHING)
        return dict(self._runtime.graph.read(bank_id, MEMORY, list(known)))

    def vectors(self, bank_id: str, ids: Sequence[str]) -> dict[str, list[float]]:
        """Return the vectors of the existing memories with these ids."""
        self._runtime.bank(bank_id)
        found = self._runtime.graph.read(bank_id, RECORD, _ids(ids))
        return {id: record.vector.tolist() for id, record in found.items()}

    # Records, which conversations keep

    def open_record(self, bank_id: str, document_id: str) -> Document | None:
        """Return the document of a record, or None; create the bank if it does not exist."""
        self._runtime.bank_or_new(bank_id)
        return self.record(bank_id, document_id)

    def record(self, bank_id: str, document_id: str) -> Document | None:
        """Return the document of a record, or None.

        Raises:
            BankNotFoundError: there is no such bank.
        """
        self._runtime.check_open()
        named = validation.label("document_id", document_id)
        return read_one(self._runtime.graph, validation.bank_id(bank_id), DOCUMENT, named, None)

    def record_chunks(self, bank_id: str, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of a record in their order."""
        self._runtime.check_open()
        named = validation.label("document_id", document_id)
        return read_one(
            self._runtime.graph, validation.bank_id(bank_id), DOCUMENT_CHUNKS, named, ()
        )

    def record_chunk(self, bank_id: str, chunk_id: str) -> Chunk | None:
        """Return one chunk of a record, or None; create the bank if it does not exist."""
        self._runtime.bank_or_new(bank_id)
        named = validation.label("chunk_id", chunk_id)
        return self._runtime.graph.read(bank_id, CHUNK, [named]).get(named)

    def write_record(self, bank_id: str, document: Document, chunks: Sequence[Chunk]) -> None:
        """Store chunks of a record, replacing those with the same ids.

        The bank's lock is not taken: its holder may be recomputing all vectors of the bank, and
        this changes neither memories nor vectors.

        Raises:
            InvalidInputError: the document is not a record.
        """
        self._runtime.check_open()
        given = validation.instances("chunks", chunks, Chunk)
        validation.instances("document", [document], Document)
        if not document.is_record or any(chunk.document_id != document.id for chunk in given):
            raise InvalidInputError(
                f"document {document.id!r} is not a record, or the chunks belong to another one; "
                "retain texts with Hindsight.retain"
            )
        changes = ChangeSet(validation.bank_id(bank_id), documents=(document,), chunks=given)
        self._runtime.graph.apply(changes)

    def remove_from_record(self, bank_id: str, chunk_ids: Sequence[str]) -> None:
        """Delete chunks of a record."""
        self._runtime.check_open()
        gone = tuple(_ids(chunk_ids))
        self._runtime.graph.apply(ChangeSet(validation.bank_id(bank_id), remove_chunks=gone))

    def add_sources(self, bank_id: str, memory_id: str, sources: Sequence[Source]) -> None:
        """Add sources to a memory."""
        named = validation.label("memory_id", memory_id)
        added = tuple((named, each) for each in validation.instances("sources", sources, Source))
        with self._runtime.lock(self._runtime.bank(bank_id).key):
            self._runtime.graph.apply(ChangeSet(bank_id, sources=added))

    # Queues of retains

    def retain_queued(
        self, bank_id: str, queue: str, operations: Sequence[tuple[int, Submission]]
    ) -> RetainResult:
        """Store the operations of a queue that the bank does not have yet, and record the progress.

        Args:
            bank_id: the bank; created if it does not exist.
            queue: identity of the queue.
            operations: number and submission of each operation, in the order of the queue.
        """
        runtime = self._runtime
        numbers, submissions = _operations(operations)
        bank = runtime.bank_or_new(bank_id)
        start = QueueCheckpoint(validation.label("queue", queue), 0)
        applied = read_one(runtime.graph, bank_id, CHECKPOINT, queue, start).number
        due = [
            submission
            for number, submission in zip(numbers, submissions, strict=True)
            if number > applied
        ]
        if not due:
            return RetainResult(bank_id)
        checkpoint = QueueCheckpoint(queue, numbers[-1])
        result = retain(runtime.retaining, bank, due, checkpoint)
        runtime.reflect_later(bank_id)
        return result

    aopened = async_variant(opened)
    acheck = async_variant(check)
    aembed = async_variant(embed)
    afind_ids = async_variant(find_ids)
    amemories = async_variant(memories)
    avectors = async_variant(vectors)
    aopen_record = async_variant(open_record)
    arecord = async_variant(record)
    arecord_chunks = async_variant(record_chunks)
    arecord_chunk = async_variant(record_chunk)
    awrite_record = async_variant(write_record)
    aremove_from_record = async_variant(remove_from_record)
    aadd_sources = async_variant(add_sources)
    aretain_queued = async_variant(retain_queued)


def _ids(given: Sequence[str]) -> list[str]:
    """Return ids, each of which is a text."""
    return [validation.label("an id", each) for each in validation.items("ids", given, "a list")]


def _operations(
    given: Sequence[tuple[int, Submission]],
) -> tuple[list[int], tuple[Submission, ...]]:
    """Return the numbers and the submissions of operations."""
    pairs = validation.instances("operations", given, tuple)
    if any(len(pair) != 2 for pair in pairs):
        raise InvalidInputError("operations must be pairs of a number and a submission")
    numbers = [validation.not_negative("number", number) for number, _ in pairs]
    return numbers, validation.instances("operations", [each for _, each in pairs], Submission)
