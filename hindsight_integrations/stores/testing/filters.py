"""Contract of filters: the memories that pass, by every method that takes one."""

from __future__ import annotations

import string
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any, get_args

import pytest

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Bank, MemoryType, MetadataValue, TimeSpan
from hindsight_integrations.stores.base import RECORD, GraphStore, MemoryFilter, MemoryRecord
from hindsight_integrations.stores.conditions import AllOf, AnyOf, Condition, Not, Operator, Test
from hindsight_integrations.stores.predicate import passes
from hindsight_integrations.stores.testing.samples import (
    ALL,
    EMBEDDER,
    NOW,
    VALID,
    ago,
    day,
    keep,
    record,
    source,
)

OPERATORS: tuple[Operator, ...] = get_args(Operator)[:6]
"""Operators that take one value."""

VALUES: tuple[MetadataValue, ...] = (0, 1, "1", True)


def check_admits(graph: GraphStore, filter: MemoryFilter, expected: str) -> None:
    """Every search of the bank agrees on the ids, of one letter each, that pass."""
    ids = string.ascii_lowercase
    page = graph.list_memories("b", filter, limit=999)
    assert "".join(sorted(memory.id for memory in page.items)) == expected
    assert page.total == len(expected)
    assert "".join(sorted(graph.find_ids("b", filter, 999) or ())) == expected
    assert "".join(sorted(graph.filter_ids("b", [*ids, "absent"], filter))) == expected
    texts = graph.text_search("b", ["common"], filter, 999)
    assert "".join(sorted(hit.memory_id for hit in texts)) == expected
    whole = TimeSpan(ago(9999), ago(-9999))
    times = graph.time_search("b", whole, filter, 999)
    assert "".join(sorted(hit.memory_id for hit in times)) == expected


def stored(graph: GraphStore, **memories: dict[str, Any]) -> None:
    records = [
        record(id, f"common {id}", seed=n, **f) for n, (id, f) in enumerate(memories.items())
    ]
    keep(graph, *records)


def any_record(random: Random, id: str) -> MemoryRecord:
    """Make a memory that a part of `any_filter` may admit or not."""
    fields: dict[str, Any] = {
        "type": random.choice([*MemoryType]),
        "tags": tuple(random.sample("xyz", random.randrange(4))),
        "metadata": {"k": random.choice([0, 1, 2.5, "1", True])} if random.random() < 0.8 else {},
        "scope": random.choice([None, "s"]),
        "sources": (source(random.choice([None, "d", "e"])),),
        "entities": tuple(random.sample(["Alice", "Bob"], random.randrange(3))),
        "occurred": (day(2024, random.randrange(1, 5), 1),) if random.random() < 0.5 else (),
        "mentioned_at": random.choice([ago(9), ago(5), day(2024, 2, 1).start]),
        "expires_at": random.choice([None, None, ago(1), ago(-1)]),
        "invalidated_at": random.choice([None, None, ago(4)]),
        "derived": random.random() < 0.3,
        "pinned": random.random() < 0.3,
    }
    return record(id, f"common {id}", seed=ord(id), **fields)


def any_filter(random: Random) -> MemoryFilter:
    """Make a filter of one to three parts, so that some memories pass."""
    parts: dict[str, Any] = {
        "types": frozenset(random.sample([*MemoryType], 2)),
        "tags": tuple(random.sample("xyz", 2)),
        "tags_match": random.choice(["any", "all"]),
        "where": (Condition("k", random.choice(OPERATORS), random.choice(VALUES)),),
        "scope": "s",
        "document_id": random.choice(["d", "e"]),
        "entity_ids": tuple(random.sample(["e:alice", "e:bob"], random.randrange(1, 3))),
        "window": day(2024, random.randrange(1, 4), 1, days=40),
        "as_of": random.choice([ago(6), ago(4), ago(2)]),
        "include_invalid": random.random() < 0.5,
        "derived": random.random() < 0.5,
        "pinned": random.random() < 0.5,
    }
    names = random.sample([*parts], random.randrange(1, 4))
    return replace(random.choice([VALID, ALL]), **{name: parts[name] for name in names})


