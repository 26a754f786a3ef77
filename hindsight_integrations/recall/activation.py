"""Spreading activation: what a few starting points bring to mind through a graph.

Collins and Loftus, "A spreading-activation theory of semantic processing", Psychological
Review 82, 1975: activation flows along links, weakens with each step, and adds up where
several paths meet.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

BREADTH = 40
"""Nodes expanded in one step, the strongest: what reached the others faintly ends there."""

DECAY = 0.7
"""What is left of activation after one step."""


class Node(NamedTuple):
    """A memory or an entity."""

    kind: str
    id: str


class Edge(NamedTuple):
    """A way from one node to another that lets `weight`, 0 to 1, of the activation through."""

    source: Node
    target: Node
    weight: float
    label: str = ""


@dataclass(frozen=True, slots=True)
class Activation:
    """How strongly each node was reached, and by which edge most of it came."""

    level: Mapping[Node, float]
    through: Mapping[Node, Edge]

    def path(self, node: Node) -> list[Edge]:
        """Edges from a starting point to `node`, in that order."""
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
    """What an entity mentioned by `degree` memories lets through: 1 / log2(2 + degree).

    A name on every memory says little about any of them.
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
        expand: the edges that leave these nodes.
        steps: how many edges a path may have.
        max_nodes: nodes reached at most, seeds included.
        decay: what is left of activation after one step.
    """
    level: dict[Node, float] = dict(seeds)
    through: dict[Node, Edge] = {}
    frontier = sorted(seeds, key=lambda node: (-seeds[node], node))[:max_nodes]
    for _ in range(steps):
        if not frontier or len(level) >= max_nodes:
            break
        arriving: defaultdict[Node, float] = defaultdict(float)
        strongest: dict[Node, tuple[float, Edge]] = {}
        for edge in expand(frontier[:BREADTH]):
            flow = level[edge.source] * edge.weight * decay
            arriving[edge.target] += flow
            if flow > strongest.get(edge.target, (0.0, edge))[0]:
                strongest[edge.target] = (flow, edge)
        order = sorted(arriving, key=lambda node: (-arriving[node], node))
        frontier = []
        for node in order:
            if node in level:
                level[node] += arriving[node]
            elif len(level) < max_nodes and node in strongest:
                level[node] = arriving[node]
                through[node] = strongest[node][1]
                frontier.append(node)
    return Activation(level, through)
