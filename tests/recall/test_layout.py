"""Layouts of small banks: read once, then only as far as they are new."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.models import Bank
from hindsight_integrations.recall.layout import MAX_LAYOUTS, Layout, LayoutCache
from hindsight_integrations.stores.base import EmbedderIdentity, Place, StoredBank
from hindsight_integrations.timespan import as_utc

NOW = as_utc(datetime(2025, 1, 1))


def place(number: int, document: str | None = "d", expires: datetime | None = None) -> Place:
    return Place(number, f"m{number}", document, 0, expires)


class Numbered:
    """A store of so many places, which remembers what it was asked."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked: list[tuple[int, int]] = []

    def places(self, bank_id: str, after: int, limit: int) -> list[Place]:
        self.asked.append((after, limit))
        return [place(n) for n in range(after + 1, self.size)][:limit]


def bank(version: int = 0, key: str = "k") -> StoredBank:
    return StoredBank(Bank("b"), key, EmbedderIdentity("toy", 8), version)


def read(cache: LayoutCache, store: Numbered, of: StoredBank, most: int) -> int | None:
    layout = cache.read(store, of, most)  # type: ignore[arg-type]
    return None if layout is None else len(layout.places)


@pytest.mark.ranking
def test_only_new_memories_are_read_of_a_version() -> None:
    cache, store = LayoutCache(), Numbered(3)
    assert read(cache, store, bank(), 10) == 3
    store.size = 5
    assert read(cache, store, bank(), 10) == 5
    assert read(cache, store, bank(version=1), 10) == 5
    assert store.asked == [(-1, 11), (2, 8), (-1, 11)]
    cache.forget(bank())
    assert read(cache, store, bank(), 10) == 5
    assert store.asked[-1] == (-1, 11)


@pytest.mark.ranking
def test_a_big_bank_is_not_read_again_until_it_changes() -> None:
    cache, store = LayoutCache(), Numbered(50)
    assert read(cache, store, bank(), 10) is None
    assert read(cache, store, bank(), 10) is None
    assert store.asked == [(-1, 11)]
    assert read(cache, store, bank(), 60) == 50
    assert store.asked[1:] == [(10, 50)]


@pytest.mark.ranking
def test_a_bank_not_read_in_its_version_counts_as_big() -> None:
    cache = LayoutCache()
    assert cache.known_size(bank()) == math.inf
    read(cache, Numbered(3), bank(), 10)
    assert cache.known_size(bank()) == 3
    assert cache.known_size(bank(version=1)) == math.inf


@pytest.mark.ranking
def test_banks_that_were_not_read_for_long_are_forgotten() -> None:
    cache, store = LayoutCache(), Numbered(1)
    for number in range(MAX_LAYOUTS + 1):
        read(cache, store, bank(key=str(number)), 10)
    read(cache, store, bank(key="1"), 10)
    assert store.asked[-1] == (0, 10)
    read(cache, store, bank(key="0"), 10)
    assert store.asked[-1] == (-1, 11)


@pytest.mark.ranking
def test_expired_memories_are_counted_beside_others_and_left_out() -> None:
    gone = NOW - timedelta(days=1)
    layout = Layout().extended([place(0), place(1, expires=gone), place(2), place(3, None)])
    assert layout.unexpired_ids(NOW) == ["m0", "m2", "m3"]
    assert layout.unexpired_ids(None) == ["m0", "m1", "m2", "m3"]
    assert [*map(tuple, layout.neighbours(["m0", "m3"], 2, NOW))] == [("m0", "m2", 2)]
    assert [each.offset for each in layout.neighbours(["m0"], 2, None)] == [1, 2]


def test_a_recall_after_a_change_ranks_what_there_is(
    memory: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, read = memory.runtime.graph, []
    whole = graph.places

    def places(bank_id: str, after: int, limit: int) -> list[Place]:
        found = whole(bank_id, after, limit)
        read.append(len(found))
        return found

    monkeypatch.setattr(graph, "places", places)
    for text in ("Ann keeps bees.", "Bob sells honey.", "Cleo paints boats."):
        memory.retain("b", text)
    assert memory.recall("b", "Who keeps bees?").considered == 3
    memory.retain("b", "Dan mends nets.")
    (best, *_) = memory.recall("b", "Who keeps bees?").memories
    assert memory.recall("b", "Who mends nets?").considered == 4
    assert read == [3, 1, 0]
    memory.forget("b", best.memory.id)
    assert memory.recall("b", "Who mends nets?").considered == 3


def test_a_layout_that_lacks_a_memory_is_read_once_more(memory: Hindsight) -> None:
    memory.retain_many("b", ["Ann keeps bees.", "Bob sells honey."])
    memory.recall("b", "Who keeps bees?")
    ((key, layout),) = memory.runtime.recalling.layouts._known.items()
    memory.runtime.recalling.layouts._known[key] = Layout().extended(layout.places[1:])
    assert memory.recall("b", "Who keeps bees?").considered == 2
