"""Notes on entities, beside the memories of a recall: a description, and what was observed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hindsight_integrations.models import Entity, Memory, MemoryType, utc_now
from hindsight_integrations.nlp.tokens import Tokenizer, line_cost
from hindsight_integrations.recall.arms.semantic import EXACT_LIMIT, exact, nearest
from hindsight_integrations.results import EntityNote, Recalled
from hindsight_integrations.stores.base import (
    COMPANIONS,
    ENTITY,
    MEMORY,
    MENTIONS,
    MOST_COMPANIONS,
    GraphStore,
    MemoryFilter,
    StoredBank,
    Vector,
    VectorIndex,
)

_READ_TOGETHER = 24
"""Entities whose companions are read in one batch: about as many as 500 tokens describe. The
memories of a recall mention hundreds of entities."""

SCOPED = 200
"""Most memories of a scope, the latest, from which an entity is described."""

OBSERVED = 10
"""Most observations about an entity in its note, those nearest to the question."""


class QueryEntity(NamedTuple):
    """An entity that the question asks for, and observations about it, nearest first."""

    entity: Entity
    observations: tuple[Memory, ...] = ()


def with_observations(
    graph: GraphStore,
    index: VectorIndex,
    banks: Sequence[StoredBank],
    entities: Sequence[Entity],
    vector: Vector | None,
    filter: MemoryFilter,
) -> list[QueryEntity]:
    """Return the entities with the observations that mention them and pass the filter.

    Args:
        graph: store of the observations.
        index: vector index of the banks.
        banks: the banks of the entities.
        entities: those that the question asks for.
        vector: embedding of the question; without one, observations are left out.
        filter: the filter of the recall; its types and entities are replaced.
    """
    if vector is None:
        return [*map(QueryEntity, entities)]
    by_id = {bank.bank.id: bank for bank in banks}
    with_notes = []
    for entity in entities:
        entity_filter = replace(
            filter, types=frozenset({MemoryType.OBSERVATION}), entity_ids=(entity.id,)
        )
        # There are usually few, and in the index other memories would be nearer.
        observation_ids = graph.find_ids(entity.bank_id, entity_filter, EXACT_LIMIT)
        if observation_ids is None:
            nearest_pairs = nearest(
                graph, index, by_id[entity.bank_id], vector, entity_filter, OBSERVED
            )
        else:
            nearest_pairs = exact(graph, entity.bank_id, observation_ids, vector)[:OBSERVED]
        observations = graph.read(
            entity.bank_id, MEMORY, [memory_id for memory_id, _ in nearest_pairs]
        )
        with_notes.append(QueryEntity(entity, tuple(observations.values())))
    return with_notes


def entity_notes(
    graph: GraphStore,
    memories: Sequence[Recalled],
    max_tokens: int,
    tokenizer: Tokenizer,
    read_entities: Callable[[], Sequence[QueryEntity]] = tuple,
    scope: str | None = None,
) -> tuple[EntityNote, ...]:
    """Describe entities within `max_tokens`: those asked for, then the most mentioned.

    Args:
        graph: store of the entities.
        memories: the memories recalled, whose entities are described too.
        max_tokens: budget of all notes.
        tokenizer: counts their tokens.
        read_entities: waits for the entities that the question asks for, with observations.
        scope: describe entities from the memories of this scope only, without aliases.
    """
    if not max_tokens:
        return ()
    to_describe: dict[tuple[str, str], QueryEntity] = {}
    mentioned = list(_mentioned_entities(graph, memories))
    for item in [*read_entities(), *mentioned]:
        to_describe.setdefault((item.entity.bank_id, item.entity.id), item)
    companions: dict[tuple[str, str], Sequence[str]] = {}
    if scope is not None:
        to_describe, companions = _limited_to_scope(graph, to_describe, scope)
    notes: list[EntityNote] = []
    tokens_left = max_tokens
    for index, (key, (entity, observations)) in enumerate(to_describe.items()):
        if line_cost(describe(entity, ()), tokenizer.count) > tokens_left:
            continue  # its companions would only add to it
        if key not in companions:
            companions |= _companions(graph, list(to_describe)[index : index + _READ_TOGETHER])
        text = describe(entity, companions.get(key, ()))
        cost = line_cost(text, tokenizer.count)
        if cost > tokens_left:
            continue
        tokens_left -= cost
        fitting, lines, cost = _fitting(observations, tokens_left, tokenizer.count)
        tokens_left -= cost
        notes.append(EntityNote(entity, "\n".join([text, *lines]), fitting))
    return tuple(notes)


def _mentioned_entities(graph: GraphStore, memories: Sequence[Recalled]) -> Iterator[QueryEntity]:
    """Yield the entities that the memories mention, by bank, most mentioned here first."""
    for bank_id in dict.fromkeys(item.memory.bank_id for item in memories):
        memory_ids = [item.memory.id for item in memories if item.memory.bank_id == bank_id]
        mentioned = graph.read(bank_id, MENTIONS, memory_ids)
        counts = Counter(entity_id for ids in mentioned.values() for entity_id in ids)
        order = sorted(counts, key=lambda entity_id: (-counts[entity_id], entity_id))
        yield from map(QueryEntity, graph.read(bank_id, ENTITY, order).values())


def _companions(
    graph: GraphStore, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Sequence[str]]:
    """Return the names most often mentioned together with each entity, by bank and entity id."""
    companions: dict[tuple[str, str], Sequence[str]] = dict.fromkeys(keys, ())
    for bank_id in dict.fromkeys(bank for bank, _ in keys):
        entity_ids = [entity_id for bank, entity_id in keys if bank == bank_id]
        for entity_id, names in graph.read(bank_id, COMPANIONS, entity_ids).items():
            companions[bank_id, entity_id] = names
    return companions


def mentions_in_scope(
    graph: GraphStore, bank_id: str, entity_ids: Sequence[str], scope: str
) -> dict[str, list[str]]:
    """Return the ids of the memories of a scope that mention each of the entities, latest first.

    At most `SCOPED` of each; an entity without any is left out.
    """
    memory_ids: dict[str, list[str]] = {}
    for posting in graph.postings(
        bank_id, entity_ids, SCOPED, MemoryFilter(utc_now(), scope=scope)
    ):
        memory_ids.setdefault(posting.entity_id, []).append(posting.memory_id)
    return memory_ids


def _limited_to_scope(
    graph: GraphStore, entities: Mapping[tuple[str, str], QueryEntity], scope: str
) -> tuple[dict[tuple[str, str], QueryEntity], dict[tuple[str, str], Sequence[str]]]:
    """Recompute the entities and their companions from the memories of one scope."""
    described: dict[tuple[str, str], QueryEntity] = {}
    companions: dict[tuple[str, str], Sequence[str]] = {}
    for bank_id in dict.fromkeys(bank for bank, _ in entities):
        entity_ids = [entity_id for bank, entity_id in entities if bank == bank_id]
        for entity_id, ids in mentions_in_scope(graph, bank_id, entity_ids, scope).items():
            # Memories and entities deleted since are left out.
            memories = graph.read(bank_id, MEMORY, ids)
            times = sorted(memory.mentioned_at for memory in memories.values())
            if not times:
                continue
            entity, observations = entities[bank_id, entity_id]
            seen_in_scope = replace(
                entity,
                aliases=(),
                mention_count=len(times),
                first_seen=times[0],
                last_seen=times[-1],
            )
            described[bank_id, entity_id] = QueryEntity(seen_in_scope, observations)
            mentioned = graph.read(bank_id, MENTIONS, list(memories)).values()
            counts = Counter(id for group in mentioned for id in group if id != entity_id)
            most_common = sorted(counts, key=lambda id: (-counts[id], id))[:MOST_COMPANIONS]
            known = graph.read(bank_id, ENTITY, most_common)
            companions[bank_id, entity_id] = [known[id].name for id in most_common if id in known]
    order = [key for key in entities if key in described]
    return {key: described[key] for key in order}, companions


def _fitting(
    observations: Sequence[Memory], tokens_left: int, count: Callable[[str], int]
) -> tuple[tuple[Memory, ...], list[str], int]:
    """Return the observations that fit `tokens_left`, their lines and the tokens of these."""
    fitting: list[Memory] = []
    lines: list[str] = []
    tokens = 0
    for observation in observations:
        line = f"- {observation.text}"
        cost = line_cost(line, count)
        if tokens + cost <= tokens_left:
            tokens += cost
            fitting.append(observation)
            lines.append(line)
    return tuple(fitting), lines, tokens


def describe(entity: Entity, companions: Sequence[str]) -> str:
    """Return a line on an entity: kind, aliases, how often and when mentioned, and with whom."""
    aliases = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    times = "once" if entity.mention_count == 1 else f"{entity.mention_count} times"
    seen = ""
    if entity.first_seen and entity.last_seen:
        first, last = f"{entity.first_seen:%d %b %Y}", f"{entity.last_seen:%d %b %Y}"
        seen = f" on {first}" if first == last else f" from {first} to {last}"
    with_whom = f"; often with {', '.join(companions)}" if companions else ""
    return f"{entity.name} ({entity.kind}{aliases}): mentioned {times}{seen}{with_whom}"
