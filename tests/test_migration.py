"""What other systems remember comes into a bank, and comes only once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import chromadb
import pytest

from hindsight_integrations import Hindsight, InvalidInputError
from hindsight_integrations.migration import from_chroma, from_mem0

MEM0 = {
    "results": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "memory": "Ann moved to Oslo last month",
            "hash": "f1",
            "metadata": {"topic": "home", "place": {"country": "Norway"}},
            "score": None,
            "created_at": "2024-05-07T09:30:00.000000-07:00",
            "updated_at": None,
            "user_id": "ann",
        },
        {"id": "8", "memory": "Allergic to nuts", "created_at": "2024-06-01T10:00:00Z"},
    ]
}
"""An answer of `get_all`, with the fields that mem0's documentation shows."""


@pytest.mark.parametrize("given", [MEM0, MEM0["results"]], ids=["a mapping", "a list"])
def test_memories_of_mem0_come_with_their_time_and_metadata_once(
    given: Any, memory: Hindsight
) -> None:
    assert len(memory.retain_many("ann", from_mem0(given)).stored) == 2
    assert not memory.retain_many("ann", from_mem0(given)).stored
    (found,) = memory.recall("ann", "Where did Ann move in April 2024?", where={"topic": "home"})
    assert found.memory.mentioned_at == datetime(2024, 5, 7, 16, 30, tzinfo=UTC)
    assert found.memory.metadata == {
        "source": "mem0",
        "topic": "home",
        "place": '{"country": "Norway"}',
        "user_id": "ann",
    }
    changed = {"id": "8", "memory": "Allergic to nuts and to eggs"}
    memory.retain_many("ann", from_mem0([changed]))
    texts = {each.text for each in memory.memories.list("ann").items}
    assert memory.documents.get("ann", "mem0:8")
    assert texts == {"Ann moved to Oslo last month", "Allergic to nuts and to eggs"}


def test_a_memory_of_mem0_is_there_on_its_last_day_and_gone_on_the_next(memory: Hindsight) -> None:
    trial = {"id": "9", "memory": "Ann's trial runs.", "expiration_date": "2930-01-31"}
    (item,) = from_mem0([trial])
    memory.retain_many("ann", [item])
    (kept,) = memory.memories.list("ann").items
    assert kept.expires_at == datetime(2930, 2, 1, tzinfo=UTC)
    for never in (None, "9999-12-31"):
        (forever,) = from_mem0([{**trial, "expiration_date": never}])
        assert forever.expires_at is None
    with pytest.raises(InvalidInputError, match="expiration_date is 'soon'"):
        from_mem0([{**trial, "expiration_date": "soon"}])


@pytest.fixture
def collection() -> Iterator[Any]:
    client = chromadb.EphemeralClient()
    yield client.create_collection("notes-of-a-test")
    client.delete_collection("notes-of-a-test")


def test_a_collection_of_chroma_comes_whole_page_by_page(
    collection: Any, monkeypatch: pytest.MonkeyPatch, memory: Hindsight
) -> None:
    monkeypatch.setattr("hindsight_integrations.migration.PAGE", 2)
    written = datetime(2024, 5, 7, 9, tzinfo=UTC)
    metadata = [{"at": written.isoformat(), "page": 1}, {"at": written.timestamp()}, {"page": 3}]
    collection.add(
        ids=["1", "2", "3"],
        documents=["Ann lives in Oslo.", "Ben sings.", "The ferry takes an hour."],
        metadatas=metadata,
        embeddings=[[1.0], [0.0], [0.5]],
    )
    collection.add(ids=["4"], embeddings=[[0.1]])  # a record without a text
    assert len(memory.retain_many("b", from_chroma(collection, timestamp_key="at")).stored) == 3
    assert not memory.retain_many("b", from_chroma(collection, timestamp_key="at")).stored
    (found,) = memory.recall("b", "Where does Ann live?", where={"page": 1})
    assert (found.text, found.memory.mentioned_at) == ("Ann lives in Oslo.", written)
    assert memory.documents.get("b", "2").id == "2"
    (song,) = memory.memories.list("b", where={"document_id": "2"}).items
    assert song.mentioned_at == written


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"answers": []}, "what mem0's get_all\\(\\) returns"),
        ([{"id": "1"}], "memories\\[0\\] is .*with 'id' and 'memory'"),
        ([{"id": "1", "memory": "x", "created_at": "soon"}], "created_at is 'soon'"),
    ],
)
def test_what_is_no_memory_of_mem0_is_refused_with_what_to_give(given: Any, told: str) -> None:
    with pytest.raises(InvalidInputError, match=told):
        from_mem0(given)
