"""A graph has one vector index: another is refused while it is used, and may follow it later."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations import ChromaVectors, Hindsight, Neo4jVectors, Settings
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.stores import index_lease

from .processes import starting
from .stores.chroma_server import served
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address
from .test_server_faults import Chroma
from .waiting import until

__all__ = ["empty_neo4j", "neo4j_address"]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("servers")]

BEES, RADIOS, FERRY = (
    "Alice keeps bees in Porto.",
    "Bruno repairs radios.",
    "The ferry leaves at nine.",
)
RESTING = Settings(consolidate=False, purge_interval=0)
EVEN = np.ones((1, 4), dtype=np.float32) / 2
SHORT = 3.0
"""Seconds after which a test takes a process for ended."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with (
        served(tmp_path_factory.mktemp("one")) as one,
        served(tmp_path_factory.mktemp("other")) as other,
    ):
        yield one, other


class Opening:
    """Memories on one graph, in Neo4j or in a file; all that a test left open is closed."""

    def __init__(self, folder: Path, address: Address | None) -> None:
        self.folder = folder
        self.address = address
        self._stack = ExitStack()

    def __call__(self, vectors: str | None = None) -> Hindsight:
        """Open one, its vectors in the folder by default."""
        if self.address is None:
            return Hindsight(self.folder, vectors=vectors, settings=RESTING)
        graph = self.address.graph()
        self._stack.callback(graph.close)
        return Hindsight(self.folder, graph=graph, vectors=vectors, settings=RESTING)

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(params=["sqlite", "neo4j"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opening]:
    address = request.getfixturevalue("empty_neo4j") if request.param == "neo4j" else None
    opening = Opening(tmp_path / "memories", address)
    yield opening
    opening.close()


def by_meaning(memory: Hindsight) -> set[str]:
    found = memory.recall("b", "bees, radios and a ferry", arms=["semantic"], fill=True)
    return {item.memory.text for item in found}


def test_a_second_index_is_refused_while_the_first_is_used(
    opening: Opening, servers: tuple[str, str]
) -> None:
    one, other = servers
    with opening(one) as memory:
        memory.retain("b", BEES)
        for vectors, where in ((other, other), (None, str(opening.folder / "chroma"))):
            with pytest.raises(InvalidInputError, match="Give the same vectors=") as refused:
                opening(vectors)
            assert f"in the index at {one} on " in str(refused.value)
            assert f"given the one at {where} on " in str(refused.value)
            assert " object at " not in str(refused.value)
        with opening(one.replace("127.0.0.1", "localhost")) as same:  # by another name
            same.retain("b", RADIOS)
        assert by_meaning(memory) == {BEES, RADIOS}
        assert memory.health()


def test_an_unused_index_gives_way_to_another_which_is_filled(
    opening: Opening, servers: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    one, other = servers
    with opening(one) as memory:
        bees, radios = memory.retain_many("b", [BEES, RADIOS]).stored
    with opening(other) as memory:
        until(memory.health)
        assert by_meaning(memory) == {BEES, RADIOS}
        memory.memories.update("b", radios.id, text=FERRY)
        memory.forget("b", bees.id)
    caplog.clear()
    with opening() as memory:
        assert by_meaning(memory) == {FERRY}
    (told,) = [line for line in caplog.messages if "now uses the vector index" in line]
    assert f" instead of the one at {other}" in told
    assert told.endswith("to go back, open it with that one's vectors=")
    with opening(one) as memory:  # which missed all that
        until(memory.health)
        assert by_meaning(memory) == {FERRY}
        assert memory.maintenance.doctor().findings == ()


def _killed(folder: Path, address: Address | None, vectors: str) -> None:
    """Run by a process: it ends with the memory open."""
    index_lease.LEASE_SECONDS = SHORT
    memory = Opening(folder, address)(vectors)
    memory.retain("b", BEES)
    os._exit(0)


def test_a_killed_process_counts_until_its_sign_of_life_is_old(
    opening: Opening, servers: tuple[str, str]
) -> None:
    one, other = servers
    process = starting().Process(target=_killed, args=(opening.folder, opening.address, one))
    process.start()
    process.join()

    def opens() -> bool:
        try:
            opening(other).close()
        except InvalidInputError:
            return False
        return True

    until(opens)
    with opening(other) as memory:
        until(memory.health)
        assert by_meaning(memory) == {BEES}


def test_a_process_that_works_on_renews_its_lease(
    opening: Opening, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lease, "LEASE_SECONDS", SHORT)
    one, other = servers
    with opening(one) as memory:
        records: set[str] = set()

        def further() -> bool:
            memory.graph_store.note_index(lambda note, _: records.add(note) or note)  # type: ignore[func-returns-value]
            return len(records) > 4

        until(further)  # for longer than one lasts
        with pytest.raises(InvalidInputError, match="which a process uses now"):
            opening(other)


def test_health_names_an_index_that_took_the_place_of_the_one_in_use(
    opening: Opening, servers: tuple[str, str]
) -> None:
    one, other = servers

    def forget_leases(note: str, _: float) -> str:
        return json.dumps({**json.loads(note), "users": {}})

    with opening(one) as late:
        late.retain("b", BEES)
        late.graph_store.note_index(forget_leases)  # as if it had slept for long
        with opening(other) as memory:
            late.runtime.renew_index_lease()
            (step,) = (part for part in late.health().parts if part.part == "in step")
            assert not step.ok
            assert f"in the index at {other} on " in step.detail
            late.retain("b", RADIOS)
            late.runtime.renew_index_lease()
        with opening(other) as memory:
            until(memory.health)
            assert by_meaning(memory) == {BEES, RADIOS}


def test_a_process_fills_a_server_that_loses_its_disk_meanwhile(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_lease, "LEASE_SECONDS", SHORT)
    chroma = Chroma(tmp_path / "chroma")
    try:
        with opening(chroma.url) as memory:
            memory.retain("b", BEES)
            chroma.kill()
            shutil.rmtree(chroma.folder)
            chroma.folder.mkdir()
            chroma.start()
            until(lambda: by_meaning(memory) == {BEES})
            with opening(chroma.url) as other:  # the same place, and the same index
                assert by_meaning(other) == {BEES}
            until(memory.health)
    finally:
        chroma.kill()


def test_the_index_of_another_graph_is_refused(empty_neo4j: Address, tmp_path: Path) -> None:
    with Hindsight(tmp_path / "m", settings=RESTING) as memory:
        memory.retain("b", BEES)
    elsewhere = Opening(tmp_path / "other", empty_neo4j)
    with elsewhere() as memory:
        memory.retain("b", RADIOS)
    elsewhere.folder = tmp_path / "m"
    with pytest.raises(InvalidInputError, match="already belongs to another graph"):
        elsewhere()
    elsewhere.close()
    with Hindsight(tmp_path / "m", settings=RESTING) as memory:
        assert by_meaning(memory) == {BEES}


def test_an_index_has_an_id_of_its_own_and_one_graph(
    servers: tuple[str, str], empty_neo4j: Address, tmp_path: Path
) -> None:
    indexes: list[ChromaVectors | Neo4jVectors] = [
        ChromaVectors.at_server(servers[0]),
        ChromaVectors.in_folder(tmp_path / "chroma"),
        Neo4jVectors(
            empty_neo4j.uri,
            user=empty_neo4j.user,
            password=empty_neo4j.password,
            database=empty_neo4j.database,
        ),
    ]
    ids = set()
    for index in indexes:
        first = index.identity("graph")
        assert first is not None
        assert index.identity("graph") == first
        assert index.keys() == set()
        second = index.identity("another")  # it is empty
        assert second is not None
        ids |= {first.id, second.id}
        index.upsert("key", ["a"], EVEN)
        with pytest.raises(InvalidInputError, match="another graph"):
            index.identity("graph")
        index.drop("key")
        index.close()
    assert len(ids) == 2 * len(indexes)
    assert ChromaVectors.in_memory().identity("graph") is None
