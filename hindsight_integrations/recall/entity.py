"""The entity arm: memories reached through people, places and things, over several hops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hindsight_integrations.model import Entity, LinkKind
from hindsight_integrations.recall.activation import Edge, Node, hub_damping, spread
from hindsight_integrations.recall.ports import ArmHit, BankSearch

STEPS = 4
"""Two hops from memory to memory, each through an entity: "who manages X" by way of a project."""

PER_ENTITY = 40
"""Memories an entity leads to at most, the latest: keeps hubs from flooding the search."""

PER_MEMORY = 4
"""Links followed from a memory at most, the heaviest."""

SEEDS = 10
"""Best hits of the meaning arm that activation starts from, beside the names in the question."""

HUB_SHARE = 0.15
"""An entity on more than this share of a bank's memories connects nothing: it is the speaker."""

SMALL_BANK = 40
"""Up to so many mentions nobody is a hub, however small the bank."""

LINK_STRENGTH = {LinkKind.CAUSAL: 1.0, LinkKind.SEMANTIC: 0.6, LinkKind.TEMPORAL: 0.2}
"""What a link lets through, times its weight: causes lead on most surely."""


def search(
    request: BankSearch,
    named: Sequence[Entity],
    similar: Sequence[ArmHit],
) -> list[ArmHit]:
    """Memories by activation from the entities the question names and its nearest memories.

    Args:
        request: the question and the bank.
        named: entities of the bank that the question names.
        similar: the meaning arm's hits, best first.
    """
    seeds = {Node("entity", entity.id): 1.0 for entity in named}
    for rank, hit in enumerate(similar[:SEEDS], start=1):
        seeds[Node("memory", hit.memory_id)] = max(hit.score, 0.0) / rank
    if not seeds:
        return []
    names = {entity.id: entity.name for entity in named}
    activation = spread(
        seeds,
        _expansion(request),
        steps=STEPS,
        max_nodes=request.depth.nodes,
    )
    reached = [node for node in activation.level if node.kind == "memory"]
    reached.sort(key=lambda node: (-activation.level[node], node.id))
    reached = reached[: request.depth.hits]
    paths = {node: activation.path(node) for node in reached}
    passed = {
        node.id
        for path in paths.values()
        for edge in path
        for node in (edge.source, edge.target)
        if node.kind == "entity"
    }
    found = request.graph.get_entities(request.bank_id, sorted(passed - names.keys()))
    names |= {entity_id: entity.name for entity_id, entity in found.items()}
    return [
        ArmHit(node.id, activation.level[node], _reason(paths[node], names)) for node in reached
    ]


def _expansion(request: BankSearch) -> Callable[[Sequence[Node]], list[Edge]]:
    hub = max(SMALL_BANK, HUB_SHARE * request.stats.documents)

    def expand(nodes: Sequence[Node]) -> list[Edge]:
        memories = [node.id for node in nodes if node.kind == "memory"]
        entities = [node.id for node in nodes if node.kind == "entity"]
        edges: list[Edge] = []
        if entities:
            for posting in request.graph.postings(
                request.bank_id, entities, PER_ENTITY, request.filter
            ):
                if posting.degree <= hub:
                    source, target = (
                        Node("entity", posting.entity_id),
                        Node("memory", posting.memory_id),
                    )
                    edges.append(Edge(source, target, hub_damping(posting.degree)))
        if memories:
            for memory_id, mentioned in request.graph.mentions(request.bank_id, memories).items():
                source = Node("memory", memory_id)
                edges += [Edge(source, Node("entity", entity_id), 1.0) for entity_id in mentioned]
            wanted = set(memories)
            for link in request.graph.links(request.bank_id, memories, PER_MEMORY, request.filter):
                weight = LINK_STRENGTH[link.kind] * link.weight
                a, b = Node("memory", link.source_id), Node("memory", link.target_id)
                if link.source_id in wanted:
                    edges.append(Edge(a, b, weight, link.kind))
                if link.target_id in wanted:
                    edges.append(Edge(b, a, weight, link.kind))
        return edges

    return expand


def _reason(path: Sequence[Edge], names: dict[str, str]) -> str:
    if not path:
        return "path: a nearest memory"
    steps = [
        names.get(path[0].source.id, "?") if path[0].source.kind == "entity" else "a near memory"
    ]
    for edge in path:
        if edge.target.kind == "entity":
            steps.append(names.get(edge.target.id, "?"))
        elif edge.label:
            steps.append(f"({edge.label}) a memory")
        else:
            steps.append("a memory")
    return "path: " + " → ".join(steps)
