"""Importing into a bank that exists: refused, or merged if asked."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hindsight_integrations import (
    BankExistsError,
    ConflictError,
    EmbedderMismatchError,
    Hindsight,
    acting_as,
)
from tests.embedders import Letters
from tests.stores.neo4j_server import Address, empty_neo4j, neo4j_address

from .banks import RESTING, everything, export, import_

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
