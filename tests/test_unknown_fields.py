"""A field in `where` that no memory has, and a name in `entities` that no bank has, are noted."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.langchain import HindsightToolkit, HindsightVectorStore

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

ASKED = "Who sails?"


@pytest.fixture
def told(engine: Hindsight) -> Hindsight:
    engine.retain(
        "a", "Maya sails on Sundays.", speaker="Maya", metadata={"page": 3, "author": "Ann"}
    )
    engine.retain("b", "Cy sails a dinghy.", metadata={"boat": "dinghy"})
    return engine


@pytest.mark.parametrize(
    ("where", "unknown"),
    [
        ({"auther": "Ann"}, ["auther"]),
        ({"Speaker": "Maya"}, ["Speaker"]),
        ({"auther": {"$contains": "n"}, "pages": {"$gte": 1}}, ["auther", "pages"]),
        ({"$or": [{"auther": "Ann"}, {"page": 3}]}, ["auther"]),
        ({"$and": [{"page": 3}, {"$or": [{"auther": {"$in": ["x"]}}]}]}, ["auther"]),
    ],
)
def test_a_field_that_no_memory_has_is_noted(
    told: Hindsight, where: dict[str, Any], unknown: list[str]
) -> None:
    result = told.recall("a", ASKED, where=where)
    assert len(result.notes) == len(unknown)
    for note, field in zip(result.notes, unknown, strict=True):
        assert f"no memory in a has field {field!r}" in note
        assert "author, page" in note
        assert "document_id, entities, mentioned_at" in note
        assert note in repr(result)
        assert f"has field {field!r}" in str(result.explain())


@pytest.mark.parametrize(
    "where",
    [
        None,
        {"author": "Bob"},  # no memory passes, but the field is there
        {"page": {"$gt": 100}},
        {"speaker": "Nobody"},
        {"auther": {"$ne": "Ann"}},  # passed by memories without the field
        {"auther": {"$nin": ["Ann"]}},
        {"auther": {"$exists": False}},
        {"auther": {"$exists": True}},
        {"$not": {"auther": "Ann"}},
        {"_auther": "Ann"},  # adapters' own
    ],
)
def test_a_field_that_is_known_or_need_not_be_there_is_not(
    told: Hindsight, where: dict[str, Any] | None
) -> None:
    assert told.recall("a", ASKED, where=where).notes == ()


def test_of_several_banks_one_has_to_have_the_field(told: Hindsight) -> None:
    assert told.recall(["a", "b"], ASKED, where={"boat": "yacht"}).notes == ()
    (note,) = told.recall(["a", "b"], ASKED, where={"bout": "dinghy"}).notes
    assert "no memory in a, b has" in note
    assert "author, boat, page" in note


def test_a_name_that_no_bank_has_is_noted(told: Hindsight) -> None:
    result = told.recall("a", ASKED, entities=["Maja", "Maya"])
    (note,) = result.notes
    assert "no entity in a is called 'Maja'" in note
    assert [each.text for each in result] == ["Maya sails on Sundays."]
    (id,) = (entity.id for entity in told.entities.list("a") if entity.name == "Maya")
    assert told.recall("a", ASKED, entities=["maya", id]).notes == ()
    assert told.recall(["b", "a"], ASKED, entities=["Maya"]).notes == ()
    assert "no entity in a, b is" in told.recall(["a", "b"], ASKED, entities=["Maja"]).notes[0]


def test_a_bank_without_memories_has_no_notes(told: Hindsight) -> None:
    told.banks.create("new")
    assert told.recall("new", ASKED, where={"page": 3}).notes == ()
    assert told.recall("new", ASKED, entities=["Maya"]).notes == ()


def test_a_field_of_an_invalidated_memory_is_known(told: Hindsight) -> None:
    (memory,) = told.retain("a", "Bo rows on Mondays.", metadata={"club": "north"}).stored
    told.memories.invalidate("a", memory.id, "It was Jo.")
    assert told.recall("a", ASKED, where={"club": "north"}).notes == ()


def test_adapters_and_reflect_log_it(told: Hindsight, caplog: pytest.LogCaptureFixture) -> None:
    def logged() -> str:
        text = caplog.text
        caplog.clear()
        return text

    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        told.reflect("a", ASKED, where={"auther": "Ann"})
        assert "has field 'auther'" in logged()
        told.context("a", ASKED, where={"auther": "Ann"})
        assert "has field 'auther'" in logged()
        HindsightVectorStore(told, "a").similarity_search(ASKED, filter={"auther": "Ann"})
        assert "has field 'auther'" in logged()
        pinned = {"recall": {"where": {"auther": "Ann"}}}
        (tool,) = HindsightToolkit(
            memory=told, bank_id="a", verbs=("recall",), pinned=pinned
        ).get_tools()
        call = {"name": "recall", "args": {"query": ASKED}, "id": "1", "type": "tool_call"}
        tool.invoke(call)
        assert "has field 'auther'" in logged()
