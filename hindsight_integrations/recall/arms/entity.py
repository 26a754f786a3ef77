"""The entity arm: spreading activation over entities and links."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from hindsight_integrations.models import Entity, Link, LinkKind
from hindsight_integrations.normalization import entity_norm, word_runs
from hindsight_integrations.recall.arms import semantic
from hindsight_integrations.recall.base import ArmHit, BankSearch
from hindsight_integrations.results import PathStep
from hindsight_integrations.stores.base import (
    ENTITY,
    ENTITY_NAMED,
    GraphStore,
    Posting,
    Surroundings,
)

LONGEST_NAME = 5
"""Words of the longest name looked up."""

STEPS = 4
"""Edges of a path: two hops from memory to memory, each through an entity ("who manages X", by
way of a project)."""

BREADTH = 40
"""Nodes expanded in one step, the strongest; activation ends at the others."""

DECAY = 0.7
"""Share of activation that is left after one step."""

SEEDS = 10
"""Number of best semantic hits used as seeds, in addition to the names in the question."""

PER_ENTITY = 40
"""Memories an entity leads to at most, the latest: keeps hubs from flooding the search."""

PER_MEMORY = 4
"""Links followed from a memory at most, the heaviest."""

HUB_SHARE = 0.15
"""Share of a bank's memories above which an entity is a hub that connects nothing, such as the
speaker of a chat."""

AHEAD = 80
"""Most entities, and most memories, whose surroundings are prefetched before the next step has
chosen the nodes it expands: more than `BREADTH`, as the strongest are not known yet."""

SMALL_BANK = 40
"""Number of mentions up to which no entity is a hub, in a bank of any size."""

LINK_STRENGTH = {LinkKind.CAUSAL: 1.0, LinkKind.SEMANTIC: 0.6, LinkKind.TEMPORAL: 0.2}
"""Share of activation a link passes on, times its weight: causes lead on most surely."""


def query_entities(graph: GraphStore, bank_id: str, question: str) -> list[Entity]:
    """Return the entities whose names or aliases occur in the question; longer names come first.

    The longest name wins where several overlap ("New York" over "York"). A single word in lower
    case that is a plain word of the language ("mark") does not count as somebody's name.
    """
    runs = list(word_runs(question, LONGEST_NAME))
    known = graph.read(bank_id, ENTITY_NAMED, sorted({run.norm for run in runs}))
    by_id: dict[str, Entity] = {}
    used_indexes: set[int] = set()
    for run in sorted(runs, key=lambda run: (-len(run.indexes), run.indexes)):
        entity = known.get(run.norm)
        if entity is None or used_indexes & set(run.indexes) or run.is_plain_word:
            continue
        used_indexes |= set(run.indexes)
        by_id.setdefault(entity.id, entity)
    return list(by_id.values())


def words_of(entities: Sequence[Entity]) -> frozenset[str]:
    """Return the normalised words of the names and aliases of some entities."""
    names = (name for entity in entities for name in entity.names)
    return frozenset(word for name in names for word in entity_norm(name).split())


def entities_by_reference(
    graph: GraphStore, bank_id: str, names: Sequence[str]
) -> dict[str, Entity]:
    """Look up entities by id, name or alias; map each reference that is known to its entity."""
    by_id = graph.read(bank_id, ENTITY, names)
    norms = {name: entity_norm(name) for name in names}
    by_name = graph.read(bank_id, ENTITY_NAMED, sorted({*norms.values()} - {""}))
    found = {name: by_id.get(name) or by_name.get(norms[name]) for name in names}
    return {name: entity for name, entity in found.items() if entity is not None}


class Node(NamedTuple):
    """A memory or an entity."""

    kind: str
    id: str


class Edge(NamedTuple):
    """A directed edge that passes on `weight`, 0 to 1, of the source's activation."""

    source: Node
    target: Node
    weight: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Activation:
    """Result of spreading activation.

    Attributes:
        level: activation of each node reached.
        through: the edge over which a node received most; missing for most seeds.
    """

    level: Mapping[Node, float]
    through: Mapping[Node, Edge]

    def path(self, node: Node) -> list[Edge]:
        """Return the edges from a seed to `node`, in that order; empty for a seed itself."""
        edges: list[Edge] = []
        seen = {node}
        while (edge := self.through.get(node)) is not None:
            edges.append(edge)
            node = edge.source
            if node in seen:
                break
            seen.add(node)
        return edges[::-1]


