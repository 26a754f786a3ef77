"""The store: held to LangGraph's own in-memory store, and beyond what that one does."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from hindsight_integrations import (
    ClosedError,
    Hindsight,
    InvalidInputError,
    SchemaVersionError,
    Settings,
    StoreUnavailableError,
)
from hindsight_integrations.langchain import HindsightStore
from tests.interrupted import interrupt_transactions

LABELS = st.sampled_from(["a", "ab", "b", "A", "é", "a b", "*", "%", "_", "/", "-"])
NAMESPACES = st.lists(LABELS, max_size=3).map(tuple)
PATTERNS = st.lists(st.one_of(LABELS, st.just("*")), min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "K", "", " ", "k'", "%", "k\x00", "日本"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1e300]), st.text(max_size=3)
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=4,
)
VALUES = st.dictionaries(st.sampled_from(["x", "y", "n"]), JSON, max_size=3)
CONDITIONS = st.one_of(
    JSON,
    st.fixed_dictionaries({"$eq": JSON}),
    st.fixed_dictionaries({"$ne": JSON}),
    st.fixed_dictionaries({"$gt": st.integers(-2, 2)}, optional={"$lte": st.integers(-1, 3)}),
    st.fixed_dictionaries({"$gte": st.integers(-2, 2)}, optional={"$lt": st.integers(-1, 3)}),
)
FILTERS = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(["x", "y", "n"]), CONDITIONS, max_size=2)
)
MATCHES = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATTERNS)
PUTS = st.builds(
    PutOp, NAMESPACES, KEYS, st.one_of(VALUES, VALUES, st.none()), st.just(False), st.none()
)
OPERATIONS = st.one_of(
    PUTS,
    PUTS,
    st.builds(GetOp, NAMESPACES, KEYS, st.just(False)),
    st.builds(
        SearchOp,
        NAMESPACES,
        FILTERS,
        st.integers(0, 5),
        st.integers(0, 2),
        st.none(),
        st.just(False),
    ),
    st.builds(
        ListNamespacesOp,
        st.one_of(st.none(), st.lists(MATCHES, max_size=2).map(tuple)),
        st.one_of(st.none(), st.integers(0, 3)),
        st.integers(0, 5),
        st.integers(0, 2),
    ),
)


def plain(result: Any) -> Any:
    """Return a result without its timestamps, which the oracle sets at each write."""
    if isinstance(result, list):
        return [plain(each) for each in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


class Oracle(InMemoryStore):
    """LangGraph's store, less namespaces that hold nothing: it lists what was only read from."""

    def answers(self, batch: list[Op]) -> Any:
        answers = self.batch(batch)
        self._prune()
        return plain(answers)

    def _handle_list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        self._prune()
        return super()._handle_list_namespaces(op)

    def _prune(self) -> None:
        for namespace in [name for name, items in self._data.items() if not items]:
            del self._data[namespace]


@given(batches=st.lists(st.lists(OPERATIONS, max_size=6), max_size=8))
def test_every_sequence_of_batches_is_answered_as_by_the_store_of_langgraph(
    engine: Hindsight, batches: list[list[Op]]
) -> None:
    oracle = Oracle()
    with HindsightStore(engine, "never made", path=":memory:") as store:
        for batch in batches:
            try:
                expected = oracle.answers(batch)
            except (TypeError, ValueError):  # it cannot compare text or nothing with a number
                continue
            assert plain(store.batch(batch)) == expected


