"""Read the data that the pictures of a bank show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.namespaces.entities import find_entity
from hindsight_integrations.namespaces.selection import SelectionOptions, selection
from hindsight_integrations.pictures.graph import BankGraph, Connection
from hindsight_integrations.pictures.timeline import BankTimeline
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import ENTITY, MEMORY, MENTIONS, MemoryFilter
from hindsight_integrations.stores.reads import every_id

MOST_ENTITIES = 1000
"""Entities of a picture at most: more can neither be laid out soon nor read."""

MOST_HOPS = 100
"""Connections between the entity in the middle and another at most."""

MOST_EVENTS = 5000
"""Memories of a timeline at most."""

EXAMPLES = 3
"""Memories quoted of an entity or a connection in an interactive picture, the latest."""

QUOTED = 160
"""Characters of such a quotation."""

BATCH = 5000
"""Memories whose mentions are read at once."""

_Pair = tuple[str, str]


def bank_graph(
    runtime: Runtime,
    bank_id: str,
    center: str | None,
    hops: int,
    limit: int,
    options: SelectionOptions,
) -> BankGraph:
    """Return the graph of the entities that memories of a bank mention; see `Hindsight.graph`."""
    limit = validation.page_limit(limit, MOST_ENTITIES)
    hops = validation.positive("hops", hops)
    if hops > MOST_HOPS:
        raise InvalidInputError(f"hops is {validation.shown(hops)}; give at most {MOST_HOPS}")
    runtime.bank(bank_id)
    middle = None if center is None else find_entity(runtime, bank_id, center)
    filter = _chosen(runtime, bank_id, options)
    mentions = _mentions(runtime, bank_id, filter)
    counts = Counter(entity for named in mentions.values() for entity in named)
    pairs = Counter(pair for named in mentions.values() for pair in combinations(sorted(named), 2))
    shown = _nearest(middle.id, hops, pairs, counts) if middle else _most(counts)
    shown = shown[:limit]
    stored = runtime.graph.read(bank_id, ENTITY, shown)
    entities = tuple(replace(stored[id], mention_count=counts[id]) for id in shown if id in stored)
    connections = _connections(entities, pairs)
    return BankGraph(
        bank_id=bank_id,
        entities=entities,
        connections=connections,
        memories=len(mentions),
        known=len(counts),
        center=middle,
        hops=hops if middle else 0,
        examples=_examples(runtime, bank_id, mentions, entities, connections),
    )


def _chosen(runtime: Runtime, bank_id: str, options: SelectionOptions) -> MemoryFilter:
    """Return the filter that options ask for; conclusions only say again what is there."""
    filter = selection(runtime, bank_id, options, state="valid")
    return filter if filter.types else replace(filter, derived=False)


def _mentions(runtime: Runtime, bank_id: str, filter: MemoryFilter) -> dict[str, tuple[str, ...]]:
    """Return the entities that each memory mentions, in the order of storing."""
    ids = every_id(runtime.graph, bank_id, filter)
    found: dict[str, tuple[str, ...]] = dict.fromkeys(ids, ())
    for start in range(0, len(ids), BATCH):
        found |= runtime.graph.read(bank_id, MENTIONS, ids[start : start + BATCH])
    return found


def _most(counts: Mapping[str, int]) -> list[str]:
    """Return ids, those counted most often first."""
    return sorted(counts, key=lambda id: (-counts[id], id))


def _nearest(
    center: str, hops: int, pairs: Mapping[_Pair, int], counts: Mapping[str, int]
) -> list[str]:
    """Return the ids within some hops of one: the nearest, then the most often mentioned first."""
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        beside[one].append(other)
        beside[other].append(one)
    reached = {center: 0}
    frontier = [center]
    for hop in range(1, hops + 1):
        if not frontier:
            break
        frontier = list({id for near in frontier for id in beside[near]} - reached.keys())
        reached |= dict.fromkeys(frontier, hop)
    return sorted(reached, key=lambda id: (reached[id], -counts[id], id))


def _connections(entities: Sequence[Entity], pairs: Mapping[_Pair, int]) -> tuple[Connection, ...]:
    order = {entity.id: number for number, entity in enumerate(entities)}
    found = []
    for pair, count in pairs.items():
        if pair[0] in order and pair[1] in order:
            source, target = sorted(pair, key=order.__getitem__)
            found.append(Connection(source, target, count))
    found.sort(key=lambda one: (-one.memories, order[one.source], order[one.target]))
    return tuple(found)


def _examples(
    runtime: Runtime,
    bank_id: str,
    mentions: Mapping[str, tuple[str, ...]],
    entities: Iterable[Entity],
    connections: Iterable[Connection],
) -> dict[str | _Pair, tuple[str, ...]]:
    """Return the starts of the latest memories of each entity and each connection."""
    ids: dict[str | _Pair, list[str]] = {entity.id: [] for entity in entities}
    ids |= {(one.source, one.target): [] for one in connections}
    for memory_id, named in reversed(list(mentions.items())):
        known = [id for id in named if id in ids]
        for key in (*known, *((a, b) for a in known for b in known)):
            if key in ids and len(ids[key]) < EXAMPLES:
                ids[key].append(memory_id)
    wanted = list({id for chosen in ids.values() for id in chosen})
    texts: dict[str, str] = {}
    for start in range(0, len(wanted), BATCH):
        read = runtime.graph.read(bank_id, MEMORY, wanted[start : start + BATCH])
        texts |= {id: _quoted(memory) for id, memory in read.items()}
    return {key: tuple(texts[id] for id in chosen if id in texts) for key, chosen in ids.items()}


def _quoted(memory: Memory) -> str:
    lead = f"{memory.speaker}: " if memory.speaker else ""
    text = f"{lead}{memory.text}"
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"


def bank_timeline(
    runtime: Runtime, bank_id: str, limit: int, options: SelectionOptions
) -> BankTimeline:
    """Return memories of a bank at the times that they name; see `Hindsight.timeline`."""
    limit = validation.page_limit(limit, MOST_EVENTS)
    runtime.bank(bank_id)
    filter = _chosen(runtime, bank_id, options)
    ids = every_id(runtime.graph, bank_id, filter)
    shown = ids
    if len(ids) > limit:
        shown = [ids[number * len(ids) // limit] for number in range(limit)]
    memories = runtime.graph.read(bank_id, MEMORY, shown)
    return BankTimeline(bank_id, tuple(memories.values()), len(ids))
