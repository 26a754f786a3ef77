"""`memory.documents` and `memory.tags`, on each of the graph stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hindsight_integrations import (
    BankNotFoundError,
    ConflictError,
    DocumentNotFoundError,
    Hindsight,
    InvalidInputError,
    Message,
    NotFoundError,
)

from .engines import QUIET, empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]


def test_documents_are_listed_in_pages_by_id(engine: Hindsight) -> None:
    names = ["a/1.md", "b", "doc ü", "z-9", "é"]
    for name in reversed(names):
        engine.retain("b", f"Notes of {name}.", document_id=name)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = engine.documents.list("b", limit=2, cursor=cursor)
        assert page.total == 5
        seen += [document.id for document in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == sorted(names)
    exact = engine.documents.list("b", limit=5)
    assert exact.next_cursor is None
    with pytest.raises(InvalidInputError):
        engine.documents.list("b", limit=0)
    with pytest.raises(BankNotFoundError):
        engine.documents.list("nowhere")


def test_a_document_is_read_with_its_chunks_and_deleted(engine: Hindsight) -> None:
    text = "\n\n".join(f"Chapter {n}. " + "The mill turned all night. " * 60 for n in range(3))
    engine.retain("b", text, document_id="book")
    engine.retain_messages("b", [Message("Ana", "Hello mill."), Message("Bo", "It turns.")],
                           session="talk")  # fmt: skip
    document = engine.documents.get("b", "book")
    assert (document.id, document.bank_id) == ("book", "b")
    chunks = engine.documents.chunks("b", "book")
    assert document.chunk_count == len(chunks) > 1
    assert [chunk.position for chunk in chunks] == sorted(chunk.position for chunk in chunks)
    assert "Chapter 0" in chunks[0].text
    assert [chunk.text for chunk in engine.documents.chunks("b", "talk")] == [
        "Hello mill.", "It turns.",
    ]  # fmt: skip
    held = {m.id for m in engine.memories.list("b", document_id="book").items}
    assert set(engine.documents.delete("b", "book")) == held != set()
    for read in (engine.documents.get, engine.documents.chunks, engine.documents.delete):
        with pytest.raises(DocumentNotFoundError, match="book"):
            read("b", "book")
    assert [d.id for d in engine.documents.list("b").items] == ["talk"]


TALK = [Message("Bob", "I swim every day in the sea."), Message("Ann", "I climb on Mondays.")]


def check_that_neither_replaces_the_other(memory: Hindsight, *, speaker: str | None = None) -> None:
    """Check that the text "note" and the conversation "talk" of bank "b" keep their contents."""
    before = memory.memories.list("b").items
    assert len(before) == 3
    with pytest.raises(ConflictError, match=r"'talk' of bank 'b' holds the messages of a conver"):
        memory.retain("b", "It rains.", document_id="talk", speaker=speaker)
    with pytest.raises(ConflictError, match=r"'note' of bank 'b' holds a text.*session"):
        memory.retain_messages("b", TALK, session="note", update_mode="replace")
    (failed,) = memory.retain_many("b", [{"content": "It rains.", "document_id": "talk"}]).failed
    assert isinstance(failed.error, ConflictError)
    assert memory.memories.list("b").items == before
    memory.retain("b", "The boiler in York broke.", document_id="note")
    memory.retain_messages("b", TALK[1:], session="talk", update_mode="replace")
    texts = {each.text for each in memory.memories.list("b").items}
    assert texts == {"The boiler in York broke.", "I climb on Mondays."}


def test_a_text_never_replaces_a_conversation_nor_the_reverse(engine: Hindsight) -> None:
    engine.retain("b", "The boiler in Leeds broke.", document_id="note")
    engine.retain_messages("b", TALK, session="talk")
    check_that_neither_replaces_the_other(engine, speaker="Bob")


def test_a_text_that_is_appended_leaves_a_conversation_what_it_is(engine: Hindsight) -> None:
    engine.retain_messages("b", TALK, session="talk")
    engine.retain("b", "They met in Leeds.", document_id="talk", update_mode="append")
    with pytest.raises(ConflictError, match="conversation"):
        engine.retain("b", "It rains.", document_id="talk")
    assert len(engine.memories.list("b").items) == 3


def test_a_text_with_a_speaker_is_no_conversation(engine: Hindsight) -> None:
    engine.retain("b", "The boiler in Leeds broke.", document_id="note", speaker="Bob")
    engine.retain_messages("b", TALK, session="talk")
    check_that_neither_replaces_the_other(engine)


def test_documents_of_earlier_versions_are_told_apart_by_their_speakers(tmp_path: Path) -> None:
    with Hindsight(tmp_path, settings=QUIET) as memory:
        memory.retain("b", "The boiler in Leeds broke.", document_id="note")
        memory.retain_messages("b", TALK, session="talk")
    with closing(sqlite3.connect(tmp_path / "memory.sqlite3")) as file, file:
        file.execute("UPDATE documents SET is_conversation = NULL")
    with Hindsight(tmp_path, settings=QUIET) as memory:
        check_that_neither_replaces_the_other(memory, speaker="Bob")


async def test_documents_have_asynchronous_twins(memory: Hindsight) -> None:
    memory.retain("b", "Notes.", document_id="d")
    assert (await memory.documents.aget("b", "d")).id == "d"
    assert len(await memory.documents.achunks("b", "d")) == 1
    assert [d.id for d in (await memory.documents.alist("b")).items] == ["d"]
    assert len(await memory.documents.adelete("b", "d")) == 1
    assert await memory.tags.alist("b") == {}


@pytest.fixture
def tagged(engine: Hindsight) -> Hindsight:
    engine.retain("b", "The lamp is broken.", tags=["home", "todo"])
    engine.retain("b", "The report is due.", tags=["work", "todo"])
    engine.retain("b", "The fence is painted.", tags=["home"])
    engine.retain("b", "It is Sunday.")
    return engine


def test_tags_are_counted_the_most_frequent_first(tagged: Hindsight) -> None:
    assert list(tagged.tags.list("b").items()) == [("home", 2), ("todo", 2), ("work", 1)]
    lamp = tagged.recall("b", "lamp")[0].id
    tagged.memories.invalidate("b", lamp)
    assert tagged.tags.list("b") == {"home": 1, "todo": 1, "work": 1}
    assert tagged.tags.list("b", include_invalid=True)["home"] == 2
    with pytest.raises(BankNotFoundError):
        tagged.tags.list("nowhere")


def test_a_renamed_tag_filters_under_its_new_name_alone(tagged: Hindsight) -> None:
    model = tagged.mental_models.create("b", "Chores", text="Lamp first.", tags=["todo"])
    assert tagged.tags.rename("b", "todo", "home", reason="one list") == 3
    assert tagged.tags.list("b") == {"home": 3, "work": 1}
    assert {hit.text for hit in tagged.recall("b", "What is to do?", tags=["home"])} == {
        "The lamp is broken.", "The report is due.", "The fence is painted.",
    }  # fmt: skip
    assert not tagged.recall("b", "What is to do?", tags=["todo"])
    lamp = next(m for m in tagged.memories.list("b").items if "lamp" in m.text)
    assert lamp.tags == ("home",)
    (entry,) = tagged.memories.history("b", lamp.id)
    assert (entry.field, entry.old, entry.new, entry.reason) == (
        "tags", "home, todo", "home", "one list",
    )  # fmt: skip
    assert tagged.mental_models.get("b", model.id).tags == ("home",)
    assert tagged.maintenance.doctor().findings == ()


def test_a_removed_tag_deletes_no_memory(tagged: Hindsight) -> None:
    assert tagged.tags.remove("b", "home") == 2
    assert tagged.tags.list("b") == {"todo": 2, "work": 1}
    assert len(tagged.memories.list("b").items) == 4
    with pytest.raises(NotFoundError, match="home"):
        tagged.tags.remove("b", "home")
    with pytest.raises(InvalidInputError):
        tagged.tags.rename("b", "work", " ")
