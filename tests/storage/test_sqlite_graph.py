"""SQLite as the graph store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations.storage.sqlite import SqliteGraph

from .contract_filters import FilterContract
from .contract_writing import WritingContract
from .graphs import STAMP
from hindsight_integrations.model import Bank


class TestInAFile(WritingContract, FilterContract):
    @pytest.fixture
    def graph(self, tmp_path: Path) -> Iterator[SqliteGraph]:
        graph = SqliteGraph(tmp_path / "graph.db")
        graph.create_bank(Bank("b"), STAMP)
        yield graph
        graph.close()
