"""Import: check a whole file first, then store all of it as a new bank, or nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

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
    contents,
    parts_of,
    read_lines,
    reading,
    stored_counts,
)
from hindsight_integrations.export_import.merging import Contents, Merge
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import Bank, Chunk, Document, Entity, Link, MentalModel
from hindsight_integrations.normalization import new_id
from hindsight_integrations.retain.reindex import reindex
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    EntityNames,
    GraphStore,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.stores.importing import UNFINISHED

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the number of lines done, and with that of all lines once it is known."""


@dataclass(frozen=True, slots=True)
class ImportResult(JsonForm):
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

    def __repr__(self) -> str:
        known = f", {self.known} of them known" if self.merged else ""
        return f"ImportResult({self.bank_id!r}: {contents(self.counts)}{known})"


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
        checked = _checked(file, report)
        bank = replace(
            checked.header.bank, id=validation.bank_id(bank_id or checked.header.bank.id)
        )
        is_merge = merge and runtime.graph.get_bank(bank.id) is not None
        if is_merge:
            known = _merge(runtime, checked, bank, report)
        else:
            known = 0
            _store_new(runtime, checked, bank, reembed, report)
    runtime.reflect_later(bank.id)
    return ImportResult(
        bank.id,
        checked.end.counts,
        reembedded=reembed and not is_merge,
        seconds=time.perf_counter() - started,
        merged=is_merge,
        known=known,
    )


@dataclass(frozen=True, slots=True)
class _CheckedFile:
    """An open file that was read once to its end, and found whole.

    Attributes:
        file: the file.
        header: its first line.
        end: its last line.
        contents: the parts that a merge has to know before it stores the first.
    """

    file: BankFile
    header: Header
    end: End
    contents: Contents

    @property
    def total(self) -> int:
        """Number of its parts."""
        return sum(self.end.counts.values())

    def parts(self, bank_id: str) -> Iterator[Part]:
        """Read the parts in order, for a bank of this id."""
        for value in read_lines(self.file, bank_id):
            if not isinstance(value, Header | End):
                yield value


def _checked(file: BankFile, report: Progress) -> _CheckedFile:
    """Read and check the whole file; nothing is stored."""
    contents = Contents()
    for number, value in enumerate(read_lines(file)):
        if isinstance(value, Header):
            header = value
        elif isinstance(value, End):
            end = value
        contents.note(value)
        if number % BATCH == 0:
            report(number, None)
    return _CheckedFile(file, header, end, contents)


def _merge(runtime: Runtime, checked: _CheckedFile, bank: Bank, report: Progress) -> int:
    """Add a file to the stored bank of its id; return how many memories that had already."""
    embedder, total = checked.header.embedder, checked.total
    with runtime.lock(runtime.bank(bank.id).key):
        stored = runtime.bank(bank.id)
        if embedder != stored.embedder:
            raise EmbedderMismatchError(
                f"the vectors in {checked.file.name} come from {embedder.id!r}, but those of "
                f"bank {bank.id!r} come from {stored.embedder.id!r}; import the file under "
                "another id with reembed=True (--reembed), export that bank, and merge its file"
            )
        merge = Merge(runtime, stored, checked.contents)
        merge.check_documents()
        merge.keep_apart(bank)
        merge.add(checked.parts(bank.id), lambda done: report(done, total))
    return merge.known


def _check_free(runtime: Runtime, bank_id: str) -> None:
    validation.new_bank_id(bank_id)
    if runtime.graph.get_bank(bank_id) is not None:
        raise BankExistsError(
            f"bank {bank_id!r} exists already; delete it first, import under another id "
            "(bank_id=..., --bank), or add the file to it with merge=True (--merge)"
        )


def _store_new(
    runtime: Runtime, checked: _CheckedFile, bank: Bank, reembed: bool, report: Progress
) -> None:
    """Fill a hidden bank under an id of its own, and give it the final id when it is complete."""
    _check_free(runtime, bank.id)
    _check_embedder(checked, runtime.embedder_identity, reembed)
    with runtime.lock(_lock_of(bank.id)):
        remove_unfinished(runtime, bank.id)  # left by an import that was killed
        hidden = replace(bank, id=new_id(UNFINISHED))
        stored = runtime.graph.create_bank(hidden, checked.header.embedder, importing=bank.id)
        try:
            _store_parts(runtime, checked, stored, reembed, report)
            runtime.graph.update_bank(hidden.id, bank)
        except BaseException:
            remove_unfinished(runtime, bank.id)
            raise


def _check_embedder(checked: _CheckedFile, own: EmbedderIdentity, reembed: bool) -> None:
    given = checked.header.embedder
    if given != own and not reembed:
        raise EmbedderMismatchError(
            f"the vectors in {checked.file.name} come from {given.id!r} "
            f"({given.dimension} dimensions), but this client embeds with "
            f"{own.id!r} ({own.dimension}); open the memory with that "
            "embedder, or import with reembed=True (--reembed) to compute new ones"
        )


def _store_parts(
    runtime: Runtime, checked: _CheckedFile, stored: StoredBank, reembed: bool, report: Progress
) -> None:
    bank_id, parts = stored.bank.id, checked.total
    total = parts + (checked.end.counts.get("memory", 0) if reembed else 0)

    def added(done: int, memories: int) -> None:
        if memories and not reembed:
            runtime.flush(stored.key)
        report(done, total)

    _fill(runtime.graph, stored, checked, added)
    if reembed:
        reindex(
            runtime.retaining,
            bank_id,
            runtime.embedder_identity,
            lambda made, _: report(parts + made, total),
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
        checked = _checked(file, lambda done, total: None)
        stored = graph.create_bank(checked.header.bank, checked.header.embedder)
        _fill(graph, stored, checked, lambda done, memories: None)


def _fill(
    graph: GraphStore,
    stored: StoredBank,
    checked: _CheckedFile,
    added: Callable[[int, int], object],
) -> None:
    """Store the parts of a file in an empty bank.

    Args:
        graph: the store.
        stored: the bank.
        checked: the file.
        added: called after each batch with the number of parts so far, and of memories in it.

    Raises:
        StoreError: the file contradicts itself.
    """
    bank_id, done = stored.bank.id, 0
    for batch in batches(checked.parts(bank_id)):
        records = parts_of(batch, MemoryRecord)
        graph.apply(
            ChangeSet(
                bank_id,
                documents=parts_of(batch, Document),
                chunks=parts_of(batch, Chunk),
                entities=parts_of(batch, Entity),
                memories=records,
                sources=tuple(
                    (e.memory_id, s) for e in parts_of(batch, Evidence) for s in e.sources
                ),
                links=parts_of(batch, Link),
                history=parts_of(batch, Change),
                mental_models=parts_of(batch, MentalModel),
                mark_consolidated=tuple(record.memory.id for record in records),
                mark_pending=tuple(waiting.memory_id for waiting in parts_of(batch, Waiting)),
                entity_edits=parts_of(batch, EntityNames),
                audit=parts_of(batch, AuditEntry),
            )
        )
        done += len(batch)
        added(done, len(records))
    for name, count in stored_counts(graph.bank_stats(bank_id)).items():
        if count != (expected := checked.end.counts.get(name, 0)):
            raise StoreError(
                f"the store holds {count} of {expected} {name} records, so the file contradicts "
                "itself. Nothing was imported; export the bank again"
            )