def hub_damping(degree: int) -> float:
    """Return the share that an entity mentioned by `degree` memories passes on.

    1 / log2(2 + degree): a name on every memory says little about any of them.
    """
    return 1.0 / math.log2(2 + degree)


def spread(
    seeds: Mapping[Node, float],
    expand: Callable[[Sequence[Node]], Sequence[Edge]],
    *,
    steps: int,
    max_nodes: int,
    decay: float = DECAY,
) -> Activation:
    """Let activation flow from the seeds.

    Each step expands the strongest nodes that the last one reached, until `steps` are done or
    `max_nodes` have been reached; `expand` is called at most `steps` times. A node keeps what it
    received; what arrives later adds to it.

    Args:
        seeds: starting points and their activation.
        expand: returns the edges that leave these nodes.
        steps: most edges of a path.
        max_nodes: most nodes reached, seeds included.
        decay: share of activation that is left after one step.
    """
    level: dict[Node, float] = dict(seeds)
    through: dict[Node, Edge] = {}
    frontier = _descending(seeds)[:max_nodes]
    for _ in range(steps):
        if not frontier or len(level) >= max_nodes:
            break
        arriving: defaultdict[Node, float] = defaultdict(float)
        largest: dict[Node, float] = {}
        strongest: dict[Node, Edge] = {}
        for edge in expand(frontier[:BREADTH]):
            source, target, weight, _ = edge
            flow = level[source] * weight * decay
            arriving[target] += flow
            if flow > largest.get(target, 0.0):
                largest[target], strongest[target] = flow, edge
        frontier = []
        for node in _descending(arriving):
            if node in level:
                if arriving[node] > level[node] and node not in through:
                    _add_stronger_edge(through, node, strongest[node])
                level[node] += arriving[node]
            elif len(level) < max_nodes and node in strongest:
                level[node] = arriving[node]
                through[node] = strongest[node]
                frontier.append(node)
    return Activation(level, through)


def _descending(activation: Mapping[Node, float]) -> list[Node]:
    """Return nodes by descending activation, ties by kind and id.

    Two stable sorts are faster than one with a tuple as key.
    """
    return sorted(sorted(activation), key=activation.__getitem__, reverse=True)


def _add_stronger_edge(through: dict[Node, Edge], node: Node, edge: Edge) -> None:
    """Record the edge over which a seed received more activation than it started with.

    An edge whose source was itself reached from that seed is skipped: paths have no cycles.
    """
    before: Node | None = edge.source
    while before is not None:
        if before == node:
            return
        arrived = through.get(before)
        before = arrived.source if arrived else None
    through[node] = edge


def search(
    request: BankSearch, query_entities: Sequence[Entity], similar: Sequence[ArmHit]
) -> list[ArmHit]:
    """Return memories by activation that spreads from the named entities and nearest memories.

    Args:
        request: the question and the bank.
        query_entities: entities of the bank that the question names.
        similar: the semantic arm's hits, best first.
    """
    seeds = {Node("entity", entity.id): 1.0 for entity in query_entities}
    for rank, hit in enumerate(similar[:SEEDS], start=1):
        seeds[Node("memory", hit.memory_id)] = max(hit.score, 0.0) / rank
    if not seeds:
        return []
    reader = _EdgeReader(request, through_hubs=not similar)
    activation = spread(seeds, reader.edges, steps=STEPS, max_nodes=request.depth.nodes)
    reached = [node for node in activation.level if node.kind == "memory"]
    reached.sort(key=lambda node: (-activation.level[node], node.id))
    paths = {node: activation.path(node) for node in reached[: request.depth.hits]}
    names = reader.names | {entity.id: entity.name for entity in query_entities}
    hits = []
    for node, path in paths.items():
        steps = _steps(path, names)
        hits.append(ArmHit(node.id, activation.level[node], _reason(steps), steps))
    return hits


