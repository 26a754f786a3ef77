"""LlamaIndex's vector stores as a memory's vector index: its own of Chroma, on disk."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import chromadb
import pytest
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.vector_stores.chroma import ChromaVectorStore

from hindsight_integrations import EmbedderMismatchError, InvalidInputError
from hindsight_integrations.llamaindex import LlamaIndexVectors
from hindsight_integrations.stores.testing.vector_index import (
    VectorIndexContract,
    names,
    unit_vectors,
)
from tests.stores.lifetime import live_through


def chroma(folder: Path | None, dimension: int) -> LlamaIndexVectors:
    """On disk every change waits for the disk; the suite makes hundreds."""
    client = chromadb.PersistentClient(str(folder)) if folder else chromadb.EphemeralClient()
    name = "memory" if folder else f"memory-{uuid.uuid4().hex}"  # all in memory share it
    collection = client.get_or_create_collection(name, metadata={"hnsw:space": "cosine"})
    store = ChromaVectorStore(chroma_collection=collection)
    return LlamaIndexVectors(store, dimension=dimension)


class TestChroma(VectorIndexContract):
    @pytest.fixture
    def index(self) -> Iterator[LlamaIndexVectors]:
        vectors = chroma(None, 48)
        yield vectors
        vectors.close()

    def test_another_opening_finds_what_was_written(self, tmp_path: Path) -> None:
        index = chroma(tmp_path, 48)
        index.upsert("a", names(3), unit_vectors(3))
        other = chroma(tmp_path, 48)
        assert (other.keys(), other.ids("a")) == ({"a"}, set(names(3)))
        assert other.query("a", unit_vectors(3)[1], 1)[0][0] == "m1"
        with pytest.raises(EmbedderMismatchError, match="holds vectors of 48 dimensions"):
            other.upsert("a", names(1), unit_vectors(1, dimension=64))


def test_a_memory_lives_in_chroma(tmp_path: Path) -> None:
    live_through(chroma(tmp_path, 384))


def test_a_store_without_texts_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="stores_text"):
        LlamaIndexVectors(SimpleVectorStore())
