"""Reading a bank from a file: all of it is checked first, then all of it is stored, or nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hindsight_integrations import checks
from hindsight_integrations.core import Core
from hindsight_integrations.errors import BankExistsError, EmbedderMismatchError, StoreError
from hindsight_integrations.model import (
    Bank,
    Change,
    Chunk,
    Document,
    Entity,
    Link,
    MentalModel,
)
from hindsight_integrations.moving.files import BankFile, reading
from hindsight_integrations.moving.format import read
from hindsight_integrations.moving.parts import (
    BATCH,
    End,
    Evidence,
    Header,
    Part,
    Waiting,
    batches,
    stored_counts,
)
from hindsight_integrations.naming import UNFINISHED
from hindsight_integrations.retain.reindex import reindex
from hindsight_integrations.storage.requests import (
    ChangeSet,
    EntityNames,
    MemoryRecord,
)

T = TypeVar("T")
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What was read.

    Attributes:
        counts: how many lines of each kind.
        reembedded: whether the vectors were made anew.
        seconds: how long it took.
    """

    bank_id: str
    counts: Mapping[str, int]
    reembedded: bool
    seconds: float


def import_bank(
    core: Core,
    path: str | os.PathLike[str],
    bank_id: str | None = None,
    *,
    reembed: bool = False,
    progress: Progress | None = None,
) -> ImportResult:
    """Make a bank of a file; see `Banks.import_`."""
    started = time.perf_counter()
    core.check_open()
    report = progress or (lambda done, total: None)
    if bank_id is not None:
        _check_free(core, checks.bank_id(bank_id))
    with reading(path) as file:
        header, end = _verified(file, report)
        bank = replace(header.bank, id=bank_id or checks.bank_id(header.bank.id))
        _check_free(core, bank.id)
        if header.embedder != core.stamp and not reembed:
            raise EmbedderMismatchError(
                f"the vectors in {file.name} come from {header.embedder.id!r} "
                f"({header.embedder.dimension} dimensions), and this engine embeds with "
                f"{core.stamp.id!r} ({core.stamp.dimension}); open the memory with that embedder, "
                "or import with reembed=True (--reembed) to make them anew"
            )
        _store(core, file, header, bank, end, reembed, report)
    core.reflect_later(bank.id)
    return ImportResult(bank.id, end.counts, reembed, time.perf_counter() - started)


def _verified(file: BankFile, report: Progress) -> tuple[Header, End]:
    """Go through the whole file, and store nothing."""
    for number, value in enumerate(read(file)):
        if isinstance(value, Header):
            header = value
        elif isinstance(value, End):
            end = value
        if number % BATCH == 0:
            report(number, None)
    return header, end


def _check_free(core: Core, bank_id: str) -> None:
    if core.graph.get_bank(bank_id) is not None:
        raise BankExistsError(
            f"bank {bank_id!r} exists already; delete it first, or import under another id "
            "(bank_id=..., --bank)"
        )


def _store(
    core: Core,
    file: BankFile,
    header: Header,
    bank: Bank,
    end: End,
    reembed: bool,
    report: Progress,
) -> None:
    """Fill a bank of another id, which gets its own when all of it is there."""
    unfinished = f"{bank.id} {UNFINISHED}"
    with core.lock(unfinished):
        _remove(core, unfinished)  # left by an import that was killed
        core.graph.create_bank(replace(bank, id=unfinished), header.embedder)
        try:
            _fill(core, unfinished, _parts(file, unfinished), header, end, reembed, report)
            core.graph.rename_bank(unfinished, bank.id)
        except BaseException:
            _remove(core, unfinished)
            raise


def _fill(
    core: Core,
    bank_id: str,
    parts: Iterable[Part],
    header: Header,
    end: End,
    reembed: bool,
    report: Progress,
) -> None:
    done, total = 0, sum(end.counts.values())
    if reembed:
        total += end.counts.get("memory", 0)
    for batch in batches(parts):
        records = _of(batch, MemoryRecord)
        core.graph.apply(
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
                reflected=tuple(r.memory.id for r in records) if header.schema > 1 else (),
                unreflected=tuple(each.memory_id for each in _of(batch, Waiting)),
            )
        )
        for names in _of(batch, EntityNames):
            core.graph.edit_entity(bank_id, names)
        if records and not reembed:
            core.flush()
        done += len(batch)
        report(done, total)
    stored = stored_counts(core.graph.bank_stats(bank_id))
    for name, kept in stored.items():
        if kept != (count := end.counts.get(name, 0)):
            raise StoreError(
                f"the store kept {kept} of {count} {name} records: the file contradicts itself. "
                "Nothing was imported; export the bank anew"
            )
    if reembed:
        reindex(core.retaining, bank_id, core.stamp, lambda at, _: report(done + at, total))


def _parts(file: BankFile, bank_id: str) -> Iterator[Part]:
    for value in read(file, bank_id):
        if not isinstance(value, Header | End):
            yield value


def _of(batch: Sequence[object], kind: type[T]) -> tuple[T, ...]:
    return tuple(part for part in batch if isinstance(part, kind))


def _remove(core: Core, bank_id: str) -> None:
    if core.graph.get_bank(bank_id) is not None:
        core.delete_bank(bank_id)
