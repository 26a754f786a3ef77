"""Expiry times of memories, by the rules of their bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.models import Bank, Expiry, Memory
from hindsight_integrations.namespaces.concurrency import change
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import (
    EVERYTHING,
    MEMORY,
    RECORD,
    ChangeSet,
    GraphStore,
    StoredBank,
)
from hindsight_integrations.stores.reads import SCAN_PAGE, consolidated, every_memory


def renewed(graph: GraphStore, bank: Bank, old: Memory, new: Memory) -> Memory:
    """Return a changed memory, with the expiry by the bank's rules if it has none of its own.

    One that the rules had set for `old` is not its own.
    """
    if new.pinned:
        return replace(new, expires_at=None)
    is_ruled = old.pinned or old.expires_at == end_of(graph, bank.expiry, old)
    if new.expires_at is None or (is_ruled and new.expires_at == old.expires_at):
        return replace(new, expires_at=end_of(graph, bank.expiry, new))
    return new


def end_of(graph: GraphStore, expiry: Expiry, memory: Memory) -> datetime | None:
    """Return the time from which the rules hide a memory.

    A conclusion that the engine drew expires with the first memory it rests on.
    """
    ends = [expiry.end_of(memory)]
    if memory.derived and not memory.pinned:
        cited = [source.memory_id for source in memory.sources if source.memory_id]
        facts = graph.read(memory.bank_id, MEMORY, cited).values()
        ends += [fact.expires_at for fact in facts]
    return min((end for end in ends if end is not None), default=None)


def restamp(runtime: Runtime, bank_id: str, before: Expiry, after: Expiry) -> None:
    """Give the memories whose expiry the rules had set that of the new rules.

    Conclusions come last: they expire with the memories they rest on.
    """
    held = list(every_memory(runtime.graph, bank_id, EVERYTHING))
    for derived in (False, True):
        ruled = [m.id for m in held if m.derived == derived and _is_ruled(m, before)]
        for start in range(0, len(ruled), SCAN_PAGE):
            _restamp_page(runtime, bank_id, ruled[start : start + SCAN_PAGE], after)


def _is_ruled(memory: Memory, rules: Expiry) -> bool:
    """Return True if the rules set the expiry; that of a drawn conclusion is never its own."""
    return not memory.pinned and (memory.derived or memory.expires_at == rules.end_of(memory))


def _restamp_page(runtime: Runtime, bank_id: str, ids: Sequence[str], rules: Expiry) -> None:
    graph = runtime.graph

    def make(_: StoredBank) -> tuple[ChangeSet, None]:
        records = graph.read(bank_id, RECORD, ids).values()
        renewed = [
            replace(record, memory=replace(record.memory, expires_at=end))
            for record in records
            if (end := end_of(graph, rules, record.memory)) != record.memory.expires_at
        ]
        done = consolidated(graph, bank_id, [record.memory.id for record in renewed])
        return ChangeSet(bank_id, replaced=tuple(renewed), mark_consolidated=done), None

    change(runtime, bank_id, make)
