"""Forgetting leaves no word in any file, and nothing that its words still find."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import chromadb
import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.models import Chunk, Document, utc_now
from hindsight_integrations.retain.extraction import SentenceExtractor
from hindsight_integrations.stores.base import RECORD

from .engines import empty_neo4j, engine, neo4j_address
from .stores.chroma_server import served
from .stores.neo4j_server import Address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

RARE = ("quilverst", "orbaneth", "mirplet")
"""Beginnings of words that only the forgotten texts have; terms are folded and stemmed."""


FINE = Settings(consolidate=False, fact_tokens=16)
"""Facts of one sentence, so that several stand in a chunk."""


@pytest.fixture
def memories(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hindsight]:
    """An embedded memory on an SQLite that does not overwrite what is deleted by default.

    An SQLite built otherwise does no less.
    """
    connect = sqlite3.connect

    def forgetful(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)  # type: ignore[call-overload]
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", forgetful)
    with Hindsight(folder, settings=FINE) as memory:
        yield memory


def left_in(folder: Path) -> dict[str, list[str]]:
    """Return the files that hold a rare word, with the words."""
    found = {}
    for file in sorted(folder.rglob("*")):
        content = file.read_bytes().lower() if file.is_file() else b""
        if words := [word for word in RARE if word.encode() in content]:
            found[file.name] = words
    return found


def fill(memory: Hindsight) -> None:
    """Other memories around the ones to forget, so that they share pages and segments."""
    for part in range(4):
        memory.retain_many(
            "b", [f"Boat {n} is moored at pier {n * 7}." for n in range(part * 20, part * 20 + 20)]
        )


def ids_of(memory: Hindsight, *words: str) -> list[str]:
    held = memory.memories.list("b", limit=1000).items
    return [m.id for m in held if any(word in m.text for word in words)]


STORY = (
    "Mirpleton lives in Quilverstrand with Orbaneth. Anna keeps bees near the church. "
    "The harbour of Lisbon is busy in May."
)


def forget_one(memory: Hindsight) -> None:
    memory.retain("b", STORY)
    memory.forget("b", ids_of(memory, "Mirpleton"))


def forget_in_turn(memory: Hindsight) -> None:
    memory.retain("b", "Anna and Orbaneth fish.\n\nOrbaneth is from Quilverstrand.\n\nA red boat.")
    for id in ids_of(memory, "Orbaneth"):
        memory.forget("b", id)


def forget_document(memory: Hindsight) -> None:
    memory.retain("b", STORY, document_id="story", tags=["sea"], metadata={"from": "Anna"})
    memory.forget("b", document_id="story")


def forget_corrected(memory: Hindsight) -> None:
    memory.retain("b", STORY)
    (id,) = ids_of(memory, "Mirpleton")
    memory.memories.update("b", id, text="Mirpletina lives in Quilverstrand.", reason="Orbaneth")
    memory.forget("b", id)


def delete_bank(memory: Hindsight) -> None:
    memory.retain("secret", STORY)
    memory.banks.delete("secret")


def forget_question(memory: Hindsight) -> None:
    messages = [
        ("Ann", "Have you ever been to Quilverstrand with Orbaneth and Mirpleton?"),
        ("Bo", "Yes, in March."),
        ("Ann", "The ferry to Lisbon leaves at nine."),
    ]
    memory.retain_messages("b", [{"speaker": who, "text": text} for who, text in messages])
    memory.forget("b", ids_of(memory, "Quilverstrand", "Orbaneth"))


def forget_name(memory: Hindsight) -> None:
    memory.retain("b", "Anna Quilverstrand moved to Porto.")
    memory.retain("b", "Anna likes tea.")
    memory.forget("b", ids_of(memory, "Porto"))


def edit_document(memory: Hindsight) -> None:
    memory.retain("b", f"Bees are kept.\n\n{STORY}\n\nHoney is sold.", document_id="note")
    memory.retain("b", "Bees are kept.\n\nHoney is sold.", document_id="note")


def conversation(memory: Hindsight) -> tuple[Document, list[Chunk]]:
    now = utc_now()
    record = Document("s#messages", "b", "f", now, now, is_record=True)
    texts = ("Mirpleton met Orbaneth.", "The ferry leaves at nine.", "Go to Quilverstrand.")
    said = [Chunk(f"c{n}", record.id, n, text, f"f{n}") for n, text in enumerate(texts)]
    memory.storage.write_record("b", record, said)
    return record, said


def remove_message(memory: Hindsight) -> None:
    conversation(memory)
    memory.storage.remove_from_record("b", ["c0", "c2"])


def edit_message(memory: Hindsight) -> None:
    record, said = conversation(memory)
    edited = [replace(one, text="Nothing was said.") for one in said]
    memory.storage.write_record("b", record, edited)


def take_alias_away(memory: Hindsight) -> None:
    memory.retain("b", "Anna likes tea.", entities=["Anna"])
    memory.entities.alias("b", "Anna", "Orbaneth Mirpleton")
    memory.entities.unalias("b", "Anna", "Orbaneth Mirpleton")


WAYS = (
    edit_document,
    remove_message,
    edit_message,
    take_alias_away,
    forget_name,
    forget_one,
    forget_in_turn,
    forget_document,
    forget_corrected,
    forget_question,
    delete_bank,
)


@pytest.mark.slow
@pytest.mark.parametrize("forget", WAYS, ids=lambda way: way.__name__)
def test_no_file_has_a_word_of_what_was_forgotten(
    memories: Hindsight, folder: Path, forget: Callable[[Hindsight], None]
) -> None:
    fill(memories)
    forget(memories)
    assert left_in(folder) == {}, "while it is open"
    memories.retain("b", "The lighthouse is white.")
    assert left_in(folder) == {}, "after it went on"
    memories.close()
    assert left_in(folder) == {}, "after it was closed"


def test_nor_once_observations_were_drawn_from_it(folder: Path) -> None:
    with Hindsight(folder, settings=Settings(consolidation_delay=0)) as memory:
        for place in ("Quilverstrand", "Lisbon", "Quilverstrand again"):
            memory.retain("b", f"Orbaneth works in {place}.")
        assert memory.wait_idle(60)
        memory.forget("b", ids_of(memory, "Orbaneth"))
        assert memory.wait_idle(60)
        assert left_in(folder) == {}
    assert left_in(folder) == {}


@pytest.mark.slow
def test_a_reader_that_is_slow_delays_the_emptying_of_the_log_and_does_not_prevent_it(
    memories: Hindsight, folder: Path
) -> None:
    memories.retain("b", STORY)
    with sqlite3.connect(folder / "memory.sqlite3") as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        memories.forget("b", ids_of(memories, "Mirpleton"))
        assert "memory.sqlite3-wal" in left_in(folder)
        reader.rollback()
    reader.close()
    memories.retain("b", "The lighthouse is white.")
    assert left_in(folder) == {}


@pytest.mark.slow
def test_a_long_reader_holds_up_none_of_the_writes_after_a_forget(
    memories: Hindsight, folder: Path
) -> None:
    memories.retain("b", STORY)
    with sqlite3.connect(folder / "memory.sqlite3") as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        begun = time.monotonic()
        memories.forget("b", ids_of(memories, "Mirpleton"))  # waits for the reader, once
        forgot = time.monotonic()
        for number in range(5):
            memories.banks.create(f"bank-{number}")
        assert time.monotonic() - forgot < 5 * (forgot - begun)  # each waited as long
        reader.rollback()
    reader.close()


@pytest.mark.slow
def test_no_server_has_a_word_of_what_was_forgotten(empty_neo4j: Address, tmp_path: Path) -> None:
    with (
        served(tmp_path / "chroma") as vectors,
        Hindsight(graph=empty_neo4j.graph(), vectors=vectors, settings=FINE) as memory,
    ):
        memory.retain("b", STORY)
        assert words_on(empty_neo4j, vectors) == {"nodes": [*RARE], "vectors": []}
        memory.forget("b", ids_of(memory, "Mirpleton"))
        fill(memory)
        for forget in WAYS:
            forget(memory)
            left = words_on(empty_neo4j, vectors)
            assert left == {"nodes": [], "vectors": []}, forget.__name__


def words_on(graph: Address, vectors: str) -> dict[str, list[str]]:
    """Return the rare words in the properties of a Neo4j, and in a Chroma but for vectors."""
    nodes = "MATCH (n) RETURN labels(n), properties(n) AS of"
    edges = "MATCH ()-[e]->() RETURN type(e), properties(e) AS of"
    client = chromadb.HttpClient(port=urlsplit(vectors).port or 0)
    held = {
        "nodes": repr([record["of"] for record in graph.run(nodes) + graph.run(edges)]),
        "vectors": repr([
            (each.name, each.metadata, each.get(include=["documents", "metadatas"]))
            for each in client.list_collections()
        ]),
    }  # fmt: skip
    return {where: [word for word in RARE if word in text.lower()] for where, text in held.items()}


# On both stores


def test_the_source_text_of_a_memory_left_has_nothing_of_the_forgotten(engine: Hindsight) -> None:
    engine.configure(
        extractor=SentenceExtractor(count=lambda text: len(text.split()), fact_tokens=8)
    )
    engine.retain("b", STORY, document_id="story")
    engine.forget("b", ids_of(engine, "Mirpleton"))
    found = engine.recall("b", "Where does Anna keep bees?", chunk_tokens=500)
    assert found.chunks
    texts = " ".join(chunk.text for chunk in found.chunks)
    assert "Anna keeps bees" in texts
    assert "Lisbon" in texts
    assert not any(word in texts.lower() for word in RARE)
    # Its fingerprint stays: the same document again does not bring the memory back.
    engine.retain("b", STORY, document_id="story")
    assert ids_of(engine, "Mirpleton") == []


def test_a_forgotten_question_does_not_find_the_answer_it_was_put_before(
    engine: Hindsight,
) -> None:
    fill(engine)
    forget_question(engine)
    (answer,) = ids_of(engine, "Yes, in March")
    record = engine.runtime.graph.read("b", RECORD, [answer])[answer]
    assert not any(lexeme.startswith(RARE) for lexeme in record.lexemes)
    assert "Orbaneth" not in record.memory.entities
    assert not {"Orbaneth", "Quilverstrand"} & {e.name for e in engine.entities.list("b").items}
    asked = engine.recall("b", "Have you been to Quilverstrand with Orbaneth?", arms=["keyword"])
    assert answer not in [each.memory.id for each in asked]
    said = engine.recall("b", "What was in March?", arms=["keyword"])
    assert answer in [each.memory.id for each in said]
    assert engine.maintenance.doctor().findings == ()


def test_the_source_text_of_an_expired_memory_goes_with_it(engine: Hindsight) -> None:
    engine.retain("b", STORY, expires_at=datetime(2020, 1, 1, tzinfo=UTC), document_id="story")
    assert engine.maintenance.purge("b") > 0
    (chunk,) = engine.documents.chunks("b", "story")
    assert chunk.text == ""
    assert engine.maintenance.purge("b") == 0
