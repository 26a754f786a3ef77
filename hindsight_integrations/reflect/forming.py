"""Forming an opinion: what the bank remembers of a topic, weighed, and stored as a belief."""

from __future__ import annotations

from collections.abc import Mapping

from hindsight_integrations.errors import StoreError
from hindsight_integrations.model import Memory, MemoryType, utc_now
from hindsight_integrations.naming import entity_norm
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import recall_request
from hindsight_integrations.reflect.cluster import in_order
from hindsight_integrations.reflect.consolidate import FACTS
from hindsight_integrations.reflect.parts import ReflectParts
from hindsight_integrations.reflect.ports import Matter
from hindsight_integrations.reflect.proposals import checked
from hindsight_integrations.reflect.record import conclusion, encoded, is_drawn, left, told
from hindsight_integrations.storage.paging import every_memory
from hindsight_integrations.storage.requests import (
    ChangeSet,
    MemoryFilter,
    MemoryRecord,
    StoredBank,
)
from hindsight_integrations.storage.values import is_conclusion

TOKENS = 4096
"""Of the memories that an opinion is formed from, at most."""

ATTEMPTS = 3


def form(
    parts: ReflectParts, recalling: RecallParts, bank: StoredBank, topic: str, scope: str | None
) -> tuple[Memory, ...]:
    """The opinions on a topic, formed anew from what is remembered of it; none if nothing judges.

    Raises:
        ModelError: the language model failed; nothing was changed.
        StoreError: others kept changing the memories it rests on.
    """
    for _ in range(ATTEMPTS):
        matter, facts = _matter(parts, recalling, bank, topic, scope)
        proposals = checked(matter, parts.opinions.propose(matter))
        before = {memory.id: memory for memory in matter.conclusions}
        now = utc_now()
        records = [
            conclusion(bank.bank, draft, facts, before.get(draft.rewrites or ""), now, topic=topic)
            for draft in proposals.drafts
        ]
        records = encoded(parts.encoder, records)
        texts = {record.memory.id: record.memory.text for record in records}
        removed = tuple(removal.conclusion_id for removal in proposals.removals)
        history = [
            change
            for draft, record in zip(proposals.drafts, records, strict=True)
            if (old := before.get(draft.rewrites or ""))
            for change in told(
                old, record.memory, "form", draft.reasoning, quotable=old.id not in matter.new
            )
        ]
        history += [change for id in removed for change in left(before[id], "form", now)]
        changes = ChangeSet(
            bank.bank.id,
            remove_memories=removed,
            memories=tuple(r for r in records if r.memory.id not in before),
            replaced=tuple(r for r in records if r.memory.id in before),
            history=tuple(history),
            reflected=tuple(texts),
        )
        if _applied(parts, bank, matter, changes):
            kept = [old for id, old in before.items() if id not in texts and id not in removed]
            return (*kept, *(record.memory for record in records))
    raise StoreError(
        f"others kept changing the memories on {topic!r} while an opinion was formed; try again"
    )


def _matter(
    parts: ReflectParts,
    recalling: RecallParts,
    bank: StoredBank,
    topic: str,
    scope: str | None,
) -> tuple[Matter, Mapping[str, MemoryRecord]]:
    graph, bank_id = parts.graph, bank.bank.id
    request = recall_request(bank_id, topic, max_tokens=TOKENS, types=FACTS, scope=scope)
    held = _held(parts, bank_id, topic, scope)
    wanted = {item.id for item in recall(recalling, [bank], request)}
    wanted |= {s.memory_id for memory in held for s in memory.sources if s.memory_id}
    found = graph.get_records(bank_id, sorted(wanted))
    admitted = graph.admitted(bank_id, list(found), MemoryFilter(now=utc_now(), types=FACTS))
    facts = {
        id: record
        for id, record in found.items()
        if id in admitted and record.memory.scope == scope and not is_conclusion(record.memory)
    }
    waiting = parts.waiting(bank_id) if held else set()
    weighed = {s.memory_id for memory in held for s in memory.sources}
    matter = Matter(
        bank=bank.bank,
        subject=topic,
        memories=in_order(record.memory for record in facts.values()),
        new=frozenset(facts.keys() - weighed) | (waiting & {memory.id for memory in held}),
        conclusions=in_order(held),
        vectors={id: record.vector for id, record in facts.items()},
    )
    return matter, facts


def _held(parts: ReflectParts, bank_id: str, topic: str, scope: str | None) -> list[Memory]:
    """The opinions that the engine formed on the topic before."""
    filter = MemoryFilter(now=utc_now(), types=frozenset({MemoryType.OPINION}), scope=scope)
    return [
        memory
        for memory in every_memory(parts.graph, bank_id, filter)
        if is_drawn(memory)
        and memory.scope == scope
        and entity_norm(memory.context or "") == entity_norm(topic)
    ]


def _applied(parts: ReflectParts, bank: StoredBank, matter: Matter, changes: ChangeSet) -> bool:
    """Store the opinions, unless what they were drawn from has changed meanwhile."""
    read = {memory.id: memory.updated_at for memory in (*matter.memories, *matter.conclusions)}
    with parts.lock(bank.key):
        now = parts.graph.get_memories(bank.bank.id, sorted(read))
        if {id: memory.updated_at for id, memory in now.items()} != read:
            return False
        parts.graph.apply(changes)
    parts.flush()
    return True