def prefetch_surroundings(request: BankSearch, query_entities: Sequence[Entity]) -> Surroundings:
    """Read the likely surroundings of the seeds, before the filter has been applied to these."""
    try:
        nearest_ids = semantic.nearest_ids(request, SEEDS)
    except Exception:  # noqa: BLE001 - the semantic arm reports it; the names lead on without it
        nearest_ids = []
    return _surroundings(request, [entity.id for entity in query_entities], nearest_ids)


def _surroundings(
    request: BankSearch, entities: Sequence[str], memories: Sequence[str]
) -> Surroundings:
    """Read mentions and links of nodes, and of their neighbours if that saves a round trip."""
    return request.graph.surroundings(
        request.bank_id, entities, memories, PER_ENTITY, PER_MEMORY, request.filter, AHEAD
    )


class _EdgeReader:
    """Reads the outgoing edges of nodes in the bank's graph, and caches them.

    Args:
        request: the question and the bank.
        through_hubs: follow hubs too, as when no memory but only names are known as seeds.

    Attributes:
        names: canonical names of the entities mentioned, by id.
    """

    def __init__(self, request: BankSearch, *, through_hubs: bool) -> None:
        share = HUB_SHARE * request.stats.documents
        self._max_degree = math.inf if through_hubs else max(SMALL_BANK, share)
        self._request = request
        self._postings: dict[str, Sequence[Posting]] = {}
        self._mentions: dict[str, Sequence[tuple[str, str]]] = {}
        self._links: dict[str, Sequence[Link]] = {}
        self.names: dict[str, str] = {}
        if request.surroundings is not None:
            self._store(request.surroundings())

    def edges(self, nodes: Sequence[Node]) -> list[Edge]:
        """Return the outgoing edges of these nodes."""
        memories = [node.id for node in nodes if node.kind == "memory"]
        entities = [node.id for node in nodes if node.kind == "entity"]
        unread = (
            [id for id in entities if id not in self._postings],
            [id for id in memories if id not in self._mentions],
        )
        if any(unread):
            self._store(_surroundings(self._request, *unread))
        return [*self._from_entities(entities), *self._from_memories(memories)]

    def _store(self, found: Surroundings) -> None:
        self._postings |= found.postings
        self._mentions |= found.mentions
        self._links |= found.links
        for mentioned in found.mentions.values():
            self.names |= mentioned

    def _from_entities(self, entities: Sequence[str]) -> Iterator[Edge]:
        """Yield the edges to memories that mention the entities; hubs have none."""
        for entity_id in entities:
            postings = self._postings.get(entity_id, ())
            if not postings or postings[0].degree > self._max_degree:
                continue
            source, weight = Node("entity", entity_id), hub_damping(postings[0].degree)
            for _, memory_id, _ in postings:
                yield Edge(source, Node("memory", memory_id), weight)

    def _from_memories(self, memories: Sequence[str]) -> Iterator[Edge]:
        """Yield the edges to the entities that the memories mention, and along their links."""
        for memory_id in memories:
            source = Node("memory", memory_id)
            for entity_id, _ in self._mentions.get(memory_id, ()):
                yield Edge(source, Node("entity", entity_id), 1.0)
        requested = set(memories)
        links = chain.from_iterable(self._links.get(memory_id, ()) for memory_id in memories)
        for link in dict.fromkeys(links):
            weight = LINK_STRENGTH[link.kind] * link.weight
            a, b = Node("memory", link.source_id), Node("memory", link.target_id)
            if link.source_id in requested:
                yield Edge(a, b, weight, link.kind)
            if link.target_id in requested:
                yield Edge(b, a, weight, link.kind)


def _steps(path: Sequence[Edge], names: Mapping[str, str]) -> tuple[PathStep, ...]:
    """Return the nodes of a path, its seed first."""
    if not path:
        return ()
    nodes = [(path[0].source, ""), *((edge.target, edge.label) for edge in path)]
    return tuple(
        PathStep(node.kind, node.id, names.get(node.id, ""), label) for node, label in nodes
    )


def _reason(steps: Sequence[PathStep]) -> str:
    if not steps:
        return "path: a nearest memory"
    labels = [steps[0].text or "?" if steps[0].kind == "entity" else "a near memory"]
    for step in steps[1:]:
        if step.kind == "entity":
            labels.append(step.text or "?")
        else:
            labels.append(f"({step.link}) a memory" if step.link else "a memory")
    return "path: " + " → ".join(labels)
