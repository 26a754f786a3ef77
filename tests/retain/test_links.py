from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.errors import ExtractionError
from hindsight_integrations.models import Link, LinkKind
from hindsight_integrations.retain.links import (
    causal_links,
    semantic_links,
    temporal_links,
    temporal_weight,
)

NOON = datetime(2023, 5, 7, 12, tzinfo=UTC)


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def triples(links: list[Link]) -> list[tuple[str, str, float]]:
    return [(link.source_id, link.target_id, round(link.weight, 4)) for link in links]


@pytest.mark.parametrize(
    ("hours", "window", "weight"),
    [(0, 24, 1.0), (6, 24, 0.75), (16.8, 24, 0.3), (24, 24, 0.3), (1, 2, 0.5), (9, 2, 0.3)],
)
def test_temporal_weight_falls_with_the_hours_to_its_floor(
    hours: float, window: float, weight: float
) -> None:
    assert temporal_weight(hours, window) == pytest.approx(weight)


def test_new_memories_link_back_in_time_and_to_stored_ones_on_both_sides() -> None:
    links = temporal_links(
        [("n1", at(0)), ("n2", at(6))], [("later", at(12)), ("earlier", at(-3)), ("far", at(-30))]
    )
    assert {link.kind for link in links} == {LinkKind.TEMPORAL}
    assert triples(links) == [
        ("n1", "earlier", 0.875),
        ("n1", "later", 0.5),
        ("n2", "n1", 0.75),
        ("n2", "later", 0.75),
        ("n2", "earlier", 0.625),
    ]


def test_the_nearest_in_time_are_linked_with_ties_by_id() -> None:
    around = [(name, at(1)) for name in "dbca"] + [("near", at(0.5))]
    links = temporal_links([("new", at(0))], around, limit=3)
    assert [link.target_id for link in links] == ["near", "a", "b"]


def test_a_long_batch_of_one_moment_links_to_the_turns_just_before() -> None:
    new = [(f"m{i:03}", NOON) for i in range(100)]
    links = temporal_links(new, [], limit=2)
    assert [link.target_id for link in links if link.source_id == "m050"] == ["m049", "m048"]
    assert len(links) == 2 * 100 - 3


def test_the_ends_of_the_calendar_are_no_obstacle() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    links = temporal_links([("a", first), ("z", last)], [("b", first), ("y", last)])
    assert triples(links) == [("a", "b", 1.0), ("z", "y", 1.0)]


moments = st.dictionaries(
    st.sampled_from("abcdefghij"), st.integers(0, 60).map(at), max_size=10
).map(lambda moments: list(moments.items()))


@given(moments, moments, st.integers(0, 4))
def test_temporal_links_are_few_once_each_and_never_to_oneself(
    new: list[tuple[str, datetime]], around: list[tuple[str, datetime]], limit: int
) -> None:
    links = temporal_links(new, around, limit=limit)
    when = dict(around) | dict(new)
    pairs = {frozenset((link.source_id, link.target_id)) for link in links}
    assert len(pairs) == len(links)
    for link in links:
        assert link.source_id in dict(new)
        assert link.source_id != link.target_id
        gap = abs(when[link.source_id] - when[link.target_id]) / timedelta(hours=1)
        assert gap <= 24
        assert link.weight == temporal_weight(gap)
    for id, _ in new:
        assert sum(link.source_id == id for link in links) <= limit
    assert links == temporal_links(new, around[::-1], limit=limit)


