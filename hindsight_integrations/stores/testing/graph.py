"""The contract of `GraphStore`: banks, outbox and the store as a whole; inherits the rest.

A test class for a store inherits `GraphStoreContract` and gives a `graph` fixture: an empty store,
which the fixture closes.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    ClosedError,
    InvalidInputError,
    StoreError,
)
from hindsight_integrations.models import Bank, Directive, Disposition, Expiry, LinkKind, MemoryType
from hindsight_integrations.stores import base
from hindsight_integrations.stores.base import (
    ChangeSet,
    EmbedderIdentity,
    GraphStore,
    StagedVector,
    VectorOperation,
)
from hindsight_integrations.stores.testing.audit import AuditContract
from hindsight_integrations.stores.testing.conclusions import ConclusionContract
from hindsight_integrations.stores.testing.entities import EntityContract
from hindsight_integrations.stores.testing.filters import FilterContract
from hindsight_integrations.stores.testing.reading import ReadingContract
from hindsight_integrations.stores.testing.samples import (
    EMBEDDER,
    VALID,
    ago,
    changed,
    chunk,
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
from hindsight_integrations.stores.testing.searching import SearchContract
from hindsight_integrations.stores.testing.writing import WritingContract

WIDER = EmbedderIdentity("wider", 12)


def pending(graph: GraphStore) -> list[tuple[str, str, str]]:
    return [(p.bank_key, p.operation, p.memory_id) for p in graph.pending_vectors(999)]


def acknowledge_all(graph: GraphStore) -> None:
    graph.acknowledge([p.ticket for p in graph.pending_vectors(999)])


class GraphStoreContract(
    AuditContract,
    WritingContract,
    FilterContract,
    SearchContract,
    EntityContract,
    ConclusionContract,
    ReadingContract,
):
    """Tests that every graph store passes."""

    @pytest.fixture(autouse=True)
    def bank(self, graph: GraphStore) -> str:
        return graph.create_bank(Bank("b"), EMBEDDER).key

    @pytest.fixture
    def other_bank(self, graph: GraphStore) -> str:
        graph.create_bank(Bank("other"), EMBEDDER)
        return "other"

    # Banks

    def test_a_bank_comes_back_as_it_was_stored(self, graph: GraphStore) -> None:
        bank = Bank(
            id='it\'s "odd" 😀',
            name="n",
            mission="m",
            background="b",
            disposition=Disposition(1, 2, 5),
            directives=("be brief", "be kind"),
            expiry=Expiry(timedelta(days=1.5), {"opinion": None}, {"É": timedelta(hours=1)}),
            kept_apart=("0a", "1b"),
            named_directives=(
                Directive("d", "É", "be brief", 2, ago(2), ago(1)),
                Directive("e", "off", "never", created_at=ago(2), updated_at=ago(2)),
            ),
            created_at=ago(2),
            updated_at=ago(1),
        )
        stored = graph.create_bank(bank, WIDER)
        assert (stored.bank, stored.embedder) == (bank, WIDER)
        assert graph.get_bank(bank.id) == stored
        assert graph.list_banks() == [graph.get_bank("b"), stored]
        changed = replace(bank, mission="new", disposition=Disposition(), directives=())
        assert graph.update_bank(bank.id, changed) == replace(stored, bank=changed)
        assert graph.get_bank(bank.id) == replace(stored, bank=changed)
        seen: list[Bank] = []

        def renamed(known: Bank) -> Bank:
            seen.append(known)
            return replace(known, name="another")

        assert graph.update_bank(bank.id, renamed).bank == replace(changed, name="another")
        assert seen == [changed]
        assert graph.get_bank(bank.id) == replace(stored, bank=replace(changed, name="another"))

    def test_a_bank_cannot_be_made_twice(self, graph: GraphStore) -> None:
        with pytest.raises(BankExistsError):
            graph.create_bank(Bank("b"), EMBEDDER)

    def test_an_unknown_bank_is_said_to_be_unknown(self, graph: GraphStore) -> None:
        assert graph.get_bank("x") is None
        for call in (
            lambda: graph.update_bank("x", Bank("x")),
            lambda: graph.delete_bank("x"),
            lambda: graph.bank_stats("x"),
            lambda: graph.read("x", base.MEMORY, []),
            lambda: graph.list_memories("x", VALID, limit=1),
            lambda: graph.text_search("x", ["a"], VALID, 1),
            lambda: graph.read("x", base.HISTORY, ["m"]).get("m", ()),
            lambda: graph.scan("x", base.MEMORY_ID),
            lambda: graph.update_bank("x", embedder=EMBEDDER),
            lambda: graph.apply(ChangeSet("x", requeue=("m",))),
        ):
            with pytest.raises(BankNotFoundError):
                call()

    def test_a_deleted_bank_is_gone_at_once_and_its_id_free(
        self, graph: GraphStore, bank: str, other_bank: str
    ) -> None:
        keep(graph, *(record(f"m{n}", "word", entities=("Ann",)) for n in range(30)))
        keep(graph, record("m0", "word", bank_id=other_bank, entities=("Ann",)))
        acknowledge_all(graph)
        keep(graph, remove_memories=("m1",))
        graph.delete_bank("b")
        assert graph.get_bank("b") is None
        assert [each.bank.id for each in graph.list_banks()] == [other_bank]
        assert pending(graph) == [(bank, "drop", "")]
        new = graph.create_bank(Bank("b"), EMBEDDER)
        assert new.key != bank
        assert graph.bank_stats("b").memories == 0
        keep(graph, record("m0", "word"))
        purged = [removed for _ in range(200) if (removed := graph.purge_deleted(20))]
        assert all(removed <= 20 for removed in purged)
        assert graph.purge_deleted() == 0
        assert graph.read("b", base.MEMORY, ["m0"])["m0"].text == "word"
        assert found(graph, "word", bank=other_bank) == ["m0"]
        assert graph.check(repair=False) == []

    def test_an_imported_bank_is_hidden_until_it_gets_its_id(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        name = 'it\'s "new" 😀'
        before = graph.create_bank(Bank("hidden"), EMBEDDER, importing=name)
        assert before.importing == name
        held = record("m1", bank_id="hidden", entities=("Ann",))
        keep(graph, held, documents=(document("d", bank="hidden"),))
        assert (graph.get_bank("hidden"), graph.get_bank(name)) == (None, None)
        assert [each.bank.id for each in graph.list_banks()] == ["b", other_bank]
        assert graph.list_banks(pending_consolidation=True) == []
        assert [each.key for each in graph.list_banks(importing=True)] == [before.key]
        given = replace(before.bank, id=name, mission="m")
        after = graph.update_bank("hidden", given)
        assert after == replace(before, bank=given, importing=None)
        assert graph.list_banks(importing=True) == []
        assert graph.get_bank(name) == after
        assert graph.list_banks(pending_consolidation=True) == [after]
        memory = graph.read(name, base.MEMORY, ["m1"])["m1"]
        assert (memory.bank_id, memory.entities) == (name, ("Ann",))
        assert [each.bank_id for each in graph.scan(name, base.DOCUMENT)] == [name]

    def test_a_bank_that_leaves_is_found_by_its_new_id_and_knows_the_old_one(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        keep(graph, record("m1", entities=("Ann",)))
        before = graph.get_bank("b")
        assert before is not None
        assert graph.list_banks(leaving=True) == []
        after = graph.update_bank("b", lambda bank: replace(bank, id="moving:b"), leaving=True)
        assert after == replace(before, bank=replace(before.bank, id="moving:b"), leaving="b")
        assert (graph.get_bank("b"), graph.get_bank("moving:b")) == (None, after)
        assert graph.list_banks(leaving=True) == [after]
        assert [each.bank.id for each in graph.list_banks()] == ["moving:b", other_bank]
        assert list(graph.scan("moving:b", base.MEMORY_ID)) == ["m1"]
        graph.create_bank(Bank("b"), EMBEDDER)  # its id is free
        with pytest.raises(BankExistsError, match="'b'"):
            graph.update_bank("moving:b", lambda bank: replace(bank, id="b"), leaving=True)
        assert graph.list_banks(leaving=True) == [after]
        graph.delete_bank("moving:b")
        assert graph.list_banks(leaving=True) == []

    def test_an_import_does_not_take_the_place_of_a_bank(
        self, graph: GraphStore, other_bank: str
    ) -> None:
        graph.create_bank(Bank("hidden"), EMBEDDER, importing=other_bank)
        with pytest.raises(BankExistsError, match="'other'"):
            graph.update_bank("hidden", Bank(other_bank))
        with pytest.raises(BankExistsError, match="'hidden'"):
            graph.create_bank(Bank("hidden"), EMBEDDER)
        assert [each.bank.id for each in graph.list_banks()] == ["b", other_bank]
        graph.delete_bank("hidden")
        assert graph.list_banks(importing=True) == []

    def test_a_store_has_a_name_of_its_own(self, graph: GraphStore) -> None:
        name = graph.identity()
        assert len(name) == 16
        assert name.isalnum()
        assert graph.identity() == name

    def test_a_note_about_the_index_is_changed_as_a_whole_or_not_at_all(
        self, graph: GraphStore
    ) -> None:
        seen: dict[str, float] = {}

        def add(note: str, now: float) -> str:
            if note == "..":
                raise InvalidInputError("that is enough")
            seen[note] = now
            return note + "."

        graph.note_index(add)
        graph.note_index(add)
        with pytest.raises(InvalidInputError, match="that is enough"):
            graph.note_index(add)
        graph.note_index(lambda note, _: note.replace("..", ""))
        graph.note_index(add)
        assert list(seen) == ["", "."]
        assert 0 <= seen[""] - seen["."] < 60  # seconds: the first one was noted again

    def test_banks_do_not_see_each_other(self, graph: GraphStore, other_bank: str) -> None:
        keep(graph, record("m", "word", tags=("t",)), record("only", "word"))
        keep(graph, record("m", "word here", bank_id=other_bank))
        assert graph.read(other_bank, base.MEMORY, ["m", "only"])["m"].text == "word here"
        assert sorted(found(graph, "word")) == ["m", "only"]
        assert graph.find_ids(other_bank, replace(VALID, tags=("t",)), 9) == []
        assert graph.lexeme_stats(other_bank, ["word"]).documents == 1

    def test_statistics_count_what_a_bank_holds(self, graph: GraphStore) -> None:
        keep(
            graph,
            record("a", mentioned_at=ago(5), entities=("Ann",), sources=(source("d"),)),
            record("b", type=MemoryType.OPINION, mentioned_at=ago(1), invalidated_at=ago(0)),
            documents=(document("d"),),
            chunks=(chunk("c1", "d"), chunk("c2", "d")),
            links=(link("a", "b"), link("b", "a", kind=LinkKind.CAUSAL)),
        )
        stats = graph.bank_stats("b")
        assert (stats.memories, stats.invalidated, stats.pending_vectors) == (2, 1, 2)
        assert (stats.entities, stats.documents, stats.chunks) == (1, 1, 2)
        assert {kind for kind, count in stats.by_type.items() if count} == {"world", "opinion"}
        assert {kind: count for kind, count in stats.links.items() if count} == {
            LinkKind.SEMANTIC: 1,
            LinkKind.CAUSAL: 1,
        }
        assert (stats.first_mentioned_at, stats.last_mentioned_at) == (ago(5), ago(1))

    def test_an_empty_bank_has_statistics_of_nothing(self, graph: GraphStore) -> None:
        stats = graph.bank_stats("b")
        assert (stats.memories, stats.first_mentioned_at, stats.last_mentioned_at) == (
            0,
            None,
            None,
        )

    # Vectors

    def test_what_the_index_has_to_do_is_queued_until_acknowledged(
        self, graph: GraphStore, bank: str
    ) -> None:
        keep(graph, record("a", seed=1), record("b", seed=2))
        first, second = graph.pending_vectors(9)
        assert (first.operation, first.memory_id) == (VectorOperation.UPSERT, "a")
        assert first.vector is not None
        assert np.array_equal(first.vector, vector(1))
        assert [p.memory_id for p in graph.pending_vectors(1)] == ["a"]
        assert graph.pending_vectors(0) == []
        assert graph.acknowledge([first.ticket]) == {first.ticket}
        keep(graph, remove_memories=("a", "b"))
        assert pending(graph) == [(bank, "delete", "a"), (bank, "delete", "b")]
        assert graph.acknowledge([first.ticket, second.ticket]) == set()
        assert len(pending(graph)) == 2
        acknowledge_all(graph)
        assert pending(graph) == []
        keep(graph, record("a"))
        assert pending(graph) == [(bank, "upsert", "a")]

    def test_the_queue_of_one_bank_is_read_past_those_of_others(
        self, graph: GraphStore, bank: str
    ) -> None:
        keep(graph, *(record(f"m{n}", seed=n) for n in range(5)))
        other = graph.create_bank(Bank("b2"), EMBEDDER).key
        keep(graph, record("x", bank_id="b2"))
        keep(graph, record("late", seed=9))
        assert [p.memory_id for p in graph.pending_vectors(9, other)] == ["x"]
        assert [p.memory_id for p in graph.pending_vectors(2, bank)] == ["m0", "m1"]
        assert [p.memory_id for p in graph.pending_vectors(9, bank)][-1] == "late"
        assert graph.pending_vectors(9, "none") == []
        graph.delete_bank("b2")
        assert [p.operation for p in graph.pending_vectors(9, other)] == [VectorOperation.DROP]

    def test_one_holder_at_a_time_claims_the_outbox(self, graph: GraphStore) -> None:
        assert graph.claim_outbox("one", 60)
        assert graph.claim_outbox("one", 60)
        assert not graph.claim_outbox("two", 60)
        assert graph.claim_outbox("one", 0)
        assert graph.claim_outbox("two", 0.01)
        time.sleep(0.02)
        assert graph.claim_outbox("one", 60)

    def test_acknowledging_old_work_does_not_remove_what_came_after(
        self, graph: GraphStore
    ) -> None:
        old = record("a", seed=1)
        keep(graph, old)
        (before,) = graph.pending_vectors(9)
        keep(graph, replaced=(replace(old, vector=vector(2)),))
        graph.acknowledge([before.ticket])
        (after,) = graph.pending_vectors(9)
        assert after.vector is not None
        assert np.array_equal(after.vector, vector(2))

    def test_an_unchanged_vector_is_not_queued_again(self, graph: GraphStore) -> None:
        old = record("a")
        keep(graph, old)
        acknowledge_all(graph)
        keep(graph, replaced=(changed(old, tags=("new",)),))
        assert pending(graph) == []

    def test_vectors_can_be_queued_again(self, graph: GraphStore, bank: str) -> None:
        keep(graph, *(record(id) for id in "cab"))
        acknowledge_all(graph)
        keep(graph, requeue=("a",))
        assert pending(graph) == [(bank, "upsert", "a")]
        keep(graph, requeue=("b", "a"))
        assert {id for _, _, id in pending(graph)} == {"a", "b"}
        keep(graph, requeue=tuple(graph.scan("b", base.MEMORY_ID)))
        assert pending(graph) == [(bank, "upsert", id) for id in "cab"]

    def test_what_is_queued_again_for_no_memory_is_removed(
        self, graph: GraphStore, bank: str
    ) -> None:
        keep(graph, *(record(id) for id in "ab"))
        keep(graph, remove_memories=("b",))
        acknowledge_all(graph)
        keep(graph, requeue=("a", "absent", "b", "absent"))
        assert sorted(pending(graph)) == [
            (bank, "delete", "absent"),
            (bank, "delete", "b"),
            (bank, "upsert", "a"),
        ]

    def test_all_memory_ids_come_in_the_order_of_storing(self, graph: GraphStore) -> None:
        ids = [f"m{n}" for n in range(1203)]
        keep(graph, *map(record, ids))
        assert list(graph.scan("b", base.MEMORY_ID)) == ids

    def test_staged_vectors_are_adopted_all_at_once(self, graph: GraphStore, bank: str) -> None:
        keep(graph, record("a"), record("b"))
        staged = tuple(
            StagedVector(id, vector(n, 12), token_vectors(n), WIDER)
            for n, id in enumerate(("a", "gone", "b"))
        )
        keep(graph, staged=staged[:2])
        with pytest.raises(base.UnstagedError) as lacking:
            graph.update_bank("b", embedder=WIDER)
        assert lacking.value.memory_ids == ("b",)
        assert np.array_equal(graph.read("b", base.VECTOR, ["a"])["a"], vector(0))
        keep(graph, staged=staged[2:])
        with pytest.raises(StoreError):
            graph.update_bank("b", embedder=EmbedderIdentity("another", 12))
        adopted = graph.update_bank("b", embedder=WIDER)
        assert adopted.embedder == WIDER
        assert adopted.key != bank
        assert graph.get_bank("b") == adopted
        records = graph.read("b", base.RECORD, ["a", "b"])
        assert np.array_equal(records["b"].vector, vector(2, 12))
        assert records["b"].interaction == token_vectors(2)
        assert pending(graph) == [
            (bank, "drop", ""),
            (adopted.key, "upsert", "a"),
            (adopted.key, "upsert", "b"),
        ]
        keep(graph, replace(record("c"), vector=vector(3, 12)))

    def test_a_memory_changed_since_it_was_staged_has_to_be_staged_again(
        self, graph: GraphStore
    ) -> None:
        old = record("a")
        keep(graph, old)
        keep(graph, staged=(StagedVector("a", vector(1, 12), None, WIDER),))
        keep(graph, replaced=(changed(old, text="other"),))
        with pytest.raises(StoreError):
            graph.update_bank("b", embedder=WIDER)

    # The store itself

    def test_eight_threads_write_and_read_at_once(self, graph: GraphStore) -> None:
        def work(thread: int) -> int:
            for n in range(12):
                id = f"{thread}-{n}"
                keep(graph, record(id, "shared word", entities=("Ann", f"P{thread}")))
                assert graph.read("b", base.MEMORY, [id])[id].entities == ("Ann", f"P{thread}")
                assert graph.text_search("b", ["shared"], VALID, 5)
                if n % 3 == 2:
                    keep(graph, remove_memories=(id,))
            return thread

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == list(range(8))
        assert graph.bank_stats("b").memories == 64
        assert graph.lexeme_stats("b", ["shared"]).frequency == {"shared": 64}
        assert graph.read("b", base.ENTITY_NAMED, ["Ann"])["ann"].mention_count == 64
        assert graph.check(repair=False) == []

    def test_threads_that_name_one_person_make_one_entity(self, graph: GraphStore) -> None:
        def work(n: int) -> None:
            given = replace(record(f"m{n}", entities=("Ann",)), entity_ids=(f"id{n}",))
            graph.apply(ChangeSet("b", entities=(entity("Ann", id=f"id{n}"),), memories=(given,)))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(40)))
        (ann,) = graph.list_entities("b", limit=9).items
        assert ann.mention_count == 40

    def test_a_sound_store_has_no_faults(self, graph: GraphStore) -> None:
        keep(graph, record("m", "word", entities=("Ann",), tags=("t",), metadata={"k": 1}))
        assert graph.check(repair=False) == []
        assert graph.check(repair=True) == []

    def test_a_closed_store_says_so(self, graph: GraphStore) -> None:
        graph.close()
        graph.close()
        with pytest.raises(ClosedError):
            graph.read("b", base.MEMORY, ["m"])
        with pytest.raises(ClosedError):
            graph.apply(ChangeSet("b"))
