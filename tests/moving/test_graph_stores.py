"""What a graph store gives of a bank that is to be moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hindsight_integrations import Bank, BankExistsError, BankNotFoundError
from hindsight_integrations.model import Change
from hindsight_integrations.storage.neo4j import Neo4jGraph
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import ChangeSet, EntityNames
from hindsight_integrations.storage.sqlite import SqliteGraph
from tests.storage.graphs import NOW, STAMP, chunk, document, entity_id, keep, record
from tests.storage.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]


class MovingContract:
    """What every `GraphStore` does for moving; a test class inherits it, with a `graph`."""

    @pytest.fixture(autouse=True)
    def bank(self, graph: GraphStore) -> None:
        graph.create_bank(Bank("b"), STAMP)
        graph.create_bank(Bank("other"), STAMP)

    def test_parts_come_by_id_each_once_and_of_one_bank_only(self, graph: GraphStore) -> None:
        names = [f"{n:04}" for n in range(2500)]
        graph.apply(
            ChangeSet(
                "b",
                documents=tuple(document(name) for name in reversed(names)),
                chunks=tuple(chunk(name, "0007") for name in reversed(names)),
            )
        )
        graph.apply(ChangeSet("other", documents=(document("x", bank="other"),)))
        documents = list(graph.documents("b"))
        assert [each.id for each in documents] == names
        assert [each.chunk_count for each in documents[6:9]] == [0, 2500, 0]
        assert documents[7] == graph.get_document("b", "0007")
        assert list(graph.chunks("b")) == graph.get_chunks("b", "0007")
        assert [each.bank_id for each in graph.documents("other")] == ["other"]
        assert list(graph.chunks("other")) == []

    def test_the_history_comes_by_memory_oldest_first_also_of_those_gone(
        self, graph: GraphStore
    ) -> None:
        keep(graph, record("m1"), record("m2"))
        changes = [Change(f"m{n % 3}", "update", f"{n:04}", str(n), None, NOW) for n in range(2500)]
        graph.apply(ChangeSet("b", history=tuple(changes), remove_memories=("m2",)))
        assert list(graph.changes("b")) == sorted(changes, key=lambda each: each.memory_id)
        assert list(graph.changes("other")) == []

    def test_edited_entities_are_those_that_outlive_their_mentions(self, graph: GraphStore) -> None:
        keep(graph, record("m1", entities=("Zoë", "Bob", "Ann")))
        assert list(graph.edited_entities("b")) == []
        for name in ("Zoë", "Ann"):
            graph.edit_entity("b", EntityNames(entity_id(name), name, (f"{name} Lee", "A" + name)))
        graph.apply(ChangeSet("b", remove_memories=("m1",)))
        assert list(graph.edited_entities("b")) == [
            EntityNames("e:ann", "Ann", ("Ann Lee", "AAnn")),
            EntityNames("e:zoe", "Zoë", ("Zoë Lee", "AZoë")),
        ]
        assert list(graph.edited_entities("other")) == []

    def test_a_renamed_bank_keeps_its_key_and_all_it_holds(self, graph: GraphStore) -> None:
        keep(graph, record("m1", entities=("Ann",)), documents=(document("d"),))
        before = graph.get_bank("b")
        assert before is not None
        graph.rename_bank("b", 'it\'s "new" 😀')
        assert graph.get_bank("b") is None
        after = graph.get_bank('it\'s "new" 😀')
        assert after == replace(before, bank=replace(before.bank, id='it\'s "new" 😀'))
        memory = graph.get_memories(after.bank.id, ["m1"])["m1"]
        assert (memory.bank_id, memory.entities) == (after.bank.id, ("Ann",))
        assert [each.bank_id for each in graph.documents(after.bank.id)] == [after.bank.id]

    def test_a_bank_is_not_renamed_to_one_that_exists(self, graph: GraphStore) -> None:
        with pytest.raises(BankExistsError):
            graph.rename_bank("b", "other")
        assert [each.bank.id for each in graph.list_banks()] == ["b", "other"]

    def test_of_an_unknown_bank_there_is_nothing_to_move(self, graph: GraphStore) -> None:
        for read in (graph.documents, graph.chunks, graph.edited_entities, graph.changes):
            with pytest.raises(BankNotFoundError):
                read("x")
        with pytest.raises(BankNotFoundError):
            graph.rename_bank("x", "y")


class TestSqlite(MovingContract):
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(tmp_path / "graph.db")
        yield graph
        graph.close()


@pytest.mark.slow
class TestNeo4j(MovingContract):
    @pytest.fixture
    def graph(self, empty_neo4j: Address) -> Iterator[Neo4jGraph]:
        graph = Neo4jGraph(empty_neo4j.uri, **empty_neo4j.options())
        yield graph
        graph.close()
