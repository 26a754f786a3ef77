"""SQLite as the graph store, when something is wrong with its file or its rows."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from hindsight_integrations.errors import (
    BankNotFoundError,
    SchemaVersionError,
    StoreCorruptError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Bank, MentalModel, Source, utc_now
from hindsight_integrations.stores.base import (
    CHECKPOINT,
    CONCLUSIONS_CITING,
    COOCCURRENCES,
    ENTITY,
    ENTITY_NAMED,
    MEMORY,
    MEMORY_ID,
    RECORD,
    QueueCheckpoint,
    StagedVector,
)
from hindsight_integrations.stores.sqlite import SqliteGraph, check, connection
from hindsight_integrations.stores.sqlite.connection import Connections, store_error
from hindsight_integrations.stores.sqlite.schema import MIGRATIONS
from hindsight_integrations.stores.testing.samples import (
    EMBEDDER,
    VALID,
    document,
    keep,
    link,
    record,
    source,
)
from tests.interrupted import interrupt_transactions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "graph.db"


@pytest.fixture
def graph(path: Path) -> Iterator[SqliteGraph]:
    graph = SqliteGraph(path)
    graph.create_bank(Bank("b"), EMBEDDER)
    keep(
        graph,
        *(
            record(
                id,
                f"word {id}",
                entities=("Ann", "Bob"),
                tags=("t",),
                metadata={"k": id},
                sources=(source("d"),),
            )
            for id in "xyz"
        ),
        documents=(document("d"),),
        links=(link("x", "y"),),
    )
    yield graph
    graph.close()


def tamper(path: Path, *statements: str) -> None:
    """Change the file as a fault would, past the store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        for statement in statements:
            raw.execute(statement)


# Versions


def test_opening_again_changes_nothing(path: Path) -> None:
    for _ in range(2):
        graph = SqliteGraph(path)
        graph.close()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_in_memory_has_the_schema_of_a_file_and_an_identity_of_its_own(path: Path) -> None:
    def schema(connections: Connections) -> list[tuple[object, ...]]:
        with connections.read() as cursor:
            version = cursor.execute("PRAGMA user_version").fetchall()
            read = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
            return [*version, *cursor.execute(read)]

    opened = [Connections(path), Connections(None), Connections(None)]
    in_file, *in_memory = map(schema, opened)
    assert in_memory == [in_file] * 2
    for each in opened:
        each.close()
    graphs = [SqliteGraph(path), SqliteGraph(None), SqliteGraph(None)]
    assert len({graph.identity() for graph in graphs}) == 3
    for graph in graphs:
        graph.close()


def test_a_file_of_a_newer_release_is_refused_and_left_alone(path: Path) -> None:
    SqliteGraph(path).close()
    tamper(path, "PRAGMA user_version = 99")
    with pytest.raises(SchemaVersionError, match=r"99.*upgrade"):
        SqliteGraph(path)
    tamper(path, f"PRAGMA user_version = {len(MIGRATIONS)}")
    SqliteGraph(path).close()


_OLD_BANK = (
    "INSERT INTO banks (no, id, last_sequence, valid_memories, valid_lexemes, embedder, "
    "dimension, name, mission, background, skepticism, literalism, empathy, directives, "
    "created_at, updated_at) "
    "VALUES (1, 'b', 2, 1, 1, 'toy', 8, '', '', '', 3, 3, 3, '[]', 0, 0)"
)


