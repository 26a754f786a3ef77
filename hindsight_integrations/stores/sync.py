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
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from hindsight_integrations.errors import (
    BankNotFoundError,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.models import utc_now
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
from hindsight_integrations.stores.chroma.files import holds_index, was_used
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.chroma.probe import is_sound
from hindsight_integrations.stores.folder import Folder

log = logging.getLogger("hindsight_integrations")

ROOM = 16 << 20
"""Bytes that must be free to make an index again, besides the size of the damaged one."""

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
        parts = (
            f"{self.upserted} vectors written",
            f"{self.deleted} removed",
            f"{self.dropped} spaces dropped",
        )
        return ", ".join(parts)


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

    Args:
        graph: the store with the queue.
        index: the index to bring up to date.
        bank_key: the bank whose work is done; None for all.
        batch: entries read from the queue at a time.
        proceed: asked before each further reading; if it returns False, the rest stays queued.

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

    Args:
        graph: the store with the queue.
        index: the index that was written.
        key: the bank's.
        work: what was written.
        overtaken: tickets of it that were no longer queued when it was done.
    """
    written = [id for ticket in overtaken if (id := work.tickets[ticket])]
    bank_id = next((bank.bank.id for bank in _banks(graph) if bank.key == key), None)
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
    """Queue what the index lacks, or has and should not; return the number of vectors.

    Processes that ended while they wrote may have left such. The vectors themselves are not
    looked up; see `examine`.
    """
    differences = compare(graph, index, lookups=0)
    if differences and _banks(graph):
        for difference in differences:
            _repair(difference, graph, index)
    return sum(difference.count for difference in differences)


def compare(graph: GraphStore, index: VectorIndex, *, lookups: int = LOOKUPS) -> list[Divergence]:
    """Return how the index differs from the graph; work that is queued is no difference.

    Others may write meanwhile. The graph is written before the index, so the index is read first:
    what it holds then was in the graph before. All that seems to differ is looked at again.

    Args:
        graph: the source of truth.
        index: the index derived from it.
        lookups: vectors to look up in the index, shared out among the banks; 0 for ids only.
    """
    keys = index.keys()
    banks = _banks(graph)
    if lookups:
        lookups = max(LOOKUPS_A_BANK, lookups // max(1, len(banks)))
    suspected = [each for bank in banks for each in _compare_bank(graph, index, bank, lookups)]
    strays = keys - {bank.key for bank in banks}
    suspected += [Divergence(DivergenceKind.STRAY, key) for key in sorted(strays)]
    return _confirmed(suspected, graph, index) if suspected else []


def examine(
    graph: GraphStore,
    index: VectorIndex,
    *,
    repair: bool,
    catch_up: Callable[[], object] | None = None,
) -> list[StoreFault]:
    """Return the faults of the graph and of the index against it, and whether each was repaired.

    Args:
        graph: the source of truth.
        index: the index derived from it.
        repair: False to look only.
        catch_up: does the work queued for the index, one caller at a time; by default `flush`,
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
    for difference in differences:
        if _banks(graph):
            _repair(difference, graph, index)
    catch_up()
    left = compare(graph, index)
    return faults + [
        _fault(one, repaired=not any(one.overlaps(other) for other in left)) for one in differences
    ]


def empty(index: VectorIndex) -> None:
    """Remove all vectors: what they were when the graph last used the index is no longer so."""
    for key in sorted(index.keys()):
        index.drop(key)


def lacking(graph: GraphStore, index: VectorIndex, *, at_all: bool = False) -> list[str]:
    """Return the ids of all banks of which the index has no vectors; with `at_all`, of all banks.

    The index may be new, or have lost its disk.
    """
    held = set() if at_all else index.keys()
    return [bank.bank.id for bank in _banks(graph) if bank.key not in held]


def fill(
    graph: GraphStore, bank_ids: Iterable[str], proceed: Callable[[], bool] = lambda: True
) -> int:
    """Queue the vectors of these banks, a page as long as `proceed` says so; return their number.

    What is left out, `mend` finds.
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
    graph: GraphStore,
    bank_id: str,
    ids: Iterable[str],
    proceed: Callable[[], bool] = lambda: True,
) -> int:
    """Queue vectors in pages: a server may refuse a transaction of all of a big bank."""
    waiting, queued = iter(ids), 0
    while proceed() and (page := tuple(islice(waiting, REQUEUED_AT_ONCE))):
        graph.apply(ChangeSet(bank_id, requeue=page))
        queued += len(page)
        log.info("%d vectors of bank %r are queued for the vector index", queued, bank_id)
    return queued


def open_index(folder: Folder, graph: GraphStore) -> ChromaVectors:
    """Open the folder's vector index, an empty one if it is missing or damaged.

    For an empty one, all vectors of the graph are queued, to be written by the next `flush`.
    Damaged files are renamed to `chroma.damaged-<time>`, until the new index is found sound.

    Raises:
        StoreCorruptError: the index has vectors, and the graph has none of their banks.
        StoreUnavailableError: the folder cannot be read or written, or its disk has no room for
            an index to be made again.
    """
    path = folder.vectors_path
    if is_sound(path):
        try:
            index = ChromaVectors.in_folder(path)
        except StoreCorruptError as error:
            log.warning("%s", error)
        else:
            try:
                _check_same_memory(folder, graph, index)
                _remove_put_aside(path, graph)
            except BaseException:
                index.close()
                raise
            return index
    _check_room(path)
    queued = sum(requeue_all(graph, bank.bank.id) for bank in _banks(graph))
    if path.exists():
        _put_aside(path)
    if queued:
        log.warning("the vector index is being rebuilt from the graph: %d vectors", queued)
    return ChromaVectors.in_folder(path)


def _banks(graph: GraphStore) -> list[StoredBank]:
    """Return all banks that own vectors, also those that are being imported.

    These are read first: an import that ends meanwhile is then found twice, not missed.
    """
    found = (*graph.list_banks(importing=True), *graph.list_banks())
    return list({bank.key: bank for bank in found}.values())


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
    return _divergences(
        bank.key,
        bank.bank.id,
        missing=[name for name in stored if name not in held],
        orphan=sorted(held.difference(stored)),
        unfound=unfound,
    )


def _divergences(
    key: str,
    bank_id: str,
    *,
    missing: Sequence[str],
    orphan: Sequence[str],
    unfound: Sequence[str],
) -> list[Divergence]:
    kinds = (
        (DivergenceKind.MISSING, missing),
        (DivergenceKind.ORPHAN, orphan),
        (DivergenceKind.UNFOUND, unfound),
    )
    return [Divergence(kind, key, bank_id, tuple(ids)) for kind, ids in kinds if ids]


def _confirmed(
    suspected: Iterable[Divergence], graph: GraphStore, index: VectorIndex
) -> list[Divergence]:
    """Return what of the suspected still differs, though no work is queued for it.

    Read in this order: the queue, the index, the graph. Of what is not queued all work is done, so
    the index holds its effect, and whatever is written after that shows in the graph.
    """
    queued = {(item.bank_key, item.memory_id) for item in graph.pending_vectors(NO_LIMIT)}
    dropped = {key for key, memory_id in queued if not memory_id}
    found: list[Divergence] = []
    strays: list[Divergence] = []
    by_bank: dict[tuple[str, str], dict[DivergenceKind, list[str]]] = {}
    for one in suspected:
        if one.bank_id is None:
            strays.append(one)
        else:
            ids = [id for id in one.ids if (one.bank_key, id) not in queued]
            by_bank.setdefault((one.bank_key, one.bank_id), {})[one.kind] = ids
    for (key, bank_id), ids_of in by_bank.items():
        try:
            found += _still(ids_of, key, bank_id, graph, index)
        except BankNotFoundError:  # deleted meanwhile, and its vectors with it
            continue
    keys = index.keys() if strays else set()
    banks = {bank.key: bank.bank.id for bank in _banks(graph)}
    found = [one for one in found if banks.get(one.bank_key) == one.bank_id]
    lost = (keys - dropped).difference(banks)
    return found + [one for one in strays if one.bank_key in lost]


def _still(
    ids_of: Mapping[DivergenceKind, Sequence[str]],
    key: str,
    bank_id: str,
    graph: GraphStore,
    index: VectorIndex,
) -> list[Divergence]:
    """Return what of the suspected memories of a bank differs now."""
    held = index.ids(key)
    stored = set(graph.scan(bank_id, MEMORY_ID))
    # A search for one neighbour may miss it among many that are nearly alike; a wide one does
    # not, unless the vector is out of the index's reach.
    unsure = graph.read(bank_id, VECTOR, ids_of.get(DivergenceKind.UNFOUND, ()))
    unfound = _unfound(index, key, unsure, WIDE)
    after = graph.read(bank_id, VECTOR, unfound)
    return _divergences(
        key,
        bank_id,
        missing=[
            id for id in ids_of.get(DivergenceKind.MISSING, ()) if id in stored and id not in held
        ],
        orphan=[
            id for id in ids_of.get(DivergenceKind.ORPHAN, ()) if id in held and id not in stored
        ],
        unfound=[id for id in unfound if id in after and np.array_equal(after[id], unsure[id])],
    )


def _unfound(index: VectorIndex, key: str, vectors: Mapping[str, Vector], limit: int) -> list[str]:
    """Return the ids of the vectors that a search for `limit` neighbours of each does not find."""
    if not vectors:
        return []
    nearest = index.query_many(key, np.stack(list(vectors.values())), limit)
    return [
        memory_id
        for memory_id, hits in zip(vectors, nearest, strict=True)
        if not hits or hits[0][1] < FOUND
    ]


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
        problem += "; kept because the graph has no bank at all, so its content may be lost"
    return StoreFault("vector index", problem, difference.count, repaired)


def check_graph_file(folder: Folder) -> None:
    """Check that the graph's file is not missing or empty beside what is left of a memory.

    That is an index that was used, or a write-ahead log: SQLite would delete the log of a file
    that is empty. To be called before SQLite opens the file.

    Raises:
        StoreCorruptError: it is.
    """
    path, log_path = folder.graph_path, folder.log_paths[0]
    # The log first: another process that makes the memory writes the file before its log.
    has_log = _is_filled(log_path)
    if _is_filled(path):
        return
    state = "empty" if path.exists() else "missing"
    if has_log:
        raise StoreCorruptError(
            f"the folder {str(folder.path)!r} has {log_path.name}, a part of a memory, but its "
            f"file {path.name} is {state}: the memories themselves are missing. Put that file "
            "back beside it if it was moved; else restore a backup into another folder "
            "(hindsight-memory restore), or import an export; to start with an empty memory, "
            f"delete {str(log_path)!r} and {str(folder.vectors_path)!r} first, or open another "
            "folder"
        )
    if was_used(folder.vectors_path):
        raise StoreCorruptError(_lost_graph(folder, f"its file {path.name} is {state}"))


def _is_filled(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _check_same_memory(folder: Folder, graph: GraphStore, index: VectorIndex) -> None:
    """Check that a graph without any bank is not opened beside the index of another."""
    if not _banks(graph) and not graph.pending_vectors(1) and index.keys():
        raise StoreCorruptError(_lost_graph(folder, f"its file {folder.GRAPH} contains no bank"))


def _lost_graph(folder: Folder, state: str) -> str:
    return (
        f"the folder {str(folder.path)!r} has the vector index of a memory, but {state}: the "
        "memories themselves are missing. Restore a backup into another folder (hindsight-memory "
        "restore), or import an export; to start with an empty memory, delete "
        f"{str(folder.vectors_path)!r} first, or open another folder"
    )


def _check_room(path: Path) -> None:
    """Check that the disk has room to make the index again; else it was perhaps never damaged."""
    if not holds_index(path):
        return
    needed = ROOM + sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    free = shutil.disk_usage(path).free
    if free < needed:
        raise StoreUnavailableError(
            f"the vector index {str(path)!r} cannot be loaded, and rebuilding it needs "
            f"{needed / 1e6:.0f} MB, but only {free / 1e6:.0f} MB are free on its disk; "
            "free some space. Nothing was changed"
        )


def _remove_put_aside(path: Path, graph: GraphStore) -> None:
    """Delete damaged indexes that were put aside, once all of the graph is in the new one."""
    aside = sorted(path.parent.glob(f"{path.name}.damaged-*"))
    if aside and not graph.pending_vectors(1):
        for each in aside:
            shutil.rmtree(each, ignore_errors=True)
        log.info("%d damaged vector indexes were deleted; the new one is sound", len(aside))


def _put_aside(path: Path) -> None:
    aside = path.with_name(f"{path.name}.damaged-{utc_now():%Y%m%dT%H%M%S%f}")
    try:
        path.rename(aside)
    except OSError as error:
        raise StoreUnavailableError(
            f"the damaged vector index {str(path)!r} cannot be renamed: {error}; delete it, "
            "and it is rebuilt from the graph"
        ) from error
    log.warning("the damaged vector index was moved to %s until the new one is sound", aside)
