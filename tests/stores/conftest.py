"""Stores in memory, for tests that bring none of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph


@pytest.fixture
def graph() -> Iterator[SqliteGraph]:
    store = SqliteGraph(None)
    yield store
    store.close()


@pytest.fixture
def index() -> Iterator[ChromaVectors]:
    vectors = ChromaVectors.in_memory()
    yield vectors
    vectors.close()