def test_marks_of_calls_from_before_they_expired_do_so_in_a_month(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as raw:
        for statement in (
            *chain.from_iterable(MIGRATIONS[:10]),
            _OLD_BANK,
            "INSERT INTO marks VALUES (1, 'operation:op', 4), (1, 'queue', 7)",
            "PRAGMA user_version = 10",
        ):
            raw.execute(statement)
        raw.commit()
    with closing(SqliteGraph(path)) as graph:
        marks = graph.read("b", CHECKPOINT, ["operation:op", "queue"])
    assert marks["queue"] == QueueCheckpoint("queue", 7)
    assert (marks["operation:op"].number, marks["operation:op"].digest) == (4, None)
    assert marks["operation:op"].expires_at is not None
    left = marks["operation:op"].expires_at - utc_now()
    assert timedelta(days=29) < left <= timedelta(days=30)


def test_names_from_before_their_vowel_signs_counted_are_found(path: Path) -> None:
    with closing(SqliteGraph(path)) as graph:
        graph.create_bank(Bank("b"), EMBEDDER)
        keep(graph, record("a", entities=("राम",)), record("b", entities=("Café ☕️",)))
    tamper(
        path,
        "UPDATE names SET norm = 'र म' WHERE name = 'राम'",
        "UPDATE grams SET gram = '=र' WHERE gram = '=राम'",
        "ALTER TABLE contents DROP COLUMN utc_offset",
        "ALTER TABLE sources DROP COLUMN utc_offset",
        "PRAGMA user_version = 15",
    )
    with closing(SqliteGraph(path)) as graph:
        named = graph.read("b", ENTITY_NAMED, ["राम", "र म", "cafe"])
        assert {norm: each.name for norm, each in named.items()} == {
            "राम": "राम",
            "cafe": "Café ☕️",
        }
        assert graph.similar_entities("b", ["राम"], 1) == {"राम": [named["राम"]]}
        assert graph.check(repair=False) == []


def test_a_file_from_before_conclusions_is_upgraded_and_all_valid_memories_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as raw:
        for statement in (
            *(statement for version in MIGRATIONS[:2] for statement in version),
            _OLD_BANK,
            *(
                statement
                for key, id, since in (((1 << 40) + 1, "x", "NULL"), ((1 << 40) + 2, "y", "5"))
                for statement in (
                    f"INSERT INTO memories VALUES ({key}, 1, '{id}', 'world', 0, NULL, {since}, "
                    "NULL, '[]', 'f')",
                    f"INSERT INTO contents VALUES ({key}, NULL, 0, 0, NULL, '[]', '{{}}', NULL, "
                    "NULL, 'word')",
                    f"INSERT INTO sources VALUES ({key}, 0, 1, 'd', 'c', 0, 0, NULL)",
                    f"INSERT INTO lexemes VALUES ({key}, {since} IS NULL, 'word')",
                    f"INSERT INTO vectors VALUES ({key}, zeroblob(32), NULL)",
                )
            ),
            "PRAGMA user_version = 2",
        ):
            raw.execute(statement)
        raw.commit()
    graph = SqliteGraph(path)
    assert graph.pending_consolidation("b", 9) == ["x"]
    memory = graph.read("b", MEMORY, ["x"])["x"]
    assert (memory.kind, memory.reasoning, memory.proof_count) == (None, None, 1)
    assert memory.sources == (Source("d", "c", 0, datetime(1970, 1, 1, tzinfo=UTC)),)
    keep(graph, record("o", sources=(Source(memory_id="x"),)))
    assert graph.read("b", CONCLUSIONS_CITING, ["x"]) == {"x": ("o",)}
    graph.check(repair=True)
    assert graph.check(repair=False) == []
    graph.close()


def test_an_interrupted_first_opening_can_be_repeated(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = ((*MIGRATIONS[0], "CREATE NONSENSE"),)
    monkeypatch.setattr("hindsight_integrations.stores.sqlite.schema.MIGRATIONS", broken)
    with pytest.raises(StoreError):
        SqliteGraph(path)
    monkeypatch.undo()
    graph = SqliteGraph(path)
    assert graph.list_banks() == []
    graph.close()


def test_an_old_sqlite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreUnavailableError, match="newer build of Python"):
        SqliteGraph(None)


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_durable_waits_for_the_disk(path: Path, durable: bool, level: int) -> None:
    connections = Connections(path, durable=durable)
    with connections.write() as cursor:
        assert cursor.execute("PRAGMA synchronous").fetchone() == (level,)
    connections.close()


# Files


def test_what_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be taken for one " * 99)
    with pytest.raises(StoreCorruptError, match="restore a backup"):
        SqliteGraph(path)


def test_a_damaged_page_is_reported(path: Path, graph: SqliteGraph) -> None:
    keep(graph, *(record(f"m{n}", "some words " * 9) for n in range(300)))
    graph.close()
    with path.open("r+b") as file:
        pages = path.stat().st_size // 4096
        for page in range(pages // 2, pages):  # the first ones hold the schema
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)
    damaged = SqliteGraph(path)
    with pytest.raises(StoreCorruptError, match="damaged"):
        list(damaged.read("b", RECORD, [f"m{n}" for n in range(300)]))
    faults = damaged.check(repair=True)
    assert {(fault.table, fault.repaired) for fault in faults} == {("file", False)}
    damaged.close()


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnavailableError, match="path"):
        SqliteGraph(tmp_path / "file" / "graph.db")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreUnavailableError, match="path"):
        SqliteGraph(tmp_path / "folder")


