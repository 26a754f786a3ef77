from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from hindsight_integrations.recall.arms.entity import Edge, Node, hub_damping, spread

pytestmark = pytest.mark.ranking


def memory(name: str) -> Node:
    return Node("memory", name)


def graph(*edges: tuple[str, str, float]) -> Callable[[Sequence[Node]], list[Edge]]:
    ways = [Edge(memory(a), memory(b), weight) for a, b, weight in edges]
    return lambda nodes: [edge for edge in ways if edge.source in nodes]


def test_activation_decays_with_every_step() -> None:
    reached = spread(
        {memory("a"): 1.0}, graph(("a", "b", 1.0), ("b", "c", 0.5)), steps=3, max_nodes=9, decay=0.5
    )
    assert reached.level[memory("b")] == pytest.approx(0.5)
    assert reached.level[memory("c")] == pytest.approx(0.5 * 0.5 * 0.5)


def test_activation_adds_up_where_paths_meet() -> None:
    ways = graph(("a", "c", 1.0), ("b", "c", 1.0))
    reached = spread({memory("a"): 1.0, memory("b"): 0.6}, ways, steps=1, max_nodes=9, decay=0.5)
    assert reached.level[memory("c")] == pytest.approx(0.5 + 0.3)


def test_a_path_leads_from_a_seed_by_the_strongest_edges() -> None:
    ways = graph(("a", "b", 0.2), ("a", "c", 0.9), ("c", "b", 0.9), ("b", "d", 1.0))
    reached = spread({memory("a"): 1.0}, ways, steps=4, max_nodes=9, decay=0.9)
    assert [edge.target.id for edge in reached.path(memory("d"))] == ["b", "d"]
    assert reached.path(memory("a")) == []


def test_no_more_nodes_are_reached_than_allowed() -> None:
    ways = graph(*((("a", f"n{i:02}", 1 - i / 100)) for i in range(50)))
    reached = spread({memory("a"): 1.0}, ways, steps=2, max_nodes=10)
    assert len(reached.level) == 10
    assert memory("n00") in reached.level
    assert memory("n40") not in reached.level


def test_the_graph_is_asked_once_a_step() -> None:
    calls = []

    def expand(nodes: Sequence[Node]) -> list[Edge]:
        calls.append(len(nodes))
        return [Edge(node, memory(node.id + "x"), 1.0) for node in nodes]

    spread({memory("a"): 1.0}, expand, steps=4, max_nodes=100)
    assert len(calls) == 4


def test_a_cycle_ends() -> None:
    reached = spread(
        {memory("a"): 1.0}, graph(("a", "b", 1.0), ("b", "a", 1.0)), steps=10, max_nodes=9
    )
    assert set(reached.level) == {memory("a"), memory("b")}
    assert reached.path(memory("b")) == [Edge(memory("a"), memory("b"), 1.0)]


def test_the_strongest_forty_of_a_step_lead_on() -> None:
    seeds = {memory(f"s{n:02}"): n / 100 for n in range(1, 42)}
    ways = graph(*[(seed.id, f"of {seed.id}", 1.0) for seed in seeds])
    reached = spread(seeds, ways, steps=1, max_nodes=200)
    assert len(reached.level) == 41 + 40
    assert memory("of s01") not in reached.level


def test_hubs_are_damped() -> None:
    assert hub_damping(0) == 1.0
    assert hub_damping(2) == 0.5
    assert hub_damping(1000) < 0.11
