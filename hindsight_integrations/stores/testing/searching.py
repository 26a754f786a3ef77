"""Contract of the searches: their results, order, and statistics."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from hindsight_integrations.models import LinkKind, TimeSpan
from hindsight_integrations.stores.base import (
    MENTIONS,
    GraphStore,
    LexemeStats,
    Posting,
    TimeKind,
)
from hindsight_integrations.stores.testing.samples import (
    ALL,
    NOW,
    VALID,
    ago,
    changed,
    day,
    found,
    keep,
    link,
    record,
)


class SearchContract:
    """Tests of searches and their order."""

    @pytest.mark.parametrize(
        "lexeme",
        """inv-20417 c++ @x.org a@x.org it's say"so 😀 東京 near or * % } \\""".split(),
    )
    def test_a_lexeme_is_found_whatever_it_is_made_of(self, graph: GraphStore, lexeme: str) -> None:
        keep(
            graph,
            replace(record("with"), lexemes=("first", lexeme, "last")),
            replace(record("part"), lexemes=("first", "inv", "20417", "c", "x", "org", "s", "京")),
        )
        assert found(graph, lexeme) == ["with"]

    def test_lexemes_come_back_with_the_memory(self, graph: GraphStore) -> None:
        keep(graph, record("m", "the red the car"), record("none", "blue"))
        (hit,) = graph.text_search("b", ["car", "red", "absent", "car"], VALID, 5)
        assert (hit.memory_id, hit.lexemes) == ("m", ("the", "red", "the", "car"))

    def test_lexemes_are_weighed_by_the_statistics_given(self, graph: GraphStore) -> None:
        keep(graph, record("a", "red"), record("b", "blue"), record("c", "blue"))
        asked = ["red", "blue"]
        own = graph.lexeme_stats("b", asked)
        plain = graph.text_search("b", asked, VALID, 3)
        assert graph.text_search("b", asked, VALID, 3, own) == plain
        (hit,) = graph.text_search("b", asked, VALID, 1, own)
        assert hit.memory_id == "a"
        other = replace(own, frequency={"red": 3, "blue": 1})
        (hit,) = graph.text_search("b", asked, VALID, 1, other)
        assert hit.memory_id == "c"

    def test_rarer_lexemes_and_more_of_them_come_first(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("common", "common words"),
            record("rare", "rare words"),
            record("both", "rare common"),
            record("long", "rare " + "filler " * 30),
            *(record(f"x{n}", "common filler") for n in range(20)),
        )
        assert found(graph, "rare", "common")[:3] == ["both", "long", "rare"]
        assert set(found(graph, "rare", "common")) >= {"common", "x0", "x19"}

    def test_the_latest_of_equals_come_first_and_limits_are_kept(self, graph: GraphStore) -> None:
        keep(graph, *(record(id, "same") for id in "dbca"))
        assert found(graph, "same") == list("acbd")
        assert found(graph, "same", limit=2) == ["a", "c"]
        assert found(graph, "same", limit=0) == []
        assert found(graph) == []

    def test_a_bank_that_only_has_common_lexemes_is_searched_by_them(
        self, graph: GraphStore
    ) -> None:
        keep(graph, *(record(f"m{n:04}", "everywhere") for n in range(1500)))
        assert len(found(graph, "everywhere", limit=1200)) == 1200

    def test_few_matches_of_a_filter_are_found_among_many_of_the_text(
        self, graph: GraphStore
    ) -> None:
        keep(graph, *(record(f"m{n:04}", "word") for n in range(1200)))
        keep(graph, record("wanted", "a word in a long text", scope="s", expires_at=ago(-1)))
        keep(graph, *(record(f"n{n:04}", "word") for n in range(1200)))
        scoped = replace(VALID, scope="s")
        assert [hit.memory_id for hit in graph.text_search("b", ["word"], scoped, 9)] == ["wanted"]

    def test_lexeme_statistics_count_the_valid_memories_of_the_bank(
        self, graph: GraphStore
    ) -> None:
        first = record("a", "red red car")
        keep(graph, first, record("b", "red boat"), record("c", "red", invalidated_at=ago(1)))
        stats = graph.lexeme_stats("b", ["red", "car", "absent"])
        assert stats == LexemeStats(2, 2.5, {"red": 2, "car": 1, "absent": 0})
        keep(graph, replaced=(changed(first, invalidated_at=NOW),))
        stats = graph.lexeme_stats("b", ["red", "car"])
        assert stats == LexemeStats(1, 2.0, {"red": 1, "car": 0})
        keep(graph, replaced=(first,), remove_memories=("b",))
        stats = graph.lexeme_stats("b", ["red", "boat"])
        assert stats == LexemeStats(1, 3.0, {"red": 1, "boat": 0})

    def test_an_empty_bank_has_statistics(self, graph: GraphStore) -> None:
        assert graph.lexeme_stats("b", ["x"]) == LexemeStats(0, 0.0, {"x": 0})

    def test_the_nearest_times_come_first(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("exact", occurred=(day(2024, 6, 15),), mentioned_at=ago(0)),
            record("near", occurred=(day(2024, 6, 17),)),
            record("nearer", occurred=(day(2024, 6, 14),)),
            record("month", occurred=(day(2024, 6, 5, days=30),)),
            record("decade", occurred=(day(2019, 1, 1, days=3652),)),
            record("outside", occurred=(day(2024, 5, 1),)),
            record("touching", occurred=(day(2024, 6, 21), day(2024, 6, 9))),
        )
        window = day(2024, 6, 10, days=11)
        hits = graph.time_search("b", window, VALID, 99)
        assert [hit.memory_id for hit in hits] == ["exact", "nearer", "near", "month", "decade"]
        assert hits == graph.time_search("b", window, VALID, 5)
        assert hits[:2] == graph.time_search("b", window, VALID, 2)
        assert hits[0].span == day(2024, 6, 15)
        assert graph.time_search("b", window, VALID, 0) == []

    def test_a_memory_is_hit_once_by_its_nearest_time(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("m", occurred=tuple(day(2024, 6, n) for n in (1, 16, 30))),
            record("other", occurred=(day(2024, 6, 10),)),
        )
        hits = graph.time_search("b", day(2024, 6, 1, days=30), VALID, 2)
        assert [(hit.memory_id, hit.span) for hit in hits] == [
            ("m", day(2024, 6, 16)),
            ("other", day(2024, 6, 10)),
        ]

    def test_the_time_of_mention_is_a_time_too(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("said", mentioned_at=day(2024, 6, 2).start),
            record("both", occurred=(day(2020, 1, 1),), mentioned_at=day(2024, 6, 1).start),
        )
        hits = graph.time_search("b", day(2024, 6, 1, days=3), VALID, 9)
        assert [(hit.memory_id, hit.kind) for hit in hits] == [
            ("said", TimeKind.MENTIONED),
            ("both", TimeKind.MENTIONED),
        ]
        assert hits[0].span.start == day(2024, 6, 2).start
        (hit,) = graph.time_search("b", day(2020, 1, 1), VALID, 9)
        assert (hit.memory_id, hit.kind) == ("both", TimeKind.OCCURRED)

    def test_windows_are_half_open(self, graph: GraphStore) -> None:
        keep(graph, record("m", mentioned_at=day(2024, 6, 2).start))
        tick = timedelta(microseconds=1)
        start = day(2024, 6, 2).start
        assert graph.time_search("b", TimeSpan(start - tick, start), VALID, 9) == []
        assert graph.time_search("b", TimeSpan(start + tick, start + 2 * tick), VALID, 9) == []
        assert len(graph.time_search("b", TimeSpan(start, start + tick), VALID, 9)) == 1

    @pytest.mark.parametrize("days", [0.001, 1, 2, 31, 32, 366, 400, 36_525, 300_000])
    def test_spans_of_any_length_are_found_at_their_very_ends(
        self, graph: GraphStore, days: float
    ) -> None:
        span = day(1200, 1, 1, days=days)
        keep(graph, record("m", occurred=(span,)))
        tick = timedelta(microseconds=1)
        for start in (span.start, span.end - tick):
            assert len(graph.time_search("b", TimeSpan(start, start + tick), VALID, 9)) == 1
        for start in (span.start - tick, span.end):
            assert graph.time_search("b", TimeSpan(start, start + tick), VALID, 9) == []

    def test_equally_near_times_come_by_id(self, graph: GraphStore) -> None:
        keep(graph, *(record(id, occurred=(day(2024, 6, 2),)) for id in "cab"))
        keep(graph, record("d", occurred=(day(2024, 6, 1, days=3),)))
        hits = graph.time_search("b", day(2024, 6, 1, days=3), VALID, 3)
        assert [hit.memory_id for hit in hits] == ["a", "b", "c"]

    def test_a_search_in_time_agrees_with_looking_at_every_memory(self, graph: GraphStore) -> None:
        random = Random(7)

        def any_span(longest: float) -> TimeSpan:
            start = ago(random.uniform(-50, 800))
            return TimeSpan(start, start + timedelta(days=longest * random.random() ** 4 + 1e-6))

        records = [
            record(
                f"m{n:03}",
                occurred=tuple(any_span(5000) for _ in range(random.randrange(4))),
                mentioned_at=ago(random.uniform(0, 800)),
                scope=random.choice("xy"),
            )
            for n in range(150)
        ]
        keep(graph, *records)
        scoped = replace(VALID, scope="x")
        for _ in range(40):
            window = any_span(400)
            nearest: list[tuple[timedelta, str]] = []
            for memory in (each.memory for each in records if each.memory.scope == "x"):
                said = TimeSpan(
                    memory.mentioned_at, memory.mentioned_at + timedelta(microseconds=1)
                )
                distances = [
                    abs((span.start - window.start) + (span.end - window.end))
                    for span in (*memory.occurred, said)
                    if span.overlaps(window)
                ]
                if distances:
                    nearest.append((min(distances), memory.id))
            hits = graph.time_search("b", window, scoped, 20)
            assert [hit.memory_id for hit in hits] == [id for _, id in sorted(nearest)[:20]]

    def test_surroundings_are_postings_mentions_and_links_together(self, graph: GraphStore) -> None:
        keep(graph, *(record(id, entities=("Bob", "Ann")) for id in ("a", "b1", "c")))
        keep(graph, links=(link("a", "c", 0.5), link("b1", "a", 0.7)))
        entities, memories = ["e:ann", "absent", "e:bob"], ["c", "a", "absent"]
        around = graph.surroundings("b", entities, memories, 2, 1, VALID)
        assert around.postings == {
            id: graph.postings("b", [id], 2, VALID) for id in ("e:ann", "e:bob")
        }
        assert [*around.postings] == ["e:ann", "e:bob"]
        mentioned = graph.read("b", MENTIONS, memories)
        assert {id: tuple(e for e, _ in both) for id, both in around.mentions.items()} == mentioned
        assert {name for both in around.mentions.values() for _, name in both} == {"Ann", "Bob"}
        assert [*around.mentions] == ["c", "a"]
        assert around.links == {"c": [link("a", "c", 0.5)], "a": [link("b1", "a", 0.7)]}
        assert graph.surroundings("b", [], [], 9, 9, VALID) == ({}, {}, {})

    def test_what_is_read_ahead_is_what_would_be_read_next(self, graph: GraphStore) -> None:
        people = ("Ann", "Bob", "Cleo", "Dan")
        for n in range(12):
            keep(graph, record(f"m{n:02}", entities=(people[n % 4], people[n * n % 3])))
        keep(graph, record("gone", invalidated_at=ago(1), entities=("Ann",)), record("alone"))
        linked = (link(f"m{n:02}", f"m{n * 5 % 12:02}", n / 20) for n in (1, 2, 3, 7))
        keep(graph, links=(link("gone", "m01", 1.0), *linked))
        given = (2, 1, VALID)
        for entities, memories in ((["e:ann"], ["m01", "m03"]), ([], ["gone", "alone"]), ([], [])):
            plain = graph.surroundings("b", entities, memories, *given)
            ahead = graph.surroundings("b", entities, memories, *given, 5)
            assert [*ahead.mentions][: len(plain.mentions)] == [*plain.mentions]
            again = graph.surroundings("b", [*ahead.postings], [*ahead.mentions], *given)
            assert ahead == again
            assert len(ahead.postings) <= len(plain.postings) + 5
            assert len(ahead.mentions) <= len(plain.mentions) + 5

    def test_postings_are_the_latest_of_each_entity_with_its_degree(
        self, graph: GraphStore
    ) -> None:
        for n in range(4):
            keep(graph, record(f"m{n}", entities=("Alice", "Bob") if n % 2 else ("Alice",)))
        keep(graph, record("wrong", entities=("Bob",), invalidated_at=ago(1)))
        assert graph.postings("b", ["e:bob", "absent", "e:alice"], 3, VALID) == [
            Posting("e:bob", "m3", 3),
            Posting("e:bob", "m1", 3),
            Posting("e:alice", "m3", 4),
            Posting("e:alice", "m2", 4),
            Posting("e:alice", "m1", 4),
        ]
        assert graph.postings("b", ["e:bob"], 9, ALL)[0].memory_id == "wrong"
        assert graph.postings("b", ["e:alice"], 0, VALID) == []
        assert graph.postings("b", [], 9, VALID) == []

    def test_mentions_keep_the_order_of_the_text(self, graph: GraphStore) -> None:
        keep(graph, record("m", entities=("Zoe", "Alice")), record("none"))
        assert graph.read("b", MENTIONS, ["none", "absent", "m"]) == {
            "none": (),
            "m": ("e:zoe", "e:alice"),
        }

    def test_links_come_heaviest_first_from_either_end(self, graph: GraphStore) -> None:
        keep(graph, *(record(id) for id in "abcd"), record("x", invalidated_at=ago(1)))
        keep(
            graph,
            links=(
                link("a", "b", 0.3),
                link("c", "a", 0.9, LinkKind.CAUSAL),
                link("a", "d", 0.5, LinkKind.TEMPORAL),
                link("a", "x", 1.0),
                link("b", "c", 0.1),
            ),
        )
        assert graph.links("b", ["a"], 9, VALID) == [
            link("c", "a", 0.9, LinkKind.CAUSAL),
            link("a", "d", 0.5, LinkKind.TEMPORAL),
            link("a", "b", 0.3),
        ]
        assert graph.links("b", ["a"], 1, VALID) == [link("c", "a", 0.9, LinkKind.CAUSAL)]
        assert graph.links("b", ["x"], 9, VALID) == []
        assert graph.links("b", ["x"], 9, ALL) == [link("a", "x", 1.0)]
        both = graph.links("b", ["a", "c", "absent"], 9, VALID)
        assert Counter(both)[link("c", "a", 0.9, LinkKind.CAUSAL)] == 1
        assert len(both) == 4
        assert graph.links("b", ["a"], 0, VALID) == []

    def test_scores_use_the_statistics_of_the_bank(self, graph: GraphStore) -> None:
        keep(graph, *(record(f"m{n}", f"word{n % 7} other{n % 3}") for n in range(42)))
        query = ("word1", "other2")
        stats = graph.lexeme_stats("b", query)

        def weight(lexeme: str) -> float:
            holding = stats.frequency[lexeme]
            return math.log(1 + (stats.documents - holding + 0.5) / (holding + 0.5))

        hits = graph.text_search("b", query, VALID, 99)
        scores = [sum(weight(each) for each in query if each in hit.lexemes) for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert len(hits) == len({n for n in range(42) if n % 7 == 1 or n % 3 == 2})
