"""Filters and time to live: which of LangGraph's stores ours follows where those two differ."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import BaseStore, TTLConfig
from langgraph.store.memory import InMemoryStore

from hindsight_integrations import Hindsight
from hindsight_integrations.langchain import HindsightStore

VALUES: dict[str, dict[str, Any]] = {
    "flat": {"a": 1, "s": "x", "t": True, "n": None, "l": ["p", "q"]},
    "ann": {"author": {"name": "Ann", "age": 30, "tags": ["x", "y"], "home": {"city": "Bergen"}}},
    "bo": {"author": {"name": "Bo", "age": 41, "nick": None}},
    "dots": {"author.name": "Ann", "a.b": 5},
    "twice": {"author.name": "Cy", "author": {"name": "Dan"}},
    "inner": {"author": {"first.name": "Eve"}, "x.y": {"z": 1}},
    "text": {"a": "1", "s": "10", "author": "Ann", "d": "2024-05-01"},
}
UNNAMED = {"flat", "inner", "text"}
"""Items that have no author's name under any spelling."""

CASES: list[tuple[dict[str, Any], set[str], str]] = [
    # Both answer the same.
    ({"a": 1}, {"flat"}, "both"),
    ({"a": 1.0}, {"flat"}, "both"),
    ({"a": True}, {"flat"}, "both"),
    ({"a": "1"}, {"text"}, "both"),
    ({"t": True}, {"flat"}, "both"),
    ({"n": None}, set(VALUES), "both"),
    ({"a": None}, set(VALUES) - {"flat", "text"}, "both"),
    ({"l": ["p", "q"]}, {"flat"}, "both"),
    ({"l": ["q", "p"]}, set(), "both"),
    ({"l": "p"}, set(), "both"),
    ({"a": {"$eq": 1}}, {"flat"}, "both"),
    ({"a": {"$eq": "1"}}, {"text"}, "both"),
    ({"a": {"$eq": None}}, set(VALUES) - {"flat", "text"}, "both"),
    ({"n": {"$ne": None}}, set(), "both"),
    ({"author": "Ann"}, {"text"}, "both"),
    ({"a": 1, "s": "x"}, {"flat"}, "both"),
    ({"author.nick": None}, set(VALUES), "both"),
    ({"author.first.name": "Eve"}, set(), "both"),
    ({"missing": None}, set(VALUES), "both"),
    ({"missing.deeper": None}, set(VALUES), "both"),
    # The one in memory compares a missing field, and reaches in by a mapping.
    ({"a": {"$ne": 1}}, set(VALUES) - {"flat"}, "memory"),
    ({"missing": {"$ne": 1}}, set(VALUES), "memory"),
    ({"missing.deeper": {"$ne": 1}}, set(VALUES), "memory"),
    ({"l": {"$eq": ["p", "q"]}}, {"flat"}, "memory"),
    ({"l": {"$ne": ["p", "q"]}}, set(VALUES) - {"flat"}, "memory"),
    ({"author": {"name": "Ann"}}, {"ann"}, "memory"),
    ({"author": {"name": {"$ne": "Ann"}}}, {"bo", "twice", "inner"}, "memory"),
    ({"author": {"home": {"city": "Bergen"}}}, {"ann"}, "memory"),
    ({"author": {"first.name": "Eve"}}, {"inner"}, "memory"),
    ({"author": {}}, {"ann", "bo", "twice", "inner"}, "memory"),
    # A key of that very name comes first, as there.
    ({"a.b": 5}, {"dots"}, "memory"),
    ({"x.y": {"z": 1}}, {"inner"}, "memory"),
    ({"author.name": "Cy"}, {"twice"}, "memory"),
    ({"author.name": "Dan"}, set(), "memory"),
    # The one in SQLite reaches in by dots, and compares texts.
    ({"author.home.city": "Bergen"}, {"ann"}, "sqlite"),
    ({"author.tags": ["x", "y"]}, {"ann"}, "sqlite"),
    ({"author.name": "Bo"}, {"bo"}, "sqlite"),
    ({"author.age": {"$gt": 35}}, {"bo"}, "sqlite"),
    ({"author.age": {"$gte": 30, "$lt": 41}}, {"ann"}, "sqlite"),
    ({"a": {"$gt": 0}}, {"flat", "text"}, "sqlite"),
    ({"s": {"$gt": 5}}, {"text"}, "sqlite"),
    ({"s": {"$lt": "y"}}, {"flat", "text"}, "sqlite"),
    ({"d": {"$gte": "2024-01-01"}}, {"text"}, "sqlite"),
    ({"missing": {"$gt": 1}}, set(), "sqlite"),
    ({"missing.deeper": {"$lte": 1}}, set(), "sqlite"),
    ({"a": {"$gt": None}}, set(), "sqlite"),
    # What either finds by its way to read the key; the other two rules hold for the rest.
    ({"author.name": "Ann"}, {"ann", "dots"}, "neither"),
    ({"author.name": None}, UNNAMED, "neither"),
    ({"author.name": {"$ne": None}}, set(VALUES) - UNNAMED, "neither"),
    ({"author.name": {"$ne": "Ann"}}, set(VALUES) - {"ann", "dots"}, "neither"),
    ({"author.home": {"city": "Bergen"}}, {"ann"}, "neither"),
    ({"author": {"age": {"$gt": 35}}}, {"bo"}, "neither"),
]


