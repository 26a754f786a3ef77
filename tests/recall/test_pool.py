from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import get_args

import pytest

from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.models import Arm
from hindsight_integrations.recall.base import DEPTHS, ArmHit, Budget
from hindsight_integrations.recall.cache import CandidateCache
from hindsight_integrations.recall.pool import Pool, gather, join, read_whole_bank
from hindsight_integrations.results import Failure
from hindsight_integrations.scores import ArmScore
from hindsight_integrations.stores.base import (
    CANDIDATE,
    Candidate,
    Kind,
    LexemeStats,
    MemoryFilter,
    Neighbour,
)
from tests.recall.building import bank_search, candidate, pool_of

pytestmark = pytest.mark.ranking


class Conversation:
    """A store of one conversation of numbered turns, which remembers what it was asked."""

    def __init__(self, size: int, hidden: Sequence[int] = ()) -> None:
        self.ids = [f"{n:03}" for n in range(size)]
        self.hidden = {f"{n:03}" for n in hidden}
        self.looked_up: list[str] = []

    def neighbours(
        self, bank: str, ids: Sequence[str], distance: int, filter: MemoryFilter
    ) -> list[Neighbour]:
        assert distance == 2
        self.looked_up = list(ids)
        return [
            Neighbour(id, self.ids[int(id) + offset], offset)
            for id in ids
            for offset in (-2, -1, 1, 2)
            if 0 <= int(id) + offset < len(self.ids)
            and self.ids[int(id) + offset] not in self.hidden
        ]

    def filter_ids(self, bank: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        return set(ids) - self.hidden

    def find_ids(self, bank: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        return self.ids if len(self.ids) <= limit else None

    def read(self, bank: str, kind: Kind[object], ids: Sequence[str]) -> dict[str, Candidate]:
        assert kind is CANDIDATE
        return {id: candidate(id) for id in ids}


def hits(*numbers: int) -> list[ArmHit]:
    return [ArmHit(f"{n:03}", 1 / (rank + 1), "found") for rank, n in enumerate(numbers)]


def gathered(
    store: Conversation,
    rankings: dict[Arm, list[ArmHit]],
    *,
    most_hits: int = 100,
    pool: int = 200,
    whole: int = 0,
    admit_all: bool = True,
    failures: list[Failure] | None = None,
) -> Pool:
    search = bank_search(
        hits=most_hits,
        pool=pool,
        whole=whole,
        stats=LexemeStats(7, 2.0, {"cat": 3}),
        neighbours=store.neighbours,
        filter_ids=store.filter_ids,
        find_ids=store.find_ids,
        read=store.read,
    )
    everything = partial(store.find_ids, "b", search.filter, whole) if admit_all else None
    kept = CandidateCache()
    whole_bank = read_whole_bank(search, everything, kept)
    failed: list[Failure] = []
    found = gather(search, rankings, ["id-X"], 60, kept, whole_bank, failed)
    assert failed == [] if failures is None else failed
    if failures is not None:
        failures += failed
    return found


def ids(pool: Pool) -> list[str]:
    return [memory.id for memory in pool.memories]


def test_the_best_fused_come_first_and_then_their_neighbours() -> None:
    pool = gathered(
        Conversation(20), {Arm.SEMANTIC: hits(5, 10), Arm.KEYWORD: hits(10)}, admit_all=False
    )
    # 10 is second and first: 1/62 + 1/61. Then what stands beside it, and beside 5.
    assert ids(pool) == ["010", "005", *["008", "009", "011", "012"], *["003", "004", "006", "007"]]
    assert pool.fused == pytest.approx([1 / 62 + 1 / 61, 1 / 61] + [0.0] * 8)
    assert pool.arms[0] == (
        ArmScore(Arm.SEMANTIC, 2, 0.5, "found"),
        ArmScore(Arm.KEYWORD, 1, 1.0, "found"),
    )
    assert 2 not in pool.arms
    assert pool.query_entity_ids == {"id-X"}
    assert pool.stats == LexemeStats(7, 2.0, {"cat": 3})


def test_each_knows_where_its_neighbours_are() -> None:
    pool = gathered(Conversation(3), {Arm.SEMANTIC: hits(1)}, admit_all=False)
    assert ids(pool) == ["001", "000", "002"]
    # Of the neighbours too is known who stands beside them, on the side looked at.
    assert pool.neighbours.tolist() == [[-1, 1, 2, -1], [-1, -1, 0, -1], [-1, 0, -1, -1]]
    pool = gathered(Conversation(3), {Arm.SEMANTIC: hits(0)}, admit_all=False)
    assert pool.neighbours.tolist() == [[-1, -1, 1, 2], [-1, 0, -1, -1], [0, -1, -1, -1]]


def test_neighbours_that_are_not_read_in_time_are_done_without() -> None:
    class Slow(Conversation):
        def neighbours(
            self, bank: str, ids: Sequence[str], distance: int, filter: MemoryFilter
        ) -> list[Neighbour]:
            raise StoreUnavailableError("no answer in 5 s")

    failures: list[Failure] = []
    pool = gathered(Slow(9), {Arm.SEMANTIC: hits(4, 5)}, admit_all=False, failures=failures)
    assert ids(pool) == ["004", "005"]
    assert pool.neighbours.tolist() == [[-1] * 4] * 2
    assert [str(failure) for failure in failures] == [
        "turns beside: StoreUnavailableError: no answer in 5 s"
    ]


def test_neighbours_that_the_filter_refuses_stay_out() -> None:
    pool = gathered(Conversation(9, hidden=[3, 6]), {Arm.SEMANTIC: hits(4)}, admit_all=False)
    assert ids(pool) == ["004", "002", "005"]


def test_only_the_best_of_a_pool_are_loaded() -> None:
    pool = gathered(Conversation(99), {Arm.SEMANTIC: hits(10, 50, 90)}, pool=2, admit_all=False)
    assert ids(pool)[:2] == ["010", "050"]
    assert "090" not in ids(pool)


def test_neighbours_of_the_best_forty_join_and_of_the_best_hundred_are_known() -> None:
    store = Conversation(1200)
    pool = gathered(store, {Arm.SEMANTIC: hits(*range(5, 1200, 10))[:110]}, most_hits=110)
    # 110 hits lie ten apart, and each of the first 40 brings four neighbours.
    assert len(pool) == 110 + 40 * 4
    assert len(store.looked_up) == 100


def test_a_small_bank_is_scored_whole_in_the_order_of_storing() -> None:
    pool = gathered(Conversation(5), {Arm.SEMANTIC: hits(3)}, whole=5)
    assert ids(pool) == ["000", "001", "002", "003", "004"]
    assert pool.fused == pytest.approx([0, 0, 0, 1 / 61, 0])
    # Not if the caller wants only what the arms found, nor if it is larger.
    chosen = ["003", "001", "002", "004"]
    assert (
        ids(gathered(Conversation(5), {Arm.SEMANTIC: hits(3)}, whole=5, admit_all=False)) == chosen
    )
    assert ids(gathered(Conversation(5), {Arm.SEMANTIC: hits(3)}, whole=4)) == chosen


def test_the_temporal_arm_fills_a_quarter_of_the_depth_beside_others() -> None:
    times = hits(*range(0, 80, 10))
    both = gathered(
        Conversation(99),
        {Arm.TEMPORAL: times, Arm.SEMANTIC: hits(95)},
        most_hits=8,
        admit_all=False,
    )
    assert [id for id, fused in zip(ids(both), both.fused, strict=True) if fused] == [
        *("000", "095", "010")
    ]
    alone = gathered(Conversation(99), {Arm.TEMPORAL: times}, most_hits=8, admit_all=False)
    assert sum(alone.fused > 0) == 8


def test_pools_of_several_banks_are_joined() -> None:
    one = pool_of(
        [candidate("0"), candidate("1")],
        neighbours=[[-1, -1, 1, -1], [-1, 0, -1, -1]],
        fused=[0.1, 0.2],
        stats=LexemeStats(10, 4.0, {"cat": 1, "dog": 2}),
        named=["X"],
    )
    two = pool_of(
        [candidate("0", bank="other"), candidate("1", bank="other")],
        neighbours=[[-1, -1, 1, -1], [-1, 0, -1, -1]],
        fused=[0.3, 0.4],
        stats=LexemeStats(30, 8.0, {"cat": 5}),
        named=["Y"],
    )
    found = {n: (ArmScore(Arm.KEYWORD, n, 0.5, "found"),) for n in range(3)}
    one, two = replace(one, arms={1: found[0]}), replace(two, arms={0: found[1], 1: found[2]})
    joined = join([one, two])
    # The arms found the second memory of one bank, and both of the other.
    assert joined.arms == {1: found[0], 2: found[1], 3: found[2]}
    assert [memory.bank_id for memory in joined.memories] == ["bank", "bank", "other", "other"]
    assert joined.fused.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert joined.neighbours.tolist() == [
        *([-1, -1, 1, -1], [-1, 0, -1, -1]),
        *([-1, -1, 3, -1], [-1, 2, -1, -1]),
    ]
    # 10 memories of 4 lexemes and 30 of 8: 280 in 40.
    assert joined.stats == LexemeStats(40, 7.0, {"cat": 6, "dog": 2})
    assert joined.query_entity_ids == {"id-X", "id-Y"}
    assert join([one]) is one
    assert len(join([one, two, one]).memories) == 6
    assert join([one, two, one]).neighbours[4].tolist() == [-1, -1, 5, -1]
    nothing = pool_of([], neighbours=[], stats=LexemeStats(0, 0.0, {}))
    assert join([nothing, nothing]).stats.mean_length == 0.0


def test_a_larger_budget_looks_further() -> None:
    low, mid, high = (DEPTHS[budget] for budget in get_args(Budget))
    for less, more in ((low, mid), (mid, high)):
        for measure in ("hits", "nodes", "pool", "whole_bank", "head"):
            assert 0 < getattr(less, measure) < getattr(more, measure)
    for depth in (low, mid, high):
        # No arm alone fills the pool, and what is read closely is a part of it.
        assert depth.head < depth.hits * 2 <= depth.pool
        assert depth.pool <= depth.whole_bank
        assert depth.hits < depth.nodes


def test_a_bank_that_is_scored_whole_needs_few_hits_to_explain_it() -> None:
    traced = DEPTHS["high"].tracing()
    assert (traced.hits, traced.nodes) == (DEPTHS["low"].hits, DEPTHS["low"].nodes)
    assert (traced.pool, traced.whole_bank, traced.head) == (600, 3000, 300)
