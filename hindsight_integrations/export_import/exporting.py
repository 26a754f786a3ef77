"""Export: write a bank into a file, part by part, through the port of the graph store."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from hindsight_integrations._version import __version__
from hindsight_integrations.errors import StoreError
from hindsight_integrations.export_import.atomic_file import writing
from hindsight_integrations.export_import.bank_file import (
    BATCH,
    SCHEMA,
    BankWriter,
    Evidence,
    Header,
    Part,
    Waiting,
    batches,
    contents,
    stored_counts,
)
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import Link, every_item, is_conclusion
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    AUDIT,
    CHANGE,
    CHUNK,
    DOCUMENT,
    EDITED_NAMES,
    EVERYTHING,
    MEMORY,
    MEMORY_ID,
    MENTAL_MODEL,
    NO_LIMIT,
    RECORD,
    GraphStore,
    StoredBank,
)
from hindsight_integrations.stores.integrity import decoding_errors


@dataclass(frozen=True, slots=True)
class ExportResult(JsonForm):
    """Outcome of an export.

    Attributes:
        bank_id: the exported bank.
        path: the file.
        counts: number of lines of each kind.
        sha256: checksum of the content, as in the last line.
        seconds: duration.
    """

    bank_id: str
    path: str
    counts: Mapping[str, int] = field(hash=False)
    sha256: str
    seconds: float

    def __repr__(self) -> str:
        return f"ExportResult({self.bank_id!r} to {self.path!r}: {contents(self.counts)})"


def export_bank(
    runtime: Runtime,
    bank_id: str,
    path: str | os.PathLike[str],
    progress: Callable[[int, int | None], None] | None = None,
) -> ExportResult:
    """Write a bank into a file; see `Banks.export`."""
    started = time.perf_counter()
    key = runtime.stored_bank(bank_id).key
    with runtime.lock(key), decoding_errors(bank_id), writing(path) as out:
        stored = runtime.stored_bank(bank_id)
        writer = BankWriter(out, Header(SCHEMA, __version__, stored.embedder, stored.bank))
        expected = stored_counts(runtime.graph.bank_stats(bank_id))
        for batch in batches(_stored_parts(runtime.graph, bank_id)):
            for part in batch:
                writer.add(part)
            if progress is not None:
                progress(sum(writer.counts[name] for name in expected), sum(expected.values()))
        _check_complete(bank_id, expected, writer.counts)
        _check_unchanged(stored, runtime.stored_bank(bank_id))
        end = writer.end()
    return ExportResult(
        bank_id, os.fspath(path), end.counts, end.sha256, time.perf_counter() - started
    )


def _stored_parts(graph: GraphStore, bank_id: str) -> Iterator[Part]:
    yield from graph.scan(bank_id, DOCUMENT)
    yield from graph.scan(bank_id, CHUNK)
    yield from every_item(lambda cursor: graph.list_entities(bank_id, limit=BATCH, cursor=cursor))
    yield from graph.scan(bank_id, EDITED_NAMES)
    conclusions: list[str] = []
    for ids in batches(graph.scan(bank_id, MEMORY_ID)):
        for record in graph.read(bank_id, RECORD, ids).values():
            if is_conclusion(record.memory):
                conclusions.append(record.memory.id)
                record = replace(record, memory=replace(record.memory, sources=()))
            yield record
    for ids in batches(conclusions):
        for memory in graph.read(bank_id, MEMORY, ids).values():
            yield Evidence(memory.id, memory.sources)
    yield from map(Waiting, graph.pending_consolidation(bank_id, NO_LIMIT))
    for ids in batches(graph.scan(bank_id, MEMORY_ID)):
        yield from _links_from(graph, bank_id, ids)
    yield from graph.scan(bank_id, CHANGE)
    yield from graph.scan(bank_id, AUDIT)
    yield from graph.scan(bank_id, MENTAL_MODEL)


def _links_from(graph: GraphStore, bank_id: str, ids: list[str]) -> list[Link]:
    position = {memory_id: index for index, memory_id in enumerate(ids)}
    links = graph.links(bank_id, ids, NO_LIMIT, EVERYTHING)
    return sorted(
        (link for link in links if link.source_id in position),
        key=lambda link: (position[link.source_id], link.kind, link.target_id),
    )


def _check_unchanged(before: StoredBank, after: StoredBank) -> None:
    if (before.key, before.version) != (after.key, after.version):
        raise StoreError(
            f"memories of bank {before.bank.id!r} were changed by another process during "
            "the export; export it again"
        )


def _check_complete(bank_id: str, expected: Mapping[str, int], written: Mapping[str, int]) -> None:
    for name, count in expected.items():
        if written[name] != count:
            raise StoreError(
                f"only {written[name]} of {count} {name} records of bank {bank_id!r} could be "
                "read: another process wrote to it, or the store has lost some; export it "
                "again, or run the doctor"
            )
