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
"""Entities whose companions are read at once: about as many as 500 tokens describe. The memories
of a recall name hundreds, the first of them those that the bank names most."""

SCOPED = 200
"""Memories of a scope, the latest, that tell of an entity in it."""

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
    asked = []
    for entity in entities:
        about = replace(filter, types=frozenset({MemoryType.OBSERVATION}), entity_ids=(entity.id,))
        # Few as a rule: to look for them in the index would find others first.
        few = graph.find_ids(entity.bank_id, about, EXACT_LIMIT)
        if few is None:
            near = nearest(graph, index, by_id[entity.bank_id], vector, about, OBSERVED)
        else:
            near = exact(graph, entity.bank_id, few, vector)[:OBSERVED]
        observations = graph.read(entity.bank_id, MEMORY, [memory_id for memory_id, _ in near])
        asked.append(QueryEntity(entity, tuple(observations.values())))
    return asked


def entity_notes(
    graph: GraphStore,
    memories: Sequence[Recalled],
    max_tokens: int,
    tokenizer: Tokenizer,
    asked: Callable[[], Sequence[QueryEntity]] = tuple,
    scope: str | None = None,
) -> tuple[EntityNote, ...]:
    """Describe entities within `max_tokens`: those asked for, then the most mentioned.

    Args:
        graph: store of the entities.
        memories: the memories recalled, whose entities are described too.
        max_tokens: budget of all notes.
        tokenizer: counts their tokens.
        asked: returns the entities that the question asks for, with observations about them;
            being read meanwhile.
        scope: describe them by the memories of this scope alone, without aliases.
    """
    if not max_tokens:
        return ()
    wanted: dict[tuple[str, str], QueryEntity] = {}
    mentioned = list(_mentioned(graph, memories))
    for about in [*asked(), *mentioned]:
        wanted.setdefault((about.entity.bank_id, about.entity.id), about)
    beside: dict[tuple[str, str], Sequence[str]] = {}
    if scope is not None:
        wanted, beside = _in_scope(graph, wanted, scope)
    notes: list[EntityNote] = []
    left = max_tokens
    for n, (key, (entity, observations)) in enumerate(wanted.items()):
        if line_cost(describe(entity, ()), tokenizer.count) > left:
            continue  # its companions would only add to it
        if key not in beside:
            beside |= _companions(graph, list(wanted)[n : n + _READ_TOGETHER])
        text = describe(entity, beside.get(key, ()))
        cost = line_cost(text, tokenizer.count)
        if cost > left:
            continue
        left -= cost
        shown, lines, cost = _fitting(observations, left, tokenizer.count)
        left -= cost
        notes.append(EntityNote(entity, "\n".join([text, *lines]), shown))
    return tuple(notes)


def _mentioned(graph: GraphStore, memories: Sequence[Recalled]) -> Iterator[QueryEntity]:
    """Yield the entities that the memories mention, by bank, most mentioned here first."""
    for bank_id in dict.fromkeys(item.memory.bank_id for item in memories):
        here = [item.memory.id for item in memories if item.memory.bank_id == bank_id]
        mentioned = graph.read(bank_id, MENTIONS, here)
        counts = Counter(entity_id for ids in mentioned.values() for entity_id in ids)
        order = sorted(counts, key=lambda entity_id: (-counts[entity_id], entity_id))
        yield from map(QueryEntity, graph.read(bank_id, ENTITY, order).values())


def _companions(
    graph: GraphStore, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], Sequence[str]]:
    """Return the names most often mentioned beside each entity, given by bank and id."""
    named: dict[tuple[str, str], Sequence[str]] = dict.fromkeys(keys, ())
    for bank_id in dict.fromkeys(bank for bank, _ in keys):
        own = [entity_id for bank, entity_id in keys if bank == bank_id]
        for entity_id, names in graph.read(bank_id, COMPANIONS, own).items():
            named[bank_id, entity_id] = names
    return named


def mentions_in_scope(
    graph: GraphStore, bank_id: str, entity_ids: Sequence[str], scope: str
) -> dict[str, list[str]]:
    """Return the ids of the memories of a scope that mention each of the entities, latest first.

    At most `SCOPED` of each; an entity without any is left out.
    """
    found: dict[str, list[str]] = {}
    for posting in graph.postings(
        bank_id, entity_ids, SCOPED, MemoryFilter(utc_now(), scope=scope)
    ):
        found.setdefault(posting.entity_id, []).append(posting.memory_id)
    return found


def _in_scope(
    graph: GraphStore, wanted: Mapping[tuple[str, str], QueryEntity], scope: str
) -> tuple[dict[tuple[str, str], QueryEntity], dict[tuple[str, str], Sequence[str]]]:
    """Return the entities as the memories of a scope tell of them, and their companions there."""
    told: dict[tuple[str, str], QueryEntity] = {}
    beside: dict[tuple[str, str], Sequence[str]] = {}
    for bank_id in dict.fromkeys(bank for bank, _ in wanted):
        own = [entity_id for bank, entity_id in wanted if bank == bank_id]
        for entity_id, ids in mentions_in_scope(graph, bank_id, own, scope).items():
            times = sorted(each.mentioned_at for each in graph.read(bank_id, MEMORY, ids).values())
            entity, observations = wanted[bank_id, entity_id]
            known = replace(
                entity,
                aliases=(),
                mention_count=len(ids),
                first_seen=times[0],
                last_seen=times[-1],
            )
            told[bank_id, entity_id] = QueryEntity(known, observations)
            mentioned = graph.read(bank_id, MENTIONS, ids).values()
            counts = Counter(id for group in mentioned for id in group if id != entity_id)
            closest = sorted(counts, key=lambda other: (-counts[other], other))[:MOST_COMPANIONS]
            names = graph.read(bank_id, ENTITY, closest)
            beside[bank_id, entity_id] = [names[other].name for other in closest]
    order = [key for key in wanted if key in told]
    return {key: told[key] for key in order}, beside


def _fitting(
    observations: Sequence[Memory], left: int, count: Callable[[str], int]
) -> tuple[tuple[Memory, ...], list[str], int]:
    """Return the observations that fit `left` tokens, their lines and what these cost."""
    shown: list[Memory] = []
    lines: list[str] = []
    spent = 0
    for observation in observations:
        line = f"- {observation.text}"
        cost = line_cost(line, count)
        if spent + cost <= left:
            spent += cost
            shown.append(observation)
            lines.append(line)
    return tuple(shown), lines, spent


def describe(entity: Entity, beside: Sequence[str]) -> str:
    """Return a line on an entity: kind, aliases, how often and when mentioned, and with whom."""
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    times = "once" if entity.mention_count == 1 else f"{entity.mention_count} times"
    seen = ""
    if entity.first_seen and entity.last_seen:
        first, last = f"{entity.first_seen:%d %b %Y}", f"{entity.last_seen:%d %b %Y}"
        seen = f" on {first}" if first == last else f" from {first} to {last}"
    with_whom = f"; often with {', '.join(beside)}" if beside else ""
    return f"{entity.name} ({entity.kind}{also}): mentioned {times}{seen}{with_whom}"
