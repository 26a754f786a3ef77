"""Synchronisation of the vector index with the graph.

The graph queues work for the index in each transaction. `flush` does it, and acknowledges only
completed work, so that a process may end anywhere: work that was not acknowledged is repeated,
which is harmless. Work that another process overtook is compared with the graph afterwards: a slow
write may have undone a later one. `examine` compares the two and repairs the index from the graph,
also while others write: what seems to differ is looked at again before it counts, and each repair
is queued by the graph, in a transaction that decides by what is stored then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import islice

import numpy as np

from hindsight_integrations.errors import BankNotFoundError, StoreError, StoreUnavailableError
from hindsight_integrations.stores.base import (
    MEMORY_ID,
    NO_LIMIT,
    VECTOR,
    ChangeSet,
    GraphStore,
    PendingVector,
    StoredBank,
    StoreFault,
    Vector,
    VectorIndex,
    VectorOperation,
)

log = logging.getLogger("hindsight_integrations")

REQUEUED_AT_ONCE = 5_000
"""Vectors queued in one transaction."""


LOOKUPS = 512
"""Vectors that `compare` looks up in the index, shared out among the banks."""

LOOKUPS_A_BANK = 4
"""The fewest of them that a bank gets."""

WIDE = 1000
"""Neighbours asked for when a vector was not found among the nearest: Chroma then searches as
widely (hnswlib takes the larger of `ef_search` and the number asked for)."""

FOUND = 0.99
"""Least cosine between a vector and its nearest in an index that holds the vector itself."""


@dataclass(frozen=True, slots=True)
class FlushReport:
    """Counts of the work that the index did."""

    upserted: int = 0
    deleted: int = 0
    dropped: int = 0
    more: bool = False
    """True if it ended before the queue was empty."""

    def __str__(self) -> str:
        return (
            f"{self.upserted} vectors written, {self.deleted} removed, "
            f"{self.dropped} spaces dropped"
        )


class DivergenceKind(StrEnum):
    """Ways in which the index differs from the graph."""

    MISSING = "memories without a vector in the index"
    ORPHAN = "vectors of memories that do not exist"
    UNFOUND = "vectors that the index holds and does not find"
    STRAY = "spaces of banks that do not exist"


@dataclass(frozen=True, slots=True)
class Divergence:
    """One difference. `bank_id` is None for a space of no bank."""

    kind: DivergenceKind
    bank_key: str
    bank_id: str | None = None
    ids: tuple[str, ...] = ()

    def overlaps(self, other: Divergence) -> bool:
        """Return True if the other is of the same kind and concerns some of the same."""
        same = (self.kind, self.bank_key) == (other.kind, other.bank_key)
        return same and (not self.ids or not set(self.ids).isdisjoint(other.ids))

    @property
    def count(self) -> int:
        """Number of memories or vectors concerned, or 1 for a space."""
        return len(self.ids) or 1

    def __str__(self) -> str:
        of = self.bank_key if self.bank_id is None else f"bank {self.bank_id!r}"
        return f"{self.count} {self.kind.value} ({of})"


@dataclass(slots=True)
class _Work:
    """Work for one bank key: first drop, then delete, then upsert."""

    drop: bool = False
    delete: set[str] = field(default_factory=set)
    upsert: dict[str, Vector] = field(default_factory=dict)
    tickets: dict[int, str] = field(default_factory=dict)
    """Ticket to memory id, empty for a drop."""

    def add(self, item: PendingVector) -> None:
        self.tickets[item.ticket] = item.memory_id
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


def flush(
    graph: GraphStore,
    index: VectorIndex,
    *,
    bank_key: str | None = None,
    batch: int = 500,
    proceed: Callable[[], bool] = lambda: True,
) -> FlushReport:
    """Do the work that the graph has queued for the index, in the order of its tickets.

    Of several operations on one memory the last one counts; dropping a space makes earlier work
    for it needless. An index that refuses the work of one bank is still given that of others.

    The queue is read in batches, of one bank if `bank_key` names it. `proceed` is asked before each
    further batch; if it returns False, the rest stays queued.

    Raises:
        StoreError: some work could not be done and stays queued; the rest is acknowledged.
    """
    report = FlushReport()
    failed: dict[str, StoreError] = {}
    left = 0
    while True:
        queue = graph.pending_vectors(batch + left, bank_key)
        todo = [item for item in queue if item.bank_key not in failed]
        redo = False
        for key, work in _by_key(todo).items():
            try:
                report = _sum(report, work.do(key, index))
            except StoreUnavailableError:
                raise
            except StoreError as error:
                failed[key] = error
            else:
                overtaken = work.tickets.keys() - graph.acknowledge(work.tickets)
                if overtaken:
                    redo |= _requeue_undone(graph, index, key, work, overtaken)
        if len(queue) < batch + left and not redo:
            break
        left = sum(item.bank_key in failed for item in queue)
        if not proceed():
            report = replace(report, more=True)
            break
    if failed:
        raise next(iter(failed.values()))
    return report


def _requeue_undone(
    graph: GraphStore, index: VectorIndex, key: str, work: _Work, overtaken: Iterable[int]
) -> bool:
    """Queue again what this process wrote after another had done later work; True if there is any.

    The tickets of `overtaken` were no longer queued when the work was done.
    """
    written = [id for ticket in overtaken if (id := work.tickets[ticket])]
    bank_id = next((bank.bank.id for bank in vector_owners(graph) if bank.key == key), None)
    try:
        if bank_id is None:
            raise BankNotFoundError(key)
        stored = graph.read(bank_id, VECTOR, written)
        undone = tuple(
            id for id in written if not np.array_equal(work.upsert.get(id, ()), stored.get(id, ()))
        )
        if undone:
            graph.apply(ChangeSet(bank_id, requeue=undone))
        return bool(undone)
    except BankNotFoundError:  # deleted meanwhile: its key is never used again
        index.drop(key)
        return False


def mend(graph: GraphStore, index: VectorIndex) -> int:
    """Queue vectors that the index lacks, and those it should not have; return their number.

    Processes that were killed while writing leave such differences. The vectors themselves are
    not looked up; see `examine`.
    """
    differences = compare(graph, index, lookups=0)
    _repair_all(differences, graph, index)
    return sum(difference.count for difference in differences)


def compare(graph: GraphStore, index: VectorIndex, *, lookups: int = LOOKUPS) -> list[Divergence]:
    """Return how the index differs from the graph; work that is queued is no difference.

    Others may write meanwhile. The graph is written before the index, so the index is read first:
    what it holds then was in the graph before. All that seems to differ is looked at again. The
    vectors to look up are shared out among the banks; with no `lookups`, ids only are compared.
    """
    keys = index.keys()
    banks = vector_owners(graph)
    if lookups:
        lookups = max(LOOKUPS_A_BANK, lookups // max(1, len(banks)))
    suspects = [each for bank in banks for each in _compare_bank(graph, index, bank, lookups)]
    strays = keys - {bank.key for bank in banks}
    suspects += [Divergence(DivergenceKind.STRAY, key) for key in sorted(strays)]
    return _confirmed(suspects, graph, index) if suspects else []


def examine(
    graph: GraphStore,
    index: VectorIndex,
    *,
    repair: bool,
    catch_up: Callable[[], object] | None = None,
) -> list[StoreFault]:
    """Return the faults of the graph and of the index against it, and whether each was repaired.

    `catch_up` does the work queued for the index, one caller at a time; by default it is `flush`,
    for a graph and an index that nobody else uses in this process.
    """
    faults = graph.check(repair=repair)
    faults += [
        StoreFault("banks", f"the import of {bank.importing!r} was not finished", 1, repaired=False)
        for bank in graph.list_banks(importing=True)
    ]
    if not repair:
        return faults + [_fault(difference, repaired=False) for difference in compare(graph, index)]
    catch_up = catch_up or partial(flush, graph, index)
    catch_up()
    differences = compare(graph, index)
    if not differences:
        return faults
    _repair_all(differences, graph, index)
    catch_up()
    remaining = compare(graph, index)
    return faults + [
        _fault(difference, repaired=not any(map(difference.overlaps, remaining)))
        for difference in differences
    ]


def vector_owners(graph: GraphStore) -> list[StoredBank]:
    """Return all banks that own vectors, also those that are being imported.

    These are read first: an import that ends meanwhile is then found twice, not missed.
    """
    banks = (*graph.list_banks(importing=True), *graph.list_banks())
    return list({bank.key: bank for bank in banks}.values())


def drop_all(index: VectorIndex) -> None:
    """Remove all vectors, for a graph that has used another index in the meantime."""
    for key in sorted(index.keys()):
        index.drop(key)


def banks_without_vectors(graph: GraphStore, index: VectorIndex) -> list[str]:
    """Return the ids of the banks of which the index has no vectors; it may be a new one."""
    known = index.keys()
    return [bank.bank.id for bank in vector_owners(graph) if bank.key not in known]


def requeue_banks(
    graph: GraphStore, bank_ids: Iterable[str], proceed: Callable[[], bool] = lambda: True
) -> int:
    """Queue the vectors of these banks, in pages while `proceed` returns True; return their number.

    Pages that are left out are found by `mend`.
    """
    queued = 0
    for bank_id in bank_ids:
        with suppress(BankNotFoundError):  # deleted meanwhile
            queued += _requeue(graph, bank_id, graph.scan(bank_id, MEMORY_ID), proceed)
    if queued:
        log.warning("the vector index lacks %d vectors; they are being written", queued)
    return queued


def requeue_all(graph: GraphStore, bank_id: str) -> int:
    """Queue all vectors of a bank for the index again, in pages; return their number."""
    return _requeue(graph, bank_id, graph.scan(bank_id, MEMORY_ID))


def _requeue(
    graph: GraphStore, bank_id: str, ids: Iterable[str], proceed: Callable[[], bool] = lambda: True
) -> int:
    """Queue vectors in pages: a server may refuse a transaction of all of a big bank."""
    waiting, queued = iter(ids), 0
    while proceed() and (page := tuple(islice(waiting, REQUEUED_AT_ONCE))):
        graph.apply(ChangeSet(bank_id, requeue=page))
        queued += len(page)
        log.info("%d vectors of bank %r are queued for the vector index", queued, bank_id)
    return queued


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
    """Return what seems to differ in a bank; nothing if it is deleted meanwhile."""
    held = index.ids(bank.key)
    try:
        stored = list(graph.scan(bank.bank.id, MEMORY_ID))
        present = [name for name in stored if name in held]
        # From the last backwards: an index that loses vectors loses the latest.
        sample = present[:: -max(1, len(present) // lookups)] if lookups else []
        unfound = _unfound(index, bank.key, graph.read(bank.bank.id, VECTOR, sample), 1)
    except BankNotFoundError:
        return []
    missing = [name for name in stored if name not in held]
    return _divergences(bank.key, bank.bank.id, missing, sorted(held.difference(stored)), unfound)


def _divergences(
    key: str, bank_id: str, missing: Sequence[str], orphan: Sequence[str], unfound: Sequence[str]
) -> list[Divergence]:
    kinds = (DivergenceKind.MISSING, DivergenceKind.ORPHAN, DivergenceKind.UNFOUND)
    found = zip(kinds, (missing, orphan, unfound), strict=True)
    return [Divergence(kind, key, bank_id, tuple(ids)) for kind, ids in found if ids]


def _confirmed(
    suspects: Iterable[Divergence], graph: GraphStore, index: VectorIndex
) -> list[Divergence]:
    """Return what of the suspects still differs, though no work is queued for it.

    Read in this order: the queue, the index, the graph. Of what is not queued all work is done, so
    the index holds its effect, and whatever is written after that shows in the graph.
    """
    queued = {(item.bank_key, item.memory_id) for item in graph.pending_vectors(NO_LIMIT)}
    dropped = {key for key, memory_id in queued if not memory_id}
    strays: list[Divergence] = []
    by_bank: dict[tuple[str, str], dict[DivergenceKind, list[str]]] = {}
    for suspect in suspects:
        key, bank_id = suspect.bank_key, suspect.bank_id
        if bank_id is None:
            strays.append(suspect)
        else:
            ids = [id for id in suspect.ids if (key, id) not in queued]
            by_bank.setdefault((key, bank_id), {})[suspect.kind] = ids
    differing: list[Divergence] = []
    for (key, bank_id), ids_of in by_bank.items():
        with suppress(BankNotFoundError):  # deleted meanwhile, and its vectors with it
            differing += _still(ids_of, key, bank_id, graph, index)
    keys = index.keys() if strays else set()
    owners = {bank.key: bank.bank.id for bank in vector_owners(graph)}
    differing = [each for each in differing if owners.get(each.bank_key) == each.bank_id]
    lost = (keys - dropped).difference(owners)
    return differing + [stray for stray in strays if stray.bank_key in lost]


def _still(
    ids_of: Mapping[DivergenceKind, Sequence[str]],
    key: str,
    bank_id: str,
    graph: GraphStore,
    index: VectorIndex,
) -> list[Divergence]:
    """Return what of the suspects of a bank differs now."""
    held = index.ids(key)
    stored = set(graph.scan(bank_id, MEMORY_ID))
    # A search for one neighbour may miss it among many that are nearly alike; a wide one does
    # not, unless the vector is out of the index's reach.
    unsure = graph.read(bank_id, VECTOR, ids_of.get(DivergenceKind.UNFOUND, ()))
    unfound = _unfound(index, key, unsure, WIDE)
    after = graph.read(bank_id, VECTOR, unfound)
    missing = ids_of.get(DivergenceKind.MISSING, ())
    orphan = ids_of.get(DivergenceKind.ORPHAN, ())
    return _divergences(
        key,
        bank_id,
        [id for id in missing if id in stored and id not in held],
        [id for id in orphan if id in held and id not in stored],
        [id for id in unfound if id in after and np.array_equal(after[id], unsure[id])],
    )


def _unfound(index: VectorIndex, key: str, vectors: Mapping[str, Vector], limit: int) -> list[str]:
    """Return the ids of the vectors that a search for `limit` neighbours of each does not find."""
    if not vectors:
        return []
    nearest = index.query_many(key, np.stack(list(vectors.values())), limit)
    found = zip(vectors, nearest, strict=True)
    return [id for id, hits in found if not hits or hits[0][1] < FOUND]


def _repair_all(differences: Iterable[Divergence], graph: GraphStore, index: VectorIndex) -> None:
    """Queue what repairs the differences, as long as the graph has any bank.

    A graph without banks may have been lost itself; then the index is the last trace of it.
    """
    for difference in differences:
        if vector_owners(graph):
            _repair(difference, graph, index)


def _repair(difference: Divergence, graph: GraphStore, index: VectorIndex) -> None:
    """Queue what repairs a difference; the key of a stray is never used again, so it may go."""
    try:
        match difference:
            case Divergence(kind=DivergenceKind.UNFOUND, bank_id=str(bank_id)):
                # Queued first, so that a process killed after the drop leaves it to the next; and
                # again after it, for what was done meanwhile.
                requeue_all(graph, bank_id)
                index.drop(difference.bank_key)
                requeue_all(graph, bank_id)
            case Divergence(bank_id=str(bank_id)):
                _requeue(graph, bank_id, difference.ids)
            case _:
                index.drop(difference.bank_key)
    except BankNotFoundError:  # deleted meanwhile, and its vectors with it
        log.info("bank %r was deleted before its vectors were repaired", difference.bank_id)


def _fault(difference: Divergence, *, repaired: bool) -> StoreFault:
    problem = str(difference)
    if difference.kind is DivergenceKind.STRAY and not repaired:
        problem += "; kept, since a graph without any bank may have lost its content"
    return StoreFault("vector index", problem, difference.count, repaired)
