"""LangChain's vector stores as a memory's vector index: Qdrant on disk, and one in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from hindsight_integrations import (
    EmbedderMismatchError,
    Hindsight,
    InvalidInputError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.langchain import GivenVectors, LangChainVectors
from hindsight_integrations.stores.testing.vector_index import (
    VectorIndexContract,
    names,
    unit_vectors,
)
from tests.stores.lifetime import live_through

WIDEST = 48
"""Dimensions of the suite's longest vectors."""


def in_metadata(field: str, value: str) -> dict[str, Any]:
    match = models.FieldCondition(key=f"metadata.{field}", match=models.MatchValue(value=value))
    return {"filter": models.Filter(must=[match])}


def of_document(field: str, value: str) -> dict[str, Any]:
    return {"filter": lambda document: document.metadata[field] == value}


def qdrant(folder: Path | None, dimension: int) -> LangChainVectors:
    """On disk every row waits for the disk; the suite writes thousands."""
    if folder is None:
        client = QdrantClient(":memory:")
    else:
        client = QdrantClient(path=str(folder), force_disable_check_same_thread=True)
    if not client.collection_exists("memory"):
        size = models.VectorParams(size=dimension, distance=models.Distance.COSINE)
        client.create_collection("memory", vectors_config=size)
    store = QdrantVectorStore(client, "memory", embedding=GivenVectors(dimension))
    return LangChainVectors(store, in_metadata)


class TestQdrant(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[LangChainVectors]:
        vectors = qdrant(None, WIDEST)
        yield vectors
        vectors.close()
        vectors.store.client.close()


class TestInMemory(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[LangChainVectors]:
        vectors = LangChainVectors(InMemoryVectorStore(GivenVectors(WIDEST)), of_document)
        yield vectors
        vectors.close()

    def test_memories_share_a_store_by_namespace(self, index: LangChainVectors) -> None:
        other = LangChainVectors(index.store, of_document, namespace="other")
        index.upsert("a", names(3), unit_vectors(3))
        assert (other.keys(), other.ids("a")) == (set(), set())

    def test_a_store_that_cannot_be_used_is_refused(self, index: LangChainVectors) -> None:
        foreign = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        with pytest.raises(InvalidInputError, match=r"GivenVectors\(\)"):
            LangChainVectors(foreign, of_document)
        index.upsert("a", names(3), unit_vectors(3))
        with pytest.raises(StoreError, match="filters by metadata"):
            LangChainVectors(index.store, lambda field, value: {}, namespace="other").ids("a")
        with pytest.raises(EmbedderMismatchError, match="holds vectors of 48 dimensions"):
            index.upsert("a", names(1), unit_vectors(1, dimension=64))

    def test_what_a_store_raises_is_told_apart(
        self, index: LangChainVectors, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for raised, expected in (
            (TimeoutError("slow"), StoreUnavailableError),
            (ValueError("a bad row"), StoreError),
        ):

            def fails(*args: object, error: Exception = raised, **options: object) -> None:
                raise error

            monkeypatch.setattr(index.store, "add_texts", fails)
            with pytest.raises(StoreError, match=str(raised)) as caught:
                index.upsert("a", names(1), unit_vectors(1))
            assert type(caught.value) is expected


def test_a_memory_lives_in_qdrant(tmp_path: Path) -> None:
    index = qdrant(tmp_path / "lived", 384)
    live_through(index)
    index.store.client.close()


def test_a_memory_is_opened_again_with_its_store(tmp_path: Path) -> None:
    for _ in range(2):
        index = qdrant(tmp_path / "vectors", 384)
        with Hindsight(tmp_path / "memory", vectors=index) as memory:
            if not memory.banks.list():
                memory.retain("alice", "The kettle is red.")
            assert memory.maintenance.doctor().findings == ()
            found = memory.recall("alice", "Which colour is the kettle?", arms=["semantic"])
            assert found[0].text == "The kettle is red."
        index.store.client.close()
