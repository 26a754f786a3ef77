"""Writing a bank into a file, part by part, through what any graph store offers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hindsight_integrations import checks
from hindsight_integrations._version import __version__
from hindsight_integrations.core import Core
from hindsight_integrations.errors import StoreError
from hindsight_integrations.model import Entity, Link
from hindsight_integrations.moving.files import writing
from hindsight_integrations.moving.format import Writer
from hindsight_integrations.moving.parts import (
    BATCH,
    SCHEMA,
    Evidence,
    Header,
    Part,
    Waiting,
    batches,
    stored_counts,
)
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import (
    MemoryFilter,
    StoredBank,
)
from hindsight_integrations.storage.values import is_conclusion

_EVERYTHING = MemoryFilter(now=datetime.min.replace(tzinfo=UTC), include_invalid=True)
"""At that moment nothing has expired yet."""

_ALL = 1 << 31
"""More memories than a bank has, and more links than a memory."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was written.

    Attributes:
        path: the file.
        counts: how many lines of each kind.
        sha256: checksum of the content, as it stands in the last line.
        seconds: how long it took.
    """

    bank_id: str
    path: str
    counts: Mapping[str, int]
    sha256: str
    seconds: float


def export_bank(
    core: Core,
    bank_id: str,
    path: str | os.PathLike[str],
    progress: Callable[[int, int | None], None] | None = None,
) -> ExportResult:
    """Write a bank into a file; see `Banks.export`."""
    started = time.perf_counter()
    key = core.stored_bank(checks.bank_id(bank_id)).key
    with core.lock(key), writing(path) as out:
        stored = core.stored_bank(bank_id)
        writer = Writer(out, Header(SCHEMA, __version__, stored.embedder, stored.bank))
        expected = stored_counts(core.graph.bank_stats(bank_id))
        for batch in batches(_parts(core.graph, bank_id)):
            for part in batch:
                writer.add(part)
            if progress is not None:
                progress(sum(writer.counts[name] for name in expected), sum(expected.values()))
        _check_complete(bank_id, expected, writer.counts)
        _check_unchanged(stored, core.stored_bank(bank_id))
        end = writer.end()
    return ExportResult(
        bank_id, os.fspath(path), end.counts, end.sha256, time.perf_counter() - started
    )


def _parts(graph: GraphStore, bank_id: str) -> Iterator[Part]:
    yield from graph.documents(bank_id)
    yield from graph.chunks(bank_id)
    yield from _entities(graph, bank_id)
    yield from graph.edited_entities(bank_id)
    conclusions: list[str] = []
    for ids in batches(graph.memory_ids(bank_id)):
        for record in graph.get_records(bank_id, ids).values():
            if is_conclusion(record.memory):
                conclusions.append(record.memory.id)
                record = replace(record, memory=replace(record.memory, sources=()))
            yield record
    for ids in batches(conclusions):
        for memory in graph.get_memories(bank_id, ids).values():
            yield Evidence(memory.id, memory.sources)
    yield from map(Waiting, graph.unreflected(bank_id, _ALL))
    for ids in batches(graph.memory_ids(bank_id)):
        yield from _links_from(graph, bank_id, ids)
    yield from graph.changes(bank_id)
    yield from graph.mental_models(bank_id)


def _entities(graph: GraphStore, bank_id: str) -> Iterator[Entity]:
    cursor: str | None = None
    while True:
        page = graph.list_entities(bank_id, limit=BATCH, cursor=cursor)
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _links_from(graph: GraphStore, bank_id: str, ids: list[str]) -> list[Link]:
    place = {memory_id: number for number, memory_id in enumerate(ids)}
    links = graph.links(bank_id, ids, _ALL, _EVERYTHING)
    return sorted(
        (link for link in links if link.source_id in place),
        key=lambda link: (place[link.source_id], link.kind, link.target_id),
    )


def _check_unchanged(before: StoredBank, after: StoredBank) -> None:
    if (before.key, before.edition) != (after.key, after.edition):
        raise StoreError(
            f"memories of bank {before.bank.id!r} were changed by another process while they were "
            "written out; export it again"
        )


def _check_complete(bank_id: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
    for name, count in expected.items():
        if found[name] != count:
            raise StoreError(
                f"{found[name]} of {count} {name} records of bank {bank_id!r} could be read: "
                "another process wrote to it meanwhile, or the store lost some; export it again, "
                "or run the doctor"
            )
