from __future__ import annotations

import math

import numpy as np
import pytest

from hindsight_integrations.recall.entity_graph import (
    EntityGraph,
    entity_graph,
    personalised_pagerank,
    shared_entity_boost,
)
from tests.recall.building import candidate, pool_of

pytestmark = pytest.mark.ranking


def graph(*memories: str) -> EntityGraph:
    """A graph from the names on each memory, a letter each: graph("X", "XY", "Y")."""
    names = sorted(set("".join(memories)))
    held = [(row, names.index(name)) for row, memory in enumerate(memories) for name in memory]
    pairs = np.array(held, dtype=np.intp).reshape(len(held), 2)
    frequency = np.bincount(pairs[:, 1], minlength=len(names)).astype(np.float64)
    return EntityGraph(len(memories), pairs[:, 0], pairs[:, 1], frequency, tuple(names))


def links(graph: EntityGraph) -> list[tuple[int, str]]:
    """Return the memories and the names that they mention."""
    pairs = zip(graph.memories.tolist(), graph.entities.tolist(), strict=True)
    return [(memory, graph.names[entity]) for memory, entity in pairs]


# The graph


def test_names_on_two_memories_or_more_link_them() -> None:
    pool = pool_of(
        [
            candidate("0", entities=["Oslo", "Heron"]),
            candidate("1", entities=["Heron", "Bern"]),
            candidate("2", entities=["Bern", "Heron"]),
        ]
    )
    found = entity_graph(pool)
    # Bern and Heron, by id; Oslo is on one memory alone.
    assert found.names == ("Bern", "Heron")
    assert sorted(links(found)) == [
        (0, "Heron"),
        (1, "Bern"),
        (1, "Heron"),
        (2, "Bern"),
        (2, "Heron"),
    ]
    assert found.frequency.tolist() == [2.0, 3.0]


def test_names_in_the_question_and_speakers_link_nothing() -> None:
    memories = [
        candidate("0", entities=["Oslo", "Ana", "Bern"], speaker="Ana"),
        candidate("1", entities=["Oslo", "Ana", "Bern"], speaker="Tom"),
    ]
    found = entity_graph(pool_of(memories, named=["Oslo"]))
    assert links(found) == [(0, "Bern"), (1, "Bern")]


@pytest.mark.parametrize(
    ("size", "holders", "linked"),
    [(20, 10, True), (20, 11, False), (80, 12, True), (80, 13, False)],
)
def test_a_name_on_more_than_ten_memories_and_15_percent_links_nothing(
    size: int, holders: int, linked: bool
) -> None:
    pool = pool_of([candidate(str(n), entities=["X"] * (n < holders)) for n in range(size)])
    assert len(links(entity_graph(pool))) == holders * linked


@pytest.mark.parametrize(
    ("memories", "strength"),
    [
        # Names a memory: 0.7 and below is nothing, 1.5 and above is full.
        (["X", "X", "", ""], 0.0),
        (["X"] * 7 + [""] * 3, 0.0),
        (["X"] * 4, 0.3 / 0.8),
        (["XY", "X", "X", "X", "X"], 0.5 / 0.8),
        (["XYZ", "XYZ", "", ""], 1.0),
        (["XYZ", "XYZ"], 1.0),
    ],
)
def test_strength_grows_with_the_names_a_memory_has(memories: list[str], strength: float) -> None:
    assert graph(*memories).strength == pytest.approx(strength)


def test_an_empty_graph_has_no_strength() -> None:
    assert graph().strength == 0.0


def test_rarity_is_the_logarithm_of_the_share_without_a_name() -> None:
    # Four memories: X on one, Y on two, Z on all.
    expected = [math.log(4) + 0.1, math.log(2) + 0.1, 0.1]
    assert graph("XYZ", "YZ", "Z", "Z").rarity == pytest.approx(expected)


def test_values_of_mentions_are_summed_by_memory_and_by_name() -> None:
    mentions = np.array([1.0, 2.0, 4.0])  # of X and Y on the first memory, and of X on the second
    assert graph("XY", "X").sum_by_memory(mentions).tolist() == [3.0, 4.0]
    assert graph("XY", "X").sum_by_entity(mentions).tolist() == [5.0, 2.0]


# PageRank


def test_rank_flows_to_who_shares_a_name_with_the_best() -> None:
    # Sources 1 and 1/2, to sum to 1: 2/3 and 1/3. What is passed on over X is halved, so each
    # has half of its source, and half of 1/2.
    flow = personalised_pagerank(graph("X", "X"), np.array([2.0, 1.0]))
    assert flow == pytest.approx([1 / 3 + 1 / 4, 1 / 6 + 1 / 4])


