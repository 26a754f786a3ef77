"""Plan the storage of statements with ids given by the caller, which replace stored memories.

A replaced memory keeps what a correction keeps: its history, its creation time, and whether it is
invalidated. Statements without such ids are deduplicated; see `deduplication`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.history import Change
from hindsight_integrations.models import Expiry, Memory, Source, is_conclusion
from hindsight_integrations.results import Skipped, SkipReason
from hindsight_integrations.retain import deduplication
from hindsight_integrations.stores.base import HISTORY, RECORD, GraphStore, MemoryRecord

REPLACE = "replace"
"""The action, in a memory's history, of retaining its id again."""

_BOOKKEEPING = ("id", "bank_id", "sources", "mentioned_at", "created_at", "updated_at", "derived")
_VALIDITY = ("invalidated_at", "invalidated_because")


def replacement_of(old: Memory, new: Memory, expiry: Expiry) -> Memory:
    """Return `new` with the fields of `old` that a correction keeps, and the bank's expiry."""
    replacement = replace(
        new,
        sources=new.sources or old.sources,
        created_at=old.created_at,
        invalidated_at=old.invalidated_at,
        invalidated_because=old.invalidated_because,
        derived=old.derived,
        pinned=old.pinned or new.pinned,
    )
    return expiry.applied_to(replacement)


def has_same_content(old: Memory, new: Memory) -> bool:
    """Return True if two memories differ at most in times, sources and validity."""
    return all(
        getattr(old, attribute.name) == getattr(new, attribute.name)
        for attribute in fields(Memory)
        if attribute.name not in (*_BOOKKEEPING, *_VALIDITY)
    )


def changes_between(
    old: Memory, new: Memory, action: str, at: datetime, reason: str | None = None
) -> tuple[Change, ...]:
    """Return an entry of the history for each field that differs."""
    return tuple(
        Change(old.id, action, name, _rendered(before), _rendered(after), at, reason)
        for name, before, after in _differences(old, new)
    )


def _differences(old: Memory, new: Memory) -> Iterator[tuple[str, object, object]]:
    for attribute in fields(Memory):
        before, after = getattr(old, attribute.name), getattr(new, attribute.name)
        if before != after and attribute.name != "updated_at":
            yield attribute.name, before, after


def _rendered(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(dict(value)) if isinstance(value, Mapping) else str(value)


@dataclass(frozen=True, slots=True)
class StoragePlan:
    """Plan of what to store for each new statement.

    Attributes:
        deduplicated: statements that become new memories, and sources that stored memories gain;
            `ids` covers all statements.
        replaced: stored memories with new content.
        history: entries that replacements add; all entries of a memory that is stored again.
        rejected: statements that cannot be stored under their ids, by index.
    """

    deduplicated: deduplication.Deduplicated
    replaced: tuple[MemoryRecord, ...] = ()
    history: tuple[Change, ...] = ()
    rejected: Mapping[int, Skipped] = field(default_factory=dict)


def plan_storage(
    records: Sequence[MemoryRecord],
    has_caller_id: Sequence[bool],
    nearest: Sequence[Sequence[tuple[str, float]]],
    ids_by_fingerprint: Mapping[str, Sequence[str]],
    graph: GraphStore,
    bank_id: str,
    removed_ids: set[str],
    threshold: float,
    expiry: Expiry,
) -> StoragePlan:
    """Decide for each statement if it is new, repeats a memory, or replaces one by its id.

    `has_caller_id` is True for each whose id was given by the caller; see `deduplicate` for the
    others.
    """
    rows = [row for row, is_callers in enumerate(has_caller_id) if not is_callers]
    deduplicated = deduplication.deduplicate(
        [records[row] for row in rows],
        [nearest[row] for row in rows],
        ids_by_fingerprint,
        graph,
        bank_id,
        removed_ids,
        threshold,
    )
    with_expiry = tuple(
        replace(record, memory=expiry.applied_to(record.memory)) for record in deduplicated.records
    )
    deduplicated = replace(deduplicated, records=with_expiry)
    if len(rows) == len(records):
        return StoragePlan(deduplicated)
    ids = dict(zip(rows, deduplicated.ids, strict=True))
    records_with_ids = {
        row: records[row] for row, is_callers in enumerate(has_caller_id) if is_callers
    }
    stored = graph.read(bank_id, RECORD, [record.memory.id for record in records_with_ids.values()])
    by_caller_id = _CallerIdStatements(graph, bank_id, stored, removed_ids, expiry)
    for row, record in records_with_ids.items():
        ids[row] = record.memory.id
        by_caller_id.add(row, record)
    return StoragePlan(
        deduplication.Deduplicated(
            (*deduplicated.records, *by_caller_id.new),
            tuple(ids[row] for row in range(len(records))),
            (*deduplicated.sources, *by_caller_id.sources),
        ),
        tuple(by_caller_id.replaced),
        tuple(by_caller_id.history),
        by_caller_id.rejected,
    )


class _CallerIdStatements:
    """Statements with ids given by the caller, grouped by how they are to be stored."""

    def __init__(
        self,
        graph: GraphStore,
        bank_id: str,
        stored: Mapping[str, MemoryRecord],
        removed_ids: set[str],
        expiry: Expiry,
    ) -> None:
        self._graph = graph
        self._bank_id = bank_id
        self._stored = stored
        self._removed_ids = removed_ids
        self._expiry = expiry
        self._used_ids: set[str] = set()
        self.new: list[MemoryRecord] = []
        self.replaced: list[MemoryRecord] = []
        self.sources: list[tuple[str, Source]] = []
        self.history: list[Change] = []
        self.rejected: dict[int, Skipped] = {}

    def add(self, row: int, record: MemoryRecord) -> None:
        """Add one statement to its group."""
        memory, known = record.memory, self._stored.get(record.memory.id)
        if memory.id in self._used_ids:
            self._reject(row, memory, f"another fact of this retain has the id {memory.id!r}")
        elif known is None:
            self._used_ids.add(memory.id)
            self.new.append(replace(record, memory=self._expiry.applied_to(memory)))
        elif is_conclusion(known.memory):
            kind = known.memory.type
            self._reject(row, memory, f"the id {memory.id!r} is that of an {kind} of the bank")
        else:
            self._used_ids.add(memory.id)
            self._replace(known, record)

    def _reject(self, row: int, memory: Memory, detail: str) -> None:
        self.rejected[row] = Skipped(memory.text[:80], SkipReason.INVALID, memory.id, detail)

    def _replace(self, known: MemoryRecord, record: MemoryRecord) -> None:
        old, id = known.memory, known.memory.id
        is_removed = id in self._removed_ids
        sources = record.memory.sources if is_removed else (*old.sources, *record.memory.sources)
        new = replacement_of(old, replace(record.memory, sources=sources), self._expiry)
        changes = changes_between(old, new, REPLACE, new.updated_at)
        if is_removed:
            # The memory and its history are removed with their chunk, so both are stored again.
            self.new.append(replace(record, memory=new))
            self.history += self._graph.read(self._bank_id, HISTORY, [id]).get(id, ())
            self.history += changes
        elif has_same_content(old, new) and np.allclose(known.vector, record.vector, atol=1e-5):
            self.sources.append((id, record.memory.sources[0]))
        else:
            self.replaced.append(replace(record, memory=new))
            self.history += changes