def unit(rows: list[list[float]]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    array = np.array(rows, dtype=np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def test_similar_memories_are_linked_by_their_cosine() -> None:
    vectors = unit([[1, 0], [0.8, 0.6], [0, 1]])
    nearest = [[("old", 0.9), ("weak", 0.69)], [], [("old", 0.7)]]
    links = semantic_links(["a", "b", "c"], vectors, nearest)
    assert {link.kind for link in links} == {LinkKind.SEMANTIC}
    assert triples(links) == [("a", "old", 0.9), ("b", "a", 0.8), ("c", "old", 0.7)]


def test_the_most_similar_are_linked_with_ties_by_id() -> None:
    vectors = unit([[1, 0]] * 4 + [[1, 0]])
    links = semantic_links(
        ["d", "b", "c", "a", "new"], vectors, [[]] * 4 + [[("old", 1.0)]], limit=3
    )
    assert [link.target_id for link in links if link.source_id == "new"] == ["a", "b", "c"]


def test_an_index_that_knows_the_new_memories_already_adds_no_links_to_them() -> None:
    nearest = [[("a", 1.0), ("b", 0.8)], [("b", 1.0), ("a", 0.8)]]
    links = semantic_links(["a", "b"], unit([[1, 0], [0.8, 0.6]]), nearest)
    assert triples(links) == [("b", "a", 0.8)]


def test_a_cosine_above_one_by_rounding_is_a_weight_of_one() -> None:
    links = semantic_links(["a"], unit([[1, 0]]), [[("old", 1.0000001)]])
    assert links[0].weight == 1.0


def test_opposites_are_not_linked_even_without_a_threshold() -> None:
    links = semantic_links(["a", "b"], unit([[1, 0], [-1, 0]]), [[], [("o", 0.0)]], threshold=0.0)
    assert links == []


def test_nothing_new_makes_no_links() -> None:
    assert semantic_links([], np.zeros((0, 0), dtype=np.float32), []) == []
    assert temporal_links([], [("old", NOON)]) == []


@given(st.integers(1, 30), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_semantic_links_are_the_best_of_comparing_all_with_all(
    count: int, limit: int, seed: int
) -> None:
    # Few directions, so that ties abound.
    vectors = unit(np.random.default_rng(seed).integers(1, 4, size=(count, 3)).tolist())
    ids = [f"m{i}" for i in range(count)]
    links = semantic_links(ids, vectors, [[("old", 0.95)]] * count, limit=limit, threshold=0.9)
    assert len({(link.source_id, link.target_id) for link in links}) == len(links)
    for row, id in enumerate(ids):
        weights = [link.weight for link in links if link.source_id == id]
        cosines = [0.95, *(float(vectors[row] @ vectors[mate]) for mate in range(row))]
        best = sorted((cosine for cosine in cosines if cosine >= 0.9), reverse=True)[:limit]
        assert weights == pytest.approx(best, abs=1e-6)
        targets = [link.target_id for link in links if link.source_id == id]
        assert set(targets) <= {"old", *ids[:row]}


def test_blocks_of_a_large_batch_join_without_a_seam() -> None:
    angles = np.linspace(0, np.pi / 2, 2100)
    vectors = unit(np.stack([np.cos(angles), np.sin(angles)], axis=1).tolist())
    ids = [f"m{i:04}" for i in range(2100)]
    links = semantic_links(ids, vectors, [[]] * 2100, limit=1, threshold=0.99)
    assert [(link.source_id, link.target_id) for link in links] == list(
        zip(ids[1:], ids, strict=False)
    )


def test_causes_point_from_effect_to_cause_once() -> None:
    links = causal_links(["a", "b", "c"], [(), (0, 0), (0, 1)])
    assert {link.kind for link in links} == {LinkKind.CAUSAL}
    assert triples(links) == [("b", "a", 1.0), ("c", "a", 1.0), ("c", "b", 1.0)]


def test_facts_folded_into_one_do_not_cause_themselves() -> None:
    assert causal_links(["a", "a"], [(), (0,)]) == []


@pytest.mark.parametrize("position", [-1, 2])
def test_a_cause_outside_the_passage_is_an_extraction_error(position: int) -> None:
    with pytest.raises(ExtractionError, match=f"position {position}"):
        causal_links(["a", "b"], [(), (position,)])
