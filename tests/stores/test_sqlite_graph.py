"""Run the graph store contract on SQLite, in a file and in memory.

Every test is inherited from `GraphStoreContract`; this module only gives it the stores. Tests of
what is SQLite's own are in the other `test_sqlite_*.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations.stores.sqlite import SqliteGraph, searching
from hindsight_integrations.stores.testing import GraphStoreContract

from .common_words import check_common_words


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

    def test_common_words_are_looked_for_among_what_rare_ones_found(
        self, graph: SqliteGraph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        check_common_words(graph, searching, monkeypatch)
