"""Several that write one document at once: nothing of any is lost, doubled or read twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from threading import Event
from typing import TypeVar

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.errors import StoreError
from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.retain.extraction import Fact, Passage
from hindsight_integrations.stores import attempts
from hindsight_integrations.stores.base import (
    DOCUMENT,
    DOCUMENT_CHUNKS,
    RECORD,
    ChangeSet,
    GraphStore,
    Kind,
)
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph

from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

MESSAGES = 10

Row = TypeVar("Row")


def everything(memory: Hindsight) -> list[Memory]:
    """All memories, in the order they were stored."""
    page = memory.memories.list("b", limit=1000)
    assert page.next_cursor is None
    return list(page.items)


def append(memory: Hindsight, who: int) -> None:
    """Ten messages, each added to the session that all the others add to."""
    for n in range(MESSAGES):
        message = {"speaker": f"Pilot{who}", "text": f"Heron{n} has left pier {who}."}
        memory.retain_messages("b", [message], session="chat")


def assert_all_is_there(memory: Hindsight, writers: int) -> None:
    stored = everything(memory)
    for who in range(writers):
        said = [m.text for m in stored if m.speaker == f"Pilot{who}"]
        assert said == [f"Heron{n} has left pier {who}." for n in range(MESSAGES)]
    assert len(stored) == writers * MESSAGES
    assert {m.proof_count for m in stored} == {1}
    places = [m.sources[0].position for m in stored]
    assert all(a < b for a, b in pairwise(places))


def assert_appended_by_four(opening: Callable[[], GraphStore]) -> None:
    """Each has an engine of its own, as four processes have; no lock is theirs but the store's."""

    def write(who: int) -> None:
        settings = Settings(consolidate=False)
        with Hindsight(
            graph=opening(), vectors=ChromaVectors.in_memory(), settings=settings
        ) as memory:
            append(memory, who)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with Hindsight(graph=opening(), vectors=ChromaVectors.in_memory()) as memory:
        assert_all_is_there(memory, 4)


@pytest.mark.slow
def test_four_that_append_to_one_session_in_a_file_lose_nothing(tmp_path: Path) -> None:
    assert_appended_by_four(lambda: SqliteGraph(tmp_path / "graph.sqlite3"))


@pytest.mark.slow
def test_four_that_append_to_one_session_in_neo4j_lose_nothing(empty_neo4j: Address) -> None:
    assert_appended_by_four(empty_neo4j.graph)


@pytest.mark.slow
def test_eight_threads_of_one_engine_append_to_one_session(memory: Hindsight) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(append, [memory] * 8, range(8)))
    assert_all_is_there(memory, 8)


class Interrupted:
    """An extractor that makes every text a fact, and lets another write while it reads."""

    id = "interrupted/1"

    def __init__(self, then: Callable[[], None]) -> None:
        self.read: list[str] = []
        self._then = then

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        self.read += [passage.text for passage in passages]
        if any("mine" in passage.text for passage in passages):
            self._then()
        return [[Fact(passage.text)] for passage in passages]


def test_what_is_appended_meanwhile_stays_and_nothing_is_read_twice() -> None:
    def other() -> None:
        memory.retain("b", "This is theirs.", document_id="d", update_mode="append")

    extractor = Interrupted(other)
    with Hindsight.in_memory(extractor=extractor) as memory:
        memory.retain("b", "It begins.", document_id="d")
        memory.retain("b", "This is mine.", document_id="d", update_mode="append")
        texts = ["It begins.", "This is theirs.", "This is mine."]
        assert [m.text for m in everything(memory)] == texts
        assert Counter(extractor.read) == Counter(texts)


def test_a_reply_answers_what_was_said_last_when_it_was_given() -> None:
    def say(speaker: str, text: str) -> None:
        memory.retain_messages("b", [{"speaker": speaker, "text": text}], session="s")

    extractor = Interrupted(lambda: say("Cy", "Where is Kestrel?"))
    with Hindsight.in_memory(extractor=extractor) as memory:
        say("Ada", "Whose boat is Heron?")
        say("Bo", "Heron is mine.")
        reply = everything(memory)[-1]
        (record,) = memory.runtime.graph.read("b", RECORD, [reply.id]).values()
        assert reply.text == "Heron is mine."
        assert "boat" in record.lexemes
        assert "kestrel" not in record.lexemes
        assert len(extractor.read) == 3


