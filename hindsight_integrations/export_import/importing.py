"""Import: check a whole file first, then store all of it as a new bank, or nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from hindsight_integrations import validation
from hindsight_integrations.errors import BankExistsError, EmbedderMismatchError, StoreError
from hindsight_integrations.export_import.bank_file import (
    BATCH,
    BankFile,
    End,
    Evidence,
    Header,
    Part,
    Waiting,
    batches,
    read_lines,
    reading,
    stored_counts,
)
from hindsight_integrations.export_import.merging import Contents, Merge
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import Bank, Chunk, Document, Entity, Link, MentalModel
from hindsight_integrations.normalization import new_id
from hindsight_integrations.retain.reindex import reindex
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    ChangeSet,
    EntityNames,
    GraphStore,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.common import UNFINISHED

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of lines done, and with that of all lines once it is known."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Outcome of an import.

    Attributes:
        bank_id: the bank.
        counts: number of lines of each kind.
        reembedded: True if the vectors were computed again.
        seconds: duration.
        merged: True if there was a bank of that id, and the file was added to it.
        known: number of the file's memories that the bank had already.
    """

    bank_id: str
    counts: Mapping[str, int] = field(hash=False)
    reembedded: bool
    seconds: float
    merged: bool = False
    known: int = 0


def import_bank(
    runtime: Runtime,
    path: str | os.PathLike[str],
    bank_id: str | None = None,
    *,
    reembed: bool = False,
    merge: bool = False,
    progress: Progress | None = None,
) -> ImportResult:
    """Store a file as a new bank, or add it to one; see `Banks.import_`."""
    started = time.perf_counter()
    runtime.check_open()
    report = progress or (lambda done, total: None)
    if bank_id is not None and not merge:
        _check_free(runtime, validation.bank_id(bank_id))
    with reading(path) as file:
        contents = Contents()
        header, end = _verified(file, contents, report)
        bank = replace(header.bank, id=validation.bank_id(bank_id or header.bank.id))
        if merge and runtime.graph.get_bank(bank.id) is not None:
            return _merged(runtime, file, header, bank, contents, end, report, started)
        _check_free(runtime, bank.id)
        used = runtime.embedder_identity
        if header.embedder != used and not reembed:
            raise EmbedderMismatchError(
                f"the vectors in {file.name} come from {header.embedder.id!r} "
                f"({header.embedder.dimension} dimensions), but this client embeds with "
                f"{used.id!r} ({used.dimension}); open the memory with that "
                "embedder, or import with reembed=True (--reembed) to compute new ones"
            )
        _store(runtime, file, header, bank, end, reembed, report)
    runtime.reflect_later(bank.id)
    return ImportResult(bank.id, end.counts, reembed, time.perf_counter() - started)


def _merged(
    runtime: Runtime,
    file: BankFile,
    header: Header,
    bank: Bank,
    contents: Contents,
    end: End,
    report: Progress,
    started: float,
) -> ImportResult:
    """Add a file to the bank that has its id."""
    total = sum(end.counts.values())
    with runtime.lock(runtime.bank(bank.id).key):
        stored = runtime.bank(bank.id)
        if header.embedder != stored.embedder:
            raise EmbedderMismatchError(
                f"the vectors in {file.name} come from {header.embedder.id!r}, but those of "
                f"bank {bank.id!r} come from {stored.embedder.id!r}; import the file under "
                "another id with reembed=True (--reembed), export that bank, and merge its file"
            )
        merge = Merge(runtime, stored, contents)
        merge.check(contents.documents)
        merge.keep_apart(bank)
        merge.add(_read_parts(file, bank.id), lambda done: report(done, total))
    runtime.reflect_later(bank.id)
    seconds = time.perf_counter() - started
    return ImportResult(bank.id, end.counts, False, seconds, merged=True, known=merge.known)


def _verified(file: BankFile, contents: Contents, report: Progress) -> tuple[Header, End]:
    """Read and check the whole file, and store nothing."""
    for number, value in enumerate(read_lines(file)):
        if isinstance(value, Header):
            header = value
        elif isinstance(value, End):
            end = value
        contents.note(value)
        if number % BATCH == 0:
            report(number, None)
    return header, end


def _check_free(runtime: Runtime, bank_id: str) -> None:
    if runtime.graph.get_bank(bank_id) is not None:
        raise BankExistsError(
            f"bank {bank_id!r} exists already; delete it first, import under another id "
            "(bank_id=..., --bank), or add the file to it with merge=True (--merge)"
        )


