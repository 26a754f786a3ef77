"""Contract of conclusions: evidence, removal, history, pending consolidation, checkpoints."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hindsight_integrations.errors import BankNotFoundError, ConflictError
from hindsight_integrations.history import Change
from hindsight_integrations.models import (
    Bank,
    Memory,
    MemoryType,
    MentalModel,
    ObservationKind,
    Source,
    TimeSpan,
    TurnKind,
    utc_now,
)
from hindsight_integrations.stores import base
from hindsight_integrations.stores.base import ChangeSet, GraphStore, MemoryRecord, QueueCheckpoint
from hindsight_integrations.stores.testing.samples import (
    EMBEDDER,
    NOW,
    VALID,
    ago,
    changed,
    chunk,
    document,
    keep,
    record,
    source,
)


def on(memory_id: str, quote: str | None = None, *, supports: bool = True) -> Source:
    """A source that is a memory."""
    return Source(mentioned_at=NOW, memory_id=memory_id, quote=quote, supports=supports)


def conclusion(id: str, *sources: Source, **fields: Any) -> MemoryRecord:
    return record(id, type=MemoryType.OBSERVATION, sources=sources, **fields)


def model(id: str, **fields: Any) -> MentalModel:
    return MentalModel(
        **{"id": id, "bank_id": "b", "name": id, "text": f"text of {id}"}
        | {"created_at": ago(2), "refreshed_at": ago(1)}
        | fields
    )


def memory(graph: GraphStore, id: str) -> Memory:
    return graph.read("b", base.MEMORY, [id])[id]


def reflect(graph: GraphStore) -> None:
    """Mark all that is pending as consolidated."""
    graph.apply(ChangeSet("b", mark_consolidated=tuple(graph.pending_consolidation("b", 999))))


class ConclusionContract:
    """Tests of conclusions and their evidence."""

    # Evidence

    def test_a_conclusion_comes_back_with_its_evidence(self, graph: GraphStore) -> None:
        keep(graph, record("a"), record("b"), record("c"))
        given = conclusion(
            "o",
            on("b", 'it\'s "so" 👩‍👩‍👧'),
            on("a"),
            on("b", "and so"),
            on("c", "but not so", supports=False),
            kind=ObservationKind.CAUSAL.value,
            reasoning="b follows a",
        )
        keep(graph, given)
        assert memory(graph, "o") == given.memory
        assert graph.read("b", base.RECORD, ["o"])["o"].memory == given.memory
        assert graph.list_memories("b", VALID, limit=9).items[-1] == given.memory
        assert memory(graph, "a").kind is None

    def test_only_what_supports_a_memory_proves_it(self, graph: GraphStore) -> None:
        keep(graph, record("a", sources=(source("d"), source("e"))), record("b"))
        keep(graph, conclusion("o", on("a"), on("b", supports=False)))
        weighed = graph.read("b", base.CANDIDATE, ["a", "b", "o"])
        proofs = {id: each.proof_count for id, each in weighed.items()}
        assert proofs == {"a": 2, "b": 1, "o": 1}

    def test_ranking_reads_the_type_and_kind_of_a_memory(self, graph: GraphStore) -> None:
        asked = record("q", "Where is Bo?", kind=TurnKind.QUESTION.value)
        keep(graph, asked, record("a", type=MemoryType.EXPERIENCE))
        read = graph.read("b", base.CANDIDATE, ["q", "a"])
        assert [(one.type, one.kind) for one in read.values()] == [
            (MemoryType.WORLD, "question"),
            (MemoryType.EXPERIENCE, None),
        ]

    def test_evidence_can_be_stored_together_with_what_rests_on_it(self, graph: GraphStore) -> None:
        keep(graph, conclusion("o", on("a")), conclusion("top", on("o")), record("a"))
        assert graph.read("b", base.CONCLUSIONS_CITING, ["a", "o", "top", "absent"]) == {
            "a": ("o",),
            "o": ("top",),
            "top": (),
        }

    def test_evidence_is_added_at_the_end_and_once(self, graph: GraphStore) -> None:
        keep(graph, record("a"), record("b"))
        keep(graph, conclusion("o", on("a", "q")))
        more = (("o", on("b")), ("o", on("a", "q")), ("o", on("gone")), ("o", on("a", "r")))
        keep(graph, sources=more)
        assert memory(graph, "o").sources == (on("a", "q"), on("b"), on("a", "r"))

    def test_conclusions_on_a_memory_come_in_storing_order(self, graph: GraphStore) -> None:
        keep(graph, record("a"), record("b"))
        keep(graph, conclusion("z", on("a"), on("a", "again"), on("b")))
        keep(graph, conclusion("c", on("a", supports=False), on("z")), record("plain"))
        assert graph.read("b", base.CONCLUSIONS_CITING, ["b", "a", "plain"]) == {
            "b": ("z",),
            "a": ("z", "c"),
            "plain": (),
        }
        assert graph.read("b", base.CONCLUSIONS_CITING, []) == {}

    def test_lost_evidence_is_passed_over(self, graph: GraphStore) -> None:
        keep(graph, record("a"))
        keep(graph, conclusion("o", on("gone", "q"), on("a")))
        assert memory(graph, "o").sources == (on("a"),)

    @pytest.mark.parametrize(
        "evidence", [("gone",), ("gone", "-a"), ("-a",)], ids=["gone", "against", "only against"]
    )
    def test_a_conclusion_that_nothing_supports_is_refused(
        self, graph: GraphStore, evidence: tuple[str, ...]
    ) -> None:
        keep(graph, record("a"), record("gone"))
        keep(graph, conclusion("old", on("a")))
        keep(graph, remove_memories=("gone",))
        sources = [on(id.removeprefix("-"), supports=id[0] != "-") for id in evidence]
        with pytest.raises(ConflictError, match="'o'"):
            keep(graph, record("beside"), conclusion("o", *sources))
        with pytest.raises(ConflictError, match="'old'"):
            keep(graph, replaced=(conclusion("old", *sources),))
        assert list(graph.read("b", base.MEMORY, ["beside", "o"])) == []
        assert memory(graph, "old").sources == (on("a"),)

    def test_evidence_removed_by_the_same_change_set_is_lost(self, graph: GraphStore) -> None:
        keep(graph, record("a"))
        with pytest.raises(ConflictError):
            keep(graph, conclusion("o", on("a")), remove_memories=("a",))
        assert list(graph.read("b", base.MEMORY, ["a", "o"])) == ["a"]

    # Removal

    def test_a_conclusion_goes_with_its_last_support(self, graph: GraphStore) -> None:
        keep(graph, *map(record, "abc"))
        keep(
            graph,
            conclusion("on-a", on("a"), entities=("Ann",)),
            conclusion("on-both", on("a", "q"), on("b"), on("c", "r")),
            conclusion("against", on("a"), on("b", supports=False)),
        )
        keep(graph, conclusion("on-conclusion", on("on-a")), conclusion("on-c", on("c")))
        assert keep(graph, remove_memories=("a",)) == ("a", "on-a", "against", "on-conclusion")
        assert list(graph.scan("b", base.MEMORY_ID)) == ["b", "c", "on-both", "on-c"]
        assert memory(graph, "on-both").sources == (on("b"), on("c", "r"))
        assert graph.read("b", base.CONCLUSIONS_CITING, ["b", "c"]) == {
            "b": ("on-both",),
            "c": ("on-both", "on-c"),
        }
        assert graph.read("b", base.ENTITY_NAMED, ["Ann"]) == {}
        assert graph.check(repair=False) == []

    def test_conclusions_go_with_the_document_they_came_from_in_the_end(
        self, graph: GraphStore
    ) -> None:
        keep(
            graph,
            record("a", sources=(source("d", 0, "c1"),)),
            record("b", sources=(source("d", 1, "c2"), source("e"))),
            documents=(document("d"), document("e")),
            chunks=(chunk("c1", "d"), chunk("c2", "d", 1)),
        )
        keep(graph, conclusion("o", on("a")), conclusion("p", on("a"), on("b")))
        assert keep(graph, remove_chunks=("c1",)) == ("a", "o")
        assert memory(graph, "p").sources == (on("b"),)
        assert keep(graph, remove_documents=("d",)) == ()
        assert keep(graph, remove_documents=("e",)) == ("b", "p")

    def test_a_conclusion_on_two_that_go_at_once_goes_once(self, graph: GraphStore) -> None:
        keep(graph, *map(record, "abc"))
        keep(graph, conclusion("o", on("a"), on("b")))
        keep(graph, conclusion("p", on("o"), on("a")), conclusion("q", on("p"), on("c")))
        assert keep(graph, remove_memories=("b", "o", "a")) == ("b", "o", "a", "p")
        assert memory(graph, "q").sources == (on("c"),)

    def test_a_removed_conclusion_leaves_its_evidence_alone(self, graph: GraphStore) -> None:
        keep(graph, record("a"))
        keep(graph, conclusion("o", on("a")))
        assert keep(graph, remove_memories=("o",)) == ("o",)
        assert graph.read("b", base.CONCLUSIONS_CITING, ["a"]) == {"a": ()}
        assert keep(graph, remove_memories=("a",)) == ("a",)

    # History

    def test_no_history_quotes_a_memory_that_is_gone(self, graph: GraphStore) -> None:
        keep(graph, *map(record, "abc"))
        keep(graph, conclusion("o", on("a"), on("b")), conclusion("p", on("a")))
        keep(graph, conclusion("q", on("c")), conclusion("rested", on("b"), on("c")))
        keep(graph, mental_models=(model("x", sources=("o",)), model("y", sources=("c", "q"))))
        ids = ("a", "b", "o", "p", "q", "rested", "x", "y", "z")
        changes = {id: Change(id, "edit", "text", f"old {id}", id, NOW) for id in ids}
        changes |= {id: replace(changes[id], of_model=True) for id in "xyz"}
        left = Change("a", "rewrite", base.CITED, "rested", None, NOW)
        further = Change("rested", "delete", base.CITED_MODEL, "z", None, NOW)
        keep(graph, history=(*changes.values(), left, further))
        keep(graph, remove_memories=("a",))
        assert list(graph.scan("b", base.CHANGE)) == [changes["b"], changes["q"], changes["y"]]

    def test_a_memory_and_a_mental_model_of_one_id_have_histories_of_their_own(
        self, graph: GraphStore
    ) -> None:
        keep(graph, record("a"), record("b"), mental_models=(model("a"), model("b")))
        of_memory = {id: Change(id, "edit", "text", "old", "new", NOW) for id in "ab"}
        of_model = {id: replace(change, of_model=True) for id, change in of_memory.items()}
        left = Change("a", "refresh", base.CITED_MODEL, "b", None, NOW)
        keep(graph, history=(*of_memory.values(), *of_model.values(), left))
        assert graph.read("b", base.HISTORY, ["a"]) == {"a": (of_memory["a"], left)}
        assert graph.read("b", base.MODEL_HISTORY, ["a"]) == {"a": (of_model["a"],)}
        keep(graph, remove_memories=("a",))
        assert list(graph.scan("b", base.CHANGE)) == [of_model["a"], of_memory["b"]]

    def test_a_conclusion_that_goes_takes_no_history_but_its_own(self, graph: GraphStore) -> None:
        drawn = "o"
        keep(graph, record("a"), record("b"))
        keep(graph, conclusion(drawn, on("a"), derived=True))
        keep(graph, mental_models=(model("x", sources=(drawn,)),))
        changes = {id: Change(id, "edit", "text", "old", "new", NOW) for id in ("a", drawn, "x")}
        changes["x"] = replace(changes["x"], of_model=True)
        left = Change("a", "consolidate", base.CITED, drawn, None, NOW)
        keep(graph, history=tuple(changes.values()))
        keep(graph, remove_memories=(drawn,), history=(left,))
        assert list(graph.scan("b", base.CHANGE)) == [changes["a"], left, changes["x"]]
        keep(graph, remove_memories=("a",))
        assert list(graph.scan("b", base.CHANGE)) == []

    def test_no_history_quotes_a_chunk_that_is_gone(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("a", sources=(source("d", 0, "c1"),)),
            record("b", sources=(source("d", 1, "c2"),)),
            documents=(document("d"),),
            chunks=(chunk("c1", "d"), chunk("c2", "d", 1)),
        )
        keep(graph, conclusion("o", on("a"), on("b")))
        changes = {id: Change(id, "edit", "text", f"old {id}", id, NOW) for id in "abo"}
        keep(graph, history=tuple(changes.values()))
        after = Change("o", "rewrite", "text", None, "again", NOW)
        keep(graph, remove_chunks=("c1",), history=(after,))
        assert list(graph.scan("b", base.CHANGE)) == [changes["b"], after]

    def test_a_given_memory_that_goes_takes_the_history_on_it_whatever_its_id(
        self, graph: GraphStore
    ) -> None:
        keep(graph, record("c-1"), record("b"))
        keep(graph, conclusion("o", on("c-1"), on("b"), derived=True))
        keep(graph, history=(Change("o", "rewrite", "text", "old", "new", NOW),))
        keep(graph, remove_memories=("c-1",))
        assert list(graph.scan("b", base.CHANGE)) == []

    def test_what_the_engine_drew_is_told_from_what_was_given(self, graph: GraphStore) -> None:
        keep(graph, record("c-1"), record("b"))
        drawn = conclusion("m-1", on("b"), derived=True)
        keep(graph, drawn, conclusion("c-2", on("b")))
        assert memory(graph, "m-1") == drawn.memory
        ids = ["c-1", "c-2", "m-1", "b"]
        assert [memory(graph, id).derived for id in ids] == [False, False, True, False]
        only, given = (replace(VALID, derived=derived) for derived in (True, False))
        assert graph.find_ids("b", only, 9) == ["m-1"]
        assert graph.filter_ids("b", ids, given) == {"c-1", "c-2", "b"}
        listed = graph.list_memories("b", given, limit=9).items
        assert [each.id for each in listed] == ["c-1", "b", "c-2"]
        window = TimeSpan.around(NOW, NOW, timedelta(days=1))
        assert [hit.memory_id for hit in graph.time_search("b", window, only, 9)] == ["m-1"]
        keep(graph, replaced=(changed(drawn, text="new"),))
        assert memory(graph, "m-1").derived

    # What is pending consolidation

    def test_what_is_stored_waits_until_it_is_reflected_on(self, graph: GraphStore) -> None:
        keep(graph, record("b"), record("a"), record("wrong", invalidated_at=ago(1)))
        keep(graph, conclusion("o", on("a")))
        assert graph.pending_consolidation("b", 9) == ["b", "a"]
        assert graph.pending_consolidation("b", 1) == ["b"]
        assert graph.pending_consolidation("b", 0) == []
        keep(graph, record("c"), record("d"), mark_consolidated=("b", "d", "absent"))
        assert graph.pending_consolidation("b", 9) == ["a", "c"]
        keep(graph, remove_memories=("a",))
        assert graph.pending_consolidation("b", 9) == ["c"]

    def test_what_is_replaced_waits_again_with_what_rests_on_it(self, graph: GraphStore) -> None:
        keep(graph, *map(record, "abc"))
        keep(graph, conclusion("o", on("a"), on("c")), conclusion("p", on("b")))
        keep(graph, conclusion("wrong", on("a"), invalidated_at=ago(1)))
        reflect(graph)
        keep(graph, replaced=(changed(record("a"), text="new"),))
        assert graph.pending_consolidation("b", 9) == ["a", "o"]
        reflect(graph)
        keep(graph, replaced=(changed(record("a"), invalidated_at=ago(1)),))
        assert graph.pending_consolidation("b", 9) == ["o"]
        keep(graph, replaced=(conclusion("o", on("c")),), mark_consolidated=("o",))
        assert graph.pending_consolidation("b", 9) == []

    def test_any_valid_memory_can_be_made_to_wait(self, graph: GraphStore) -> None:
        keep(graph, record("a"), record("wrong", invalidated_at=ago(1)))
        keep(graph, conclusion("o", on("a")), mark_consolidated=("a",))
        keep(
            graph, record("b"), mark_consolidated=("b",), mark_pending=("o", "b", "wrong", "absent")
        )
        assert graph.pending_consolidation("b", 9) == ["o", "b"]

    def test_a_memory_held_to_be_wrong_waits_no_longer(self, graph: GraphStore) -> None:
        keep(graph, record("a"), record("b"))
        keep(graph, replaced=(changed(record("a"), invalidated_at=ago(1)),))
        assert graph.pending_consolidation("b", 9) == ["b"]

    def test_a_conclusion_that_lost_evidence_waits(self, graph: GraphStore) -> None:
        keep(graph, *map(record, "abc"))
        keep(graph, conclusion("o", on("a"), on("b")), conclusion("p", on("c")))
        reflect(graph)
        keep(graph, remove_memories=("a",))
        assert graph.pending_consolidation("b", 9) == ["o"]
        keep(graph, remove_memories=("b",))
        assert graph.pending_consolidation("b", 9) == []

    @pytest.mark.parametrize("part", ["document", "chunk"])
    def test_a_conclusion_that_lost_a_document_or_chunk_is_pending(
        self, graph: GraphStore, part: str
    ) -> None:
        stated = source("d", 0, "c1")
        keep(graph, record("a"), documents=(document("d"),), chunks=(chunk("c1", "d"),))
        keep(graph, conclusion("o", on("a"), stated), conclusion("p", on("a"), source("e")))
        keep(graph, conclusion("wrong", on("a"), stated, invalidated_at=ago(1)))
        keep(graph, record("fact", sources=(stated, source("e"))))
        reflect(graph)
        removed = {"remove_documents": ("d",)} if part == "document" else {"remove_chunks": ("c1",)}
        assert keep(graph, **removed) == ()
        assert graph.pending_consolidation("b", 9) == ["o"]
        assert memory(graph, "o").sources == (on("a"),)

    # Mental models

    def test_mental_models_are_kept_by_id(self, graph: GraphStore) -> None:
        full = model(
            "z",
            source_query="who?",
            max_tokens=99,
            tags=("t", "s"),
            sources=("m2", "m1"),
            auto_refresh=True,
        )
        keep(graph, mental_models=(full, model("a")))
        assert list(graph.scan("b", base.MENTAL_MODEL)) == [model("a"), full]
        again = replace(full, text="new", tags=(), auto_refresh=False)
        change = Change("z", "refresh", "text", full.text, "new", NOW, of_model=True)
        keep(graph, mental_models=(again,), history=(change,), remove_mental_models=("a", "x"))
        assert list(graph.scan("b", base.MENTAL_MODEL)) == [again]
        assert graph.read("b", base.MODEL_HISTORY, ["z"]) == {"z": (change,)}

    # Marks

    def test_a_mark_is_kept_for_each_queue(self, graph: GraphStore) -> None:
        assert graph.read("b", base.CHECKPOINT, ["q"]) == {}
        keep(graph, checkpoint=QueueCheckpoint("q", 7, "digest", NOW))
        keep(graph, record("a"), checkpoint=QueueCheckpoint("other", 3))
        keep(graph, checkpoint=QueueCheckpoint("q", 8))
        stored = graph.read("b", base.CHECKPOINT, ["q", "other"])
        assert stored == {"q": QueueCheckpoint("q", 8), "other": QueueCheckpoint("other", 3)}

    def test_marks_that_expired_go_with_the_next_that_will(self, graph: GraphStore) -> None:
        day = timedelta(days=1)
        graph.create_bank(Bank("other"), EMBEDDER)
        for bank_id in ("b", "other"):
            graph.apply(ChangeSet(bank_id, checkpoint=QueueCheckpoint("old", 1, "a", ago(1))))
        past, lasting = QueueCheckpoint("past", 2, "b", NOW), QueueCheckpoint("queue", 3)
        later = QueueCheckpoint("later", 4, None, utc_now() + day)
        last = replace(later, queue="last")
        names = [each.queue for each in (past, lasting, later, last)]
        for each in (lasting, later, past):
            keep(graph, checkpoint=each)
        stored = graph.read("b", base.CHECKPOINT, ["old", *names])
        assert stored == {each.queue: each for each in (past, lasting, later)}
        keep(graph, checkpoint=replace(lasting, number=5))  # a queue's own removes none
        assert "past" in graph.read("b", base.CHECKPOINT, names)
        keep(graph, checkpoint=last)
        assert list(graph.read("b", base.CHECKPOINT, names)) == ["queue", "later", "last"]
        assert list(graph.read("other", base.CHECKPOINT, ["old"])) == ["old"]

    def test_a_mark_is_stored_with_what_was_applied_or_not_at_all(self, graph: GraphStore) -> None:
        keep(graph, record("a"))
        with pytest.raises(ConflictError):
            keep(
                graph, record("a"), checkpoint=QueueCheckpoint("q", 1), mental_models=(model("z"),)
            )
        assert graph.read("b", base.CHECKPOINT, ["q"]) == {}
        assert list(graph.scan("b", base.MENTAL_MODEL)) == []

    # The bank around them

    def test_the_banks_where_memories_wait_are_known(self, graph: GraphStore) -> None:
        for id in ("a", "empty", "gone"):
            graph.create_bank(Bank(id), EMBEDDER)
        for id in ("a", "b", "gone"):
            keep(graph, record("m", bank_id=id))
        graph.delete_bank("gone")
        waiting = [graph.get_bank("a"), graph.get_bank("b")]
        assert graph.list_banks(pending_consolidation=True) == waiting
        reflect(graph)
        assert graph.list_banks(pending_consolidation=True) == [graph.get_bank("a")]

    def test_banks_do_not_see_each_others_conclusions(self, graph: GraphStore) -> None:
        graph.create_bank(Bank("other"), EMBEDDER)
        keep(graph, record("a"), mental_models=(model("z"),), checkpoint=QueueCheckpoint("q", 1))
        keep(graph, conclusion("o", on("a")))
        keep(graph, record("a", bank_id="other"))
        assert graph.read("other", base.CONCLUSIONS_CITING, ["a", "o"]) == {"a": ()}
        assert graph.pending_consolidation("other", 9) == ["a"]
        assert list(graph.scan("other", base.MENTAL_MODEL)) == []
        assert graph.read("other", base.CHECKPOINT, ["q"]) == {}
        for call in (
            lambda: graph.pending_consolidation("x", 1),
            lambda: graph.read("x", base.CONCLUSIONS_CITING, []),
            lambda: graph.scan("x", base.MENTAL_MODEL),
            lambda: graph.read("x", base.CHECKPOINT, ["q"]),
        ):
            with pytest.raises(BankNotFoundError):
                call()

    def test_a_deleted_bank_takes_its_conclusions_along(self, graph: GraphStore) -> None:
        keep(graph, record("a"), mental_models=(model("z"),), checkpoint=QueueCheckpoint("q", 5))
        keep(graph, conclusion("o", on("a")))
        graph.delete_bank("b")
        graph.create_bank(Bank("b"), EMBEDDER)
        assert graph.pending_consolidation("b", 9) == []
        assert list(graph.scan("b", base.MENTAL_MODEL)) == []
        assert graph.read("b", base.CHECKPOINT, ["q"]) == {}
        while graph.purge_deleted(2):
            assert graph.check(repair=False) == []

    def test_an_imported_bank_keeps_its_conclusions(self, graph: GraphStore) -> None:
        graph.create_bank(Bank("hidden"), EMBEDDER, importing="new")
        given = record("a", bank_id="hidden")
        models = (model("z", bank_id="hidden"),)
        keep(graph, given, mental_models=models, checkpoint=QueueCheckpoint("q", 5))
        keep(graph, conclusion("o", on("a"), bank_id="hidden"))
        graph.update_bank("hidden", Bank("new"))
        assert graph.read("new", base.CONCLUSIONS_CITING, ["a"]) == {"a": ("o",)}
        assert graph.pending_consolidation("new", 9) == ["a"]
        assert list(graph.scan("new", base.MENTAL_MODEL)) == [model("z", bank_id="new")]
        assert graph.read("new", base.CHECKPOINT, ["q"]) == {"q": QueueCheckpoint("q", 5)}
