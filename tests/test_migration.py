"""What other systems remember comes into a bank, and comes only once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import chromadb
import pytest
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

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


def test_what_is_no_collection_is_refused_at_once_and_a_missing_time_is_told(
    collection: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for wrong in ("notes", chromadb.EphemeralClient()):
        with pytest.raises(InvalidInputError, match="get_collection"):
            from_chroma(wrong)
    collection.add(ids=["a"], documents=["Ann sings."], metadatas=[{"at": 5}], embeddings=[[1.0]])
    assert [item.timestamp for item in from_chroma(collection, timestamp_key="when")] == [None]
    (told,) = caplog.messages
    assert "'when'" in told
    assert told.endswith("They have at")


def test_an_entry_of_mem0_may_be_blank_or_come_alone() -> None:
    entry = {"id": "8", "memory": "Allergic to nuts"}
    assert [item.content for item in from_mem0([entry, {"id": "9", "memory": " "}])] == [
        "Allergic to nuts"
    ]
    for wrong in ("mem0.json", entry):
        with pytest.raises(InvalidInputError, match="import_transcripts") as refused:
            from_mem0(wrong)
        assert repr(wrong)[:20] in str(refused.value)


MESSAGES = [
    SystemMessage("Be kind."),
    HumanMessage("I am allergic to nuts.", name="Ann"),
    AIMessage([{"type": "text", "text": "I will remember."}]),
    ToolMessage("4711", tool_call_id="1"),
    ChatMessage(content="And I sail.", role="user"),
]


@pytest.mark.parametrize(
    "written",
    [
        messages_to_dict(MESSAGES),
        json.loads(json.dumps(messages_to_dict(MESSAGES))),
        [message.model_dump(mode="json") for message in MESSAGES[:-1]]
        + messages_to_dict(MESSAGES[-1:]),
    ],
)
def test_messages_of_langchain_are_read_from_the_json_they_are_kept_in(
    memory: Hindsight, written: list[dict[str, Any]]
) -> None:
    memory.retain_messages("ann", written, session="s")
    assert [(one.speaker, one.text) for one in memory.memories.list("ann")] == [
        ("Ann", "I am allergic to nuts."),
        ("assistant", "I will remember."),
        ("user", "And I sail."),
    ]
    assert not memory.retain_messages("ann", MESSAGES, session="s").stored


@pytest.mark.parametrize("given", [{"messages": MESSAGES}, SimpleNamespace(messages=MESSAGES)])
def test_what_has_messages_is_told_from_messages(memory: Hindsight, given: Any) -> None:
    with pytest.raises(InvalidInputError, match="which has messages; give these"):
        memory.retain_messages("ann", given)
