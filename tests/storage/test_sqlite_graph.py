"""SQLite as the graph store: the contract, in a file and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations.storage.sqlite import SqliteGraph

from .graph_contract import GraphContract


class TestInAFile(GraphContract):
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(tmp_path / "graph.db")
        yield graph
        graph.close()


class TestInMemory(GraphContract):
    @pytest.fixture
    def graph(self) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(None)
        yield graph
        graph.close()