def test_a_full_disk_undoes_the_change_set_and_leaves_the_store_usable(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = SqliteGraph(path)
    graph.create_bank(Bank("b"), EMBEDDER)
    keep(graph, record("first"))
    with graph._connections.write() as cursor:
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(StoreUnavailableError, match="disk is full"):
        keep(graph, *(record(f"m{n}", "many words " * 99) for n in range(99)))
    assert list(graph.scan("b", MEMORY_ID)) == ["first"]
    assert graph.lexeme_stats("b", ["many"]).frequency == {"many": 0}
    keep(graph, record("second"))
    assert graph.check(repair=False) == []
    graph.close()


def test_a_reader_cannot_write(graph: SqliteGraph) -> None:
    with (
        pytest.raises(StoreUnavailableError, match="read-only"),
        graph._connections.read() as cursor,
    ):
        cursor.execute("DELETE FROM memories")
    assert list(graph.scan("b", MEMORY_ID)) == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreLockedError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreLockedError),
        (sqlite3.SQLITE_LOCKED, StoreLockedError),
        (sqlite3.SQLITE_FULL, StoreUnavailableError),
        (sqlite3.SQLITE_READONLY, StoreUnavailableError),
        (sqlite3.SQLITE_READONLY_DBMOVED, StoreUnavailableError),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailableError),
        (sqlite3.SQLITE_PERM, StoreUnavailableError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreUnavailableError),
        (sqlite3.SQLITE_CORRUPT_VTAB, StoreCorruptError),
        (sqlite3.SQLITE_NOTADB, StoreCorruptError),
        (sqlite3.SQLITE_ERROR, StoreError),
    ],
)
def test_sqlite_errors_become_ours(code: int, kind: type[StoreError]) -> None:
    error = sqlite3.OperationalError("what SQLite said")
    error.sqlite_errorcode = code
    ours = store_error(error, "/a/file")
    assert type(ours) is kind
    assert "/a/file" in str(ours)
    assert "what SQLite said" in str(ours)


# Several at once


def test_two_stores_on_one_file_see_each_others_commits(path: Path, graph: SqliteGraph) -> None:
    other = SqliteGraph(path)
    for n in range(20):
        writer, reader = (graph, other) if n % 2 else (other, graph)
        keep(writer, record(f"m{n}", "shared", entities=("Ann",)))
        assert f"m{n}" in reader.read("b", MEMORY, [f"m{n}"])
        assert reader.lexeme_stats("b", ["shared"]).frequency == {"shared": n + 1}
    graph.delete_bank("b")
    with pytest.raises(BankNotFoundError):
        keep(other, record("late"))
    other.close()


