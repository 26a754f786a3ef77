"""A corrected memory: whatever its text decides is made anew."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hindsight_integrations.model import Entity, Memory
from hindsight_integrations.retain.draft import RetainParts
from hindsight_integrations.retain.enrich import indexed_of, record_of
from hindsight_integrations.retain.gazetteer import candidate_names
from hindsight_integrations.retain.ports import Passage
from hindsight_integrations.retain.reindex import standings
from hindsight_integrations.retain.resolve import Resolver
from hindsight_integrations.storage.requests import MemoryRecord


@dataclass(frozen=True, slots=True)
class Amended:
    """A record with its correction, with the entities that are new or have new names."""

    record: MemoryRecord
    created: tuple[Entity, ...] = ()
    learnt: tuple[Entity, ...] = ()


def amended(parts: RetainParts, bank_id: str, record: MemoryRecord, memory: Memory) -> Amended:
    """The record of `memory`, which was `record.memory` until now."""
    if memory.text == record.memory.text:
        return Amended(replace(record, memory=memory))
    (standing,) = standings(parts.graph, bank_id, [record])
    passage = Passage(
        memory.text,
        memory.mentioned_at,
        memory.speaker,
        preceding=standing.preceding,
        title=memory.context,
        type=memory.type,
    )
    known = parts.graph.lookup_entities(bank_id, sorted(candidate_names(memory.text)))
    facts = parts.extractor.extract([passage], known)[0]
    mentions = list(dict.fromkeys(mention for fact in facts for mention in fact.mentions))
    resolution = Resolver(parts.graph, bank_id, parts.settings.entity_match).resolve(
        [mentions], [memory.mentioned_at], [memory.text]
    )
    ids = resolution.entity_ids[0]
    indexed = indexed_of(memory, standing)
    encoded = parts.encoder.encode([indexed])[0]
    memory = replace(
        memory,
        occurred=tuple(dict.fromkeys(span for fact in facts for span in fact.occurred)),
        entities=tuple(resolution.names[entity_id] for entity_id in ids),
    )
    return Amended(record_of(memory, indexed, encoded, ids), resolution.created, resolution.learnt)
