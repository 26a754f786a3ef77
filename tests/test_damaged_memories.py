"""One damaged value costs one memory, until the doctor or `forget`, and not the bank."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations import (
    EmbedderMismatchError,
    Hindsight,
    StoreCorruptError,
    StoreError,
)
from hindsight_integrations.stores.base import MEMORY, RECORD
from hindsight_integrations.stores.chroma.index import ChromaVectors

from .engines import QUIET, empty_neo4j, engine, neo4j_address
from .stores.neo4j_server import Address

__all__ = ["empty_neo4j", "engine", "neo4j_address"]

pytestmark = pytest.mark.slow

NAN = np.full(384, np.nan, dtype="<f4").tobytes()
CUT = b"\x01" * 77


class Latin(bytes):
    """A text in another encoding, which SQLite takes for text."""


LATIN = Latin("Café".encode("latin-1"))

DAMAGES: dict[str, tuple[str, str, object]] = {
    "metadata that is no JSON": ("contents", "metadata", "{half"),
    "metadata of another shape": ("contents", "metadata", "[1, 2]"),
    "tags that are no JSON": ("contents", "tags", "[,"),
    "times that are no JSON": ("memories", "occurred", "[[1]]"),
    "a cut vector": ("vectors", "vector", CUT),
    "a vector that is no blob": ("vectors", "vector", "words"),
    "a vector that is not finite": ("vectors", "vector", NAN),
    "cut token vectors": ("vectors", "interaction", CUT),
    "an unknown type": ("memories", "type", "dream"),
    "a date that is no number": ("memories", "mentioned_at", "yesterday"),
    "a date beyond all years": ("contents", "created_at", 1 << 62),
    "a confidence beyond 1": ("contents", "confidence", 7.0),
    "a speaker that is no text": ("contents", "speaker", b"\xff"),
    "a fingerprint that is no text": ("memories", "fingerprint", b"\xff"),
    "lexemes that are no text": ("lexemes", "terms", 12),
    "a source without a date": ("sources", "mentioned_at", "soon"),
    "an expiry that is no number": ("memories", "expires_at", "never"),
    **{
        f"a {column} in another encoding": (table, column, LATIN)
        for table, column in (
            ("contents", "metadata"),
            ("contents", "tags"),
            ("contents", "speaker"),
            ("contents", "context"),
            ("memories", "occurred"),
            ("memories", "type"),
            ("memories", "fingerprint"),
            ("lexemes", "terms"),
            ("tags", "tag"),
            ("metadata", "value"),
            ("sources", "document_id"),
        )
    },
}

TEXT = "Mira's kettle is red since 3 May 2024."


def filled(folder: Path) -> str:
    """A bank of some memories; return the id of the one to damage."""
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "The harbour of Lisbon is busy.")
        memory.retain("b", "Anna keeps bees near the church.")
        (id,) = memory.retain("b", TEXT, tags=["home"], metadata={"shelf": 3, "new": True}).ids
    return id


def damaged(folder: Path, id: str, table: str, column: str, value: object) -> None:
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        if table == "lexemes":
            database.execute("DROP TRIGGER lexemes_removed")
        name = "key" if table == "memories" else "unit"
        new = "CAST(? AS TEXT)" if isinstance(value, Latin) else "?"
        changed = database.execute(
            f"UPDATE {table} SET {column} = {new} "
            f"WHERE {name} = (SELECT key FROM memories WHERE id = ?)",
            (value, id),
        )
        assert changed.rowcount > 0
    database.close()


def works(memory: Hindsight) -> None:
    """Check that the other memories answer, whatever is asked."""
    found = memory.recall("b", "Where does Anna keep bees, and what of Mira's kettle?")
    assert "Anna keeps bees near the church." in [each.memory.text for each in found]
    assert memory.memories.list("b").total >= 2
    memory.retain("b", "The lighthouse is white.")
    assert memory.maintenance.health().parts


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_the_doctor_repairs_a_damaged_value_and_until_then_the_bank_works(
    folder: Path, damage: tuple[str, str, object], tmp_path: Path
) -> None:
    id = filled(folder)
    damaged(folder, id, *damage)
    with Hindsight(folder, settings=QUIET) as memory:
        works(memory)
        looked = memory.maintenance.doctor(repair=False)
        assert looked.findings
        assert not any(finding.repaired for finding in looked.findings)
        memory.maintenance.doctor()
        assert memory.maintenance.doctor().findings == ()
        found = memory.recall("b", "What colour is the kettle of Mira?")
        assert TEXT in [each.memory.text for each in found]
        assert found.failures == ()
        restored = memory.memories.get("b", id)
        assert (restored.text, restored.tags) == (TEXT, ("home",))
        assert restored.metadata == {"shelf": 3, "new": True}
        assert memory.banks.export("b", tmp_path / "b.jsonl").counts["memory"] == 4


@pytest.mark.parametrize(
    "damage",
    [damage for name, damage in DAMAGES.items() if "vector" in name or "type" in name],
)
def test_a_damaged_memory_is_named_by_recall_and_can_be_forgotten(
    folder: Path, damage: tuple[str, str, object], tmp_path: Path
) -> None:
    id = filled(folder)
    damaged(folder, id, *damage)
    with Hindsight(folder, settings=QUIET) as memory:
        found = memory.recall("b", "What colour is the kettle of Mira?")
        assert [failure.part for failure in found.failures] == [f"memory {id}"]
        assert isinstance(found.failures[0].error, StoreCorruptError)
        with pytest.raises(StoreCorruptError, match="run the doctor"):
            memory.memories.update("b", id, text="It is blue.")
        with pytest.raises(StoreError, match="run the doctor"):
            memory.banks.export("b", tmp_path / "b.jsonl")
        assert memory.forget("b", id) == (id,)
        assert memory.recall("b", "What colour is the kettle of Mira?").failures == ()
        assert memory.maintenance.doctor().findings == ()


@pytest.mark.parametrize("lost", [b"\xff\x00", LATIN])
def test_a_lost_text_is_reported_and_can_be_forgotten(folder: Path, lost: bytes) -> None:
    id = filled(folder)
    damaged(folder, id, "contents", "text", lost)
    with Hindsight(folder, settings=QUIET) as memory:
        works(memory)
        assert memory.memories.list("b", text="bees").total == 1
        found = memory.recall("b", "What colour is the kettle of Mira?")
        assert [failure.part for failure in found.failures] == [f"memory {id}"]
        diagnosis = memory.maintenance.doctor()
        assert not diagnosis.healthy
        assert any(id in finding.problem for finding in diagnosis.findings)
        with pytest.raises(StoreCorruptError, match=id):
            memory.maintenance.reindex("b")
        memory.forget("b", id)
        assert memory.maintenance.doctor().findings == ()
        assert memory.maintenance.reindex("b") == 3


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("names", "name"),
        ("names", "norm"),
        ("chunks", "text"),
        ("entities", "id"),
        ("memories", "id"),
        ("banks", "mission"),
    ],
)
def test_other_texts_that_are_no_utf_8_leave_the_bank_usable(
    folder: Path, table: str, column: str
) -> None:
    filled(folder)
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        rows = "(SELECT max(rowid) FROM " + table + ")"
        database.execute(
            f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = {rows}", (LATIN,)
        )
    database.close()
    with Hindsight(folder, settings=QUIET) as memory:
        works(memory)
        memory.entities.list("b")
        assert memory.maintenance.doctor(repair=False).findings
        memory.maintenance.doctor()
        assert memory.maintenance.doctor().findings == ()
        found = memory.recall("b", "What colour is the kettle of Mira?")
        assert found.failures == ()
        assert TEXT in [each.memory.text for each in found]


BESIDE: dict[str, tuple[str, str, object]] = {
    "the time of a mental model": ("mental_models", "refreshed_at", 1 << 62),
    "the sources of a mental model": ("mental_models", "sources", "3"),
    "the tags of a mental model": ("mental_models", "tags", "{half"),
    "the size of a mental model": ("mental_models", "max_tokens", "many"),
    "an entity's first mention": ("entities", "first_seen", "then"),
    "an entity's last mention": ("entities", "last_seen", float("inf")),
    "an entity's count": ("entities", "mention_count", "many"),
    "a name of bytes": ("names", "name", b"\xff"),
    "the place of a mention": ("mentions", "ordinal", "first"),
    "the entity of a mention": ("mentions", "entity", b"\xff"),
    "the id of an entity, as bytes": ("entities", "id", b""),
    "a weight that is text": ("links", "weight", "heavy"),
    "a weight of bytes": ("links", "weight", b""),
    "an infinite weight": ("links", "weight", float("inf")),
    "a link of no kind": ("links", "kind", "-5"),
    "the count of a lexeme": ("lexeme_counts", "memories", "some"),
    "the place of a source": ("sources", "position", float("inf")),
    "what a source rests on": ("sources", "evidence", 12345),
    "what a source rests on, as bytes": ("sources", "evidence", NAN),
    "nested lists without an end": ("mental_models", "tags", "[" * 3000),
    "the last key, as text": ("banks", "last_sequence", "[1]"),
    "the last key, beyond all": ("banks", "last_sequence", 1 << 62),
    "a fraction of an expiry": ("memories", "expires_at", 3.5),
}
"""Values whose loss costs neither the bank nor a memory."""


def alter(folder: Path, table: str, column: str, value: object) -> None:
    """Write a value into one row of a table."""
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        found = database.execute(f"SELECT * FROM {table} LIMIT 1")
        row = found.fetchone()
        which = " AND ".join(f'"{name}" IS ?' for name, *_ in found.description)
        database.execute(f"UPDATE {table} SET {column} = ? WHERE {which}", (value, *row))
    database.close()


@pytest.mark.parametrize("damage", BESIDE.values(), ids=BESIDE)
def test_what_is_damaged_beside_memories_costs_none(
    folder: Path, damage: tuple[str, str, object], tmp_path: Path
) -> None:
    filled(folder)
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("b", "Anna keeps many bees near the school.")
        memory.mental_models.create("b", "Anna", text="Anna keeps bees.", tags=["x"])
    table, column, value = damage
    alter(folder, table, column, value)
    with Hindsight(folder, settings=QUIET) as memory:
        if column not in ("expires_at", "last_sequence"):
            found = memory.recall(
                "b", "Where does Anna keep bees?", entity_tokens=300, mental_model_tokens=300
            )
            assert found.failures == ()
            assert "Anna keeps bees near the church." in [each.memory.text for each in found]
            assert len(memory.memories.list("b").items) == 4
        assert memory.maintenance.doctor(repair=False).findings
        memory.maintenance.doctor()
        assert memory.maintenance.doctor().findings == ()
        assert len(memory.memories.list("b").items) == 4
        memory.banks.export("b", tmp_path / "b.jsonl")
        assert memory.banks.import_(tmp_path / "b.jsonl", "copy").counts["memory"] == 4
        (bees,) = memory.memories.list("b", text="church").items
        assert memory.forget("b", bees.id) == (bees.id,)
        assert memory.retain("b", "The lighthouse is white.").ids


def test_a_name_of_no_entity_is_reported(folder: Path) -> None:
    filled(folder)
    alter(folder, "names", "entity", "null")
    with Hindsight(folder, settings=QUIET) as memory:
        works(memory)
        memory.maintenance.doctor()
        assert [each.problem for each in memory.maintenance.doctor().findings]
        works(memory)


def test_a_mental_model_that_lost_its_sources_quotes_nothing_that_is_forgotten(
    folder: Path,
) -> None:
    id = filled(folder)
    with Hindsight(folder, settings=QUIET) as memory:
        model = memory.mental_models.create("b", "Mira", source_query="What of Mira's kettle?")
        assert "kettle" in model.text
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        database.execute("UPDATE mental_models SET sources = '3'")
    database.close()
    with Hindsight(folder, settings=QUIET) as memory:
        memory.forget("b", id)
        assert "kettle" not in memory.mental_models.get("b", model.id).text


@pytest.mark.parametrize(("column", "value"), [("deleted", 7), ("importing", "{half")])
def test_a_mark_that_no_bank_has_deletes_nothing(
    folder: Path, column: str, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    id = filled(folder)
    with Hindsight(folder, settings=QUIET) as memory:
        memory.retain("other", "The lighthouse is white.")
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        database.execute(f"UPDATE banks SET {column} = ? WHERE id = 'b'", (value,))
    database.close()
    with Hindsight(folder, settings=QUIET) as memory:
        assert [bank.id for bank in memory.banks.list()] == ["other"]
        memory.maintenance.doctor()
        assert memory.memories.get("b", id).text == TEXT
        assert memory.maintenance.doctor().findings == ()
    assert column == "deleted" or "run the doctor" in caplog.text


@pytest.mark.parametrize("value", [-5, 385, "wide", float("-inf"), b""])
def test_a_lost_dimension_is_that_of_the_vectors(folder: Path, value: object) -> None:
    filled(folder)
    with sqlite3.connect(folder / "memory.sqlite3") as database:
        database.execute("UPDATE banks SET dimension = ?", (value,))
    database.close()
    with Hindsight(folder, settings=QUIET) as memory:
        with pytest.raises(EmbedderMismatchError, match="reindex"):
            memory.recall("b", "Where does Anna keep bees?")
        assert any("dimension" in each.problem for each in memory.maintenance.doctor().findings)
        assert len(memory.recall("b", "Where does Anna keep bees?")) > 0
        assert memory.maintenance.doctor().findings == ()


def test_reindexing_makes_damaged_vectors_again(folder: Path) -> None:
    id = filled(folder)
    damaged(folder, id, "vectors", "vector", NAN)
    with Hindsight(folder, settings=QUIET) as memory:
        assert memory.maintenance.reindex("b") == 3
        assert memory.maintenance.doctor().findings == ()


def test_an_invalidated_memory_stays_so_though_the_date_is_lost(folder: Path) -> None:
    id = filled(folder)
    with Hindsight(folder, settings=QUIET) as memory:
        memory.memories.invalidate("b", id, reason="retracted")
    damaged(folder, id, "memories", "invalidated_at", "then")
    with Hindsight(folder, settings=QUIET) as memory:
        memory.maintenance.doctor()
        assert memory.memories.get("b", id).invalidated_at is not None
        assert TEXT not in [each.memory.text for each in memory.recall("b", "Mira's kettle")]


NODES: dict[str, tuple[str, str, object]] = {
    "metadata": ("Memory", "metadata", "{half"),
    "type": ("Memory", "type", "dream"),
    "times": ("Memory", "occurred", ["soon"]),
    "a cut vector": ("Vector", "vector", CUT),
    "a vector that is not finite": ("Vector", "vector", NAN),
    "cut token vectors": ("Vector", "interaction", CUT),
}


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
@pytest.mark.parametrize("damage", NODES.values(), ids=NODES)
def test_a_damaged_node_costs_one_memory_and_not_the_bank(
    engine: Hindsight, empty_neo4j: Address, damage: tuple[str, str, object]
) -> None:
    engine.retain("b", "Anna keeps bees near the church.")
    (id,) = engine.retain("b", TEXT).ids
    label, name, value = damage
    empty_neo4j.run(
        f"MATCH (n:{label}) WHERE n.key ENDS WITH $id SET n.{name} = $value",
        id=f"|{id}",
        value=value,
    )
    found = engine.recall("b", "What colour is the kettle of Mira, and who keeps bees?")
    assert "Anna keeps bees near the church." in [each.memory.text for each in found]
    assert [failure.part for failure in found.failures] == [f"memory {id}"]
    engine.maintenance.doctor()
    graph = engine.runtime.graph
    if label == "Vector":
        assert engine.maintenance.doctor().findings == ()
        assert graph.read("b", RECORD, [id])[id].memory.text == TEXT
    else:
        assert not engine.maintenance.doctor().healthy
        assert graph.read("b", MEMORY, [id]) == {}
        engine.forget("b", id)
        assert engine.maintenance.doctor().findings == ()


PROPERTIES: dict[str, tuple[str, str, object]] = {
    "a trait": ("Bank", "empathy", "much"),
    "directives": ("Bank", "directives", 3),
    "named directives": ("Bank", "named_directives", "{half"),
    "an expiry": ("Bank", "expiry", "[1]"),
    "the time of a bank": ("Bank", "created_at", "then"),
    "a mission": ("Bank", "mission", 5),
    "names kept apart": ("Bank", "kept_apart", True),
    "the sources of a mental model": ("MentalModel", "sources", 3),
    "the time of a mental model": ("MentalModel", "refreshed_at", "soon"),
    "the size of a mental model": ("MentalModel", "max_tokens", "many"),
}


@pytest.mark.parametrize("engine", ["neo4j"], indirect=True)
def test_a_damaged_property_beside_memories_costs_none(
    engine: Hindsight, empty_neo4j: Address
) -> None:
    engine.retain("b", "Anna keeps bees near the church.")
    model = engine.mental_models.create("b", "Anna", text="Anna keeps bees.")
    for label, name, value in PROPERTIES.values():
        empty_neo4j.run(f"MATCH (n:{label}) SET n.{name} = $value", value=value)
        found = engine.recall("b", "Where does Anna keep bees?", mental_model_tokens=300)
        assert found.failures == ()
        assert [each.memory.text for each in found] == ["Anna keeps bees near the church."]
        assert [bank.id for bank in engine.banks.list()] == ["b"]
        with Hindsight(graph=empty_neo4j.graph(), vectors=ChromaVectors.in_memory()) as opened:
            assert opened.mental_models.get("b", model.id).text == "Anna keeps bees."
        (finding,) = engine.maintenance.doctor().findings
        assert finding.problem == f"{name} cannot be read"
        assert engine.maintenance.doctor().findings == ()
