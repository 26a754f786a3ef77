"""Importing into a bank that exists: refused, or merged if asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import (
    BankExistsError,
    ConflictError,
    EmbedderMismatchError,
    Hindsight,
    StoreCorruptError,
    StoreError,
    acting_as,
)
from hindsight_integrations.stores.base import DUPLICATES, Kind
from tests.embedders import Letters
from tests.stores.neo4j_server import Address, empty_neo4j, neo4j_address

from .banks import RESTING, everything, export, import_
from .test_damaged_files import signed

__all__ = ["empty_neo4j", "neo4j_address"]

DRAWN_ANEW = ("bank", "audit", "waiting")
"""Parts that a merge leaves to the bank: its profile, its own audit, what is to be reflected on."""


def content(memory: Hindsight, bank: str) -> dict[str, list[object]]:
    return {name: of for name, of in everything(memory, bank).items() if name not in DRAWN_ANEW}


def test_a_file_merged_into_the_bank_it_came_from_changes_nothing(
    memory: Hindsight, whole: Path, tmp_path: Path
) -> None:
    import_(memory, whole)
    with pytest.raises(BankExistsError, match="--merge"):
        import_(memory, whole)
    result = import_(memory, whole, merge=True)
    assert (result.merged, result.known) == (True, result.counts["memory"])
    export(memory, "alice", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == whole.read_bytes()
    assert not import_(memory, whole, "free", merge=True).merged  # there is none of this id


@pytest.mark.local
def test_an_interrupted_merge_is_finished_by_the_same_call(
    memory: Hindsight, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hindsight_integrations.export_import.bank_file.BATCH", 9)
    memory.banks.create("there", name="Its own name")

    for stop_at in (20, 45, 80):

        def interrupt(done: int, total: int | None, stop_at: int = stop_at) -> None:
            if total and done > stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            import_(memory, whole, "there", merge=True, progress=interrupt)
    import_(memory, whole, "there", merge=True)
    import_(memory, whole, "once")
    assert content(memory, "there") == content(memory, "once")
    assert memory.banks.get("there").name == "Its own name"
    assert memory.maintenance.doctor().findings == ()


def two_banks(memory: Hindsight) -> None:
    memory.retain("home", "Ada Lind keeps bees in Porto.", document_id="a", scope="ann")
    memory.retain("home", "The ferry is blue.", document_id="b")
    memory.entities.alias("home", "Ada Lind", "Lovelace")
    with acting_as("ben"):
        memory.retain("away", "The ferry is blue.", document_id="c")
        (told,) = memory.retain("away", "Ada Lind sails to Oslo.", scope="ann").stored
        (hidden,) = memory.retain("away", "Ada Lind fears mice.").stored
        memory.memories.update("away", told.id, pinned=True, reason="her wish")
    memory.entities.alias("away", "Ada Lind", "Captain")
    memory.entities.keep_apart("away", "Oslo", "Ada Lind")
    memory.forget("away", hidden.id, after=timedelta(days=30))
    memory.retain("away", "Cid loves React.", timestamp=datetime(2025, 1, 6))
    memory.retain("away", "Cid switched to Vue and won't go back.", timestamp=datetime(2025, 3, 9))
    memory.consolidate("away")


def merges_two_banks(memory: Hindsight, path: Path) -> None:
    """Statements are one, entities are one, and marks, scopes, history and audit come along."""
    two_banks(memory)
    export(memory, "away", path)
    before = memory.changes("home", datetime(2020, 1, 1))
    with acting_as("cid", "one home"):
        assert import_(memory, path, "home", merge=True).known == 1
    (ferry,) = memory.memories.list("home", text="ferry").items
    assert {source.document_id for source in ferry.sources} >= {"b", "c"}
    (ada,) = (each for each in memory.entities.list("home").items if each.name == "Ada Lind")
    assert {*ada.aliases} == {"Lovelace", "Captain"}
    assert ada.mention_count == 3
    (told,) = memory.memories.list("home", text="Oslo", scope="ann").items
    assert told.pinned
    assert memory.memories.history("home", told.id)[-1].reason == "her wish"
    assert [
        (each.action, each.actor, each.reason) for each in memory.audit.list("home", id=told.id)
    ] == [
        ("import", "cid", "one home"),
        ("create", "ben", None),
        ("update", "ben", "her wish"),
    ]
    found = [each.memory.text for each in memory.recall("home", "What does Ada Lind do?")]
    assert {"Ada Lind sails to Oslo.", "Ada Lind keeps bees in Porto."} <= {*found}
    assert "Ada Lind fears mice." not in found
    (hidden,) = memory.memories.list("home", text="mice", state="invalidated").items
    assert memory.memories.restore("home", hidden.id).invalidated_at is None
    assert memory.banks.get("home").kept_apart == memory.banks.get("away").kept_apart
    news = memory.changes("home", before.until)
    assert {told.id, hidden.id} < {each.id for each in news.memories}
    assert "first React, then Vue" in news.observations[0].text
    assert memory.maintenance.doctor().findings == ()
    memory.consolidate("home")
    assert len(memory.observations.list("home").items) == 1


def test_two_banks_become_one(memory: Hindsight, tmp_path: Path) -> None:
    merges_two_banks(memory, tmp_path / "away.jsonl")


@pytest.mark.slow
def test_two_banks_become_one_on_a_server(empty_neo4j: Address, tmp_path: Path) -> None:
    graph = empty_neo4j.graph()
    with Hindsight(tmp_path / "vectors", graph=graph, settings=RESTING) as server:
        merges_two_banks(server, tmp_path / "away.jsonl")


def test_what_cannot_be_merged_is_refused_whole(memory: Hindsight, tmp_path: Path) -> None:
    path = tmp_path / "bank.jsonl"
    memory.retain("home", "The ferry is blue.", document_id="a")
    memory.retain("away", "The ferry is green.", document_id="a")
    memory.retain("away", "Ada keeps bees.", document_id="b")
    export(memory, "away", path)
    with pytest.raises(ConflictError, match="other versions of 'a'"):
        import_(memory, path, "home", merge=True)
    assert memory.banks.stats("home").memories == 1
    with Hindsight.in_memory(embedder=Letters(), settings=RESTING) as other:
        other.banks.create("home")
        with pytest.raises(EmbedderMismatchError, match="merge its file"):
            import_(other, path, "home", merge=True)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("entity", "mentions 'e-.*', an entity it lacks"), ("evidence", "without its statement")],
)
def test_a_file_whose_parts_do_not_fit_together_is_named_by_a_merge(
    memory: Hindsight, whole: Path, tmp_path: Path, kind: str, said: str
) -> None:
    lines = whole.read_bytes().splitlines()[:-1]
    some = [line for line in lines if line.startswith(b'{"%s"' % kind.encode())]
    forged = {
        "entity": [line for line in lines if line not in some],
        "evidence": [*lines, some[0]],
    }
    (tmp_path / "forged").write_bytes(signed(forged[kind]))
    memory.banks.create("there")
    with pytest.raises(StoreError, match=said):
        import_(memory, tmp_path / "forged", "there", merge=True)


def lighthouse(folder: Path, text: str) -> None:
    """Write over the text of the bank's memory of a lighthouse, behind the store's back."""
    with closing(sqlite3.connect(folder / "memory.sqlite3")) as database, database:
        changed = database.execute(
            "UPDATE contents SET text = CAST(? AS TEXT) WHERE text LIKE '%lighthouse%'",
            (text.encode("latin-1"),),
        )
        assert changed.rowcount == 1


@pytest.mark.local
def test_a_memory_that_cannot_be_read_is_named_by_a_merge_if_the_file_has_it_too(
    tmp_path: Path,
) -> None:
    folder, path = tmp_path / "memory", tmp_path / "bank.jsonl"
    with Hindsight(folder, settings=RESTING) as memory:
        (id,) = memory.retain("home", "The lighthouse is white.").ids
        export(memory, "home", path)
    lighthouse(folder, "a lighthouse, \xe9")
    with Hindsight(folder, settings=RESTING) as memory:
        with pytest.raises(StoreCorruptError, match=f"{id}.*doctor.*forget it"):
            import_(memory, path, "home", merge=True)
        memory.forget("home", id)
        import_(memory, path, "home", merge=True)
        assert memory.memories.get("home", id).text == "The lighthouse is white."


@pytest.mark.local
def test_a_memory_that_cannot_be_read_takes_in_no_other_of_the_same_words(tmp_path: Path) -> None:
    folder, path = tmp_path / "memory", tmp_path / "bank.jsonl"
    with Hindsight(folder, settings=RESTING) as memory:
        memory.retain("home", "The lighthouse is white.", document_id="a")
        (other,) = memory.retain("away", "The lighthouse is white.", document_id="b").ids
        export(memory, "away", path)
        memory.banks.delete("away")
    lighthouse(folder, "a lighthouse, \xe9")
    with Hindsight(folder, settings=RESTING) as memory:
        assert import_(memory, path, "home", merge=True).known == 0
        assert memory.memories.get("home", other).text == "The lighthouse is white."


@pytest.mark.local
def test_a_memory_forgotten_while_a_file_is_merged_takes_in_none_of_it(
    memory: Hindsight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process forgets it between the reading of its fingerprint and of itself."""
    path = tmp_path / "bank.jsonl"
    (gone,) = memory.retain("home", "The lighthouse is white.", document_id="a").ids
    (other,) = memory.retain("away", "The lighthouse is white.", document_id="b").ids
    export(memory, "away", path)
    graph = memory.runtime.graph
    read = graph.read

    def forgotten_meanwhile(bank_id: str, kind: Kind[Any], keys: Sequence[str]) -> dict[str, Any]:
        found = read(bank_id, kind, keys)
        if kind is DUPLICATES and gone in {id for ids in found.values() for id in ids}:
            memory.forget("home", gone)
        return found

    monkeypatch.setattr(graph, "read", forgotten_meanwhile)
    assert import_(memory, path, "home", merge=True).known == 0
    monkeypatch.undo()
    assert [each.id for each in memory.memories.list("home").items] == [other]