def test_a_document_that_is_replaced_meanwhile_is_the_last_ones_alone() -> None:
    def other() -> None:
        memory.retain("b", "This is theirs.", document_id="d")

    extractor = Interrupted(other)
    with Hindsight.in_memory(extractor=extractor) as memory:
        memory.retain("b", "Bees sleep in winter.\n\nIt begins.", document_id="d")
        memory.retain("b", "Bees sleep in winter.\n\nThis is mine.", document_id="d")
        assert {m.text for m in everything(memory)} == {"Bees sleep in winter.", "This is mine."}


class Overtaken(SqliteGraph):
    """A store that another process writes to just before this one does."""

    def __init__(self, path: Path, others: Iterator[Callable[[], object]]) -> None:
        super().__init__(path)
        self._others = others

    def apply(self, changes: ChangeSet) -> tuple[str, ...]:
        if not changes.requeue:  # what opening the memory queues for its empty index
            next(self._others, int)()
        return super().apply(changes)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Hindsight]:
    """The other process's memory, on the same file."""
    settings = Settings(consolidate=False)
    graph = SqliteGraph(tmp_path / "g")
    with Hindsight(graph=graph, vectors=ChromaVectors.in_memory(), settings=settings) as engine:
        yield engine


def overtaken(path: Path, others: Iterable[Callable[[], object]]) -> Hindsight:
    graph = Overtaken(path / "g", iter(others))
    settings = Settings(consolidate=False)
    return Hindsight(graph=graph, vectors=ChromaVectors.in_memory(), settings=settings)


class Between(SqliteGraph):
    """A store that another process appends to when a document is read, its chunks maybe before."""

    def __init__(self, path: Path, then: Callable[[], object]) -> None:
        super().__init__(path)
        self._then: Callable[[], object] | None = then
        self._read = Event()

    def read(self, bank_id: str, kind: Kind[Row], keys: Sequence[str]) -> dict[str, Row]:
        if kind is DOCUMENT and self._then is not None:
            self._read.wait(0.5)
            then, self._then = self._then, None
            then()
        rows = super().read(bank_id, kind, keys)
        if kind is DOCUMENT_CHUNKS:
            self._read.set()
        return rows


def test_what_is_appended_between_the_reads_of_a_document_keeps_its_place(
    other: Hindsight, tmp_path: Path
) -> None:
    other.retain("b", "It begins.", document_id="d")
    graph = Between(
        tmp_path / "g",
        partial(other.retain, "b", "This is theirs.", document_id="d", update_mode="append"),
    )
    settings = Settings(consolidate=False)
    with Hindsight(graph=graph, vectors=ChromaVectors.in_memory(), settings=settings) as memory:
        memory.retain("b", "This is mine.", document_id="d", update_mode="append")
        assert [m.text for m in everything(memory)] == [
            "It begins.",
            "This is theirs.",
            "This is mine.",
        ]
        assert len({m.sources[0].position for m in everything(memory)}) == 3


def test_a_memory_that_is_forgotten_while_it_is_repeated_is_stored_again(
    other: Hindsight, tmp_path: Path
) -> None:
    (first,) = other.retain("b", "Bees sleep in winter.").stored
    forgetting = partial(other.forget, "b", first.id)
    with overtaken(tmp_path, [forgetting]) as memory:
        (second,) = memory.retain("b", "Bees sleep in winter.").stored
        assert [m.id for m in everything(memory)] == [second.id]


def test_what_repeats_a_memory_that_is_corrected_meanwhile_is_stored_itself(
    other: Hindsight, tmp_path: Path
) -> None:
    (first,) = other.retain("b", "Bees sleep in winter.").stored
    correcting = partial(other.memories.update, "b", first.id, text="Bees sleep at night.")
    with overtaken(tmp_path, [correcting]) as memory:
        memory.retain("b", "Bees sleep in winter.", document_id="again")
        texts = {m.text: m.proof_count for m in everything(memory)}
        assert texts == {"Bees sleep at night.": 1, "Bees sleep in winter.": 1}


def test_one_who_is_always_too_late_is_told_so_and_stores_nothing(
    other: Hindsight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(n: int) -> object:
        return other.retain("b", f"Heron{n} has left.", document_id="d", update_mode="append")

    write(0)
    monkeypatch.setattr(attempts, "ATTEMPTS", 3)
    with overtaken(tmp_path, (partial(write, n) for n in count(1))) as memory:
        with pytest.raises(StoreError, match="another writer"):
            memory.retain("b", "This is mine.", document_id="d", update_mode="append")
        assert [m.text for m in everything(memory)] == [f"Heron{n} has left." for n in range(4)]
