"""A third graph store passes the contract that ships with the package, and serves an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.testing import GraphStoreContract
from tests.export_import.banks import RESTING, everything, export, import_, lived_in

from .in_memory_graph import InMemoryGraph


@pytest.mark.slow
class TestInMemoryGraph(GraphStoreContract):
    @pytest.fixture
    def graph(self) -> Iterator[InMemoryGraph]:
        graph = InMemoryGraph()
        yield graph
        graph.close()


def test_an_engine_runs_on_it(tmp_path: Path) -> None:
    with Hindsight(graph=InMemoryGraph(), vectors=ChromaVectors.in_memory()) as memory:
        memory.retain("alice", "Alice moved to Oslo in March 2021.", document_id="d1")
        memory.retain("alice", "Alice works at Acme. Bob works at Acme too.", document_id="d2")
        memory.consolidate("alice")
        best = memory.recall("alice", "Where did Alice move to?")[0]
        assert "Oslo" in best.text
        path = tmp_path / "alice.jsonl"
        export(memory, "alice", path)
        import_(memory, path, "copy")
        assert everything(memory, "copy") == everything(memory, "alice")
        assert memory.recall("copy", "Where did Alice move to?")[0].text == best.text
        memory.forget("alice", document_id="d1")
        assert all("Oslo" not in found.text for found in memory.recall("alice", "Oslo"))
        assert memory.maintenance.doctor().findings == ()


def test_a_bank_of_sqlite_goes_there_and_back_without_a_byte_changed(tmp_path: Path) -> None:
    path, back = tmp_path / "alice.jsonl", tmp_path / "back.jsonl"
    vectors = ChromaVectors.in_memory()
    with (
        Hindsight.in_memory(settings=RESTING) as home,
        Hindsight(graph=InMemoryGraph(), vectors=vectors, settings=RESTING) as other,
    ):
        lived_in(home, "alice")
        export(home, "alice", path)
        import_(other, path)
        assert everything(other, "alice") == everything(home, "alice")
        export(other, "alice", back)
    assert back.read_bytes() == path.read_bytes()