def test_a_reader_sees_one_state_while_another_writes(path: Path, graph: SqliteGraph) -> None:
    count = "SELECT count(*) FROM memories"
    with graph._connections.read() as cursor:
        before = cursor.execute(count).fetchone()
        writer = threading.Thread(target=keep, args=(graph, record("new")))
        writer.start()
        writer.join(timeout=20)
        assert not writer.is_alive()
        assert cursor.execute(count).fetchone() == before == (3,)
    with graph._connections.read() as cursor:
        assert cursor.execute(count).fetchone() == (4,)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_after_many_reads_at_once_few_connections_stay_open(path: Path, graph: SqliteGraph) -> None:
    def opened() -> int:
        """Count by the logs: SQLite keeps the main file of a closed connection for the next."""
        links = (os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists())
        return sum(link == f"{path}-wal" for link in links)

    together = threading.Barrier(20)

    def read() -> None:
        with graph._connections.read() as cursor:
            cursor.execute("SELECT count(*) FROM memories").fetchone()
            together.wait(timeout=20)

    readers = [threading.Thread(target=read) for _ in range(20)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert list(graph.scan("b", MEMORY_ID)) == ["x", "y", "z"]
    assert opened() < 10


def test_a_file_that_stays_locked_is_reported(
    path: Path, graph: SqliteGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph.close()
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    store = SqliteGraph(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError):
            keep(store, record("new"))
    other = SqliteGraph(path)
    with other._connections.write(), pytest.raises(StoreLockedError, match="another process"):
        keep(store, record("new"))
    keep(store, record("new"))
    other.close()
    store.close()


@pytest.mark.parametrize(
    "call",
    [lambda graph: keep(graph, record("x")), lambda graph: graph.get_bank("b")],
    ids=["a write", "a read"],
)
def test_an_interrupted_call_leaves_no_transaction_open(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[[SqliteGraph], object]
) -> None:
    interrupt = interrupt_transactions(monkeypatch)
    store = SqliteGraph(path)
    store.create_bank(Bank("b"), EMBEDDER)
    interrupt()
    with pytest.raises(KeyboardInterrupt):
        call(store)
    other = SqliteGraph(path)
    keep(other, record("y"))
    keep(store, record("z"))
    assert list(store.scan("b", MEMORY_ID)) == ["y", "z"]
    other.close()
    store.close()


def test_a_read_that_outlives_the_store_ends_well(graph: SqliteGraph) -> None:
    with graph._connections.read() as cursor:
        graph.close()
        assert cursor.execute("SELECT count(*) FROM memories").fetchone() == (3,)


# Rows


REPAIRABLE = {
    "times": "DELETE FROM times WHERE unit IN (SELECT unit FROM times LIMIT 1)",
    "tags": "DELETE FROM tags",
    "metadata": "UPDATE metadata SET value = 'wrong'",
    "grams": "DELETE FROM grams WHERE gram LIKE '%n%'",
    "entities": "UPDATE entities SET mention_count = 7, first_seen = 0",
    "cooccurrence": "DELETE FROM cooccurrence WHERE entity > other",
    "lexeme_counts": "DELETE FROM lexeme_counts WHERE lexeme = 'word'",
    "lexeme_index": "INSERT INTO lexeme_index (lexeme_index) VALUES ('delete-all')",
    "outbox": "UPDATE outbox SET unit = 1 WHERE memory_id = 'x'",
}


@pytest.mark.parametrize("table", REPAIRABLE)
def test_rows_that_can_be_computed_are_found_and_put_right(
    path: Path, graph: SqliteGraph, table: str
) -> None:
    def seen() -> tuple[object, ...]:
        return (
            graph.list_memories("b", VALID, limit=9),
            graph.text_search("b", ["word", "x"], VALID, 9),
            graph.lexeme_stats("b", ["word", "x"]),
            graph.list_entities("b", limit=9),
            graph.read("b", COOCCURRENCES, ["e:ann", "e:bob"]),
            graph.similar_entities("b", ["Anna"], 9),
        )

    before = seen()
    tamper(path, REPAIRABLE[table])
    found = graph.check(repair=False)
    assert table in {fault.table for fault in found}
    assert not any(fault.repaired for fault in found)
    assert graph.check(repair=False) == found
    repaired = graph.check(repair=True)
    assert [(f.table, f.problem, f.count) for f in repaired] == [
        (f.table, f.problem, f.count) for f in found
    ]
    assert all(fault.repaired for fault in repaired)
    assert graph.check(repair=False) == []
    assert seen() == before


def test_what_belonged_to_a_lost_memory_goes(path: Path, graph: SqliteGraph) -> None:
    tamper(path, "DELETE FROM memories WHERE id = 'y'")
    found = graph.check(repair=True)
    assert all(fault.repaired for fault in found)
    tables = {fault.table for fault in found}
    assert tables >= {"sources", "times", "tags", "lexemes", "vectors", "mentions", "links"}
    assert graph.check(repair=False) == []
    assert graph.links("b", ["x"], 9, VALID) == []
    assert graph.lexeme_stats("b", ["word", "y"]).frequency == {"word": 2, "y": 0}
    assert graph.read("b", ENTITY, ["e:ann"])["e:ann"].mention_count == 2


def test_conclusions_on_a_lost_memory_are_put_right(path: Path, graph: SqliteGraph) -> None:
    def on(*ids: str) -> tuple[Source, ...]:
        return tuple(Source(memory_id=id) for id in ids)

    keep(graph, record("on-y", sources=on("y"), entities=("Eve",)))
    keep(graph, record("top", sources=on("on-y")), record("on-both", sources=on("y", "x")))
    tamper(path, "DELETE FROM memories WHERE id = 'y'")
    wrong = {
        ("sources", "evidence is none of the memories", 2),
        ("memories", "nothing supports the conclusion", 1),
        ("waiting", "unit is none of the memories", 1),
    }
    assert wrong <= {(f.table, f.problem, f.count) for f in graph.check(repair=False)}
    repaired = graph.check(repair=True)
    assert wrong <= {(f.table, f.problem, f.count) for f in repaired}
    assert all(fault.repaired for fault in repaired)
    assert graph.check(repair=False) == []
    assert list(graph.scan("b", MEMORY_ID)) == ["x", "z", "on-both"]
    (source,) = graph.read("b", MEMORY, ["on-both"])["on-both"].sources
    assert source.memory_id == "x"
    assert graph.read("b", ENTITY_NAMED, ["Eve"]) == {}
    assert graph.pending_consolidation("b", 9) == ["x", "z", "on-both"]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("contents", "no text"),
        ("vectors", "no vector"),
        ("lexemes", "no lexemes"),
        ("names", "no name"),
    ],
)
def test_rows_that_cannot_be_computed_are_reported(
    path: Path, graph: SqliteGraph, table: str, problem: str
) -> None:
    keep(graph, record("alone"))
    tamper(path, f"DELETE FROM {table} WHERE rowid IN (SELECT min(rowid) FROM {table})")
    found = graph.check(repair=True)
    lost = [fault for fault in found if fault.table == table]
    assert [(f.problem, f.count, f.repaired) for f in lost] == [(problem, 1, False)]
    there = ["y", "z", "alone"] if table == "contents" else ["x", "y", "z", "alone"]
    assert [memory.id for memory in graph.list_memories("b", VALID, limit=9).items] == there
    assert list(graph.read("b", MEMORY, ["x", "y", "z", "alone"])) == there
    assert len(graph.list_entities("b", limit=9).items) == 2


