"""Corrections and deletions while another process writes to the same bank: nothing is undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.errors import StoreError
from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.retain.extraction import Fact, Passage
from hindsight_integrations.stores import attempts
from hindsight_integrations.stores.base import StoredBank
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph

from .test_small_promises import together

FERRY = "The ferry leaves pier four at noon."


class Interrupted:
    """An extractor that makes every text a fact, and first lets another process write."""

    id = "interrupted/1"

    def __init__(self) -> None:
        self.then: Callable[[], object] = lambda: None

    def extract(self, passages: Sequence[Passage], known: Mapping[str, Entity]) -> list[list[Fact]]:
        self.then()
        return [[Fact(passage.text)] for passage in passages]


@contextmanager
def opened(file: Path, extractor: Interrupted | None = None) -> Iterator[Hindsight]:
    """An engine of its own, as another process has: no lock is shared but the store's."""
    with Hindsight(
        graph=SqliteGraph(file),
        vectors=ChromaVectors.in_memory(),
        settings=Settings(consolidate=False),
        extractor=extractor,
    ) as memory:
        yield memory


@pytest.fixture
def extractor() -> Interrupted:
    return Interrupted()


@pytest.fixture
def mine(tmp_path: Path, extractor: Interrupted) -> Iterator[Hindsight]:
    with opened(tmp_path / "graph.sqlite3", extractor) as memory:
        memory.retain("b", FERRY, document_id="timetable")
        yield memory


@pytest.fixture
def theirs(tmp_path: Path, mine: Hindsight) -> Iterator[Hindsight]:
    with opened(tmp_path / "graph.sqlite3") as memory:
        yield memory


def only(memory: Hindsight) -> Memory:
    (found,) = memory.memories.list("b").items
    return found


def test_profiles_and_aliases_of_two_processes_are_all_kept(
    mine: Hindsight, theirs: Hindsight
) -> None:
    theirs.retain("b", "Anna Berg lives in Porto.")

    def aliases(memory: Hindsight, start: int) -> None:
        for n in range(start, start + 4):
            memory.entities.alias("b", "Anna Berg", f"Name{n}")

    def profile(memory: Hindsight, field: str) -> None:
        for n in range(10):
            memory.banks.update("b", **{field: f"{field} {n}"})  # type: ignore[arg-type]
            assert getattr(memory.banks.get("b"), field) == f"{field} {n}"

    together(
        lambda: aliases(mine, 0),
        lambda: aliases(theirs, 100),
        lambda: profile(mine, "mission"),
        lambda: profile(theirs, "background"),
    )
    assert len(theirs.entities.get("b", "Anna Berg").aliases) == 8
    bank = mine.banks.get("b")
    assert (bank.mission, bank.background) == ("mission 9", "background 9")


def test_keeping_entities_apart_keeps_the_profile_that_is_changed_meanwhile(
    mine: Hindsight, theirs: Hindsight, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs.retain("b", "Anna Berg lives in Porto.", entities=["Ben Koch"])
    graph = mine.runtime.graph
    update_bank = graph.update_bank

    def after_theirs(*args: Any, **options: Any) -> StoredBank:
        theirs.banks.update("b", mission="Remember who sails.")
        return update_bank(*args, **options)

    monkeypatch.setattr(graph, "update_bank", after_theirs)
    mine.entities.keep_apart("b", "Anna Berg", "Ben Koch")
    bank = theirs.banks.get("b")
    assert bank.mission == "Remember who sails."
    assert len(bank.kept_apart) > 0


def test_a_correction_keeps_what_is_said_again_meanwhile(
    mine: Hindsight, theirs: Hindsight, extractor: Interrupted
) -> None:
    def say_it_again() -> None:
        extractor.then = lambda: None
        theirs.retain("b", FERRY, document_id="poster")

    extractor.then = say_it_again
    mine.memories.update("b", only(mine).id, text="The ferry leaves pier four at one.")
    corrected = only(theirs)
    assert corrected.text == "The ferry leaves pier four at one."
    assert [source.document_id for source in corrected.sources] == ["timetable", "poster"]


def test_of_two_corrections_the_later_stands_and_both_are_in_the_history(
    mine: Hindsight, theirs: Hindsight, extractor: Interrupted
) -> None:
    def label_it() -> None:
        extractor.then = lambda: None
        theirs.memories.update("b", only(theirs).id, tags=["harbour"])

    extractor.then = label_it
    mine.memories.update("b", only(mine).id, text="The ferry leaves pier five at noon.")
    stands = only(mine)
    assert (stands.text, stands.tags) == ("The ferry leaves pier five at noon.", ("harbour",))
    changed = [(change.field, change.old) for change in mine.memories.history("b", stands.id)]
    assert changed == [("tags", ""), ("text", FERRY)]


def test_who_is_always_too_late_is_told_so_and_changes_nothing(
    mine: Hindsight, theirs: Hindsight, extractor: Interrupted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "ATTEMPTS", 3)
    turns: list[str] = []

    def relabel() -> None:
        turns.append(f"turn {len(turns)}")
        theirs.memories.update("b", only(theirs).id, tags=[turns[-1]])

    extractor.then = relabel
    with pytest.raises(StoreError, match="other processes kept changing"):
        mine.memories.update("b", only(mine).id, text="The ferry leaves pier five at noon.")
    assert len(turns) == 3
    assert (only(mine).text, only(mine).tags) == (FERRY, ("turn 2",))


def test_an_export_during_which_another_process_corrects_a_memory_is_refused(
    mine: Hindsight, theirs: Hindsight, tmp_path: Path
) -> None:
    def correct(done: int, total: int | None) -> None:
        theirs.memories.update("b", only(theirs).id, tags=["harbour"])

    with pytest.raises(StoreError, match="changed by another process"):
        mine.banks.export("b", tmp_path / "b.jsonl", progress=correct)
    assert not (tmp_path / "b.jsonl").exists()
    mine.banks.export("b", tmp_path / "b.jsonl")
    assert "harbour" in (tmp_path / "b.jsonl").read_text(encoding="utf-8")
