"""Conclusions put right in the same transaction that takes a memory away or changes it.

Whoever forgets a text must not find it in an observation a moment later, so this waits for no
background and asks no language model: rules write anew from what is left. What a model had
written goes on waiting, for that model to write it better.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from hindsight_integrations.model import Change, Memory, MemoryType, utc_now
from hindsight_integrations.reflect.cluster import in_order
from hindsight_integrations.reflect.consolidate import FACTS
from hindsight_integrations.reflect.parts import ReflectParts
from hindsight_integrations.reflect.ports import Matter
from hindsight_integrations.reflect.record import conclusion, encoded, is_drawn, left, told
from hindsight_integrations.storage.requests import (
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)

_REASON = "A memory that it rested on was changed or taken away."


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a change of memories makes of the conclusions that rest on them.

    Attributes:
        records: those that live on, as they read now.
        removed: ids of those that nothing supports any more.
        history: what was changed of them.
        settled: ids of those that need no more reflecting.
    """

    records: tuple[MemoryRecord, ...] = ()
    removed: tuple[str, ...] = ()
    history: tuple[Change, ...] = ()
    settled: tuple[str, ...] = ()

    def joined_to(self, changes: ChangeSet) -> ChangeSet:
        """The change set with these changes in it."""
        return replace(
            changes,
            remove_memories=(*changes.remove_memories, *self.removed),
            replaced=(*changes.replaced, *self.records),
            history=(*changes.history, *self.history),
            reflected=(*changes.reflected, *self.settled),
        )


def rewritten(
    parts: ReflectParts,
    bank: StoredBank,
    gone: Set[str],
    changed: Mapping[str, MemoryRecord] | None = None,
    *,
    forgetting: bool = False,
) -> Rewritten:
    """The conclusions that rest on these memories, written anew; under the bank's lock.

    Args:
        parts: what reflecting works with.
        bank: whose memories they are.
        gone: ids of memories that are about to be forgotten or invalidated.
        changed: memories as they are about to read, by id.
        forgetting: whether the old texts may not even stay in the history.
    """
    changed = changed or {}
    graph, bank_id = parts.graph, bank.bank.id
    resting = graph.resting_on(bank_id, sorted(gone | changed.keys()))
    ids = {id for each in resting.values() for id in each} - gone
    conclusions = graph.get_records(bank_id, sorted(ids))
    if not conclusions:
        return Rewritten()
    unquotable: Set[str] = parts.waiting(bank_id)
    if forgetting:  # no trace is left, not even of what was rested on
        unquotable = conclusions.keys()
        conclusions = {id: _without(record, gone) for id, record in conclusions.items()}
    rested = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    facts = graph.get_records(bank_id, sorted(rested - gone))
    admitted = graph.admitted(bank_id, list(facts), MemoryFilter(now=utc_now(), types=FACTS))
    facts = {id: changed.get(id, record) for id, record in facts.items() if id in admitted}
    found = Rewritten()
    for id, record in conclusions.items():
        quotable = id not in unquotable
        found = _with(found, _written_anew(parts, bank, record, facts, quotable=quotable))
    return replace(found, records=tuple(encoded(parts.encoder, found.records)))


def _without(record: MemoryRecord, gone: Set[str]) -> MemoryRecord:
    sources = tuple(each for each in record.memory.sources if each.memory_id not in gone)
    return replace(record, memory=replace(record.memory, sources=sources))


def _written_anew(
    parts: ReflectParts,
    bank: StoredBank,
    record: MemoryRecord,
    facts: Mapping[str, MemoryRecord],
    *,
    quotable: bool,
) -> Rewritten:
    old = record.memory
    rests = tuple(s for s in old.sources if s.memory_id is None or s.memory_id in facts)
    if not any(source.supports for source in rests):
        return _removed(old)
    if not is_drawn(old):  # the user's own words: only what they rest on changes
        own = replace(record, memory=replace(old, sources=rests, updated_at=utc_now()))
        history = tuple(told(old, own.memory, "rewrite", _REASON, quotable=quotable))
        return Rewritten((own,), history=history, settled=(old.id,))
    is_opinion = old.type is MemoryType.OPINION
    writer = parts.opinion_rules if is_opinion else parts.rules
    mine = {id: facts[id] for id in {source.memory_id for source in rests} if id is not None}
    matter = Matter(
        bank=bank.bank,
        subject=old.context or "",
        memories=in_order(each.memory for each in mine.values()),
        new=frozenset({old.id}),
        conclusions=(replace(old, sources=rests),),
        vectors={id: each.vector for id, each in mine.items()},
    )
    drafts = writer.propose(matter).drafts
    if not drafts:
        return _removed(old)
    topic = (old.context or old.text) if is_opinion else None
    new = conclusion(bank.bank, drafts[0], mine, old, utc_now(), topic=topic)
    history = tuple(told(old, new.memory, "rewrite", _REASON, quotable=quotable))
    asked = parts.opinions if is_opinion else parts.consolidator
    settled = (old.id,) if asked is writer else ()
    return Rewritten((new,), history=history, settled=settled)


def _removed(old: Memory) -> Rewritten:
    return Rewritten(removed=(old.id,), history=tuple(left(old, "rewrite", utc_now())))


def _with(one: Rewritten, other: Rewritten) -> Rewritten:
    return Rewritten(
        one.records + other.records,
        one.removed + other.removed,
        one.history + other.history,
        one.settled + other.settled,
    )
