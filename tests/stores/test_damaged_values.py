"""A damaged value of any row: the file opens, its banks are listed, and the doctor mends it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.stores import base
from hindsight_integrations.stores.sqlite import SqliteGraph
from hindsight_integrations.stores.sqlite.schema import migrate

TABLES = (
    *("banks", "documents", "chunks", "entities", "names", "history", "mental_models", "audit"),
    *("memories", "contents", "sources", "mentions", "links", "lexemes", "times", "tags"),
)
STRUCTURE = {
    *("key", "no", "unit", "ordinal", "entity", "source", "target", "evidence"),  # where a row is
    *("revision", "deleted", "importing", "leaving", "embedder", "dimension"),  # see `reindex`
    "last_sequence",
}
LOST = {("contents", "text"), ("lexemes", "terms"), ("banks", "id")}
"""Columns whose loss is reported or shows; see tests/test_damaged_memories.py."""

DAMAGES: dict[str, object] = {
    "bytes": b"\xff\x00\x01",
    "another encoding": "Caf\xe9",
    "half of a text": "{half",
    "a huge number": 1 << 62,
    "a number below zero": -5,
    "a fraction": 3.5,
    "nothing": "",
}

SCANNED = (
    *(base.MEMORY_ID, base.DOCUMENT, base.CHUNK, base.EDITED_NAMES, base.CHANGE, base.AUDIT),
    base.MENTAL_MODEL,
)


def columns() -> list[tuple[str, str]]:
    with sqlite3.connect(":memory:") as database:
        migrate(database.cursor())
        found = [
            (table, column)
            for table in TABLES
            for (column,) in database.execute(f"SELECT name FROM pragma_table_info('{table}')")
        ]
    database.close()
    return [each for each in found if each[1] not in STRUCTURE and each not in LOST]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a memory with a row of each kind."""
    folder = tmp_path_factory.mktemp("whole") / "m"
    with Hindsight(folder, settings=Settings(consolidation_delay=0)) as memory:
        memory.retain("b", "Anna keeps bees in Porto.", tags=["x"], document_id="d", context="c")
        for place in ("Lisbon", "Porto", "Lisbon again"):
            memory.retain("b", f"Orbaneth works in {place} since 3 May 2024.", metadata={"n": 1})
        assert memory.wait_idle(60)
        memory.banks.update("b", mission="m", directives=["Be brief."], background="g")
        memory.mental_models.create("b", "Anna", text="Anna keeps bees.", tags=["x"])
        memory.entities.alias("b", "Anna", "Ann")
        (id,) = [m.id for m in memory.memories.list("b", limit=9).items if "bees" in m.text]
        memory.memories.update("b", id, text="Anna keeps many bees in Porto.", reason="r")
    return (folder / "memory.sqlite3").read_bytes()


def damaged(path: Path, table: str, column: str, value: object) -> bool:
    """Write a value into a row; False if SQLite itself refuses it there."""
    with sqlite3.connect(path) as database:
        database.execute("DROP TRIGGER lexemes_removed")
        where = "(SELECT no FROM banks LIMIT 1)" if table == "banks" else "1"
        row = database.execute(f"SELECT * FROM {table} WHERE {where} LIMIT 1")
        keys = [name for (name, *_) in row.description]
        chosen = dict(zip(keys, row.fetchone(), strict=True))
        try:
            encoded = "CAST(CAST(? AS BLOB) AS TEXT)" if value == "Caf\xe9" else "?"
            given = value.encode("latin-1") if value == "Caf\xe9" else value  # type: ignore[attr-defined]
            database.execute(
                f"UPDATE {table} SET {column} = {encoded} WHERE "
                + " AND ".join(f"{name} IS ?" for name in keys),
                (given, *chosen.values()),
            )
        except sqlite3.IntegrityError:
            return False
        finally:
            database.commit()
    database.close()
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), columns(), ids=lambda part: str(part))
def test_any_damaged_value_leaves_the_bank_to_be_mended(
    whole: bytes, tmp_path: Path, table: str, column: str
) -> None:
    for number, (name, value) in enumerate(DAMAGES.items()):
        path = tmp_path / f"{number}.sqlite3"
        path.write_bytes(whole)
        if not damaged(path, table, column, value):
            continue
        graph = SqliteGraph(path)
        assert len(graph.list_banks()) == 1, name
        if table == "memories":
            assert graph.bank_stats("b").entities > 1, name
        assert bool(graph.check(repair=False)) == bool(graph.check(repair=True)), name
        assert graph.check(repair=False) == [], name
        (bank,) = graph.list_banks()
        assert bank.bank.created_at
        for kind in SCANNED:
            list(graph.scan("b", kind))
        ids = list(graph.scan("b", base.MEMORY_ID))
        assert set(graph.read("b", base.MEMORY, ids)) == set(ids), name
        assert graph.bank_stats("b").memories == len(ids)
        assert graph.list_entities("b", limit=9).items
        graph.close()
