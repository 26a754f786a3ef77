"""An engine on each of the graph stores, for tests through the public API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.stores.chroma.index import ChromaVectors

from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

QUIET = Settings(consolidate=False, purge_interval=0, recall_timeout=120, arm_timeout=60)
"""No work in the background, and time for a server beside which other tests run."""


GRAPHS = ("sqlite", pytest.param("neo4j", marks=pytest.mark.slow))


@pytest.fixture(params=GRAPHS)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hindsight]:
    """An engine that makes no observations by itself, on each of the graph stores."""
    with on_graph(request, tmp_path, QUIET) as memory:
        yield memory


def on_graph(request: pytest.FixtureRequest, folder: Path, settings: Settings) -> Hindsight:
    """Open an engine on the graph store that a fixture was given of `GRAPHS`."""
    if request.param == "sqlite":
        return Hindsight(folder / "memories", settings=settings)
    address: Address = request.getfixturevalue("empty_neo4j")
    graph = address.graph()
    return Hindsight(graph=graph, vectors=ChromaVectors.in_memory(), settings=settings)
