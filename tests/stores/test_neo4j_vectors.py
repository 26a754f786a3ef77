"""Neo4j's own vector index: the contract, its indexes, and a memory on one server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations import EmbedderMismatchError, Hindsight, Neo4jVectors
from hindsight_integrations.stores.neo4j import index as neo4j_vectors
from hindsight_integrations.stores.testing.vector_index import (
    VectorIndexContract,
    names,
    unit_vectors,
)

from .lifetime import FACTS, QUIET, live_through, nearest
from .neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

pytestmark = pytest.mark.slow


def opened(address: Address, **options: str) -> Neo4jVectors:
    return Neo4jVectors(
        address.uri,
        user=address.user,
        password=address.password,
        database=address.database,
        **options,
    )


def indexes(address: Address) -> list[str]:
    shown = address.run("SHOW VECTOR INDEXES YIELD name, state RETURN name, state")
    return [name for name, state in shown if state == "ONLINE"]


def without_indexes(address: Address) -> None:
    for name in indexes(address):
        address.run(f"DROP INDEX {name}")


class TestContract(VectorIndexContract):
    """The suite's bigger spaces have an index, its smaller ones are compared whole."""

    @pytest.fixture
    def index(
        self, empty_neo4j: Address, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Neo4jVectors]:
        monkeypatch.setattr(neo4j_vectors, "INDEXED_FROM", 45)
        vectors = opened(empty_neo4j)
        yield vectors
        vectors.close()
        for name in indexes(empty_neo4j):
            empty_neo4j.run(f"DROP INDEX {name}")

    def test_another_client_uses_the_index_and_bears_its_loss(
        self, index: Neo4jVectors, empty_neo4j: Address
    ) -> None:
        vectors = unit_vectors(60)
        index.upsert("a", names(40), vectors[:40])
        assert indexes(empty_neo4j) == []
        other = opened(empty_neo4j)
        index.upsert("a", names(20, start=40), vectors[40:])
        (name,) = indexes(empty_neo4j)
        assert other._indexed == frozenset()
        assert other.query("a", vectors[50], 1)[0][0] == "m50"  # compared; then it looks
        assert other._indexed == {name}
        assert other.query("a", vectors[50], 1)[0][0] == "m50"
        index.drop("a")
        assert indexes(empty_neo4j) == []
        assert other.query("a", vectors[50], 1) == []
        index.upsert("a", ["new"], vectors[:1])
        assert other.query("a", vectors[0], 5) == [("new", pytest.approx(1.0))]
        other.close()

    def test_namespaces_and_dimensions_are_kept_apart(
        self, index: Neo4jVectors, empty_neo4j: Address
    ) -> None:
        other = opened(empty_neo4j, namespace="another")
        index.upsert("a", names(3), unit_vectors(3))
        assert (other.keys(), other.ids("a")) == (set(), set())
        with pytest.raises(EmbedderMismatchError, match="another dimension than 8"):
            index.upsert("a", ["x"], unit_vectors(1, dimension=8))
        assert index.ids("a") == set(names(3))
        other.close()

    def test_a_memory_lives_in_it(self, index: Neo4jVectors) -> None:
        live_through(index)


def test_one_server_is_enough(empty_neo4j: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("user", "password", "database"):
        value = getattr(empty_neo4j, name)
        variable = f"NEO4J_{'USERNAME' if name == 'user' else name.upper()}"
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)
    monkeypatch.setenv("HINDSIGHT_GRAPH", empty_neo4j.uri)
    monkeypatch.setenv("HINDSIGHT_VECTORS", empty_neo4j.uri)
    with Hindsight.from_env(settings=QUIET) as memory:
        for name in ("kettle", "ferry"):
            memory.retain("alice", FACTS[name])
        assert nearest(memory, "When does the boat depart?") == FACTS["ferry"]
    empty_neo4j.run("MATCH (n:IndexedVector) WITH n LIMIT 1 DETACH DELETE n")
    with Hindsight.from_env(settings=QUIET) as memory:
        memory.maintenance.doctor()  # or the opening itself, whichever is quicker
        (key,) = memory.runtime.index.keys()
        assert len(memory.runtime.index.ids(key)) == 2
        assert memory.maintenance.doctor().findings == ()
