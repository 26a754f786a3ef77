"""Statements whose ids the caller gave: one of an id that the bank has replaces that memory.

The memory keeps what a correction keeps: its history, when it was stored, and whether it is held
to be wrong. Statements without ids are folded into what they repeat, by `deduplication`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.history import Change
from hindsight_integrations.models import Expiry, Memory, Source
from hindsight_integrations.results import Skipped, SkipReason
from hindsight_integrations.retain import deduplication
from hindsight_integrations.stores.base import HISTORY, RECORD, GraphStore, MemoryRecord
from hindsight_integrations.stores.common import is_conclusion

REPLACE = "replace"
"""The action, in a memory's history, of retaining its id again."""

_OWN = ("id", "bank_id", "sources", "mentioned_at", "created_at", "updated_at", "derived")
_KEPT = ("invalidated_at", "invalidated_because")


def replacing(old: Memory, new: Memory, expiry: Expiry) -> Memory:
    """Return `new` in the place of `old`, with what a correction keeps, under the bank's rules."""
    kept = replace(
        new,
        sources=new.sources or old.sources,
        created_at=old.created_at,
        invalidated_at=old.invalidated_at,
        invalidated_because=old.invalidated_because,
        derived=old.derived,
        pinned=old.pinned or new.pinned,
    )
    return expiry.applied_to(kept)


def says_the_same(old: Memory, new: Memory) -> bool:
    """Return True if the two differ at most in when they were said and stored, and where."""
    return all(
        getattr(old, each.name) == getattr(new, each.name)
        for each in fields(Memory)
        if each.name not in (*_OWN, *_KEPT)
    )


def changes_between(
    old: Memory, new: Memory, action: str, at: datetime, reason: str | None = None
) -> tuple[Change, ...]:
    """Return the entries of the history for each field that differs."""
    return tuple(
        Change(old.id, action, name, _shown(before), _shown(after), at, reason)
        for name, before, after in _differences(old, new)
    )


def _differences(old: Memory, new: Memory) -> Iterator[tuple[str, object, object]]:
    for each in fields(Memory):
        before, after = getattr(old, each.name), getattr(new, each.name)
        if before != after and each.name != "updated_at":
            yield each.name, before, after


def _shown(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(dict(value)) if isinstance(value, Mapping) else str(value)


@dataclass(frozen=True, slots=True)
class Placed:
    """New statements, in the place of what they repeat or replace.

    Attributes:
        folded: the statements that are new memories, and the sources that known ones gain; `ids`
            covers all statements.
        replaced: memories that exist, with new content.
        history: the entries that the replacements add; of one that is stored again, all it has.
        rejected: by index, the statements that cannot be stored under their ids.
    """

    folded: deduplication.Folded
    replaced: tuple[MemoryRecord, ...] = ()
    history: tuple[Change, ...] = ()
    rejected: Mapping[int, Skipped] = field(default_factory=dict)


def place(
    records: Sequence[MemoryRecord],
    given: Sequence[bool],
    nearest: Sequence[Sequence[tuple[str, float]]],
    prints: Mapping[str, Sequence[str]],
    graph: GraphStore,
    bank_id: str,
    leaving: set[str],
    threshold: float,
    expiry: Expiry,
) -> Placed:
    """Separate new statements from those that repeat or replace a memory.

    Args:
        records: the new statements.
        given: True for each whose id is the caller's.
        nearest: for each, the most similar stored memories with their cosine.
        prints: ids of the stored memories of each of their fingerprints (`DUPLICATES`).
        graph: store of the memories.
        bank_id: their bank.
        leaving: ids of memories that the same change removes.
        threshold: cosine from which two statements may be the same.
        expiry: times to live in the bank.
    """
    rows = [row for row, own in enumerate(given) if not own]
    folded = deduplication.fold(
        [records[row] for row in rows], [nearest[row] for row in rows], prints, graph, bank_id,
        leaving, threshold,
    )  # fmt: skip
    kept = tuple(
        replace(record, memory=expiry.applied_to(record.memory)) for record in folded.records
    )
    folded = replace(folded, records=kept)
    if len(rows) == len(records):
        return Placed(folded)
    ids = dict(zip(rows, folded.ids, strict=True))
    named = {row: records[row] for row, own in enumerate(given) if own}
    stored = graph.read(bank_id, RECORD, [record.memory.id for record in named.values()])
    ours = _NamedStatements(graph, bank_id, stored, leaving, expiry)
    for row, record in named.items():
        ids[row] = record.memory.id
        ours.add(row, record)
    return Placed(
        deduplication.Folded(
            (*folded.records, *ours.new),
            tuple(ids[row] for row in range(len(records))),
            (*folded.sources, *ours.sources),
        ),
        tuple(ours.replaced),
        tuple(ours.history),
        ours.rejected,
    )


class _NamedStatements:
    """Statements under ids of the caller, sorted by what becomes of them."""

    def __init__(
        self,
        graph: GraphStore,
        bank_id: str,
        stored: Mapping[str, MemoryRecord],
        leaving: set[str],
        expiry: Expiry,
    ) -> None:
        self._graph = graph
        self._bank_id = bank_id
        self._stored = stored
        self._leaving = leaving
        self._expiry = expiry
        self._taken: set[str] = set()
        self.new: list[MemoryRecord] = []
        self.replaced: list[MemoryRecord] = []
        self.sources: list[tuple[str, Source]] = []
        self.history: list[Change] = []
        self.rejected: dict[int, Skipped] = {}

    def add(self, row: int, record: MemoryRecord) -> None:
        """Sort one statement."""
        memory, known = record.memory, self._stored.get(record.memory.id)
        if memory.id in self._taken:
            self._reject(row, memory, f"another fact of this retain has the id {memory.id!r}")
        elif known is None:
            self._taken.add(memory.id)
            self.new.append(replace(record, memory=self._expiry.applied_to(memory)))
        elif is_conclusion(known.memory):
            kind = known.memory.type
            self._reject(row, memory, f"the id {memory.id!r} is that of an {kind} of the bank")
        else:
            self._taken.add(memory.id)
            self._replace(known, record)

    def _reject(self, row: int, memory: Memory, detail: str) -> None:
        self.rejected[row] = Skipped(memory.text[:80], SkipReason.INVALID, memory.id, detail)

    def _replace(self, known: MemoryRecord, record: MemoryRecord) -> None:
        old, id = known.memory, known.memory.id
        leaves = id in self._leaving
        sources = record.memory.sources if leaves else (*old.sources, *record.memory.sources)
        new = replacing(old, replace(record.memory, sources=sources), self._expiry)
        changes = changes_between(old, new, REPLACE, new.updated_at)
        if leaves:
            # It goes with its part of the document, and its history with it: both are put back.
            self.new.append(replace(record, memory=new))
            self.history += self._graph.read(self._bank_id, HISTORY, [id]).get(id, ())
            self.history += changes
        elif says_the_same(old, new) and np.allclose(known.vector, record.vector, atol=1e-5):
            self.sources.append((id, record.memory.sources[0]))
        else:
            self.replaced.append(replace(record, memory=new))
            self.history += changes