def _store(
    runtime: Runtime,
    file: BankFile,
    header: Header,
    bank: Bank,
    end: End,
    reembed: bool,
    report: Progress,
) -> None:
    """Fill a hidden bank under an id of its own, and give it the final id when it is complete."""
    with runtime.lock(_lock_of(bank.id)):
        remove_unfinished(runtime, bank.id)  # left by an import that was killed
        hidden = replace(bank, id=new_id(UNFINISHED))
        stored = runtime.graph.create_bank(hidden, header.embedder, importing=bank.id)
        try:
            _store_parts(runtime, file, stored, end, reembed, report)
            runtime.graph.update_bank(hidden.id, bank)
        except BaseException:
            remove_unfinished(runtime, bank.id)
            raise


def _store_parts(
    runtime: Runtime,
    file: BankFile,
    stored: StoredBank,
    end: End,
    reembed: bool,
    report: Progress,
) -> None:
    lines, bank_id = sum(end.counts.values()), stored.bank.id
    total = lines + (end.counts.get("memory", 0) if reembed else 0)

    def added(done: int, memories: int) -> None:
        if memories and not reembed:
            runtime.flush(stored.key)
        report(done, total)

    fill(runtime.graph, stored, _read_parts(file, bank_id), end, added)
    if reembed:
        reindex(
            runtime.retaining,
            bank_id,
            runtime.embedder_identity,
            lambda made, _: report(lines + made, total),
        )


def remove_unfinished(runtime: Runtime, bank_id: str) -> int:
    """Delete what unfinished imports of this bank stored; return how many there were."""
    with runtime.lock(_lock_of(bank_id)):
        left = [b for b in runtime.graph.list_banks(importing=True) if b.importing == bank_id]
        for stored in left:
            runtime.delete_bank(stored)
    return len(left)


def _lock_of(bank_id: str) -> str:
    return f"import of {bank_id}"


def copy_bank(graph: GraphStore, path: str | os.PathLike[str]) -> None:
    """Store a file as a bank of a graph that nobody else uses, whatever its embedder."""
    with reading(path) as file:
        header, end = _verified(file, Contents(), lambda done, total: None)
        stored = graph.create_bank(header.bank, header.embedder)
        fill(graph, stored, _read_parts(file, header.bank.id), end, lambda done, memories: None)


def fill(
    graph: GraphStore,
    stored: StoredBank,
    parts: Iterable[Part],
    end: End,
    added: Callable[[int, int], object],
) -> None:
    """Store the parts of a file in an empty bank.

    Args:
        graph: the store.
        stored: the bank.
        parts: the file's.
        end: the file's last line.
        added: called after each batch with the number of parts so far, and of memories in it.

    Raises:
        StoreError: the file contradicts itself.
    """
    bank_id, done = stored.bank.id, 0
    for batch in batches(parts):
        records = _of(batch, MemoryRecord)
        graph.apply(
            ChangeSet(
                bank_id,
                documents=_of(batch, Document),
                chunks=_of(batch, Chunk),
                entities=_of(batch, Entity),
                memories=records,
                sources=tuple((e.memory_id, s) for e in _of(batch, Evidence) for s in e.sources),
                links=_of(batch, Link),
                history=_of(batch, Change),
                mental_models=_of(batch, MentalModel),
                mark_consolidated=tuple(record.memory.id for record in records),
                mark_pending=tuple(waiting.memory_id for waiting in _of(batch, Waiting)),
                entity_edits=_of(batch, EntityNames),
                audit=_of(batch, AuditEntry),
            )
        )
        done += len(batch)
        added(done, len(records))
    for name, kept in stored_counts(graph.bank_stats(bank_id)).items():
        if kept != (count := end.counts.get(name, 0)):
            raise StoreError(
                f"the store kept {kept} of {count} {name} records, so the file contradicts "
                "itself. Nothing was imported; export the bank again"
            )


def _read_parts(file: BankFile, bank_id: str) -> Iterator[Part]:
    for value in read_lines(file, bank_id):
        if not isinstance(value, Header | End):
            yield value


def _of(batch: Sequence[object], kind: type[T]) -> tuple[T, ...]:
    return tuple(part for part in batch if isinstance(part, kind))