@pytest.mark.parametrize("repair", [False, True])
def test_others_write_while_all_is_checked(
    path: Path, graph: SqliteGraph, monkeypatch: pytest.MonkeyPatch, repair: bool
) -> None:
    graph.create_bank(Bank("leaving"), EMBEDDER)
    other, written = SqliteGraph(path), []

    def write_meanwhile(seconds: float) -> None:
        if len(written) == 30:
            return
        if written:
            graph.delete_bank(f"bank-{len(written)}")
        else:
            graph.delete_bank("leaving")
        written.append(f"m{len(written)}")
        keep(other, record(written[-1], "word", entities=("Ann",), tags=("t",)))
        other.create_bank(Bank(f"bank-{len(written)}"), EMBEDDER)

    monkeypatch.setattr(check, "SCAN_PAGE", 2)
    monkeypatch.setattr(check, "_TURN_SECONDS", -1)  # it pauses before each transaction
    monkeypatch.setattr(check.time, "sleep", write_meanwhile)
    assert graph.check(repair=repair) == []
    assert len(written) == 30
    assert list(graph.scan("b", MEMORY_ID)) == ["x", "y", "z", *written]
    monkeypatch.undo()
    assert graph.check(repair=False) == []
    other.close()


def test_a_bank_half_purged_has_no_faults(graph: SqliteGraph) -> None:
    graph.delete_bank("b")
    while graph.purge_deleted(7):
        assert graph.check(repair=False) == []


def test_purging_leaves_no_row_behind(path: Path, graph: SqliteGraph) -> None:
    keep(graph, staged=(StagedVector("x", record("x").vector, None, EMBEDDER),))
    keep(
        graph, mental_models=(MentalModel("z", "b", "n", "t"),), checkpoint=QueueCheckpoint("q", 1)
    )
    graph.delete_bank("b")
    graph.acknowledge(each.ticket for each in graph.pending_vectors(99))
    graph.purge_deleted()
    assert graph.purge_deleted() == 0
    graph.close()
    with closing(sqlite3.connect(path)) as raw:
        tables = raw.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' "
            "AND name NOT LIKE 'lexeme_index%' AND name NOT LIKE 'sqlite%'"
        ).fetchall()
        left = {name for (name,) in tables if raw.execute(f"SELECT 1 FROM {name}").fetchone()}
    assert left == {"store"}  # its name
