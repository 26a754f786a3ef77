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
from hindsight_integrations.reflect.record import conclusion, encoded, is_drawn
from hindsight_integrations.storage.requests import (
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)


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
    rested = {s.memory_id for r in conclusions.values() for s in r.memory.sources if s.memory_id}
    facts = graph.get_records(bank_id, sorted(rested - gone))
    admitted = graph.admitted(bank_id, list(facts), MemoryFilter(now=utc_now(), types=FACTS))
    facts = {id: changed.get(id, record) for id, record in facts.items() if id in admitted}
    found = Rewritten()
    for record in conclusions.values():
        found = _with(found, _written_anew(parts, bank, record, facts, forgetting=forgetting))
    return replace(found, records=tuple(encoded(parts.encoder, found.records)))


def _written_anew(
    parts: ReflectParts,
    bank: StoredBank,
    record: MemoryRecord,
    facts: Mapping[str, MemoryRecord],
    *,
    forgetting: bool,
) -> Rewritten:
    old = record.memory
    left = tuple(s for s in old.sources if s.memory_id is None or s.memory_id in facts)
    if not any(source.supports for source in left):
        return _removal(old, "Nothing that supported it is left.", forgetting=forgetting)
    if not is_drawn(old):  # the user's own words: only what they rest on changes
        own = replace(record, memory=replace(old, sources=left, updated_at=utc_now()))
        return Rewritten(records=(own,), settled=(old.id,))
    is_opinion = old.type is MemoryType.OPINION
    writer = parts.opinion_rules if is_opinion else parts.rules
    mine = {id: facts[id] for id in {source.memory_id for source in left} if id is not None}
    matter = Matter(
        bank=bank.bank,
        subject=old.context or "",
        memories=in_order(each.memory for each in mine.values()),
        new=frozenset({old.id}),
        conclusions=(replace(old, sources=left),),
        vectors={id: each.vector for id, each in mine.items()},
    )
    drafts = writer.propose(matter).drafts
    if not drafts:
        return _removal(old, "What it rested on says it no more.", forgetting=forgetting)
    topic = (old.context or old.text) if is_opinion else None
    new = conclusion(bank.bank, drafts[0], mine, old, utc_now(), topic=topic)
    change = Change(
        old.id, "rewrite", "text", None if forgetting else old.text, new.memory.text,
        new.memory.updated_at, "A memory that it rested on was changed or taken away.",
    )  # fmt: skip
    asked = parts.opinions if is_opinion else parts.consolidator
    settled = (old.id,) if asked is writer else ()
    return Rewritten((new,), history=(change,), settled=settled)


def _removal(old: Memory, reason: str, *, forgetting: bool) -> Rewritten:
    text = None if forgetting else old.text
    change = Change(old.id, "rewrite", "text", text, None, utc_now(), reason)
    return Rewritten(removed=(old.id,), history=(change,))


def _with(one: Rewritten, other: Rewritten) -> Rewritten:
    return Rewritten(
        one.records + other.records,
        one.removed + other.removed,
        one.history + other.history,
        one.settled + other.settled,
    )
