"""What recall adds beside the memories, within budgets of its own: chunks and entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from hindsight_integrations.language.tokens import Tokenizer
from hindsight_integrations.model import Chunk, Entity
from hindsight_integrations.recall.pack import LINE_BREAK, fill
from hindsight_integrations.results import EntityNote, Recalled
from hindsight_integrations.storage.ports import GraphStore

COMPANIONS = 3
"""Entities named beside an entity in its note."""


def source_chunks(
    graph: GraphStore, memories: Sequence[Recalled], max_tokens: int, tokenizer: Tokenizer
) -> tuple[Chunk, ...]:
    """The chunks that the memories come from, in their order, within `max_tokens`."""
    if not max_tokens:
        return ()
    chunks: list[Chunk] = []
    for bank_id, group in groupby(memories, key=lambda item: item.memory.bank_id):
        ids = [s.chunk_id for item in group for s in item.memory.sources[:1] if s.chunk_id]
        found = graph.chunks_by_id(bank_id, ids)
        chunks += [found[chunk_id] for chunk_id in ids if chunk_id in found]
    return fill(chunks, max_tokens, tokenizer.count)


def entity_notes(
    graph: GraphStore, memories: Sequence[Recalled], max_tokens: int, tokenizer: Tokenizer
) -> tuple[EntityNote, ...]:
    """What the bank knows of the entities the memories mention, most mentioned here first."""
    if not max_tokens:
        return ()
    notes: list[EntityNote] = []
    spent = 0
    for bank_id in dict.fromkeys(item.memory.bank_id for item in memories):
        here = [item.memory for item in memories if item.memory.bank_id == bank_id]
        mentioned = graph.mentions(bank_id, [memory.id for memory in here])
        counts = Counter(entity_id for ids in mentioned.values() for entity_id in ids)
        order = sorted(counts, key=lambda entity_id: (-counts[entity_id], entity_id))
        entities = graph.get_entities(bank_id, order)
        beside = graph.cooccurring(bank_id, order)
        others = graph.get_entities(bank_id, sorted({o for near in beside.values() for o in near}))
        for entity_id in order:
            if entity_id not in entities:
                continue
            near = beside.get(entity_id, {})
            closest = sorted(near, key=lambda other: (-near[other], other))[:COMPANIONS]
            names = [others[other].name for other in closest if other in others]
            text = describe(entities[entity_id], names)
            cost = tokenizer.count(text) + LINE_BREAK
            if spent + cost <= max_tokens:
                spent += cost
                notes.append(EntityNote(entities[entity_id], text))
    return tuple(notes)


def describe(entity: Entity, beside: Sequence[str]) -> str:
    """An entity in a line: kind, other names, how often and when mentioned, and beside whom."""
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    times = "once" if entity.mention_count == 1 else f"{entity.mention_count} times"
    seen = ""
    if entity.first_seen and entity.last_seen:
        first, last = f"{entity.first_seen:%d %b %Y}", f"{entity.last_seen:%d %b %Y}"
        seen = f" on {first}" if first == last else f" from {first} to {last}"
    with_whom = f"; often with {', '.join(beside)}" if beside else ""
    return f"{entity.name} ({entity.kind}{also}): mentioned {times}{seen}{with_whom}"