@settings(max_examples=10)
@given(
    puts=st.lists(
        st.builds(PutOp, NAMESPACES, KEYS, st.one_of(VALUES, st.none()), st.none(), st.none()),
        max_size=6,
    ),
    prefix=NAMESPACES,
    query=st.sampled_from(["x", "Who is it?", " ", "\x00"]),
)
def test_a_query_orders_the_items_and_neither_loses_nor_adds_any(
    engine: Hindsight, puts: list[Op], prefix: tuple[str, ...], query: str
) -> None:
    oracle = Oracle()
    with HindsightStore(engine, "queried", path=":memory:") as store:
        for put in puts:
            store.batch([put])
            oracle.answers([put])
        everything = SearchOp(prefix, None, 100, 0, query)
        found = store.batch([everything])[0]
        key = repr
        assert sorted(plain(found), key=key) == sorted(oracle.answers([everything])[0], key=key)
        scores = [item.score for item in found if item.score is not None]
        assert scores == sorted(scores, reverse=True)
        pages = [store.batch([SearchOp(prefix, None, 2, n, query)])[0] for n in range(0, 8, 2)]
        assert plain([item for page in pages for item in page]) == plain(found)


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = datetime(2025, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


@pytest.fixture
def clock() -> Clock:
    return Clock()


Open = Callable[..., HindsightStore]


@pytest.fixture
def open_store(engine: Hindsight, bank: str, clock: Clock) -> Iterator[Open]:
    opened: list[HindsightStore] = []

    def open(**options: Any) -> HindsightStore:
        given = {"memory": engine, "bank_id": bank, "path": ":memory:", "clock": clock} | options
        opened.append(HindsightStore(**given))
        return opened[-1]

    yield open
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> HindsightStore:
    return open_store()


PETS = {
    "cat": "Pluto the cat sleeps on the piano.",
    "dog": "The dog was vaccinated in March 2024.",
    "fish": "Nobody has fed the goldfish this week.",
}


def fill(store: HindsightStore, *, index: Any = None) -> None:
    for key, text in PETS.items():
        store.put(("pets", key[0]), key, {"text": text, "legs": 0 if key == "fish" else 4}, index)


async def ask(mode: str, store: HindsightStore, method: str, *given: Any, **named: Any) -> Any:
    if mode == "sync":
        return getattr(store, method)(*given, **named)
    return await getattr(store, f"a{method}")(*given, **named)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_query_finds_by_meaning_and_by_time_and_by_exact_terms(
    mode: str, store: HindsightStore
) -> None:
    for key, text in PETS.items():
        await ask(mode, store, "put", ("pets", key), key, {"text": text})
    for query, best in [
        ("Which animal is hungry?", "fish"),
        ("What happened in spring 2024?", "dog"),
        ("Pluto", "cat"),
    ]:
        found = await ask(mode, store, "search", ("pets",), query=query)
        assert found[0].key == best
        assert {item.key for item in found} == set(PETS)
        assert 0 < found[0].score <= 1
    assert (await ask(mode, store, "get", ("pets", "cat"), "cat")).value == {"text": PETS["cat"]}
    await ask(mode, store, "delete", ("pets", "cat"), "cat")
    assert await ask(mode, store, "get", ("pets", "cat"), "cat") is None
    assert await ask(mode, store, "list_namespaces", max_depth=1) == [("pets",)]


def test_a_query_searches_below_its_namespace_with_its_filter_only(store: HindsightStore) -> None:
    fill(store)
    assert [i.key for i in store.search(("pets", "d"), query="cat")] == ["dog"]
    assert [i.key for i in store.search(("pet",), query="cat")] == []
    found = store.search(("pets",), query="Which pet can walk?", filter={"legs": {"$gt": 0}})
    assert {item.key for item in found} == {"cat", "dog"}


def test_what_is_not_indexed_is_found_by_no_query_but_comes_after_what_is(
    store: HindsightStore,
) -> None:
    store.put(("n",), "hidden", {"text": "The cat sleeps."}, index=False)
    store.put(("n",), "shown", {"title": "The cat sleeps.", "body": "zebra"}, index=["title"])
    store.put(("n",), "listed", {"notes": [{"text": "A zebra."}, {"text": "x"}]}, ["notes[*].text"])
    found = store.search(("n",), query="zebra")
    assert [item.key for item in found if item.score] == ["listed", "shown"]
    assert [(item.key, item.score) for item in found if not item.score] == [("hidden", None)]


def test_fields_say_what_queries_search_by_default(open_store: Open) -> None:
    store = open_store(fields=["title"], min_score=0.0)
    store.put(("n",), "one", {"title": "A cat.", "body": "A zebra."})
    store.put(("n",), "two", {"body": "A zebra."})
    assert [item.key for item in store.search(("n",), query="zebra")] == ["one"]


def test_a_least_score_makes_a_search_silent_where_nothing_answers(open_store: Open) -> None:
    store = open_store(min_score=0.1)
    fill(store)
    assert store.search(("pets",), query="What is the capital of Peru?") == []
    assert store.search(("pets",), query="Where does the cat sleep?")[0].key == "cat"


def test_an_item_that_was_changed_is_found_by_what_it_says_now(
    store: HindsightStore, engine: Hindsight, bank: str
) -> None:
    store.put(("n",), "k", {"text": "The cat sleeps on the piano."})
    store.put(("n",), "k", {"text": "The dog sleeps in the hall."})
    assert [m.text for m in engine.memories.list(bank).items] == ["The dog sleeps in the hall."]
    store.delete(("n",), "k")
    assert engine.memories.list(bank).total == 0


def test_items_that_say_the_same_are_each_found(store: HindsightStore) -> None:
    for key in ("one", "two"):
        store.put(("n", key), key, {"text": "The cat sleeps on the piano."})
    found = store.search(("n",), query="cat")
    assert {(item.key, item.score is None) for item in found} == {("one", False), ("two", False)}
    assert [item.key for item in store.search(("n", "two"), query="cat")] == ["two"]


def test_an_update_keeps_when_an_item_was_made(store: HindsightStore, clock: Clock) -> None:
    store.put(("n",), "k", {"v": 1})
    made = clock.now
    clock.forward(5)
    store.put(("n",), "k", {"v": 2})
    item = store.get(("n",), "k")
    assert item is not None
    assert (item.created_at, item.updated_at) == (made, clock.now)


def test_an_item_lives_as_many_minutes_as_it_was_given(store: HindsightStore, clock: Clock) -> None:
    store.put(("n",), "short", {"v": 1}, ttl=10)
    store.put(("n",), "long", {"v": 1})
    clock.forward(9.99)
    assert store.get(("n",), "short", refresh_ttl=False)
    clock.forward(0.01)
    assert store.get(("n",), "short") is None
    assert [item.key for item in store.search(())] == ["long"]
    clock.forward(10**6)
    assert store.get(("n",), "long")


@pytest.mark.parametrize("read", ["get", "search", "query", "put"])
def test_reading_or_writing_an_item_lets_its_time_begin_anew(
    read: str, store: HindsightStore, clock: Clock
) -> None:
    touch: dict[str, Callable[[], Any]] = {
        "get": lambda: store.get(("n",), "k"),
        "search": lambda: store.search(("n",)),
        "query": lambda: store.search(("n",), query="one"),
        "put": lambda: store.put(("n",), "k", {"v": "one"}, ttl=10),
    }
    touch["put"]()
    for _ in range(3):
        clock.forward(9)
        touch[read]()
    clock.forward(9)
    assert store.get(("n",), "k")


def test_reading_refreshes_nothing_where_the_configuration_says_so(
    open_store: Open, clock: Clock
) -> None:
    store = open_store(ttl={"refresh_on_read": False, "default_ttl": 10})
    store.put(("n",), "k", {"v": 1})
    clock.forward(9)
    assert store.get(("n",), "k")
    clock.forward(9)
    assert store.get(("n",), "k") is None


def test_an_item_whose_time_is_over_leaves_its_namespace_and_the_bank(
    store: HindsightStore, clock: Clock, engine: Hindsight, bank: str
) -> None:
    store.put(("n",), "k", {"v": "The cat sleeps."}, ttl=1)
    clock.forward(1)
    assert store.list_namespaces() == []
    assert store.search(("n",), query="cat") == []
    assert engine.memories.list(bank).total == 0


def test_recall_itself_forgets_an_item_the_moment_its_time_is_over(
    engine: Hindsight, bank: str
) -> None:
    with HindsightStore(engine, bank, path=":memory:", ttl={"default_ttl": 0.05}) as store:
        store.put(("n",), "k", {"v": "The cat sleeps on the piano."})
        assert engine.recall(bank, "Who sleeps?")
        time.sleep(3.1)
        assert not engine.recall(bank, "Who sleeps?", fill=True)
        assert engine.memories.list(bank, state="any").total == 1
        assert store.sweep_ttl() == 1
        assert engine.memories.list(bank, state="any").total == 0


def test_recall_knows_that_reading_an_item_renewed_its_time(
    store: HindsightStore, clock: Clock, engine: Hindsight, bank: str
) -> None:
    def end() -> datetime:
        (memory,) = engine.memories.list(bank).items
        assert memory.expires_at
        return memory.expires_at

    began = datetime.now(UTC)
    store.put(("n",), "k", {"v": "The cat sleeps on the piano."}, ttl=60)
    clock.forward(50)
    store.put(("n",), "other", {"v": "A dog."}, index=False)
    before = end()
    assert began + timedelta(minutes=59) < before < datetime.now(UTC) + timedelta(minutes=60)
    store.get(("n",), "k", refresh_ttl=False)
    assert end() == before
    store.get(("n",), "k")
    assert end() > before
    assert len(engine.recall(bank, "Who sleeps?")) == 1


def test_a_filter_reaches_into_values_by_names_with_full_stops(store: HindsightStore) -> None:
    store.put(("n",), "v1.2", {"author": {"name": "Ann", "age": 40}}, index=False)
    store.put(("n",), "flat", {"author.name": "Ann"}, index=False)
    store.put(("n",), "other", {"author": "Ann"}, index=False)
    for filter, keys in [
        ({"author.name": "Ann"}, {"v1.2", "flat"}),
        ({"author.age": {"$gte": 40}}, {"v1.2"}),
        ({"author.name": {"$ne": "Ann"}}, {"other"}),
        ({"author.name": None}, {"other"}),
    ]:
        assert {item.key for item in store.search((), filter=filter)} == keys
    assert store.get(("n",), "v1.2")


@pytest.fixture(scope="module")
def crowd() -> Iterator[HindsightStore]:
    """A store of more items than recall scores at once: half about tea, a few of them rare."""
    quick = {"extractor": lambda passage: [passage.text], "reranker": None}
    settings = Settings(consolidate=False)
    with (
        Hindsight.in_memory(embedder=small_vectors, settings=settings, **quick) as memory,
        HindsightStore(memory, "crowd", path=":memory:") as store,
    ):
        store.batch(
            PutOp(
                ("n",),
                str(number),
                {
                    "text": f"Order {number}: {'green tea' if number % 2 else 'nails'}.",
                    "rare": number % 500 == 0,
                    "odd": number % 2,
                },
            )
            for number in range(2505)
        )
        yield store


def small_vectors(texts: Sequence[str]) -> Any:
    """Embed texts by their letters: quick, where thousands are retained."""
    table = np.zeros((len(texts), 32), np.float32)
    for row, text in zip(table, texts, strict=True):
        np.add.at(row, np.frombuffer(text.encode(), np.uint8) % 32, 1)
    return table


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"filter": {"rare": True}}, 6),
        ({"filter": {"odd": 1}, "limit": 1252}, 1252),
        ({"limit": 2505}, 2505),
        ({"limit": 20, "offset": 2000}, 20),
    ],
    ids=["rare", "half", "all", "far"],
)
def test_a_query_ranks_all_that_match_however_many_there_are(
    crowd: HindsightStore, options: dict[str, Any], number: int
) -> None:
    found = crowd.search(("n",), query="Who ordered green tea?", **options)
    scores = [item.score for item in found]
    assert len(found) == number
    assert None not in scores
    assert scores == sorted(scores, reverse=True)
    if number == 2505:
        best = [item.value["odd"] for item in found[:100]]
        assert sum(best) == 100


