"""The contract of `VectorIndex`.

A test class for an index inherits `VectorIndexContract` and gives an `index` fixture: an empty
index, which the fixture closes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from hindsight_integrations.errors import ClosedError
from hindsight_integrations.stores.base import VectorIndex

DIMENSION = 32


def unit_vectors(count: int, seed: int = 0, dimension: int = DIMENSION) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def names(count: int, start: int = 0) -> list[str]:
    return [f"m{n}" for n in range(start, start + count)]


class VectorIndexContract:
    """Tests that every vector index passes."""

    def test_the_nearest_come_first_with_their_cosine(self, index: VectorIndex) -> None:
        vectors = unit_vectors(300)
        index.upsert("a", names(300), vectors)
        query = unit_vectors(1, seed=1)[0]
        found = index.query("a", query, 10)
        cosines = vectors @ query
        best = np.argsort(-cosines)[:10]
        assert [name for name, _ in found] == [f"m{n}" for n in best]
        assert [cosine for _, cosine in found] == pytest.approx(cosines[best], abs=1e-5)

    def test_a_vector_written_again_is_replaced(self, index: VectorIndex) -> None:
        first, second = unit_vectors(2)
        index.upsert("a", ["x"], first[np.newaxis])
        index.upsert("a", ["x"], second[np.newaxis])
        ((name, cosine),) = index.query("a", second, 5)
        assert name == "x"
        assert cosine == pytest.approx(1.0)
        assert index.ids("a") == {"x"}

    def test_cosines_stay_within_their_range(self, index: VectorIndex) -> None:
        vectors = unit_vectors(50)
        index.upsert("a", names(50), np.concatenate([vectors[:25], -vectors[:25]]))
        for row in index.query_many("a", vectors[:25], 50):
            assert row[0][1] == pytest.approx(1.0)
            assert row[-1][1] == pytest.approx(-1.0)
            assert all(-1.0 <= cosine <= 1.0 for _, cosine in row)

    def test_ties_are_broken_by_id(self, index: VectorIndex) -> None:
        same = np.repeat(unit_vectors(1), 6, axis=0)
        index.upsert("a", ["f", "b", "d", "a", "e", "c"], same)
        assert [name for name, _ in index.query("a", same[0], 6)] == list("abcdef")

    def test_many_queries_answer_as_each_alone(self, index: VectorIndex) -> None:
        index.upsert("a", names(200), unit_vectors(200))
        queries = unit_vectors(7, seed=2)
        assert index.query_many("a", queries, 5) == [index.query("a", q, 5) for q in queries]
        assert index.query_many("a", queries[:0], 5) == []

    def test_a_limit_beyond_the_space_gives_all_of_it(self, index: VectorIndex) -> None:
        index.upsert("a", names(7), unit_vectors(7))
        assert len(index.query("a", unit_vectors(1)[0], 5_000)) == 7

    def test_no_limit_no_ids_and_no_space_are_empty(self, index: VectorIndex) -> None:
        query = unit_vectors(1)[0]
        assert index.query("none", query, 5) == []
        assert index.query_many("none", unit_vectors(2), 5) == [[], []]
        assert index.ids("none") == set()
        index.delete("none", ["x"])
        index.drop("none")
        index.upsert("a", [], unit_vectors(0))
        assert index.keys() == set()
        index.upsert("a", ["x"], unit_vectors(1))
        index.delete("a", [])
        assert index.query("a", query, 0) == []
        assert index.ids("a") == {"x"}

    def test_deleted_vectors_are_found_no_more(self, index: VectorIndex) -> None:
        vectors = unit_vectors(60)
        index.upsert("a", names(60), vectors)
        index.delete("a", [*names(30), "unknown"])
        assert index.ids("a") == set(names(30, start=30))
        assert {name for name, _ in index.query("a", vectors[0], 60)} == set(names(30, start=30))

    def test_a_space_emptied_can_be_filled_again(self, index: VectorIndex) -> None:
        index.upsert("a", names(5), unit_vectors(5))
        index.delete("a", names(5))
        assert index.query("a", unit_vectors(1)[0], 5) == []
        index.upsert("a", ["y"], unit_vectors(1))
        assert [name for name, _ in index.query("a", unit_vectors(1)[0], 5)] == ["y"]

    def test_spaces_do_not_see_each_other(self, index: VectorIndex) -> None:
        vectors = unit_vectors(40)
        index.upsert("a", names(20), vectors[:20])
        index.upsert("a/m1", names(20), vectors[20:])
        assert index.query("a", vectors[25], 1)[0][1] < 0.99
        index.delete("a", ["m3"])
        assert index.ids("a/m1") == set(names(20))
        index.drop("a")
        assert index.keys() == {"a/m1"}
        assert index.query("a/m1", vectors[25], 1)[0][0] == "m5"
        assert index.query("a", vectors[0], 5) == []

    @pytest.mark.parametrize("key", ["Ключ 1", "a/b'c\"d", "x" * 600, "...", "own-1", "$where"])
    def test_any_text_is_a_key(self, index: VectorIndex, key: str) -> None:
        index.upsert(key, ["é/1", " "], unit_vectors(2))
        assert index.keys() == {key}
        assert index.ids(key) == {"é/1", " "}
        index.drop(key)
        assert index.keys() == set()

    def test_spaces_may_differ_in_dimension(self, index: VectorIndex) -> None:
        small, large = unit_vectors(9, dimension=8), unit_vectors(9, dimension=48)
        index.upsert("small", names(9), small)
        index.upsert("large", names(9), large)
        assert index.query("small", small[3], 1)[0][0] == "m3"
        assert index.query("large", large[4], 1)[0][0] == "m4"

    @pytest.mark.slow
    def test_a_batch_of_any_size_is_written(self, index: VectorIndex) -> None:
        vectors = unit_vectors(6_000, dimension=4)
        index.upsert("a", names(6_000), vectors)
        assert len(index.ids("a")) == 6_000
        index.delete("a", names(5_800))
        assert index.ids("a") == set(names(200, start=5_800))

    @pytest.mark.slow
    def test_threads_may_share_it(self, index: VectorIndex) -> None:
        vectors = unit_vectors(200)

        def work(thread: int) -> None:
            for step in range(10):
                at = thread * 50 + step * 5
                index.upsert("shared", names(5, start=at), vectors[at : at + 5])
                assert index.query("shared", vectors[at], 1)[0][0] == f"m{at}"
                index.upsert(f"own{thread}", names(5), vectors[:5])
                index.drop(f"own{thread}")

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
        assert index.keys() == {"shared"}
        assert index.ids("shared") == set(names(200))

    @pytest.mark.slow
    def test_a_search_is_not_broken_by_what_is_taken_out_meanwhile(
        self, index: VectorIndex
    ) -> None:
        vectors = unit_vectors(300)
        index.upsert("a", names(300), vectors)

        def exchange(first: int) -> None:
            for at in range(first, first + 40):
                index.delete("a", [f"m{at}"])
                index.upsert("a", [f"m{at}"], vectors[at : at + 1])

        with ThreadPoolExecutor(4) as threads:
            writing = [threads.submit(exchange, first) for first in (0, 100)]
            while not all(each.done() for each in writing):
                assert len(index.query("a", vectors[250], 150)) == 150
            for each in writing:
                each.result()

    def test_closed_twice_is_closed(self, index: VectorIndex) -> None:
        index.upsert("a", ["x"], unit_vectors(1))
        index.close()
        index.close()
        with pytest.raises(ClosedError):
            index.query("a", unit_vectors(1)[0], 1)
