"""Plan the storage of statements with ids given by the caller, which replace stored memories.

A replaced memory keeps what a correction keeps: its history, its creation time, and whether it is
invalidated. Statements without such ids are deduplicated; see `deduplication`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.history import Change
from hindsight_integrations.models import Expiry, Memory, is_conclusion
from hindsight_integrations.results import Skipped, SkipReason
from hindsight_integrations.retain.deduplication import StoragePlan, deduplicate
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
    plan = deduplicate(
        [records[row] for row in rows],
        [nearest[row] for row in rows],
        ids_by_fingerprint,
        graph,
        bank_id,
        removed_ids,
        threshold,
    )
    plan.new = [_expiring(record, expiry) for record in plan.new]
    with_ids = {row: records[row] for row, is_callers in enumerate(has_caller_id) if is_callers}
    if not with_ids:
        return plan
    ids = dict(zip(rows, plan.ids, strict=True))
    stored = graph.read(bank_id, RECORD, [record.memory.id for record in with_ids.values()])
    used: set[str] = set()
    for row, record in with_ids.items():
        id = ids[row] = record.memory.id
        known = stored.get(id)
        if problem := _problem(id, known, used):
            text = record.memory.text[:80]
            plan.rejected[row] = Skipped(text, SkipReason.INVALID, id, problem)
            continue
        used.add(id)
        if known is None:
            plan.new.append(_expiring(record, expiry))
            continue
        is_removed = id in removed_ids
        if is_removed:
            plan.history += graph.read(bank_id, HISTORY, [id]).get(id, ())
        _add_replacement(plan, known, record, expiry, is_removed=is_removed)
    plan.ids = [ids[row] for row in range(len(records))]
    return plan


def _problem(id: str, known: MemoryRecord | None, used: Set[str]) -> str | None:
    """Return why a statement cannot be stored under its id, if it cannot."""
    if id in used:
        return f"another fact of this retain has the id {id!r}"
    if known is not None and is_conclusion(known.memory):
        return f"the id {id!r} is that of an {known.memory.type} of the bank"
    return None


def _expiring(record: MemoryRecord, expiry: Expiry) -> MemoryRecord:
    return replace(record, memory=expiry.applied_to(record.memory))


def _add_replacement(
    plan: StoragePlan,
    known: MemoryRecord,
    record: MemoryRecord,
    expiry: Expiry,
    *,
    is_removed: bool,
) -> None:
    """Add a statement with the id of a stored memory, which may be removed with its chunk.

    A removed memory and its history are stored again.
    """
    old, given = known.memory, record.memory
    sources = given.sources if is_removed else (*old.sources, *given.sources)
    new = replacement_of(old, replace(given, sources=sources), expiry)
    if is_removed:
        plan.new.append(replace(record, memory=new))
    elif has_same_content(old, new) and np.allclose(known.vector, record.vector, atol=1e-5):
        plan.sources.append((old.id, given.sources[0]))
        return
    else:
        plan.replaced.append(replace(record, memory=new))
    plan.history += changes_between(old, new, REPLACE, new.updated_at)
