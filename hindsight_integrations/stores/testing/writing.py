"""Contract of change sets: what is stored, and what is removed with what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

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
from hindsight_integrations.history import Change
from hindsight_integrations.models import Bank, LinkKind, MemoryType, Precision, Source, TimeSpan
from hindsight_integrations.stores import base
from hindsight_integrations.stores.base import (
    ChangeSet,
    EntityMerge,
    EntityNames,
    GraphStore,
    Neighbour,
    OvertakenError,
)
from hindsight_integrations.stores.testing.samples import (
    ALL,
    NOW,
    VALID,
    ago,
    changed,
    chunk,
    day,
    document,
    entity,
    found,
    keep,
    link,
    record,
    source,
    token_vectors,
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

_EAST, _WEST = timezone(timedelta(hours=9)), timezone(timedelta(hours=-3, minutes=-30))


class WritingContract:
    """Tests of change sets."""

    def test_a_memory_comes_back_as_it_was_stored(self, graph: GraphStore) -> None:
        given = record(
            "m",
            "Alice met Bob",
            type=MemoryType.OPINION,
            occurred=(
                day(2024, 5, 2),
                TimeSpan(ago(900), ago(500), Precision.SEASON),
                TimeSpan(ago(4).astimezone(_EAST), ago(3).astimezone(_WEST), Precision.RANGE),
            ),
            mentioned_at=ago(3).astimezone(_WEST),
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
            pinned=True,
        )
        given = replace(given, interaction=token_vectors(1))
        keep(graph, given)
        stored = graph.read("b", base.MEMORY, ["m"])
        assert stored == {"m": given.memory}
        said, kept = given.memory, stored["m"]
        assert kept.mentioned_at.isoformat() == said.mentioned_at.isoformat()
        assert [span.wall_clock() for span in kept.occurred] == [
            span.wall_clock() for span in said.occurred
        ]
        back = graph.read("b", base.RECORD, ["m"])["m"]
        assert np.array_equal(back.vector, given.vector)
        others = [field.name for field in fields(given) if field.name != "vector"]
        assert [getattr(back, name) for name in others] == [getattr(given, name) for name in others]
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
        back = graph.read("b", base.RECORD, [text])[text]
        assert back.memory == given.memory
        assert back.lexemes == given.lexemes
        assert graph.read("b", base.DUPLICATES, [text]) == {text: (text,)}
        assert found(graph, text) == [text]
        assert graph.read("b", base.ENTITY, [text])[text].name == text
        assert graph.read("b", base.CHUNK, [text])[text].text == text
        assert [change.new for change in graph.read("b", base.HISTORY, [text])[text]] == [text]

    def test_a_document_says_whether_it_holds_a_conversation(self, graph: GraphStore) -> None:
        given = {
            str(kind): replace(document(str(kind)), is_conversation=kind)
            for kind in (True, False, None)
        }
        keep(graph, documents=tuple(given.values()))
        assert graph.read("b", base.DOCUMENT, [*given]) == given
        assert {each.id: each for each in graph.scan("b", base.DOCUMENT)} == given
        changed = replace(given["None"], is_conversation=True)
        keep(graph, documents=(changed,))
        assert graph.read("b", base.DOCUMENT, ["None"]) == {"None": changed}

    def test_a_document_and_a_record_of_a_conversation_never_take_each_others_place(
        self, graph: GraphStore
    ) -> None:
        kept = replace(document("kept"), is_record=True)
        keep(graph, documents=(document("said"), kept))
        assert [each.is_record for each in graph.scan("b", base.DOCUMENT)] == [True, False]
        for other in (document("kept"), replace(document("said"), is_record=True)):
            with pytest.raises(ConflictError, match=repr(other.id)):
                keep(graph, record(f"in {other.id}"), documents=(other,))
        stored = graph.read("b", base.DOCUMENT, ["kept", "said"])
        assert stored == {"kept": kept, "said": document("said")}
        assert list(graph.scan("b", base.MEMORY_ID)) == []
        keep(graph, documents=(document("kept"),), remove_documents=("kept",))
        assert graph.read("b", base.DOCUMENT, ["kept"])["kept"] == document("kept")

    def test_half_a_character_is_refused_and_nothing_is_stored(self, graph: GraphStore) -> None:
        with pytest.raises(InvalidInputError):
            keep(graph, record("good"), record("m", "half \ud83d of it"))
        assert graph.read("b", base.MEMORY, ["good", "m"]) == {}

    @pytest.mark.parametrize("said", [datetime.min, datetime.max, datetime(1969, 12, 31, 23)])
    def test_the_whole_calendar_can_be_stored(self, graph: GraphStore, said: datetime) -> None:
        said = said.replace(tzinfo=UTC)
        given = record("m", mentioned_at=said, occurred=(TimeSpan(datetime.min, datetime.max),))
        keep(graph, given)
        assert graph.read("b", base.MEMORY, ["m"]) == {"m": given.memory}
        window = TimeSpan(datetime.min, datetime.max)
        assert [hit.memory_id for hit in graph.time_search("b", window, VALID, 5)] == ["m"]

    def test_reading_keeps_the_order_asked_for_and_passes_over_what_is_not_there(
        self, graph: GraphStore
    ) -> None:
        keep(graph, *(record(id) for id in "abc"))
        assert list(graph.read("b", base.MEMORY, ["c", "x", "a", "c"])) == ["c", "a"]
        assert list(graph.read("b", base.RECORD, ["b", "x"])) == ["b"]
        assert list(graph.read("b", base.VECTOR, ["c", "x", "b"])) == ["c", "b"]
        assert graph.read("b", base.MEMORY, []) == {}

    def test_a_change_set_is_stored_whole_or_not_at_all(self, graph: GraphStore) -> None:
        keep(graph, record("old", entities=("Alice",)), record("spare"))
        refused = (
            ConflictError,
            MemoryNotFoundError,
            EntityNotFoundError,
            EmbedderMismatchError,
            InvalidInputError,
        )
        for wrong in (
            {"memories": (record("new"), record("old"))},
            {"memories": (record("new"), record("new"))},
            {"memories": (record("new"),), "replaced": (record("absent"),)},
            {"memories": (record("new"),), "sources": (("absent", source("d")),)},
            {"memories": (record("new", entities=("Nobody",)),)},
            {"memories": (replace(record("new"), vector=vector(0, 3)),)},
            {"memories": (replace(record("new"), entity_ids=("e:alice",)),)},
        ):
            with pytest.raises(refused):
                graph.apply(
                    ChangeSet("b", remove_memories=("spare",), documents=(document("d"),), **wrong)
                )
            assert list(graph.read("b", base.MEMORY, ["old", "spare", "new"])) == ["old", "spare"]
            assert graph.read("b", base.DOCUMENT, ["d"]).get("d") is None
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
        assert graph.read("b", base.MEMORY, ["m"]) == {"m": new.memory}
        assert found(graph, "red") == []
        assert found(graph, "boat") == ["m"]
        assert graph.find_ids("b", replace(VALID, tags=("x",)), 5) == []
        assert graph.find_ids("b", replace(VALID, tags=("y",)), 5) == ["m"]
        assert graph.find_ids("b", replace(VALID, window=day(2020, 1, 1)), 5) == []
        assert graph.find_ids("b", replace(VALID, window=day(2021, 1, 1)), 5) == ["m"]
        assert graph.lexeme_stats("b", ["red", "blue"]).frequency == {"red": 0, "blue": 1}
        assert list(graph.read("b", base.ENTITY_NAMED, ["Alice", "Bob"])) == ["bob"]
        listed = graph.list_memories("b", VALID, limit=9).items
        assert [memory.id for memory in listed] == ["first", "m", "last"]

    def test_a_removed_memory_leaves_nothing_and_no_history(self, graph: GraphStore) -> None:
        gone = record("m", "word", entities=("Alice", "Bob"), tags=("t",), sources=(source("d"),))
        changes = [Change(id, "edit", "text", "word", None, NOW) for id in ("m", "other")]
        keep(graph, gone, record("other", "word", entities=("Bob",)), documents=(document("d"),))
        keep(graph, links=(link("m", "other"), link("other", "m")), history=tuple(changes))
        assert keep(graph, remove_memories=("m", "x")) == ("m",)
        assert graph.read("b", base.RECORD, ["m"]) == {}
        assert graph.read("b", base.VECTOR, ["m"]) == {}
        assert [hit.memory_id for hit in graph.text_search("b", ["word"], ALL, 5)] == ["other"]
        assert graph.links("b", ["other"], 5, ALL) == []
        assert list(graph.read("b", base.ENTITY_NAMED, ["Alice", "Bob"])) == ["bob"]
        assert graph.read("b", base.COOCCURRENCES, ["e:bob"]) == {"e:bob": {}}
        assert list(graph.scan("b", base.CHANGE)) == changes[1:]
        assert graph.read("b", base.DOCUMENT, ["d"]).get("d") is not None
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
        assert graph.read("b", base.DOCUMENT, ["d"]).get("d") is None
        assert graph.read("b", base.DOCUMENT_CHUNKS, ["d"]) == {}
        both = graph.read("b", base.MEMORY, ["both", "unsourced"])["both"]
        assert [each.document_id for each in both.sources] == ["e"]
        assert keep(graph, remove_documents=("e",)) == ("both",)
        assert list(graph.read("b", base.MEMORY, ["both", "unsourced"])) == ["unsourced"]

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
        assert list(graph.read("b", base.CHUNK, ["c1", "c2"])) == ["c2"]
        assert graph.read("b", base.DOCUMENT, ["d"])["d"].chunk_count == 1

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
        assert graph.find_ids("b", replace(VALID, document_id="d"), 5) == ["new"]
        stored = graph.read("b", base.DOCUMENT, ["d"])["d"]
        assert (stored.fingerprint, stored.chunk_count) == ("g", 1)

    def test_a_chunk_keeps_only_the_texts_of_the_memories_left_in_it(
        self, graph: GraphStore
    ) -> None:
        whole = chunk("c1", "d", text="Heading. First. Second. Third.")
        keep(
            graph,
            record(
                "b", "Second.", sources=(source("d", chunk_id="c1"), source("e", chunk_id="c2"))
            ),
            record("a", "First.", sources=(source("d", chunk_id="c1"),)),
            record("c", "Third.", sources=(source("d", chunk_id="c1"), source("e", chunk_id="c3"))),
            record("f", "Fourth.", sources=(source("e", chunk_id="c3"),), invalidated_at=NOW),
            documents=(document("d"), document("e")),
            chunks=(
                whole,
                chunk("c2", "e", text="Second again."),
                chunk("c3", "e", 1, text="Third and fourth."),
                chunk("c4", "e", 2, text="Untouched."),
            ),
        )
        keep(graph, remove_memories=("a",))
        (cut,) = graph.read("b", base.DOCUMENT_CHUNKS, ["d"])["d"]
        assert cut == replace(whole, text="Second.\nThird.")
        keep(graph, remove_memories=("c",), remove_documents=("d",))
        held = graph.read("b", base.DOCUMENT_CHUNKS, ["d", "e"])
        assert [(each.id, each.text) for each in held["e"]] == [
            ("c2", "Second again."),
            ("c3", "Fourth."),
            ("c4", "Untouched."),
        ]
        assert "d" not in held
        keep(graph, remove_memories=("b", "f"))
        blank = graph.read("b", base.DOCUMENT_CHUNKS, ["e"])["e"]
        assert [each.text for each in blank] == ["", "", "Untouched."]
        assert all(each.fingerprint for each in blank)

    def test_chunks_come_by_position_and_are_overwritten_by_id(self, graph: GraphStore) -> None:
        keep(
            graph,
            documents=(document("d"), document("e")),
            chunks=(chunk("c", "d", 20), chunk("a", "d", 10), chunk("b", "d", 10)),
        )
        before = graph.read("b", base.DOCUMENT_CHUNKS, ["d"])["d"]
        assert [each.id for each in before] == ["a", "b", "c"]
        keep(graph, chunks=(chunk("c", "d", 5, "new"),))
        after = graph.read("b", base.DOCUMENT_CHUNKS, ["d"])["d"]
        assert [each.id for each in after] == ["c", "a", "b"]
        assert graph.read("b", base.CHUNK, ["c"])["c"].text == "new"

    def test_a_source_is_added_at_the_end_and_once(self, graph: GraphStore) -> None:
        keep(graph, record("m", sources=(source("d", 1),)))
        keep(graph, sources=(("m", source("e", 2)), ("m", source("e", 2)), ("m", source("d", 1))))
        memory = graph.read("b", base.MEMORY, ["m"])["m"]
        assert memory.sources == (source("d", 1), source("e", 2))
        assert graph.find_ids("b", replace(VALID, document_id="e"), 5) == ["m"]

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
        assert graph.read("b", base.HISTORY, ["absent", "m"]) == {"m": changes}

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
        assert graph.neighbours("b", ["b", "none", "absent"], 2, VALID) == [
            Neighbour("b", "a", -1),
            Neighbour("b", "c", 1),
        ]
        assert graph.neighbours("b", ["a"], 1, VALID) == [Neighbour("a", "b", 1)]
        assert graph.neighbours("b", ["a"], 2, VALID) == [
            Neighbour("a", "b", 1),
            Neighbour("a", "c", 2),
        ]
        assert graph.neighbours("b", ["a", "e"], 0, VALID) == []
        assert graph.neighbours("b", ["e"], 3, VALID) == []

    def test_places_tell_where_valid_memories_stand(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        keep(
            graph,
            record("c", sources=(source("d", 20), source("e", 1))),
            record("x", sources=(source("d", 15),), invalidated_at=ago(1)),
            record("a", sources=(source("d", 10),), expires_at=ago(1)),
            record("none"),
        )
        keep(graph, record("b", sources=(source("e", 3),), expires_at=ago(-1)))
        keep(graph, record("other", bank_id=other_bank))
        places = graph.places("b", -1, 9)
        assert [place[1:] for place in places] == [
            ("c", "d", 20, None),
            ("a", "d", 10, ago(1)),
            ("none", None, 0, None),
            ("b", "e", 3, ago(-1)),
        ]
        numbers = [place.number for place in places]
        assert numbers == sorted(set(numbers))
        assert graph.places("b", -1, 2) == places[:2]
        assert graph.places("b", numbers[1], 9) == places[2:]
        assert graph.places("b", numbers[-1], 9) == graph.places("b", -1, 0) == []

    def test_neighbours_that_do_not_pass_are_counted_and_left_out(self, graph: GraphStore) -> None:
        scopes = zip("abcd", ("x", "y", "x", "x"), strict=True)
        keep(graph, *(record(id, scope=scope, sources=(source("d", 0),)) for id, scope in scopes))
        scoped = replace(VALID, scope="x")
        assert graph.neighbours("b", ["a", "b"], 2, scoped) == [
            Neighbour("a", "c", 2),
            Neighbour("b", "a", -1),
            Neighbour("b", "c", 1),
            Neighbour("b", "d", 2),
        ]

    def test_fingerprints_find_valid_memories_only(self, graph: GraphStore) -> None:
        same = [replace(record(id), fingerprint="f") for id in ("a", "b")]
        wrong = replace(record("c", invalidated_at=ago(1)), fingerprint="f")
        keep(graph, *same, wrong)
        assert graph.read("b", base.DUPLICATES, ["f", "g"]) == {"f": ("a", "b")}

    def test_what_was_read_of_memories_stays_true_for_the_edition(self, graph: GraphStore) -> None:
        first = record("a", "Ann met Bob", entities=("Ann", "Bob"), sources=(source("d"),))
        other = record("b", "Bob left", entities=("Bob",))
        keep(graph, first, other, documents=(document("d"),))

        def read() -> tuple[int, object, object]:
            stored = graph.get_bank("b")
            assert stored is not None
            weighed = [
                each[:10] + each[11:]
                for each in graph.read("b", base.CANDIDATE, ["a", "b"]).values()
            ]
            return stored.version, weighed, graph.read("b", base.MEMORY, ["a", "b"])

        elsewhere = Source(None, None, 0, NOW, reference="elsewhere")
        quote = replace(elsewhere, memory_id="b")
        drawn = record("o", type=MemoryType.OBSERVATION, sources=(quote,))
        additions: list[Callable[[], object]] = [
            lambda: keep(graph, record("c", "Ann sings", entities=("Ann",))),
            lambda: keep(graph, links=(link("c", "a"),)),
            lambda: keep(graph, drawn, mark_consolidated=("b",)),
            lambda: graph.update_bank("b", Bank("b", mission="new")),
        ]
        changes: list[Callable[[], object]] = [
            lambda: keep(graph, names=(EntityNames("e:ann", "Anna", ("Ann",)),)),
            lambda: keep(graph, replaced=(changed(other, text="Bob left early"),)),
            lambda: keep(graph, sources=(("b", elsewhere),)),
            lambda: keep(graph, entity_edits=(EntityNames("e:bob", "Robert", ("Bob",)),)),
            lambda: keep(graph, entity_edits=(EntityMerge("e:ann", "e:bob"),)),
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
        documents = (document("d", "three"),)
        for expected in ([("d", "two")], [("d", None)], [("d", "one"), ("new", "one")]):
            with pytest.raises(ConflictError, match="changed by another writer"):
                keep(graph, record("m"), documents=documents, expected=tuple(expected))
        assert graph.read("b", base.MEMORY, ["m"]) == {}
        assert graph.read("b", base.DOCUMENT, ["d"])["d"].fingerprint == "one"
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
            return stored.version

        keep(graph, record("m", "as it was"))
        before = edition()
        keep(graph, record("another"))
        keep(graph, replaced=(record("m", "as it is"),), version=before)
        with pytest.raises(OvertakenError, match="changed by another writer"):
            keep(graph, record("late"), remove_memories=("m",), version=before)
        texts = [m.text for m in graph.read("b", base.MEMORY, ["m", "late"]).values()]
        assert texts == ["as it is"]
        keep(graph, remove_memories=("m",), version=edition())
        assert graph.read("b", base.MEMORY, ["m"]) == {}
