"""What every graph store keeps of a change set, and what goes with what is removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from hindsight_integrations.errors import (
    BankNotFoundError,
    ConflictError,
    EmbedderMismatchError,
    EntityNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.model import (
    Bank,
    Change,
    LinkKind,
    MemoryType,
    Precision,
    Source,
    TimeSpan,
)
from hindsight_integrations.storage.conditions import OvertakenError
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import (
    ChangeSet,
    EntityMerge,
    EntityNames,
    Neighbour,
)

from .graphs import (
    ALL,
    NOW,
    VALID,
    ago,
    changed,
    chunk,
    day,
    document,
    entity,
    keep,
    link,
    record,
    source,
    vector,
)

ODD_TEXTS = (
    "'; DROP TABLE memories; --",
    '"quoted" and \\ back\\slashed',
    "emoji 👩‍👩‍👧 and 東京 and עברית",
    "a NUL \0 inside",
    "line\nbreak\ttab",
    "%_* ? :name $1 {id: 1}",
)


class WritingContract:
    def test_a_memory_comes_back_as_it_was_stored(self, graph: GraphStore) -> None:
        given = record(
            "m",
            "Alice met Bob",
            type=MemoryType.OPINION,
            occurred=(day(2024, 5, 2), TimeSpan(ago(900), ago(500), Precision.SEASON)),
            mentioned_at=ago(3),
            speaker="Alice",
            context="diary",
            entities=("Alice", "Bob"),
            tags=("z", "a"),
            metadata={"n": 1, "x": 1.5, "yes": True, "text": "t", "big": 10**30},
            confidence=0.25,
            scope="work",
            sources=(source("d", 3, "c"), Source(None, None, 0, ago(1), "ref")),
            created_at=ago(2),
            updated_at=ago(1),
            expires_at=ago(-9),
            invalidated_at=ago(0.5),
            invalidated_because="a correction",
        )
        given = replace(given, interaction=b"\x00\x01")
        keep(graph, given)
        assert graph.get_memories("b", ["m"]) == {"m": given.memory}
        back = graph.get_records("b", ["m"])["m"]
        assert np.array_equal(back.vector, given.vector)
        assert replace(back, vector=given.vector) == given
        assert isinstance(back.memory.metadata["yes"], bool)

    @pytest.mark.parametrize("text", ODD_TEXTS)
    def test_any_text_is_stored_as_it_is(self, graph: GraphStore, text: str) -> None:
        given = record(
            text,
            text,
            speaker=text,
            context=text,
            scope=text,
            tags=(text,),
            metadata={text: text},
            sources=(Source(text, text, 0, NOW, text),),
        )
        given = replace(given, lexemes=(text, "other"), fingerprint=text)
        given = replace(given, memory=replace(given.memory, entities=(text,)), entity_ids=(text,))
        graph.apply(
            ChangeSet(
                "b",
                memories=(given,),
                entities=(entity(text, id=text),),
                documents=(document(text),),
                chunks=(chunk(text, text, text=text),),
                history=(Change(text, "edit", text, text, text, NOW, text),),
            )
        )
        back = graph.get_records("b", [text])[text]
        assert back.memory == given.memory
        assert back.lexemes == given.lexemes
        assert graph.find_fingerprints("b", [text]) == {text: [text]}
        assert [hit.memory_id for hit in graph.text_search("b", [text], VALID, 5)] == [text]
        assert graph.get_entities("b", [text])[text].name == text
        assert graph.chunks_by_id("b", [text])[text].text == text
        assert [change.new for change in graph.history("b", text)] == [text]

    def test_half_a_character_is_refused_and_nothing_is_stored(self, graph: GraphStore) -> None:
        with pytest.raises(InvalidInputError):
            keep(graph, record("good"), record("m", "half \ud83d of it"))
        assert graph.get_memories("b", ["good", "m"]) == {}

    @pytest.mark.parametrize("moment", [datetime.min, datetime.max, datetime(1969, 12, 31, 23)])
    def test_the_whole_calendar_can_be_stored(self, graph: GraphStore, moment: datetime) -> None:
        moment = moment.replace(tzinfo=UTC)
        given = record("m", mentioned_at=moment, occurred=(TimeSpan(datetime.min, datetime.max),))
        keep(graph, given)
        assert graph.get_memories("b", ["m"]) == {"m": given.memory}
        window = TimeSpan(datetime.min, datetime.max)
        assert [hit.memory_id for hit in graph.time_search("b", window, VALID, 5)] == ["m"]

    def test_reading_keeps_the_order_asked_for_and_passes_over_what_is_not_there(
        self, graph: GraphStore
    ) -> None:
        keep(graph, *(record(id) for id in "abc"))
        assert list(graph.get_memories("b", ["c", "x", "a", "c"])) == ["c", "a"]
        assert list(graph.get_records("b", ["b", "x"])) == ["b"]
        assert list(graph.vectors("b", ["c", "x", "b"])) == ["c", "b"]
        assert graph.get_memories("b", []) == {}

    def test_a_change_set_is_stored_whole_or_not_at_all(self, graph: GraphStore) -> None:
        keep(graph, record("old", entities=("Alice",)), record("spare"))
        for wrong in (
            {"memories": (record("new"), record("old"))},
            {"memories": (record("new"), record("new"))},
            {"memories": (record("new"),), "replaced": (record("absent"),)},
            {"memories": (record("new"),), "sources": (("absent", source("d")),)},
            {"memories": (record("new", entities=("Nobody",)),)},
            {"memories": (replace(record("new"), vector=vector(0, 3)),)},
            {"memories": (replace(record("new"), entity_ids=("e:alice",)),)},
        ):
            with pytest.raises(
                (
                    ConflictError,
                    MemoryNotFoundError,
                    EntityNotFoundError,
                    EmbedderMismatchError,
                    InvalidInputError,
                )
            ):
                graph.apply(
                    ChangeSet(
                        "b",
                        remove_memories=("spare",),
                        documents=(document("d"),),
                        **wrong,  # type: ignore[arg-type]
                    )
                )
            assert list(graph.get_memories("b", ["old", "spare", "new"])) == ["old", "spare"]
            assert graph.get_document("b", "d") is None
            assert graph.lexeme_stats("b", ["old", "new"]).frequency == {"old": 1, "new": 0}
        assert [p.memory_id for p in graph.pending_vectors(9)] == ["old", "spare"]

    def test_a_change_set_for_an_unknown_bank_is_refused(self, graph: GraphStore) -> None:
        with pytest.raises(BankNotFoundError):
            graph.apply(ChangeSet("nowhere"))

    def test_a_replaced_memory_is_found_by_its_new_values_only(self, graph: GraphStore) -> None:
        old = record("m", "red car", tags=("x",), entities=("Alice",), occurred=(day(2020, 1, 1),))
        keep(graph, record("first"), old, record("last"))
        new = changed(
            old, text="blue boat", tags=("y",), entities=("Bob",), occurred=(day(2021, 1, 1),)
        )
        keep(graph, replaced=(new,), entities=(entity("Bob"),))
        assert graph.get_memories("b", ["m"]) == {"m": new.memory}
        assert graph.text_search("b", ["red"], VALID, 5) == []
        assert [hit.memory_id for hit in graph.text_search("b", ["boat"], VALID, 5)] == ["m"]
        assert graph.matching("b", replace(VALID, tags=("x",)), 5) == []
        assert graph.matching("b", replace(VALID, tags=("y",)), 5) == ["m"]
        assert graph.matching("b", replace(VALID, window=day(2020, 1, 1)), 5) == []
        assert graph.matching("b", replace(VALID, window=day(2021, 1, 1)), 5) == ["m"]
        assert graph.lexeme_stats("b", ["red", "blue"]).frequency == {"red": 0, "blue": 1}
        assert list(graph.lookup_entities("b", ["Alice", "Bob"])) == ["bob"]
        listed = graph.list_memories("b", VALID, limit=9).items
        assert [memory.id for memory in listed] == ["first", "m", "last"]

    def test_a_removed_memory_leaves_nothing_and_no_history(self, graph: GraphStore) -> None:
        gone = record("m", "word", entities=("Alice", "Bob"), tags=("t",), sources=(source("d"),))
        changes = [Change(id, "edit", "text", "word", None, NOW) for id in ("m", "other")]
        keep(graph, gone, record("other", "word", entities=("Bob",)), documents=(document("d"),))
        keep(graph, links=(link("m", "other"), link("other", "m")), history=tuple(changes))
        assert keep(graph, remove_memories=("m", "x")) == ("m",)
        assert graph.get_records("b", ["m"]) == {}
        assert graph.vectors("b", ["m"]) == {}
        assert [hit.memory_id for hit in graph.text_search("b", ["word"], ALL, 5)] == ["other"]
        assert graph.links("b", ["other"], 5, ALL) == []
        assert list(graph.lookup_entities("b", ["Alice", "Bob"])) == ["bob"]
        assert graph.cooccurring("b", ["e:bob"]) == {"e:bob": {}}
        assert list(graph.changes("b")) == changes[1:]
        assert graph.get_document("b", "d") is not None
        stats = graph.bank_stats("b")
        assert (stats.memories, sum(stats.links.values())) == (1, 0)

    def test_a_memory_goes_with_its_last_source(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("only", sources=(source("d", 0, "c1"),)),
            record("both", sources=(source("d", 1, "c1"), source("e", 7))),
            record("unsourced"),
            documents=(document("d"), document("e")),
            chunks=(chunk("c1", "d"), chunk("c2", "d", 1)),
        )
        assert keep(graph, remove_documents=("d", "absent")) == ("only",)
        assert graph.get_document("b", "d") is None
        assert graph.get_chunks("b", "d") == []
        both = graph.get_memories("b", ["both", "unsourced"])["both"]
        assert [each.document_id for each in both.sources] == ["e"]
        assert keep(graph, remove_documents=("e",)) == ("both",)
        assert list(graph.get_memories("b", ["both", "unsourced"])) == ["unsourced"]

    def test_a_removed_chunk_takes_the_memories_that_stood_only_there(
        self, graph: GraphStore
    ) -> None:
        keep(
            graph,
            record("a", sources=(source("d", 0, "c1"), source("d", 1, "c2"))),
            record("b", sources=(source("d", 0, "c1"),)),
            documents=(document("d"),),
            chunks=(chunk("c1", "d"), chunk("c2", "d", 1)),
        )
        assert keep(graph, remove_chunks=("c1",)) == ("b",)
        assert list(graph.chunks_by_id("b", ["c1", "c2"])) == ["c2"]
        found = graph.get_document("b", "d")
        assert found is not None
        assert found.chunk_count == 1

    def test_a_document_can_be_replaced_in_one_change_set(self, graph: GraphStore) -> None:
        keep(graph, record("old", sources=(source("d"),)), documents=(document("d"),))
        gone = keep(
            graph,
            record("new", sources=(source("d", 0, "c"),)),
            remove_documents=("d",),
            documents=(document("d", "g"),),
            chunks=(chunk("c", "d"),),
        )
        assert gone == ("old",)
        assert graph.matching("b", replace(VALID, document_id="d"), 5) == ["new"]
        found = graph.get_document("b", "d")
        assert found is not None
        assert (found.fingerprint, found.chunk_count) == ("g", 1)

    def test_chunks_come_by_position_and_are_overwritten_by_id(self, graph: GraphStore) -> None:
        keep(
            graph,
            documents=(document("d"), document("e")),
            chunks=(chunk("c", "d", 20), chunk("a", "d", 10), chunk("b", "d", 10)),
        )
        assert [each.id for each in graph.get_chunks("b", "d")] == ["a", "b", "c"]
        keep(graph, chunks=(chunk("c", "d", 5, "new"),))
        assert [each.id for each in graph.get_chunks("b", "d")] == ["c", "a", "b"]
        assert graph.chunks_by_id("b", ["c"])["c"].text == "new"

    def test_a_source_is_added_at_the_end_and_once(self, graph: GraphStore) -> None:
        keep(graph, record("m", sources=(source("d", 1),)))
        keep(graph, sources=(("m", source("e", 2)), ("m", source("e", 2)), ("m", source("d", 1))))
        memory = graph.get_memories("b", ["m"])["m"]
        assert memory.sources == (source("d", 1), source("e", 2))
        assert graph.matching("b", replace(VALID, document_id="e"), 5) == ["m"]

    def test_links_to_absent_memories_are_passed_over(self, graph: GraphStore) -> None:
        keep(
            graph, record("a"), record("b"), links=(link("a", "b"), link("a", "x"), link("x", "b"))
        )
        assert graph.links("b", ["a"], 9, VALID) == [link("a", "b")]

    def test_a_link_stored_again_gets_its_new_weight(self, graph: GraphStore) -> None:
        keep(graph, record("a"), record("b"), links=(link("a", "b", 0.2),))
        keep(graph, links=(link("a", "b", 0.9), link("a", "b", 0.4, LinkKind.CAUSAL)))
        assert graph.links("b", ["b"], 9, VALID) == [
            link("a", "b", 0.9),
            link("a", "b", 0.4, LinkKind.CAUSAL),
        ]

    def test_history_comes_oldest_first(self, graph: GraphStore) -> None:
        changes = tuple(Change("m", "edit", "text", str(n), str(n + 1), ago(n)) for n in range(3))
        keep(graph, record("m"), history=changes)
        assert graph.history("b", "m") == list(changes)
        assert graph.history("b", "absent") == []

    def test_neighbours_are_counted_in_the_order_of_the_document(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("c", sources=(source("d", 20),)),
            record("a", sources=(source("d", 10), source("e", 0))),
            record("b", sources=(source("d", 10),)),
            record("x", sources=(source("d", 15),), invalidated_at=ago(1)),
            record("e", sources=(source("e", 0),)),
            record("none"),
        )
        assert graph.neighbours("b", ["b", "none", "absent"], 2) == [
            Neighbour("b", "a", -1),
            Neighbour("b", "c", 1),
        ]
        assert graph.neighbours("b", ["a"], 1) == [Neighbour("a", "b", 1)]
        assert graph.neighbours("b", ["a"], 2) == [
            Neighbour("a", "b", 1),
            Neighbour("a", "c", 2),
        ]
        assert graph.neighbours("b", ["a", "e"], 0) == []
        assert graph.neighbours("b", ["e"], 3) == []

    def test_fingerprints_find_valid_memories_only(self, graph: GraphStore) -> None:
        same = [replace(record(id), fingerprint="f") for id in ("a", "b")]
        wrong = replace(record("c", invalidated_at=ago(1)), fingerprint="f")
        keep(graph, *same, wrong)
        assert graph.find_fingerprints("b", ["f", "g"]) == {"f": ["a", "b"]}

    def test_what_was_read_of_memories_stays_true_for_the_edition(self, graph: GraphStore) -> None:
        first = record("a", "Ann met Bob", entities=("Ann", "Bob"), sources=(source("d"),))
        other = record("b", "Bob left", entities=("Bob",))
        keep(graph, first, other, documents=(document("d"),))

        def read() -> tuple[int, object, object]:
            stored = graph.get_bank("b")
            assert stored is not None
            weighed = [each[:10] + each[11:] for each in graph.candidates("b", ["a", "b"])]
            return stored.edition, weighed, graph.get_memories("b", ["a", "b"])

        told = Source(None, None, 0, NOW, reference="elsewhere")
        quote = replace(told, memory_id="b")
        drawn = record("o", type=MemoryType.OBSERVATION, sources=(quote,))
        additions: list[Callable[[], object]] = [
            lambda: keep(graph, record("c", "Ann sings", entities=("Ann",))),
            lambda: keep(graph, links=(link("c", "a"),)),
            lambda: keep(graph, drawn, reflected=("b",)),
            lambda: graph.replace_bank(Bank("b", mission="new")),
        ]
        changes: list[Callable[[], object]] = [
            lambda: keep(graph, names=(EntityNames("e:ann", "Anna", ("Ann",)),)),
            lambda: keep(graph, replaced=(changed(other, text="Bob left early"),)),
            lambda: keep(graph, sources=(("b", told),)),
            lambda: graph.edit_entity("b", EntityNames("e:bob", "Robert", ("Bob",))),
            lambda: graph.edit_entity("b", EntityMerge("e:ann", "e:bob")),
            lambda: keep(graph, remove_documents=("d",)),
            lambda: keep(graph, remove_memories=("b",)),
        ]
        for step in additions:
            before = read()
            step()
            assert read() == before
        for step in changes:
            before = read()
            step()
            after = read()
            assert after[0] > before[0]
            assert after[1:] != before[1:]

    def test_a_change_set_is_refused_if_a_document_is_not_the_one_expected(
        self, graph: GraphStore
    ) -> None:
        keep(graph, documents=(document("d", "one"), document("e", "two")))
        for expected in ([("d", "two")], [("d", None)], [("d", "one"), ("new", "one")]):
            with pytest.raises(ConflictError, match="changed meanwhile"):
                keep(
                    graph,
                    record("m"),
                    documents=(document("d", "three"),),
                    expected=tuple(expected),
                )
        assert graph.get_memories("b", ["m"]) == {}
        kept = graph.get_document("b", "d")
        assert kept is not None
        assert kept.fingerprint == "one"
        keep(
            graph,
            remove_documents=("e",),
            documents=(document("d", "three"), document("new", "four")),
            expected=(("e", "two"), ("new", None), ("d", "one")),
        )
        keep(graph, expected=(("d", "three"), ("new", "four"), ("e", None)))

    def test_a_change_set_is_refused_if_the_bank_is_not_of_the_edition_expected(
        self, graph: GraphStore
    ) -> None:
        def edition() -> int:
            stored = graph.get_bank("b")
            assert stored is not None
            return stored.edition

        keep(graph, record("m", "as it was"))
        before = edition()
        keep(graph, record("another"))
        keep(graph, replaced=(record("m", "as it is"),), edition=before)
        with pytest.raises(OvertakenError, match="changed meanwhile"):
            keep(graph, record("late"), remove_memories=("m",), edition=before)
        assert [m.text for m in graph.get_memories("b", ["m", "late"]).values()] == ["as it is"]
        keep(graph, remove_memories=("m",), edition=edition())
        assert graph.get_memories("b", ["m"]) == {}
