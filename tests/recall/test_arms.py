"""The arms: what they ask a store for, and how they order what it gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.models import Entity, Link, LinkKind, MemoryType, TimeSpan
from hindsight_integrations.recall.arms import entity, keyword, semantic, temporal
from hindsight_integrations.recall.arms import entity as names
from hindsight_integrations.recall.base import ArmHit, BankSearch
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.results import Window
from hindsight_integrations.stores.base import (
    ENTITY_NAMED,
    VECTOR,
    Kind,
    LexemeStats,
    MemoryFilter,
    Posting,
    Surroundings,
    TextHit,
    TimeHit,
    TimeKind,
)
from tests.recall.building import BANK, EVERYTHING, NOON, bank_search, candidate, question, unit

pytestmark = pytest.mark.ranking

DAY = timedelta(days=1)
TODAY = TimeSpan.of_day(NOON)


def scores(hits: Sequence[ArmHit]) -> dict[str, float]:
    return {hit.memory_id: hit.score for hit in hits}


# Meaning: memories are numbered by falling cosine


class Index:
    def __init__(self, size: int) -> None:
        self.size = size
        self.fetched: list[int] = []

    def query(self, key: str, vector: np.ndarray, limit: int) -> list[tuple[str, float]]:
        self.fetched.append(limit)
        assert len(self.fetched) < 20, "the index is asked without end"
        return [(f"{n:05}", 1 - n / self.size) for n in range(min(limit, self.size))]


class Passing:
    """A store that admits each `step`-th memory, and counts those that match as told."""

    def __init__(self, step: int, matching: list[str] | None = None) -> None:
        self.step, self.ids = step, matching
        self.limits: list[int] = []
        self.looked_at: list[str] = []

    def filter_ids(self, bank: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        self.looked_at += ids
        return {id for id in ids if int(id) % self.step == 0}

    def find_ids(self, bank: str, filter: MemoryFilter, limit: int) -> list[str] | None:
        self.limits.append(limit)
        return self.ids

    def read(self, bank: str, kind: Kind[object], ids: Sequence[str]) -> dict[str, np.ndarray]:
        assert kind is VECTOR
        return {id: np.array(unit(1 - int(id) / 1000), np.float32) for id in ids}


def nearest(store: Any, index: Index, filter: MemoryFilter, limit: int) -> list[str]:
    vector = np.array([1.0, 0.0], np.float32)
    return [id for id, _ in semantic.nearest(store, index, BANK, vector, filter, limit)]  # type: ignore[arg-type]


SELECTIVE = replace(EVERYTHING, scope="work")


def test_ten_more_than_wanted_are_asked_of_the_index_and_four_times_as_many_with_a_filter() -> None:
    index = Index(1000)
    assert nearest(Passing(1), index, EVERYTHING, 20) == [f"{n:05}" for n in range(20)]
    assert index.fetched == [20 + 10]
    index = Index(1000)
    nearest(Passing(1), index, SELECTIVE, 20)
    assert index.fetched == [20 * 4 + 10]
    index = Index(1000)
    nearest(Passing(1), index, replace(EVERYTHING, types=frozenset({MemoryType.WORLD})), 20)
    assert index.fetched == [20 * 4 + 10]


def test_few_that_pass_are_scored_one_by_one() -> None:
    index, store = Index(1000), Passing(100, matching=["00700", "00300", "00500"])
    assert nearest(store, index, SELECTIVE, 2) == ["00300", "00500"]
    assert index.fetched == [2 * 4 + 10]
    assert store.limits == [2000]
    assert nearest(Passing(100, matching=[]), index, SELECTIVE, 2) == []


def test_among_many_that_pass_the_index_is_asked_by_the_share_of_those_that_passed() -> None:
    index, store = Index(1000), Passing(30)
    assert nearest(store, index, SELECTIVE, 10) == [f"{n:05}" for n in range(0, 300, 30)]
    assert index.fetched == [50, 312]  # 2 of 50 passed; a quarter more than 10 times 25
    assert store.limits == [2000]
    assert store.looked_at == [f"{n:05}" for n in range(312)]
    index = Index(1000)
    assert len(nearest(Passing(300), index, SELECTIVE, 10)) == 4
    assert index.fetched == [50, 625, 2604]


def test_the_fewer_pass_the_more_are_scored_one_by_one() -> None:
    index, store = Index(5000), Passing(10**6)
    nearest(store, index, SELECTIVE, 20)
    # One of 90 passes, so 1.25 * 90 * 20 hits would be needed: twice as many are scored instead.
    assert store.limits == [4500, 10_000]
    index, store = Index(5000), Passing(10**6, matching=["00900", "00800"])
    assert nearest(store, index, SELECTIVE, 100) == ["00800", "00900"]
    assert index.fetched == [410]
    assert store.limits == [10_000]


def test_the_index_is_asked_for_two_to_sixteen_times_as_many_as_before() -> None:
    index = Index(1500)
    assert len(nearest(Passing(90), index, SELECTIVE, 20)) == 17
    assert index.fetched == [90, 16 * 90, 2 * 16 * 90]
    index = Index(1000)
    assert len(nearest(Passing(6), index, SELECTIVE, 10)) == 10
    assert index.fetched == [50, 100]


def test_the_index_is_asked_for_more_where_none_of_its_first_hits_passes() -> None:
    class Far(Passing):
        def filter_ids(self, bank: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
            return {id for id in ids if int(id) >= 600}

    index = Index(1000)
    assert nearest(Far(1), index, SELECTIVE, 10) == [f"{n:05}" for n in range(600, 610)]
    assert index.fetched == [50, 625]  # as if one of 50 had passed: a quarter more than 10 times 50


def test_in_a_small_bank_the_nearest_are_found_without_an_index_whatever_their_order() -> None:
    # 0, 7, 14, ... modulo 1,000: each number once.
    numbers = [n * 7 % 1000 for n in range(1000)]
    memories = Candidates([candidate(f"{n:03}", vector=unit(1 - n / 1000)) for n in numbers])
    for limit in (1, 50, 250, 500, 750, 999, 1000, 1001):
        search = replace(bank_search(hits=limit), bank_candidates=memories)
        assert [*scores(semantic.search(search))] == [f"{n:03}" for n in range(1000)][:limit]
    nothing = replace(bank_search(), bank_candidates=Candidates())
    assert semantic.search(nothing) == []


def test_the_meaning_arm_scores_by_the_cosine() -> None:
    search = bank_search(index=Index(4), filter_ids=Passing(1).filter_ids, hits=2)
    assert scores(semantic.search(search)) == {"00000": 1.0, "00001": 0.75}


# Keywords


def test_the_keyword_arm_orders_by_bm25() -> None:
    asked: list[int] = []

    def text_search(
        bank: str, lexemes: Sequence[str], filter: MemoryFilter, limit: int, stats: LexemeStats
    ) -> list[TextHit]:
        assert stats.frequency == {"cat": 1, "dog": 4}
        asked.append(limit)
        return [
            TextHit("0", ("dog", "x")),
            TextHit("1", ("cat", "x")),
            TextHit("2", ("cat", "dog")),
        ]

    search = bank_search(
        asked=question(lexemes=["dog", "cat"]),
        hits=2,
        stats=LexemeStats(9, 2.0, {"cat": 1, "dog": 4}),
        text_search=text_search,
    )
    hits = keyword.search(search)
    cat, dog = math.log(1 + 8.5 / 1.5), math.log(1 + 5.5 / 4.5)
    # At the mean length, one of a term counts 1.9 / (1 + 0.9), which is 1.
    assert scores(hits) == pytest.approx({"2": cat + dog, "1": cat})
    assert [hit.reason for hit in hits] == ["terms: cat, dog", "terms: cat"]
    assert asked == [4]
    assert keyword.search(replace(search, question=question())) == []


def test_a_reason_names_the_four_rarest_terms() -> None:
    words = ("a", "b", "c", "d", "e")
    search = bank_search(
        asked=question(lexemes=words),
        stats=LexemeStats(9, 5.0, {word: n for n, word in enumerate(words, start=1)}),
        text_search=lambda *_: [TextHit("0", words)],
    )
    assert keyword.search(search)[0].reason == "terms: a, b, c, d"


# Time


def time_search(hits: Sequence[TimeHit], *, limit: int = 10, **graph: Any) -> BankSearch:
    vectors = {"in": unit(0.5), "half": unit(0.9), "like": unit(0.8), "far": unit(0.1)}
    return bank_search(
        asked=question(windows=[Window("today", TODAY)]),
        hits=limit,
        time_search=lambda *_: list(hits),
        read=lambda bank, kind, ids: {
            id: np.array(vectors[id], np.float32) for id in ids if id in vectors
        },
        **graph,
    )


HALF = TimeSpan(NOON, NOON + DAY)


def test_the_temporal_arm_adds_the_fit_and_the_cosine() -> None:
    search = time_search(
        [
            TimeHit("in", TODAY, TimeKind.OCCURRED),
            TimeHit("half", HALF, TimeKind.OCCURRED),
            TimeHit("far", TODAY, TimeKind.MENTIONED),
            TimeHit("gone", TODAY, TimeKind.OCCURRED),
        ]
    )
    # Half of the day lies in the window, of which the root counts.
    expected = {"half": 0.5**0.5 + 0.9, "in": 1.0 + 0.5, "far": 1.0 + 0.1}
    assert scores(temporal.search(search)) == pytest.approx(expected)
    assert list(scores(temporal.search(search))) == ["half", "in", "far"]


def test_the_best_time_of_a_memory_counts() -> None:
    both = [TimeHit("in", HALF, TimeKind.OCCURRED), TimeHit("in", TODAY, TimeKind.MENTIONED)]
    for hits in (both, both[::-1]):
        [hit] = temporal.search(time_search(hits))
        assert hit.score == pytest.approx(1.5)
        assert hit.reason.startswith("time: said")


def test_of_a_full_window_also_the_likest_are_taken_at_half_a_fit() -> None:
    index = type("Index", (), {"query": lambda *_: [("like", 0.8), ("in", 0.5)]})()
    filters: list[MemoryFilter] = []

    def filter_ids(bank: str, ids: Sequence[str], filter: MemoryFilter) -> set[str]:
        filters.append(filter)
        return set(ids)

    hits = [TimeHit("in", TODAY, TimeKind.OCCURRED), TimeHit("half", TODAY, TimeKind.OCCURRED)]
    search = time_search(
        hits, limit=2, filter_ids=filter_ids, index=index, find_ids=lambda *_: None
    )
    found = scores(temporal.search(search))
    # "like" has 0.5 + 0.8, and does not come before 1 + 0.9 and 1 + 0.5.
    assert list(found) == ["half", "in"]
    assert [filter.window for filter in filters] == [TODAY]
    far = TimeHit("far", TODAY, TimeKind.OCCURRED)
    found = scores(
        temporal.search(time_search([far, far], limit=2, filter_ids=filter_ids, index=index))
    )
    # The likest are "like", with half a fit, and "in", which would have 0.5 + 0.5.
    assert found == pytest.approx({"like": 1.3, "far": 1.1})


def test_no_time_in_the_window_is_no_hit() -> None:
    assert temporal.search(time_search([])) == []


# Entities


class People:
    """A graph store given by who is mentioned where, and by links."""

    def __init__(
        self, mentioned: dict[str, str], links: Sequence[Link] = (), degree: int = 2
    ) -> None:
        self.mentioned = mentioned
        self.all_links = list(links)
        self.degree = degree
        self.limits: set[tuple[str, int]] = set()
        self.asked: list[tuple[str, ...]] = []
        self.reads_ahead = False

    def postings(
        self, bank: str, ids: Sequence[str], per_entity: int, filter: MemoryFilter
    ) -> list[Posting]:
        self.limits.add(("entity", per_entity))
        return [
            Posting(id, memory, self.degree)
            for id in ids
            for memory, names in self.mentioned.items()
            if id in names
        ]

    def surroundings(
        self,
        bank: str,
        entities: Sequence[str],
        memories: Sequence[str],
        per_entity: int,
        per_memory: int,
        filter: MemoryFilter,
        ahead: int,
    ) -> Surroundings:
        self.asked.append((*entities, *memories))
        if self.reads_ahead and ahead:
            entities, memories = self.of_one_more_step(entities, memories, ahead)
        return Surroundings(
            {id: self.postings(bank, [id], per_entity, filter) for id in entities},
            {id: [(name, f"<{name}>") for name in self.mentioned.get(id, "")] for id in memories},
            {id: self.links(bank, [id], per_memory, filter) for id in memories},
        )

    def of_one_more_step(
        self, entities: Sequence[str], memories: Sequence[str], ahead: int
    ) -> tuple[list[str], list[str]]:
        found = [id for id, names in self.mentioned.items() if {*names} & {*entities}]
        ends = [(link.source_id, link.target_id) for link in self.all_links]
        found += [id for pair in ends if {*pair} & {*memories} for id in pair]
        names = [name for id in memories for name in self.mentioned.get(id, "")]
        more_entities, more_memories = dict.fromkeys(names), dict.fromkeys(found)
        return (
            [*dict.fromkeys([*entities, *[*more_entities][:ahead]])],
            [*dict.fromkeys([*memories, *[*more_memories][:ahead]])],
        )

    def links(
        self, bank: str, ids: Sequence[str], per_memory: int, filter: MemoryFilter
    ) -> list[Link]:
        self.limits.add(("memory", per_memory))
        return [link for link in self.all_links if {link.source_id, link.target_id} & set(ids)]

    def found(
        self,
        named: str,
        similar: Sequence[ArmHit] = (),
        *,
        hits: int = 60,
        nodes: int = 100,
        documents: int = 10,
        near: list[tuple[str, float]] | None = None,
    ) -> list[ArmHit]:
        names = [Entity(id, "bank", id) for id in named]
        search = bank_search(
            hits=hits,
            nodes=nodes,
            stats=LexemeStats(documents, 1.0, {}),
            surroundings=self.surroundings,
        )
        if near is not None:
            search = replace(search, index_hits=lambda: near)
            begun = entity.prefetch_surroundings(search, names)
            search = replace(search, surroundings=lambda: begun)
        return entity.search(search, names, similar)


def test_activation_flows_from_a_name_to_its_memories_and_on_to_their_names() -> None:
    # At each step 0.7 is left, and from a name on two memories half of that, 1 / log2(4):
    # 0.35 to a, by way of Y 0.7 and 0.35 of it to b.
    store = People({"a": "XY", "b": "Y"})
    hits = store.found("X")
    # What flows back to a over Y, and over X, which a has been reached by, comes on top.
    b = 0.35 * 0.7 * 0.35
    x_back, y_back = 0.35 * 0.7, 0.35 * 0.7
    assert hits[1].memory_id == "b"
    assert hits[1].score == pytest.approx(b)
    assert hits[0].score == pytest.approx(0.35 + y_back * 0.35)
    assert x_back == y_back
    assert [hit.reason for hit in hits] == [
        "path: X → a memory",
        "path: X → a memory → <Y> → a memory",
    ]
    assert store.limits == {("entity", 40), ("memory", 4)}


def test_what_is_read_ahead_changes_no_answer_and_spares_reads() -> None:
    mentioned = {"a": "XY", "b": "YZ", "c": "Z", "d": "ZW", "e": "W"}
    links = [Link(one, other, LinkKind.SEMANTIC, 0.5) for one, other in ("ab", "be", "dc")]
    similar = [ArmHit("c", 0.9, ""), ArmHit("e", 0.8, "")]
    plain = People(mentioned, links)
    expected = plain.found("X", similar)
    assert len(plain.asked) == 3
    ahead = People(mentioned, links)
    ahead.reads_ahead = True
    assert ahead.found("X", similar, near=[("c", 0.9), ("e", 0.8)]) == expected
    assert [ahead.asked[0], len(ahead.asked)] == [("X", "c", "e"), 2]
    # The index also knows one that does not pass, and of those that do it lacks one.
    assert ahead.found("X", similar, near=[("gone", 0.95), ("c", 0.9)]) == expected


def test_names_lead_on_where_the_index_fails() -> None:
    def fails() -> list[tuple[str, float]]:
        raise StoreUnavailableError("away")

    store = People({"a": "XY", "b": "Y"})
    search = bank_search(surroundings=store.surroundings)
    found = entity.prefetch_surroundings(
        replace(search, index_hits=fails), [Entity("X", "bank", "X")]
    )
    assert [*found.postings] == ["X"]


def test_four_steps_reach_two_hops_from_memory_to_memory() -> None:
    chain = People({"a": "XY", "b": "YZ", "c": "Z"})
    assert [hit.memory_id for hit in chain.found("", [ArmHit("a", 1.0, "")])] == ["a", "b", "c"]
    longer = People({"a": "XY", "b": "YZ", "c": "ZW", "d": "W"})
    assert [hit.memory_id for hit in longer.found("", [ArmHit("a", 1.0, "")])] == ["a", "b", "c"]


def test_the_best_ten_of_meaning_are_seeds_by_their_cosine_over_their_rank() -> None:
    similar = [ArmHit(f"{n:02}", 0.9, "") for n in range(12)]
    found = scores(People({}).found("", similar))
    assert found == pytest.approx({f"{n:02}": 0.9 / (n + 1) for n in range(10)})
    below = People({}).found("", [ArmHit("a", -0.5, "")])
    assert scores(below) == {"a": 0.0}
    assert below[0].reason == "path: a nearest memory"
    assert People({}).found("") == []


@pytest.mark.parametrize(
    ("degree", "documents", "leads"),
    [(40, 10, True), (41, 10, False), (150, 1000, True), (151, 1000, False)],
)
def test_a_name_on_more_than_forty_memories_and_15_percent_leads_nowhere_beside_meaning(
    degree: int, documents: int, leads: bool
) -> None:
    store = People({"a": "X"}, degree=degree)
    similar = [ArmHit("z", 0.9, "")]
    assert ("a" in scores(store.found("X", similar, documents=documents))) is leads
    assert "a" in scores(store.found("X", documents=documents))


@pytest.mark.parametrize(
    ("kind", "strength"),
    [(LinkKind.CAUSAL, 1.0), (LinkKind.SEMANTIC, 0.6), (LinkKind.TEMPORAL, 0.2)],
)
def test_links_let_through_by_kind_and_weight_both_ways(kind: LinkKind, strength: float) -> None:
    there = Link("a", "b", kind, 0.5)
    back = Link("b", "a", kind, 0.5)
    for link in (there, back):
        found = People({}, [link]).found("", [ArmHit("a", 1.0, "")])
        share = strength * 0.5 * 0.7
        # What flows on to b flows back to a once, at the next step.
        assert scores(found) == pytest.approx({"a": 1 + share**2, "b": share})
        assert found[-1].reason == f"path: a near memory → ({kind}) a memory"


def test_no_more_hits_than_wanted_and_no_more_nodes_than_allowed() -> None:
    store = People(dict.fromkeys("abcdef", "X"))
    assert [hit.memory_id for hit in store.found("X", hits=2)] == ["a", "b"]
    assert [hit.memory_id for hit in store.found("X", nodes=4)] == ["a", "b", "c"]


# Names in the question


class Known:
    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[str] = []

    def read(self, bank: str, kind: Kind[object], norms: Sequence[str]) -> dict[str, Entity]:
        assert kind is ENTITY_NAMED
        self.asked = list(norms)
        return {norm: Entity(norm, bank, norm) for norm in norms if norm in self.names}


def found_in(text: str, *known: str) -> list[str]:
    return [entity.id for entity in names.query_entities(Known(*known), "bank", text)]  # type: ignore[arg-type]


def test_the_longest_name_wins_and_names_come_once() -> None:
    assert found_in("New York, York and York", "york", "new york") == ["new york", "york"]
    assert found_in("may May", "may") == ["may"]
    assert found_in("may", "may") == []


def test_names_of_up_to_five_words_are_looked_up() -> None:
    store = Known()
    names.query_entities(store, "bank", "one two three four five six")  # type: ignore[arg-type]
    assert max(len(norm.split()) for norm in store.asked) == 5
