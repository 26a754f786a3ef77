"""Contract suites that prove a store, for pytest.

A test class inherits the contract and gives a fixture that yields an empty store:

    class TestMyGraph(GraphStoreContract):
        @pytest.fixture
        def graph(self):
            graph = MyGraph(...)
            yield graph
            graph.close()

`VectorIndexContract` wants the same of an `index` fixture. Tests that take longer than a second or
two are marked `slow`; declare that marker, or deselect it.
"""

import pytest

_PARTS = ("audit", "conclusions", "entities", "filters", "graph", "reading", "searching", "writing")
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in (*_PARTS, "vector_index")))

from hindsight_integrations.stores.testing.graph import GraphStoreContract  # noqa: E402
from hindsight_integrations.stores.testing.vector_index import VectorIndexContract  # noqa: E402

__all__ = ["GraphStoreContract", "VectorIndexContract"]
