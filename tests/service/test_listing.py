"""Lists of the HTTP API read no more than they show; the same answers from each store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hindsight_integrations import Hindsight
from hindsight_integrations.service.http_api import hindsight_api
from hindsight_integrations.stores.base import MEMORY, Kind
from tests.engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

B = "/v1/default/banks/b"

NOTES = {
    "both": [["home", "work"]],
    "home": [["home"]],
    "plain": [[]],
    "split": [["home"], ["work"], []],
    "work": [["work"]],
}
"""The tags of each memory of a document."""

FOUND = {
    ("any_strict", "home"): ["both", "home", "split"],
    ("any_strict", "home", "home", "work"): ["both", "home", "split", "work"],
    ("any_strict", "nowhere"): [],
    ("any_strict", ""): [],
    ("any", "home"): ["both", "home", "plain", "split"],
    ("all_strict", "home", "work"): ["both", "split"],
    ("all", "home", "work"): ["both", "plain", "split"],
    ("exact", "home"): ["home"],
    ("exact", "home", "work"): ["both", "split"],
}
"""The documents that each way of matching finds."""


@pytest.fixture
def client(engine: Hindsight) -> TestClient:
    app = FastAPI()
    app.include_router(hindsight_api(engine))
    return TestClient(app)


def test_documents_are_found_by_the_tags_of_all_their_memories(
    engine: Hindsight, client: TestClient
) -> None:
    for name, memories in NOTES.items():
        for number, tags in enumerate(memories):
            text = f"Note {number} of {name} is about bees."
            engine.retain("b", text, document_id=name, tags=tags, update_mode="append")
    (wrong,) = engine.memories.list("b", document_id="home").items
    engine.memories.invalidate("b", wrong.id)
    for (match, *tags), names in FOUND.items():
        listed = client.get(f"{B}/documents", params={"tags": tags, "tags_match": match}).json()
        assert ([each["id"] for each in listed["items"]], listed["total"]) == (names, len(names))


def test_the_latest_memories_are_read_and_the_others_are_counted(
    engine: Hindsight, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [engine.retain("b", f"Note {n} is about bees.").ids[0] for n in range(6)]
    engine.memories.invalidate("b", ids[4])
    graph, read = engine.runtime.graph, []
    plain = graph.read

    def noted(bank_id: str, kind: Kind[Any], keys: Sequence[str]) -> dict[str, Any]:
        read.extend(keys if kind is MEMORY else ())
        return plain(bank_id, kind, keys)

    def paged(*args: object, **options: object) -> None:
        raise AssertionError("a page of memories was read")

    monkeypatch.setattr(graph, "read", noted)
    monkeypatch.setattr(graph, "list_memories", paged)

    page = client.get(f"{B}/memories/list", params={"limit": 2, "offset": 1}).json()
    assert [each["id"] for each in page["items"]] == [ids[3], ids[2]]
    assert page["total"] == 5
    beyond = client.get(f"{B}/memories/list", params={"limit": 2, "offset": 9}).json()
    assert (beyond["items"], beyond["total"]) == ([], 5)
    drawn = client.get(f"{B}/graph", params={"limit": 1}).json()
    assert [each["data"]["id"] for each in drawn["nodes"]] == [ids[5]]
    assert drawn["total_units"] == 5
    assert read == [ids[3], ids[2], ids[5]]
