"""The vector index kept in step with the graph.

The graph queues in each transaction what the index has to do. `flush` does it, and strikes from
the queue what is done and nothing else, so that a process may end anywhere: what was not struck
is done again, which is harmless. `examine` compares the two and mends the index from the graph.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from hindsight_integrations.errors import StoreCorruptError, StoreError, StoreUnavailableError
from hindsight_integrations.model import utc_now
from hindsight_integrations.storage.chroma_probe import is_sound
from hindsight_integrations.storage.chroma_vectors import ChromaVectors
from hindsight_integrations.storage.folder import Folder
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import (
    PendingVector,
    StoredBank,
    StoreFault,
    Vector,
    VectorOperation,
)

log = logging.getLogger("hindsight_integrations")

LOOKUPS = 512
"""Vectors that `compare` looks up in the index, shared out among the banks."""

LOOKUPS_A_BANK = 4
"""Of them, the least a bank gets."""

FOUND = 0.99
"""Least cosine between a vector and its nearest in an index that holds the vector itself."""


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What the index was made to do."""

    upserted: int = 0
    deleted: int = 0
    dropped: int = 0

    def __str__(self) -> str:
        parts = (
            f"{self.upserted} vectors written",
            f"{self.deleted} removed",
            f"{self.dropped} spaces dropped",
        )
        return ", ".join(parts)


class Discord(StrEnum):
    """How the index differs from the graph."""

    MISSING = "memories without a vector in the index"
    ORPHAN = "vectors of memories that do not exist"
    UNFOUND = "vectors that the index holds and does not find"
    STRAY = "spaces of banks that do not exist"


