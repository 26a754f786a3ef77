"""Documents of loaders as items: pages joined, and dated by their file."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessageChunk, HumanMessageChunk

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.langchain import as_items


def test_documents_of_a_loader_are_dated_by_their_source() -> None:
    source = {"source": "notes/2026-02-03.md"}
    items = as_items(
        [
            Document("The hives move tomorrow.", metadata=source),
            Document("Ruth helps.", metadata=source),
            Document("Wax is kept.", id="wax"),
        ],
        tags=["notes"],
    )
    assert [item.document_id for item in items] == ["notes/2026-02-03.md", "wax"]
    with Hindsight.in_memory() as memory:
        stored = memory.retain_many("bees", items).stored
        (moved,) = (one for one in stored if "hives" in one.text)
        assert moved.occurred_start == datetime(2026, 2, 4, tzinfo=UTC)
        assert moved.tags == ("notes",)


def test_a_last_change_is_a_time() -> None:
    changed = {"source": "bees.md", "last_modified": "2026-03-09T12:00"}
    (item,) = as_items([Document("Wax is kept.", metadata=changed)])
    assert item.modified == datetime(2026, 3, 9, 12)
    with pytest.raises(InvalidInputError, match="last_modified is 'lately'"):
        as_items([Document("x", metadata={"last_modified": "lately"})])
    with pytest.raises(InvalidInputError, match=r"documents\[0\] is 'a.txt'; give documents"):
        as_items(["a.txt"])  # type: ignore[list-item]


def test_items_keep_the_metadata_that_all_pages_share() -> None:
    shared = {"source": "hr/leave.md", "team": "HR", "issued": datetime(2026, 2, 3, tzinfo=UTC)}
    pages = [Document(f"Page {n} on leave.", metadata={**shared, "page": n}) for n in (1, 2)]
    with Hindsight.in_memory() as memory:
        memory.retain_many("a", as_items(pages))
        found = memory.memories.list("a", where={"team": "HR"})
        assert [one.metadata["issued"] for one in found] == ["2026-02-03T00:00:00+00:00"] * len(
            found
        )
        assert len(found) > 0
        assert "page" not in found[0].metadata


def test_a_reply_that_was_collected_from_a_stream_is_retained() -> None:
    streamed = AIMessageChunk(content="You parked on ") + AIMessageChunk(content="level 3.")
    with Hindsight.in_memory() as memory:
        asked = HumanMessageChunk(content="Where did I park?")
        memory.retain_messages("a", [asked, streamed], session="s")
        said = [(one.speaker, one.text) for one in memory.memories.list("a")]
    assert said == [("user", "Where did I park?"), ("assistant", "You parked on level 3.")]
