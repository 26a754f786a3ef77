"""Repetitions: a statement the bank has already becomes one more source of that memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hindsight_integrations.model import Memory, Source
from hindsight_integrations.retain.duplicates import same_statement
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import (
    MemoryRecord,
)
from hindsight_integrations.storage.values import is_conclusion


@dataclass(frozen=True, slots=True)
class Folded:
    """New statements without the repetitions among them.

    Attributes:
        records: those that are stored, each with all its sources.
        ids: for every statement, the id it is known by: its own, or that of the memory it
            repeats.
        sources: sources that memories stored earlier gain.
    """

    records: tuple[MemoryRecord, ...]
    ids: tuple[str, ...]
    sources: tuple[tuple[str, Source], ...]


def fold(
    records: Sequence[MemoryRecord],
    nearest: Sequence[Sequence[tuple[str, float]]],
    graph: GraphStore,
    bank_id: str,
    leaving: set[str],
    threshold: float,
) -> Folded:
    """Tell new statements from repetitions.

    Args:
        records: the new statements.
        nearest: for each, the stored memories most like it, with their cosine.
        graph: where stored memories are read from.
        bank_id: their bank.
        leaving: memories that the same change removes.
        threshold: cosine from which two statements may be the same.
    """
    prints = graph.find_fingerprints(bank_id, list({r.fingerprint for r in records}))
    alike = [
        {memory_id: cosine for memory_id, cosine in near if cosine >= threshold}
        | dict.fromkeys(prints.get(record.fingerprint, ()), 1.0)
        for record, near in zip(records, nearest, strict=True)
    ]
    wanted = {memory_id for candidates in alike for memory_id in candidates} - leaving
    found = graph.get_memories(bank_id, sorted(wanted))
    # What somebody says is never a source of what was concluded from others.
    stored = {id: memory for id, memory in found.items() if not is_conclusion(memory)}
    kept: dict[str, MemoryRecord] = {}
    by_print: dict[str, list[str]] = {}
    ids: list[str] = []
    sources: list[tuple[str, Source]] = []
    for record, candidates in zip(records, alike, strict=True):
        same = _first_same(record.memory, candidates, stored, threshold)
        if same is not None:
            sources.append((same, record.memory.sources[0]))
            ids.append(same)
            continue
        mates = dict.fromkeys(by_print.get(record.fingerprint, ()), 1.0)
        mate = _first_same(record.memory, mates, {m: kept[m].memory for m in mates}, threshold)
        if mate is not None:
            kept[mate] = _with_source(kept[mate], record.memory.sources[0])
            ids.append(mate)
            continue
        kept[record.memory.id] = record
        by_print.setdefault(record.fingerprint, []).append(record.memory.id)
        ids.append(record.memory.id)
    return Folded(tuple(kept.values()), tuple(ids), tuple(sources))


def _first_same(
    memory: Memory,
    candidates: Mapping[str, float],
    memories: Mapping[str, Memory],
    threshold: float,
) -> str | None:
    for memory_id in sorted(candidates, key=lambda m: (-candidates[m], m)):
        old = memories.get(memory_id)
        if old is not None and same_statement(
            memory, old, candidates[memory_id], threshold=threshold
        ):
            return memory_id
    return None


def _with_source(record: MemoryRecord, source: Source) -> MemoryRecord:
    memory = replace(record.memory, sources=(*record.memory.sources, source))
    return replace(record, memory=memory)
