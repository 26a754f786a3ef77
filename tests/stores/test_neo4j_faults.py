"""Neo4j as the graph store, when the server refuses, dies or has no disk space left."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import neo4j.exceptions
import pytest

from hindsight_integrations.errors import (
    ConflictError,
    InvalidInputError,
    StoreError,
    StoreUnavailableError,
)
from hindsight_integrations.models import Bank
from hindsight_integrations.stores.base import ENTITY_NAMED, MEMORY, MEMORY_ID, RECORD
from hindsight_integrations.stores.neo4j import Neo4jGraph
from hindsight_integrations.stores.neo4j.connection import NEO4J_ERRORS, check_server, store_error
from hindsight_integrations.stores.testing.samples import EMBEDDER, VALID, keep, record

from .chroma_server import free_port
from .neo4j_server import Server, or_skip

pytestmark = pytest.mark.xdist_group("Neo4j with a password")

PASSWORD = "correct-horse-7"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("neo4j"), password=PASSWORD)
    with or_skip():
        server.start()
    yield server
    server.kill()


@pytest.fixture
def graph(server: Server) -> Iterator[Neo4jGraph]:
    graph = server.address.graph()
    for stored in graph.list_banks():
        graph.delete_bank(stored.bank.id)
    while graph.purge_deleted():
        continue
    graph.create_bank(Bank("b"), EMBEDDER)
    yield graph
    graph.close()


@pytest.mark.slow
@pytest.mark.parametrize("password", ["wrong-donkey-9", None])
def test_a_wrong_password_is_named_but_not_shown(
    server: Server, password: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreUnavailableError, match=r"user=.*password=") as caught:
        replace(server.address, password=password).graph()
    assert "wrong-donkey" not in str(caught.value) + repr(caught.value.__cause__) + caplog.text


@pytest.mark.slow
def test_the_right_password_is_shown_nowhere(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    graph = server.address.graph()
    graph.list_banks()
    shown = repr(graph) + repr(vars(graph)) + caplog.text
    assert server.address.uri in repr(graph)
    assert PASSWORD not in shown
    graph.close()


@pytest.mark.slow
@pytest.mark.parametrize("address", ["bolt://127.0.0.1:{port}", "neo4j://nowhere.invalid"])
def test_an_address_with_no_server_is_named(address: str) -> None:
    uri = address.format(port=free_port())
    with pytest.raises(StoreUnavailableError, match=rf"{uri}.*check that the server runs"):
        Neo4jGraph(uri)


@pytest.mark.slow
def test_a_killed_server_loses_nothing_it_acknowledged(server: Server, graph: Neo4jGraph) -> None:
    acknowledged: list[str] = []
    failed: list[str] = []
    under_way = Event()

    def write() -> None:
        for n in range(100_000):
            try:
                keep(graph, record(f"m{n}", f"word {n}", entities=("Ann",)))
            except StoreError:
                failed.append(f"m{n}")
                return
            acknowledged.append(f"m{n}")
            if n == 30:
                under_way.set()

    writer = Thread(target=write)
    writer.start()
    assert under_way.wait(120)
    server.kill()
    writer.join()
    with pytest.raises(StoreUnavailableError, match="check that the server runs"):
        graph.list_banks()
    server.start()

    assert list(graph.read("b", RECORD, acknowledged)) == acknowledged
    assert graph.check(repair=False) == []
    (last,) = failed
    try:  # whether it was stored or not, it can be sent again and is there once
        keep(graph, record(last, f"word {last}", entities=("Ann",)))
    except ConflictError:
        assert last in graph.read("b", MEMORY, [last])
    assert list(graph.scan("b", MEMORY_ID)) == [*acknowledged, last]
    assert graph.read("b", ENTITY_NAMED, ["Ann"])["ann"].mention_count == len(acknowledged) + 1
    assert {hit.memory_id for hit in graph.text_search("b", ["word"], VALID, 9999)} == {
        *acknowledged,
        last,
    }


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, which only root may mount."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(disk)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("needs a machine that lets a small disk be mounted")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_named_and_what_was_stored_stays(small_disk: Path) -> None:
    server = Server(small_disk)
    with or_skip():
        server.start()
    try:
        graph = server.address.graph()
        graph.create_bank(Bank("b"), EMBEDDER)
        keep(graph, record("first"))
        (small_disk / "filler").write_bytes(bytes(_free(small_disk)))
        with pytest.raises(StoreUnavailableError, match="free some space if its disk is full"):
            _fill(graph)
        graph.close()
        server.kill()
        (small_disk / "filler").unlink()
        server.start()
        graph = server.address.graph()
        assert list(graph.read("b", MEMORY, ["first"])) == ["first"]
        assert graph.check(repair=False) == []
        keep(graph, record("second"))
        graph.close()
    finally:
        server.kill()


def _fill(graph: Neo4jGraph) -> None:
    for n in range(200):
        keep(graph, *(record(f"m{n}-{k}", "many words " * 999) for k in range(20)))


def _free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


# Without a server


@pytest.mark.parametrize(
    ("uri", "wrong"),
    [
        ("neo4j://me:secret@host", "NEO4J_PASSWORD instead, .*user=... and password="),
        ("http://host:7474", "not the URL of a Neo4j server"),
        ("host:7687", "not the URL of a Neo4j server"),
        ("bolt://", "not the URL of a Neo4j server"),
        ("bolt://host:port", "not the URL of a Neo4j server"),
    ],
)
def test_a_wrong_address_is_refused(uri: str, wrong: str) -> None:
    with pytest.raises(InvalidInputError, match=wrong) as caught:
        Neo4jGraph(uri)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("agent", ["Neo4j/4.4.0", "Neo4j/5.25.1", "Neo4j/dev", "Other/9.9"])
def test_a_server_that_is_too_old_is_refused(agent: str) -> None:
    with pytest.raises(StoreUnavailableError, match=f"{agent}.*5\\.26.*upgrade"):
        check_server(agent)


@pytest.mark.parametrize("agent", ["Neo4j/5.26.0", "Neo4j/2025.01.0"])
def test_a_recent_server_is_taken(agent: str) -> None:
    check_server(agent)


def test_every_error_of_the_driver_has_a_meaning() -> None:
    theirs = {
        name
        for name, each in vars(neo4j.exceptions).items()
        if isinstance(each, type) and issubclass(each, neo4j.exceptions.GqlError)
    }
    # Driver 5 lacks some of those of driver 6.
    assert set(NEO4J_ERRORS) >= theirs
    assert len(theirs) > 25
    if neo4j.__version__.startswith("6."):
        assert set(NEO4J_ERRORS) == theirs


def test_errors_say_where_and_what_to_do() -> None:
    error = store_error(neo4j.exceptions.ServiceUnavailable("it\n is away"), "bolt://h (neo4j)")
    assert type(error) is StoreUnavailableError
    assert str(error) == (
        "Neo4j at bolt://h (neo4j): it is away; check that the server runs, that its address is "
        "right, and that nothing blocks it"
    )
    assert type(store_error(neo4j.exceptions.ResultError(None, "x"), "h")) is StoreError
