"""Entities are deleted, lose aliases, tell what they stand beside, and are merged or kept apart."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hindsight_integrations import EntityNotFoundError, Hindsight, InvalidInputError

from .engines import empty_neo4j, engine, neo4j_address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]


def retain(engine: Hindsight, text: str, *names: str, day: int = 1, bank: str = "b") -> str:
    (stored,) = engine.retain(
        bank, text, entities=names, timestamp=datetime(2025, 3, day, tzinfo=UTC)
    ).stored
    return stored.id


def names(engine: Hindsight, bank: str = "b") -> set[str]:
    return {entity.name for entity in engine.entities.list(bank).items}


def test_a_deleted_entity_leaves_its_memories(engine: Hindsight) -> None:
    kept = retain(engine, "Tomek Wolski rowed to Bergen.")
    assert {"Tomek Wolski", "Bergen"} <= names(engine)
    engine.entities.alias("b", "Tomek Wolski", "Tom W.")
    assert engine.entities.delete("b", "Tom W.") == 1
    assert engine.memories.get("b", kept).entities == ("Bergen",)
    with pytest.raises(EntityNotFoundError):
        engine.entities.get("b", "Tomek Wolski")
    assert engine.recall("b", "Who rowed to Bergen?").memories[0].id == kept
    assert engine.maintenance.doctor().findings == ()
    retain(engine, "Tomek Wolski sold the boat.")
    assert engine.entities.get("b", "Tomek Wolski").mention_count == 1


def test_an_alias_is_taken_for_good(engine: Hindsight) -> None:
    retain(engine, "Robert Jones plays the cello in Bergen.")
    engine.entities.alias("b", "Robert Jones", "Bob Jones", "R. J.")
    changed = engine.entities.unalias("b", "Robert Jones", "bob jones")
    assert changed.aliases == ("R. J.",)
    retain(engine, "Bob Jones plays the cello in Bergen too.")
    assert engine.entities.get("b", "Bob Jones").id != changed.id
    with pytest.raises(
        InvalidInputError, match=r"not an alias of 'Robert Jones'; its aliases are \['R\. J\.'\]"
    ):
        engine.entities.unalias("b", "Robert Jones", "Robert Jones")


def test_mentions_companions_and_timeline_of_one(engine: Hindsight) -> None:
    late = retain(engine, "Maya Roth met Jonas Weber.", "Maya Roth", "Jonas Weber", day=9)
    past = retain(engine, "In 2019 Maya Roth met Ines Vidal.", "Maya Roth", "Ines Vidal", day=2)
    both = retain(engine, "Maya Roth wrote to Jonas Weber.", "Maya Roth", "Jonas Weber", day=5)
    wrong = retain(engine, "Maya Roth moved to Lagos.", "Maya Roth", day=4)
    engine.memories.invalidate("b", wrong)
    page = engine.entities.mentions("b", "Maya Roth", limit=2)
    assert [m.id for m in page.items] == [late, past]
    rest = engine.entities.mentions("b", "Maya Roth", cursor=page.next_cursor)
    assert [m.id for m in rest.items] == [both]
    beside = engine.entities.companions("b", "Maya Roth")
    assert (beside[0].entity.name, beside[0].memories) == ("Jonas Weber", 2)
    assert "Ines Vidal" in {each.entity.name for each in beside[1:]}
    entries = engine.entities.timeline("b", "Maya Roth")
    assert [entry.memory.id for entry in entries] == [past, both, late]
    assert entries[0].span is not None
    assert (entries[0].at.year, entries[0].span.end.year) == (2019, 2020)
    assert (entries[1].at, entries[1].span) == (datetime(2025, 3, 5, tzinfo=UTC), None)
    assert repr(entries[0]).startswith("TimelineEntry(1 Jan 2019 to 31 Dec 2019: Memory(")
    assert repr(entries[1]).startswith("TimelineEntry(said 5 Mar 2025: Memory(")


def with_two_spellings(engine: Hindsight) -> None:
    for n in range(3):
        retain(engine, f"Katarzyna Lind led Project Heron, part {n}.", "Project Heron", day=n + 1)
    retain(engine, "Project Heron hired Tomek.", "Project Heron")
    engine.retain("b", "Kasia is away.", entities=["Katarina Lind"])


def test_a_merge_is_suggested_with_reasons_and_can_be_accepted(engine: Hindsight) -> None:
    with_two_spellings(engine)
    retain(engine, "Katarina Lind reviewed Project Heron.", "Katarina Lind", "Project Heron")
    found = engine.entities.suggest_merges("b")
    best = next(s for s in found if s.source.name == "Katarina Lind")
    assert best.target.name == "Katarzyna Lind"
    assert 0.5 < best.confidence <= 1
    assert best.reasons[1].startswith("both are mentioned beside ")
    assert "Project Heron" in best.reasons[1]
    engine.entities.merge("b", best.source.id, best.target.id)
    assert engine.entities.get("b", "Katarina Lind").name == "Katarzyna Lind"
    assert all(s.source.name != "Katarina Lind" for s in engine.entities.suggest_merges("b"))


def test_a_refused_merge_is_never_suggested_nor_made_again(
    engine: Hindsight, tmp_path: Path
) -> None:
    with_two_spellings(engine)
    (first,) = engine.entities.suggest_merges("b", limit=1)
    engine.entities.keep_apart("b", first.source.name, first.target.id)
    pair = {first.source.name, first.target.name}

    def suggested(bank: str) -> list[set[str]]:
        return [{s.source.name, s.target.name} for s in engine.entities.suggest_merges(bank)]

    assert pair not in suggested("b")
    engine.banks.export("b", tmp_path / "b.jsonl")
    engine.banks.import_(tmp_path / "b.jsonl", "copy")
    assert pair not in suggested("copy")
    # Forgotten and learned again, under another id, it is still another one.
    engine.forget("b", entities=[first.source.name])
    assert first.source.name not in names(engine)
    assert first.source.name not in str(engine.banks.get("b"))
    retain(engine, f"{first.source.name} left Project Heron.", first.source.name)
    assert pair <= names(engine)
    assert pair not in suggested("b")
    merged = engine.entities.merge("b", first.source.name, first.target.name)
    assert first.source.name in merged.aliases
    with pytest.raises(InvalidInputError, match="are the same entity"):
        engine.entities.keep_apart("b", first.source.name, first.target.name)


def test_two_whom_a_memory_mentions_together_are_not_suggested(engine: Hindsight) -> None:
    retain(engine, "Anna Lind met Anne Lind.", "Anna Lind", "Anne Lind")
    assert names(engine) >= {"Anna Lind", "Anne Lind"}
    assert engine.entities.suggest_merges("b") == ()