@dataclass(frozen=True, slots=True)
class Divergence:
    """One difference. `bank_id` is None for a space of no bank."""

    kind: Discord
    bank_key: str
    bank_id: str | None = None
    ids: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Memories concerned, or vectors, or 1 space."""
        return len(self.ids) or 1

    def __str__(self) -> str:
        of = self.bank_key if self.bank_id is None else f"bank {self.bank_id!r}"
        return f"{self.count} {self.kind.value} ({of})"


@dataclass(slots=True)
class _Work:
    """What is to be done for one bank key: first drop, then delete, then upsert."""

    drop: bool = False
    delete: set[str] = field(default_factory=set)
    upsert: dict[str, Vector] = field(default_factory=dict)
    tickets: list[int] = field(default_factory=list)

    def add(self, item: PendingVector) -> None:
        self.tickets.append(item.ticket)
        if item.operation is VectorOperation.DROP:
            self.drop = True
            self.delete.clear()
            self.upsert.clear()
        elif item.operation is VectorOperation.UPSERT and item.vector is not None:
            self.delete.discard(item.memory_id)
            self.upsert[item.memory_id] = item.vector
        else:
            self.upsert.pop(item.memory_id, None)
            self.delete.add(item.memory_id)

    def do(self, key: str, index: VectorIndex) -> FlushReport:
        if self.drop:
            index.drop(key)
        if self.delete:
            index.delete(key, sorted(self.delete))
        if self.upsert:
            index.upsert(key, list(self.upsert), np.stack(list(self.upsert.values())))
        return FlushReport(len(self.upsert), len(self.delete), int(self.drop))


def flush(graph: GraphStore, index: VectorIndex, *, batch: int = 500) -> FlushReport:
    """Do what the graph has queued for the index, in the order of its tickets.

    Of several operations on one memory the last one counts; dropping a space makes earlier work
    for it needless. An index that refuses the work of one bank is still given that of others.

    Args:
        graph: the store with the queue.
        index: what is to be brought up to date.
        batch: entries read from the queue at a time.

    Raises:
        StoreError: some work could not be done, and stays queued; what was done is struck.
    """
    report = FlushReport()
    failed: dict[str, StoreError] = {}
    left = 0
    while True:
        queue = graph.pending_vectors(batch + left)
        todo = [item for item in queue if item.bank_key not in failed]
        for key, work in _by_key(todo).items():
            try:
                report = _sum(report, work.do(key, index))
            except StoreUnavailableError:
                raise
            except StoreError as error:
                failed[key] = error
            else:
                graph.settle(work.tickets)
        if len(queue) < batch + left:
            break
        left = sum(item.bank_key in failed for item in queue)
    if failed:
        raise next(iter(failed.values()))
    return report


def compare(graph: GraphStore, index: VectorIndex) -> list[Divergence]:
    """Where the index differs from the graph. What is still queued counts: flush first."""
    found: list[Divergence] = []
    banks = graph.list_banks()
    for bank in banks:
        lookups = max(LOOKUPS_A_BANK, LOOKUPS // len(banks))
        found += _compare_bank(graph, index, bank, lookups)
    strays = index.keys() - {bank.key for bank in banks}
    return found + [Divergence(Discord.STRAY, key) for key in sorted(strays)]


def examine(graph: GraphStore, index: VectorIndex, *, repair: bool) -> list[StoreFault]:
    """What is wrong in the graph and between it and the index, and whether it was put right."""
    faults = graph.check(repair=repair)
    if not repair:
        return faults + [_fault(difference, repaired=False) for difference in compare(graph, index)]
    flush(graph, index)
    differences = compare(graph, index)
    if not differences:
        return faults
    for difference in differences:
        _mend(difference, graph, index)
    flush(graph, index)
    remaining = {(left.kind, left.bank_key) for left in compare(graph, index)}
    return faults + [
        _fault(one, repaired=(one.kind, one.bank_key) not in remaining) for one in differences
    ]


def fill(graph: GraphStore, index: VectorIndex) -> int:
    """Queue the vectors of all banks that the index has nothing of; returns how many.

    It may be another index than the last time: a server in place of a folder, or one made anew.
    """
    held = index.keys()
    missing = [bank.bank.id for bank in graph.list_banks() if bank.key not in held]
    queued = sum(map(graph.requeue_vectors, missing))
    if queued:
        log.warning("the vector index lacks %d vectors: they are written now", queued)
    return queued


def open_index(folder: Folder, graph: GraphStore) -> ChromaVectors:
    """The folder's vector index, an empty one if it is missing or damaged.

    Of an empty one all is queued that the graph holds, to be written by the next `flush`.
    Damaged files are put aside, as `chroma.damaged-<time>`.

    Raises:
        StoreUnavailableError: the folder cannot be read or written.
    """
    path = folder.vectors_path
    if is_sound(path):
        try:
            return ChromaVectors.in_folder(path)
        except StoreCorruptError as error:
            log.warning("%s", error)
    queued = sum(graph.requeue_vectors(bank.bank.id) for bank in graph.list_banks())
    if path.exists():
        _put_aside(path)
    if queued:
        log.warning("the vector index is made again from the graph: %d vectors", queued)
    return ChromaVectors.in_folder(path)


def _by_key(queue: Iterable[PendingVector]) -> dict[str, _Work]:
    work: dict[str, _Work] = {}
    for item in queue:
        work.setdefault(item.bank_key, _Work()).add(item)
    return work


def _sum(one: FlushReport, other: FlushReport) -> FlushReport:
    return FlushReport(
        one.upserted + other.upserted, one.deleted + other.deleted, one.dropped + other.dropped
    )


def _compare_bank(
    graph: GraphStore, index: VectorIndex, bank: StoredBank, lookups: int
) -> list[Divergence]:
    stored = list(graph.memory_ids(bank.bank.id))
    held = index.ids(bank.key)
    present = [name for name in stored if name in held]
    # From the last backwards: an index that loses vectors loses the latest.
    sample = present[:: -max(1, len(present) // lookups)]
    vectors = graph.vectors(bank.bank.id, sample)
    unfound = []
    if vectors:
        nearest = index.query_many(bank.key, np.stack(list(vectors.values())), 1)
        unfound = [
            name
            for name, hits in zip(vectors, nearest, strict=True)
            if not hits or hits[0][1] < FOUND
        ]
    differences = (
        (Discord.MISSING, [name for name in stored if name not in held]),
        (Discord.ORPHAN, sorted(held.difference(stored))),
        (Discord.UNFOUND, unfound),
    )
    return [
        Divergence(kind, bank.key, bank.bank.id, tuple(ids)) for kind, ids in differences if ids
    ]


def _mend(difference: Divergence, graph: GraphStore, index: VectorIndex) -> None:
    match difference:
        case Divergence(kind=Discord.MISSING, bank_id=str(bank_id)):
            graph.requeue_vectors(bank_id, difference.ids)
        case Divergence(kind=Discord.UNFOUND, bank_id=str(bank_id)):
            index.drop(difference.bank_key)
            graph.requeue_vectors(bank_id)
        case Divergence(kind=Discord.ORPHAN):
            index.delete(difference.bank_key, difference.ids)
        case _:
            index.drop(difference.bank_key)


def _fault(difference: Divergence, *, repaired: bool) -> StoreFault:
    return StoreFault("vector index", str(difference), difference.count, repaired)


def _put_aside(path: Path) -> None:
    aside = path.with_name(f"{path.name}.damaged-{utc_now():%Y%m%dT%H%M%S%f}")
    try:
        path.rename(aside)
    except OSError as error:
        raise StoreUnavailableError(
            f"the damaged vector index {str(path)!r} cannot be renamed: {error}; delete it, and "
            "it is made again from the graph"
        ) from error
    log.warning("the damaged vector index was put aside as %s; it may be deleted", aside)