class FilterContract:
    """Tests of which memories a filter admits."""

    FILTERS = 50
    """Filters drawn by chance; a server that plans each of them may do with fewer."""

    def test_expired_memories_are_left_out(self, graph: GraphStore) -> None:
        stored(
            graph, a={}, b={"expires_at": ago(1)}, c={"expires_at": NOW}, d={"expires_at": ago(-1)}
        )
        check_admits(graph, VALID, "ad")
        check_admits(graph, replace(VALID, now=ago(2)), "abcd")

    def test_invalidated_memories_are_left_out_unless_asked_for(self, graph: GraphStore) -> None:
        stored(graph, a={}, b={"invalidated_at": ago(5)})
        check_admits(graph, VALID, "a")
        check_admits(graph, ALL, "ab")

    def test_as_of_shows_what_was_known_then(self, graph: GraphStore) -> None:
        stored(
            graph,
            a={"mentioned_at": ago(10)},
            b={"mentioned_at": ago(10), "invalidated_at": ago(4)},
            c={"mentioned_at": ago(10), "invalidated_at": ago(8)},
            d={"mentioned_at": ago(2)},
            e={"mentioned_at": ago(2), "invalidated_at": ago(1)},
        )
        check_admits(graph, replace(VALID, as_of=ago(6)), "ab")
        check_admits(graph, replace(VALID, as_of=ago(10)), "abc")
        check_admits(graph, replace(VALID, as_of=ago(4)), "a")
        check_admits(graph, replace(VALID, as_of=ago(11)), "")
        check_admits(graph, replace(ALL, as_of=ago(6)), "abce")

    def test_types_are_any_of_those_given(self, graph: GraphStore) -> None:
        stored(graph, **{kind.value[1]: {"type": kind} for kind in MemoryType})
        check_admits(graph, replace(VALID, types=frozenset({MemoryType.OPINION})), "p")
        both = frozenset({MemoryType.OPINION, MemoryType.WORLD})
        check_admits(graph, replace(VALID, types=both), "op")
        check_admits(graph, replace(VALID, types=frozenset()), "")

    def test_tags_match_any_or_all(self, graph: GraphStore) -> None:
        stored(graph, a={"tags": ("x",)}, b={"tags": ("y", "x", "x")}, c={"tags": ("Y",)}, d={})
        check_admits(graph, replace(VALID, tags=("x",)), "ab")
        check_admits(graph, replace(VALID, tags=("x", "Y")), "abc")
        check_admits(graph, replace(VALID, tags=("x", "y"), tags_match="all"), "b")
        check_admits(graph, replace(VALID, tags=("x", "z"), tags_match="all"), "")

    @pytest.mark.parametrize(
        ("operator", "value", "expected"),
        [
            ("$eq", 1, "ab"),
            ("$eq", 1.0, "ab"),
            ("$eq", "1", "c"),
            ("$eq", True, "d"),
            ("$eq", False, "e"),
            ("$eq", 0, ""),
            ("$ne", 1, "cdefghi"),
            ("$ne", True, "abcefghi"),
            ("$gt", 1, "fg"),
            ("$gte", 1, "abfg"),
            ("$lt", 2.5, "abf"),
            ("$lte", 2, "abf"),
            ("$gt", "0", "ch"),
            ("$lt", "É", "c"),
            ("$gt", False, ""),
            ("$lte", True, ""),
            ("$in", (1, "1", True), "abcd"),
            ("$in", (), ""),
            ("$nin", (1, "1", True), "efghi"),
            ("$nin", (), "abcdefghi"),
            ("$gt", 10**20, "g"),
            ("$eq", "É'\"", "h"),
        ],
    )
    def test_metadata_is_compared_within_its_kind(
        self, graph: GraphStore, operator: Any, value: Any, expected: str
    ) -> None:
        stored(
            graph,
            a={"metadata": {"k": 1, "other": 9}},
            b={"metadata": {"k": 1.0}},
            c={"metadata": {"k": "1"}},
            d={"metadata": {"k": True}},
            e={"metadata": {"k": False}},
            f={"metadata": {"k": 2}},
            g={"metadata": {"k": 10**30}},
            h={"metadata": {"k": "É'\""}},
            i={},
        )
        check_admits(graph, replace(VALID, where=(Condition("k", operator, value),)), expected)

    def test_all_metadata_conditions_have_to_hold(self, graph: GraphStore) -> None:
        stored(graph, a={"metadata": {"k": 1, "j": 2}}, b={"metadata": {"k": 1}})
        both = (Condition("k", "$eq", 1), Condition("j", "$gt", 1))
        check_admits(graph, replace(VALID, where=both), "a")
        unless = (Condition("k", "$eq", 1), Condition("j", "$ne", 2))
        check_admits(graph, replace(VALID, where=unless), "b")
        odd = (Condition("o\"d'$.f", "$eq", 1),)
        check_admits(graph, replace(VALID, where=odd), "")

    @pytest.mark.parametrize("field", ["k", "document_id"])
    def test_a_field_is_compared_with_thousands_of_values(
        self, graph: GraphStore, field: str
    ) -> None:
        metadata = {"metadata": {"k": "v 4999"}, "sources": (source("v 4999"),)}
        stored(graph, a=metadata, b={"sources": (source("other"),)})
        many = tuple(f"v {number}" for number in range(5000))
        check_admits(graph, replace(VALID, where=(Condition(field, "$in", many),)), "a")
        check_admits(graph, replace(VALID, where=(Condition(field, "$nin", many),)), "b")

    @pytest.mark.parametrize(
        ("operator", "value", "expected"),
        [
            ("$contains", "b C", "a"),
            ("$icontains", "B c", "ab"),
            ("$icontains", "É", "c"),
            ("$contains", "1", ""),
            ("$exists", True, "abcd"),
            ("$exists", False, "ef"),
        ],
    )
    def test_texts_are_searched_within_and_fields_for_being_there(
        self, graph: GraphStore, operator: Any, value: Any, expected: str
    ) -> None:
        stored(
            graph,
            a={"metadata": {"k": "a b C"}},
            b={"metadata": {"k": "A B c d"}},
            c={"metadata": {"k": "café"}},
            d={"metadata": {"k": 1}},
            e={"metadata": {"kk": "a b C"}},
            f={},
        )
        check_admits(graph, replace(VALID, where=(Condition("k", operator, value),)), expected)

    def test_tests_are_combined(self, graph: GraphStore) -> None:
        stored(graph, a={"metadata": {"k": 1, "j": 1}}, b={"metadata": {"k": 1}}, c={})
        k, j = Condition("k", "$eq", 1), Condition("j", "$eq", 1)
        check_admits(graph, replace(VALID, where=(AnyOf((k, j)),)), "ab")
        check_admits(graph, replace(VALID, where=(AllOf((k, j)),)), "a")
        check_admits(graph, replace(VALID, where=(Not(j),)), "bc")
        check_admits(graph, replace(VALID, where=(k, Not(AllOf((k, j))))), "b")
        unless = AnyOf((Condition("j", "$ne", 1), Not(Not(j))))
        check_admits(graph, replace(VALID, where=(unless,)), "abc")
        check_admits(graph, replace(VALID, where=(Not(AllOf(())),)), "")
        check_admits(graph, replace(VALID, where=(AnyOf((k, AllOf(()))),)), "abc")

    @pytest.mark.parametrize(
        ("test", "expected"),
        [
            (Condition("type", "$eq", "opinion"), "bd"),
            (Condition("type", "$ne", "opinion"), "ac"),
            (Condition("speaker", "$in", ("Ann", "Bo")), "ab"),
            (Not(Condition("speaker", "$eq", "Ann")), "bcd"),
            (Condition("speaker", "$exists", False), "cd"),
            (Condition("speaker", "$eq", 1), ""),
            (Condition("context", "$icontains", "LUNCH"), "a"),
            (Condition("scope", "$gte", "b"), "b"),
            (Condition("document_id", "$eq", "d 2"), "ab"),
            (Condition("document_id", "$nin", ("d 1", "d 3")), "bd"),
            (Condition("document_id", "$contains", "d "), "abc"),
            (Condition("tags", "$eq", "x"), "ab"),
            (Condition("tags", "$ne", "x"), "cd"),
            (Condition("entities", "$eq", "Cleo"), "bc"),
            (Condition("entities", "$icontains", "dora"), "b"),
            (Condition("entities", "$exists", False), "ad"),
            (Condition("mentioned_at", "$eq", "2024-05-07"), "bc"),
            (Condition("mentioned_at", "$gt", "2024-05-07"), "d"),
            (Condition("mentioned_at", "$lte", "2024-05-07"), "abc"),
            (Condition("mentioned_at", "$eq", "2024-05-07T13:56"), "c"),
            (Condition("mentioned_at", "$eq", "2024-05-07T15:56+02:00"), "c"),
            (Condition("mentioned_at", "$lt", "2024-05-07T13:56:30+00:00"), "ab"),
            (Condition("mentioned_at", "$in", ("2024-05-06", "2024-05-08")), "ad"),
            (Condition("mentioned_at", "$ne", "2024-05-07"), "ad"),
            (Condition("mentioned_at", "$eq", "never"), ""),
            (Condition("mentioned_at", "$exists", True), "abcd"),
        ],
    )
    def test_the_fields_of_a_memory_itself_are_tested_too(
        self, graph: GraphStore, test: Test, expected: str
    ) -> None:
        stored(
            graph,
            a={
                "speaker": "Ann",
                "context": "At lunch",
                "scope": "a",
                "tags": ("x",),
                "sources": (source("d 1"), source("d 2")),
                "mentioned_at": datetime(2024, 5, 6, 23, 59, tzinfo=UTC),
            },
            b={
                "type": MemoryType.OPINION,
                "speaker": "Bo",
                "scope": "b",
                "tags": ("y", "x"),
                "sources": (source("d 2"),),
                "entities": ("Dora", "Cleo"),
                "mentioned_at": datetime(2024, 5, 7, tzinfo=UTC),
            },
            c={
                "entities": ("Cleo",),
                "sources": (source("d 3"),),
                "mentioned_at": datetime(2024, 5, 7, 13, 56, 30, tzinfo=UTC),
            },
            d={
                "metadata": {"type": "opinion"},
                "sources": (source(None),),
                "mentioned_at": datetime(2024, 5, 8, tzinfo=UTC),
            },
        )
        check_admits(graph, replace(VALID, where=(test,)), expected)

    def test_only_invalidated_or_expired_memories_can_be_asked_for(self, graph: GraphStore) -> None:
        stored(
            graph,
            a={},
            b={"invalidated_at": ago(5)},
            c={"expires_at": ago(1)},
            d={"invalidated_at": ago(5), "expires_at": NOW},
            e={"expires_at": ago(-1)},
        )
        check_admits(graph, replace(ALL, now=None, only_invalid=True), "bd")
        check_admits(graph, replace(ALL, now=None, expired_by=NOW), "cd")
        check_admits(graph, replace(VALID, now=None, expired_by=NOW), "c")
        check_admits(graph, replace(ALL, now=None, expired_by=ago(2)), "")

    def test_banks_with_expired_memories_can_be_asked_for(self, graph: GraphStore) -> None:
        graph.create_bank(Bank("later"), EMBEDDER)
        keep(graph, record("a", bank_id="later", expires_at=ago(-1)))
        assert graph.list_banks(expired_by=NOW) == []
        keep(graph, record("b", expires_at=NOW, invalidated_at=ago(2)))
        assert [stored.bank.id for stored in graph.list_banks(expired_by=NOW)] == ["b"]
        expired = graph.list_banks(expired_by=ago(-1))
        assert [stored.bank.id for stored in expired] == ["b", "later"]

    def test_a_text_is_searched_whatever_the_case(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("a", "common É'\" 100% of_it"),
            record("b", "Common é"),
            record("c", "common"),
        )
        check_admits(graph, replace(VALID, text="COMMON"), "abc")
        check_admits(graph, replace(VALID, text="é'\" 100%"), "a")
        check_admits(graph, replace(VALID, text="É"), "ab")
        check_admits(graph, replace(VALID, text="1_0"), "")

    def test_memories_changed_since_then_can_be_asked_for(self, graph: GraphStore) -> None:
        stored(graph, a={"updated_at": ago(3)}, b={"updated_at": ago(2)}, c={})
        check_admits(graph, replace(VALID, updated_since=ago(2)), "bc")
        check_admits(graph, replace(VALID, updated_since=ago(4)), "abc")
        check_admits(graph, replace(VALID, updated_since=ago(-1)), "")

    def test_scope_is_exact(self, graph: GraphStore) -> None:
        stored(graph, a={"scope": "x"}, b={"scope": "xy"}, c={"scope": ""}, d={})
        check_admits(graph, replace(VALID, scope="x"), "a")
        check_admits(graph, replace(VALID, scope=""), "c")

    def test_a_document_holds_what_it_states_first_or_again(self, graph: GraphStore) -> None:
        stored(
            graph,
            a={"sources": (source("d"),)},
            b={"sources": (source("e"), source("d", 1), source("d", 2))},
            c={"sources": (source("e"),)},
            d={"sources": (source(None),)},
        )
        check_admits(graph, replace(VALID, document_id="d"), "ab")
        check_admits(graph, replace(VALID, document_id="absent"), "")

    def test_an_entity_holds_what_mentions_it(self, graph: GraphStore) -> None:
        stored(graph, a={"entities": ("Alice", "Bob")}, b={"entities": ("Bob",)}, c={})
        check_admits(graph, replace(VALID, entity_ids=("e:bob",)), "ab")
        check_admits(graph, replace(VALID, entity_ids=("e:alice",)), "a")
        check_admits(graph, replace(VALID, entity_ids=("absent",)), "")

    def test_several_entities_hold_what_mentions_any_of_them(self, graph: GraphStore) -> None:
        stored(
            graph,
            a={"entities": ("Alice", "Bob")},
            b={"entities": ("Bob",)},
            c={"entities": ("Carol",)},
            d={},
        )
        check_admits(graph, replace(VALID, entity_ids=("e:alice", "e:bob")), "ab")
        check_admits(graph, replace(VALID, entity_ids=("e:carol", "absent", "e:alice")), "ac")

    def test_a_window_may_reach_from_the_first_or_to_the_last_day_of_the_calendar(
        self, graph: GraphStore
    ) -> None:
        stored(
            graph,
            a={"occurred": (day(2024, 3, 1),)},
            b={"mentioned_at": day(2024, 6, 1).start},
            c={"occurred": (day(2024, 2, 1, days=60),)},
        )
        since = TimeSpan.between(day(2024, 3, 20).start, None)
        until = TimeSpan.between(None, day(2024, 3, 1).start)
        check_admits(graph, replace(VALID, window=since), "bc")
        check_admits(graph, replace(VALID, window=until), "c")

    def test_a_window_looks_at_times_named_else_at_when_it_was_said(
        self, graph: GraphStore
    ) -> None:
        stored(
            graph,
            a={"occurred": (day(2024, 3, 1),), "mentioned_at": ago(100)},
            b={"occurred": (day(1990, 1, 1), day(2024, 2, 1, days=60))},
            c={"occurred": (TimeSpan(ago(9000), ago(-9000)),)},
            d={"mentioned_at": day(2024, 3, 1).start},
            e={"mentioned_at": day(2024, 3, 2).start},
            f={"occurred": (day(2020, 1, 1),), "mentioned_at": day(2024, 3, 1).start},
            g={"occurred": (day(2024, 2, 29),)},
        )
        check_admits(graph, replace(VALID, window=day(2024, 3, 1)), "abcd")

    def test_every_part_has_to_hold(self, graph: GraphStore) -> None:
        full: dict[str, Any] = {
            "type": MemoryType.WORLD,
            "tags": ("t",),
            "metadata": {"k": 1},
            "scope": "s",
            "sources": (source("d"),),
            "entities": ("Alice",),
            "occurred": (day(2024, 3, 1),),
            "mentioned_at": ago(9),
        }
        stored(
            graph,
            a=full,
            b=full | {"type": MemoryType.OPINION},
            c=full | {"tags": ()},
            d=full | {"metadata": {"k": 2}},
            e=full | {"scope": None},
            f=full | {"sources": (source("x"),)},
            g=full | {"entities": ("Bob",)},
            h=full | {"occurred": (day(2023, 3, 1),)},
            i=full | {"mentioned_at": ago(1)},
            j=full | {"expires_at": ago(1)},
            k=full | {"invalidated_at": ago(8)},
            l=full | {"pinned": True},
        )
        strict = MemoryFilter(
            NOW,
            types=frozenset({MemoryType.WORLD}),
            tags=("t",),
            where=(Condition("k", "$eq", 1),),
            scope="s",
            document_id="d",
            entity_ids=("e:alice",),
            window=day(2024, 3, 1),
            as_of=ago(5),
            pinned=False,
        )
        check_admits(graph, strict, "a")
        check_admits(graph, replace(VALID, pinned=True), "l")

    def test_any_filter_admits_what_its_definition_does(self, graph: GraphStore) -> None:
        random = Random(7)
        keep(graph, *(any_record(random, id) for id in string.ascii_lowercase[:20]))
        held = graph.read("b", RECORD, string.ascii_lowercase)
        admitted = set()
        for _ in range(self.FILTERS):
            filter = any_filter(random)
            expected = "".join(id for id, record in held.items() if passes(record, filter))
            check_admits(graph, filter, expected)
            admitted.add(expected)
        assert len(admitted) > 2 * self.FILTERS // 5

    def test_matching_tells_when_there_are_more_than_the_limit(self, graph: GraphStore) -> None:
        keep(graph, *(record(f"m{n}") for n in range(5)))
        assert graph.find_ids("b", VALID, 4) is None
        assert sorted(graph.find_ids("b", VALID, 5) or ()) == [f"m{n}" for n in range(5)]
        assert graph.find_ids("b", replace(VALID, scope="none"), 0) == []

    def test_pages_follow_the_order_of_storing_and_miss_nothing(self, graph: GraphStore) -> None:
        ids = [f"m{n:02}" for n in range(25)]
        for start in range(0, 25, 10):
            keep(graph, *(record(id, tags=("t",)) for id in reversed(ids[start : start + 10])))
        seen: list[str] = []
        cursor: str | None = None
        tagged = replace(VALID, tags=("t",))
        while True:
            page = graph.list_memories("b", tagged, limit=7, cursor=cursor)
            assert page.total == 25
            seen += [memory.id for memory in page.items]
            if (cursor := page.next_cursor) is None:
                break
        assert seen == ids[9::-1] + ids[19:9:-1] + ids[:19:-1]

    def test_a_page_of_nothing_has_no_next(self, graph: GraphStore) -> None:
        keep(graph, record("a"))
        page = graph.list_memories("b", VALID, limit=0)
        assert (list(page.items), page.total, page.next_cursor) == ([], 1, None)
        exact = graph.list_memories("b", VALID, limit=1)
        assert exact.next_cursor is None

    @pytest.mark.parametrize("cursor", ["", "x", "17 OR 1=1", "-1", "m", "m²", "m" + "9" * 40])
    def test_a_cursor_of_another_making_is_refused(self, graph: GraphStore, cursor: str) -> None:
        with pytest.raises(InvalidInputError):
            graph.list_memories("b", VALID, limit=5, cursor=cursor)
        with pytest.raises(InvalidInputError):
            graph.list_entities("b", limit=5, cursor=cursor)