def test_banks_do_not_see_each_others_items(open_store: Open, bank: str, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    mine, other = open_store(path=path), open_store(path=path, bank_id=f"{bank} other")
    mine.put(("n",), "k", {"v": "The cat sleeps."})
    assert other.get(("n",), "k") is None
    assert other.search((), query="cat") == []
    assert other.list_namespaces() == []


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_function_of_the_runtime_decides_the_bank_within_a_graph(
    mode: str, open_store: Open, bank: str, engine: Hindsight
) -> None:
    async def keep(state: MessagesState, runtime: Runtime[Any]) -> None:
        assert isinstance(runtime.store, HindsightStore)
        await ask(mode, runtime.store, "put", ("n",), "k", {"text": state["messages"][-1].text})

    store = open_store(bank_id=lambda runtime: f"{bank} {runtime.context['user']}")
    builder = StateGraph(MessagesState, context_schema=dict).add_node(keep).add_edge(START, "keep")
    graph = builder.compile(store=store)
    for user in ("ann", "ben"):
        await graph.ainvoke({"messages": [("user", f"I am {user}.")]}, context={"user": user})
        kept = engine.memories.list(f"{bank} {user}").items
        assert [memory.text for memory in kept] == [f"I am {user}."]
    with pytest.raises(InvalidInputError, match="no graph is running"):
        await ask(mode, store, "get", ("n",), "k")


def test_items_survive_the_process_and_are_searched_by_the_next(
    open_store: Open, tmp_path: Path
) -> None:
    path = tmp_path / "store.sqlite3"
    with open_store(path=path) as first:
        fill(first)
    with open_store(path=path) as second:
        assert second.search(("pets",), query="piano")[0].key == "cat"


def test_what_recall_could_not_be_told_is_told_later(
    open_store: Open, closed: Hindsight, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store.sqlite3"
    with open_store(path=path, memory=closed) as offline:
        with caplog.at_level(logging.WARNING, "hindsight_integrations"):
            fill(offline)
        assert "will be searchable later" in caplog.text
        assert offline.get(("pets", "c"), "cat")
        with pytest.raises(ClosedError):
            offline.search((), query="piano")
    with open_store(path=path) as online:
        assert online.search(("pets",), query="piano")[0].key == "cat"


def test_an_item_too_long_for_recall_is_kept_and_does_not_hold_up_the_others(
    open_store: Open, bank: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Hindsight.in_memory(settings=Settings(max_content_chars=50)) as small:
        store = open_store(memory=small)
        with caplog.at_level(logging.WARNING, "hindsight_integrations"):
            store.put(("n",), "long", {"text": "zebra " * 20})
            store.put(("n",), "short", {"text": "A zebra."})
        assert caplog.text.count("the item 'long' will not be searchable") == 1
        found = store.search((), query="zebra")
        assert [(item.key, item.score is None) for item in found] == [
            ("short", False),
            ("long", True),
        ]


def test_threads_share_a_store(store: HindsightStore) -> None:
    def write(number: int) -> None:
        for turn in range(5):
            store.put(("n", str(number)), "k", {"turn": turn}, index=False)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [item.value for item in store.search(())] == [{"turn": 4}] * 4


def test_an_interrupted_put_leaves_the_store_usable(
    open_store: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    interrupt = interrupt_transactions(monkeypatch)
    first, other = (open_store(path=tmp_path / "items.db") for _ in range(2))
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        first.put(("n",), "interrupted", {"text": "gull"})
    other.put(("n",), "a", {"text": "heron"})
    first.put(("n",), "b", {"text": "osprey"})
    assert [item.key for item in first.search(("n",))] == ["a", "b"]


def test_a_batch_with_a_value_that_json_cannot_say_writes_nothing(store: HindsightStore) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written as JSON"):
        store.batch([PutOp(("n",), "good", {"v": 1}), PutOp(("n",), "bad", {"v": object()})])
    assert store.search(()) == []


@pytest.mark.parametrize(
    ("ops", "error", "told"),
    [
        (
            [SearchOp((), {"v": {"$near": 1}})],
            InvalidInputError,
            "'\\$near' in filter; choose from",
        ),
        ([SearchOp((), limit=-1)], InvalidInputError, "limit is -1; give a whole number"),
        ([ListNamespacesOp(offset=-1)], InvalidInputError, "offset is -1; give a whole number"),
        ([GetOp(("a.b",), "k")], InvalidNamespaceError, "periods"),
        ([PutOp(("n",), "\ud800", {"v": 1})], InvalidInputError, "broken unicode"),
        ([PutOp(("n",), "k", {}, ttl=float("nan"))], InvalidInputError, "ttl is nan; give minutes"),
        ([PutOp(("n",), "k", {}, ttl=1e300)], InvalidInputError, "ttl is 1e\\+300; give minutes"),
        ([("get", "k")], InvalidInputError, "is not an operation"),
        ([PutOp("users", "k", {})], InvalidInputError, r"is 'users'; give .* \('users',\)"),
        ([GetOp("users", "k")], InvalidInputError, "give a tuple of texts"),
        ([SearchOp("users")], InvalidInputError, "give a tuple of texts"),
        (
            [ListNamespacesOp((MatchCondition("middle", ("n",)),))],  # type: ignore[arg-type]
            InvalidInputError,
            "prefix, suffix",
        ),
    ],
    ids=[
        "operator",
        "limit",
        "offset",
        "label",
        "key",
        "no ttl",
        "long ttl",
        "operation",
        "text to put in",
        "text to get from",
        "text to search in",
        "pattern",
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_give(
    ops: list[Any], error: type[Exception], told: str, store: HindsightStore
) -> None:
    store.put(("n",), "k", {"v": 1}, index=False)
    with pytest.raises(error, match=told):
        store.batch(ops)


def test_a_closed_store_says_so(store: HindsightStore) -> None:
    store.close()
    store.close()
    with pytest.raises(ClosedError, match="open a new one"):
        store.get(("n",), "k")


def test_a_file_of_a_newer_release_and_one_that_is_none_are_told_apart(
    open_store: Open, tmp_path: Path
) -> None:
    newer = sqlite3.connect(tmp_path / "newer")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(SchemaVersionError, match="version 99"):
        open_store(path=tmp_path / "newer")
    (tmp_path / "text").write_text("no database, and longer than a header of one would be" * 20)
    with pytest.raises(StoreUnavailableError, match="cannot be read or written"):
        open_store(path=tmp_path / "text")


@pytest.mark.parametrize("value", ["Ann is allergic to nuts.", ["nuts"], 3])
def test_a_value_that_is_no_dict_is_refused(open_store: Open, value: Any) -> None:
    store = open_store()
    with pytest.raises(InvalidInputError, match=r"'food' is .*; a store holds dicts"):
        store.put(("users", "ann"), "food", value)
    assert store.search(("users",)) == []


def test_a_representation_tells_engine_bank_and_file(engine: Hindsight) -> None:
    with HindsightStore(engine, "items", path=":memory:") as store:
        assert repr(store) == f"HindsightStore({engine!r}, bank_id='items', path=':memory:')"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"ttl": {"default": 5}}, "give a mapping with some of .*default_ttl"),
        ({"ttl": 5}, "ttl is 5"),
        ({"ttl": {"default_ttl": "5"}}, "default_ttl is '5'"),
        ({"ttl": {"refresh_on_read": "no"}}, "refresh_on_read is 'no'"),
        ({"min_score": 7}, "min_score is 7"),
        ({"fields": [3]}, "a path in fields is 3"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    engine: Hindsight, arguments: dict[str, Any], fault: str
) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        HindsightStore(engine, "items", path=":memory:", **arguments)


def test_one_path_to_search_by_may_be_a_text(engine: Hindsight, bank: str) -> None:
    with HindsightStore(engine, bank, path=":memory:") as store:
        store.put(("ann",), "1", {"title": "Ann sails.", "note": "4711"}, index="title")  # type: ignore[arg-type]
        assert [memory.text for memory in engine.memories.list(bank).items] == ["Ann sails."]
        with pytest.raises(InvalidInputError, match="a path in index is 3"):
            store.put(("ann",), "2", {"title": "Bo"}, index=[3])  # type: ignore[list-item]
        assert store.get(("ann",), "2") is None


def test_a_search_that_cannot_be_made_is_refused(engine: Hindsight, bank: str) -> None:
    with HindsightStore(engine, bank, path=":memory:") as store:
        with pytest.raises(InvalidInputError, match="query is 3"):
            store.search(("ann",), query=3)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="filter is 'x'"):
            store.search(("ann",), filter="x")  # type: ignore[arg-type]