def filled(store: BaseStore) -> BaseStore:
    for key, value in VALUES.items():
        store.put(("n",), key, value, index=False)
    return store


@pytest.fixture(scope="module")
def ours(engine: Hindsight) -> Iterator[BaseStore]:
    with HindsightStore(engine, "never made", path=":memory:") as store:
        yield filled(store)


@pytest.fixture(scope="module")
def in_memory() -> BaseStore:
    return filled(InMemoryStore())


def found(store: BaseStore, filter: dict[str, Any]) -> set[str] | None:
    """Return the keys of the items that match; None where the store cannot say."""
    try:
        return {item.key for item in store.search(("n",), filter=filter)}
    except (TypeError, ValueError):
        return None


@pytest.mark.parametrize(
    ("filter", "keys", "follows"), CASES, ids=[str(filter) for filter, _, _ in CASES]
)
def test_a_filter_answers_as_the_store_in_memory_and_else_as_the_one_in_sqlite(
    filter: dict[str, Any], keys: set[str], follows: str, ours: BaseStore, in_memory: BaseStore
) -> None:
    assert found(ours, filter) == keys
    assert (found(in_memory, filter) == keys) is (follows in ("both", "memory"))


def test_the_store_in_sqlite_answers_as_the_table_says() -> None:
    sqlite = pytest.importorskip("langgraph.store.sqlite", reason="langgraph-checkpoint-sqlite")
    with sqlite.SqliteStore.from_conn_string(":memory:") as store:
        store.setup()
        filled(store)
        for filter, keys, follows in CASES:
            assert (found(store, filter) == keys) is (follows in ("both", "sqlite")), filter


@pytest.mark.parametrize("read", ["get", "search"])
@pytest.mark.parametrize(
    ("config", "asked", "renewed"),
    [
        (None, None, True),
        (None, True, True),
        (None, False, False),
        ({"default_ttl": 10}, None, True),
        ({"refresh_on_read": True}, None, True),
        ({"refresh_on_read": True}, False, False),
        ({"refresh_on_read": False}, None, False),
        ({"refresh_on_read": False}, True, True),
    ],
    ids=str,
)
def test_reading_renews_an_item_as_the_call_says_and_else_as_the_configuration(
    config: TTLConfig | None, asked: bool | None, renewed: bool, read: str, engine: Hindsight
) -> None:
    times = iter(datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=9 * n) for n in range(3))
    with HindsightStore(
        engine, "never made", path=":memory:", ttl=config, clock=lambda: next(times)
    ) as store:
        store.put(("n",), "k", {"a": 1}, index=False, ttl=10)
        assert (
            store.get(("n",), "k", refresh_ttl=asked)
            if read == "get"
            else store.search(("n",), refresh_ttl=asked)
        )
        assert (store.get(("n",), "k") is not None) is renewed


@pytest.mark.parametrize(
    ("given", "minutes"), [({}, 10), ({"ttl": 3}, 3), ({"ttl": None}, None)], ids=str
)
def test_an_item_without_a_time_of_its_own_has_the_default_one_but_none_is_none(
    given: dict[str, Any], minutes: int | None, engine: Hindsight
) -> None:
    now = datetime(2024, 1, 1, tzinfo=UTC)
    with HindsightStore(
        engine, "never made", path=":memory:", ttl={"default_ttl": 10}, clock=lambda: now
    ) as store:
        store.put(("n",), "k", {"a": 1}, index=False, ttl=77)
        store.put(("n",), "k", {"a": 2}, index=False, **given)
        now += timedelta(minutes=minutes or 10_000) - timedelta(seconds=1)
        assert store.get(("n",), "k", refresh_ttl=False)
        assert store.sweep_ttl() == 0
        now += timedelta(seconds=1)
        assert store.sweep_ttl() == (minutes is not None)