def test_rank_flows_from_the_best_three_by_their_order_alone() -> None:
    # Four pairs; each memory has half its source, and a quarter of the source of its pair.
    # Sources of 1, 1/2 and 1/3, to sum to 1: 6/11, 3/11, 2/11. The fourth best has none.
    scores = np.array([9.0, 0.0, 8.0, 0.1, 1.0, 0.2, 0.3, 0.0])
    flow = personalised_pagerank(graph("A", "A", "B", "B", "C", "C", "D", "D"), scores)
    elevenths = [6 * 0.75, 6 * 0.25, 3 * 0.75, 3 * 0.25, 2 * 0.75, 2 * 0.25, 0, 0]
    assert flow * 11 == pytest.approx(elevenths)


def test_rank_reaches_four_memories_far_and_no_further() -> None:
    # A chain: A, AB, BC, ... From inside, a quarter of the rank goes to either side, half of
    # which is left at each of four steps. The third best is four steps from the seventh.
    chain = graph("A", "AB", "BC", "CD", "DE", "EF", "FG", "GH", "H")
    flow = personalised_pagerank(chain, np.arange(9.0, 0.0, -1.0))
    assert flow[6] == pytest.approx(2 / 11 * 0.5**4 * 0.25**4)
    assert flow[7:].tolist() == [0.0, 0.0]


def test_a_rare_name_carries_more_than_a_common_one() -> None:
    # X is on two memories of four, Y on three. From the first, which has both, the parts are as
    # rarity over the root of frequency; then all holders of a name get alike.
    x, y = (math.log(2) + 0.1) / 2**0.5, (math.log(4 / 3) + 0.1) / 3**0.5
    x, y = x / (x + y), y / (x + y)
    passed_on = np.array(
        [
            [x / 2 + y / 3, x / 2, y / 3, y / 3],
            [1 / 2, 1 / 2, 0, 0],
            [1 / 3, 0, 1 / 3, 1 / 3],
            [1 / 3, 0, 1 / 3, 1 / 3],
        ]
    )
    source = np.array([6 / 11, 3 / 11, 2 / 11, 0])
    expected = source
    for _ in range(4):
        expected = source / 2 + expected @ passed_on / 2
    flow = personalised_pagerank(graph("XY", "X", "Y", "Y"), np.array([4.0, 3.0, 2.0, 1.0]))
    assert flow == pytest.approx(expected)


def test_nothing_flows_without_names() -> None:
    assert personalised_pagerank(graph("", ""), np.array([1.0, 0.5])).tolist() == [0.0, 0.0]


# Shared names


def test_a_shared_name_draws_up_most_of_the_way_to_the_hit() -> None:
    # 0.7 of the way from 1 to 3, since two memories have the name.
    gain, _ = shared_entity_boost(graph("X", "X", ""), np.array([3.0, 1.0, 2.0]))
    assert gain == pytest.approx([0.0, 0.7 * 2, 0.0])


def test_the_more_memories_have_a_name_the_less_it_draws() -> None:
    # Four have it: 0.7 * 2 / 4 of the way to the best (5), which beats those to 4 and to 3.
    gain, _ = shared_entity_boost(graph("X", "X", "X", "X"), np.array([5.0, 4.0, 3.0, 1.0]))
    assert gain == pytest.approx([0.0, 0.35 * 1, 0.35 * 2, 0.35 * 4])


def test_the_rarest_shared_name_counts() -> None:
    gain, due = shared_entity_boost(graph("XY", "XY", "Y", "Y"), np.array([3.0, 1.0, 2.0, 0.0]))
    # X, of two, ties the second to the best fully; Y, of four, the others half.
    assert gain == pytest.approx([0.0, 0.7 * 2, 0.35 * 1, 0.35 * 3])
    assert due[1:].tolist() == [0, 1, 1]


def test_only_the_best_three_draw() -> None:
    memories = ["A", "B", "C", "D", "C", "D"]
    gain, _ = shared_entity_boost(graph(*memories), np.array([9.0, 8.0, 7.0, 6.0, 1.0, 1.0]))
    assert gain == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.7 * 6, 0.0])


def test_nothing_is_drawn_without_names() -> None:
    assert shared_entity_boost(graph("", ""), np.array([1.0, 0.0]))[0].tolist() == [0.0, 0.0]
