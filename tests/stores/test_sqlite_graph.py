"""Run the graph store contract on SQLite, in a file and in memory.

Every test is inherited from `GraphStoreContract`; this module only gives it the stores. Tests of
what is SQLite's own are in the other `test_sqlite_*.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.testing import GraphStoreContract


@pytest.mark.slow
class TestInAFile(GraphStoreContract):
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(tmp_path / "graph.db")
        yield graph
        graph.close()


class TestInMemory(GraphStoreContract):
    @pytest.fixture
    def graph(self) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(None)
        yield graph
        graph.close()
