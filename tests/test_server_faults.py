"""A memory on two servers, when they are killed and when several processes write at once."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import Semaphore, Thread

import pytest

from hindsight_integrations import Arm, Hindsight, Settings, StoreUnavailableError
from hindsight_integrations.durable import Backoff, DurableRetain
from hindsight_integrations.models import Memory
from hindsight_integrations.stores import sync
from hindsight_integrations.stores.base import ChangeSet
from hindsight_integrations.stores.chroma.index import ChromaVectors
from hindsight_integrations.stores.sqlite import SqliteGraph

from .processes import starting
from .stores.chroma_server import free_port, serve
from .stores.neo4j_server import Address, Server, empty_neo4j, neo4j_address, or_skip
from .test_outbox import WAITING, store
from .waiting import until

__all__ = ["empty_neo4j", "neo4j_address"]

PASSWORD = "correct-horse-7"
RETAINS = 200
PAGE = 200
"""Vectors queued in one transaction, where a test says so."""

SOON = Backoff(0.05, 0.5)


class Chroma:
    """A Chroma server in `folder`, on a port of its own that it keeps when it is started again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.port = free_port()
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._process: subprocess.Popen[bytes] = serve(self.folder, self.port)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._process.kill()
        self._process.wait()


@pytest.fixture
def chroma(tmp_path: Path) -> Iterator[Chroma]:
    server = Chroma(tmp_path / "chroma")
    yield server
    server.kill()


@pytest.fixture
def neo4j(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "neo4j", password=PASSWORD)
    with or_skip():
        server.start()
    yield server
    server.kill()


RESTING = Settings(consolidate=False)
PATIENT = replace(RESTING, arm_timeout=60, recall_timeout=120)
"""For a server that starts beside tests that take all of the machine."""


def opened(address: Address, url: str, settings: Settings = RESTING) -> Hindsight:
    """A memory that stores what it is told, and nothing by itself."""
    with ExitStack() as stack:  # closed unless the memory takes them over
        graph = address.graph()
        stack.callback(graph.close)
        vectors = ChromaVectors.at_server(url, namespace=f"memory-{graph.identity()}")
        stack.callback(vectors.close)
        memory = Hindsight(graph=graph, vectors=vectors, settings=settings)
        stack.pop_all()
        return memory


def everything(memory: Hindsight) -> list[Memory]:
    """All memories, in the order they were stored."""
    page = memory.memories.list("b", limit=1000)
    assert page.next_cursor is None
    return list(page.items)


class Stream:
    """Retains that a thread makes one after the other, as many as it is let."""

    def __init__(self, durable: DurableRetain) -> None:
        self.acknowledged: list[bool] = []
        """True for each retain that was stored at once, False for one that was queued."""
        self._durable = durable
        self._let = Semaphore(0)
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def go_on(self, *, by: int, until: int) -> None:
        """Let `by` more begin; returns when `until` in all are acknowledged."""
        self._let.release(by)
        while len(self.acknowledged) < until:
            assert self._thread.is_alive() or len(self.acknowledged) == RETAINS
            time.sleep(0.01)

    def ended(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        for n in range(RETAINS):
            self._let.acquire()
            receipt = self._durable.retain(
                "b", f"Kestrel{n} met Osprey{n} at pier {n}.", entities=["Ruth Castellane"]
            )
            self.acknowledged.append(not receipt.queued)


@pytest.mark.slow
def test_kills_of_both_servers_in_a_stream_of_retains_lose_nothing_and_double_nothing(
    neo4j: Server, chroma: Chroma, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def opening() -> Hindsight:
        return opened(neo4j.address, chroma.url, PATIENT)

    asked = "Who met Osprey7?"
    with DurableRetain(opening, tmp_path / "q", backoff=SOON) as durable:
        assert durable.memory.health()  # open before the first kill, however slow the machine
        stream = Stream(durable)
        stream.go_on(by=50, until=30)
        neo4j.kill()  # while 20 more are let
        stream.go_on(by=80, until=130)
        assert not all(stream.acknowledged)
        assert not durable.health()
        with pytest.raises(StoreUnavailableError, match="check that the server runs") as down:
            durable.memory.recall("b", asked)
        assert neo4j.address.uri in str(down.value)

        neo4j.start()
        stream.go_on(by=30, until=160)  # behind those that wait
        assert durable.drain(300)
        stream.go_on(by=15, until=165)
        chroma.kill()
        stream.go_on(by=15, until=190)
        assert "Kestrel7 met Osprey7" in durable.memory.recall("b", asked).text
        found = durable.memory.recall("b", asked, arms=[Arm.SEMANTIC, Arm.KEYWORD])
        assert [failure.part for failure in found.failures] == [f"arm {Arm.SEMANTIC}"]
        assert chroma.url in str(found.failures[0])
        assert "Kestrel7 met Osprey7" in found.text
        assert not durable.health()

        chroma.start()
        stream.go_on(by=10, until=RETAINS)
        stream.ended()
        assert durable.drain(300)
        assert durable.set_aside() == []
        assert durable.health()
        memory = durable.memory
        stored = everything(memory)
        assert [int(m.text.split()[-1][:-1]) for m in stored] == list(range(RETAINS))
        assert {m.proof_count for m in stored} == {1}
        (ruth,) = (e for e in memory.entities.list("b").items if "Ruth" in e.name)
        assert ruth.mention_count == RETAINS
        assert memory.maintenance.doctor().findings == ()
        last = f"Who met Osprey{RETAINS - 1}?"
        assert memory.recall("b", last, arms=["semantic"])[0].memory.id == stored[-1].id
    assert PASSWORD not in caplog.text + repr(memory) + str(down.value)


@pytest.mark.slow
def test_several_that_open_a_new_database_at_once_set_it_up_once(empty_neo4j: Address) -> None:
    def schema() -> list[object]:
        return [
            *empty_neo4j.run("SHOW INDEXES YIELD name, state RETURN name, state ORDER BY name"),
            *empty_neo4j.run("MATCH (s:HindsightStore) RETURN s.key, s.version"),
        ]

    def open_and_close(_: int) -> str:
        graph = empty_neo4j.graph()
        name = graph.identity()
        graph.close()
        return name

    def clear() -> None:
        for (name,) in empty_neo4j.run("SHOW CONSTRAINTS YIELD name RETURN name"):
            empty_neo4j.run(f"DROP CONSTRAINT {name}")
        for (name,) in empty_neo4j.run(
            "SHOW INDEXES YIELD name WHERE name STARTS WITH 'hindsight' RETURN name"
        ):
            empty_neo4j.run(f"DROP INDEX {name}")
        empty_neo4j.run("MATCH (s:HindsightStore) DELETE s")

    clear()  # of what other tests set up there besides
    open_and_close(0)
    whole = schema()
    clear()
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(open_and_close, range(4)))) == 1
    assert schema() == whole


@pytest.mark.slow
def test_a_server_killed_while_vectors_are_written_gets_the_rest_when_it_is_back(
    chroma: Chroma, tmp_path: Path
) -> None:
    settings = Settings(consolidate=False, purge_interval=0)
    with Hindsight(tmp_path / "memory", vectors=chroma.url, settings=settings) as memory:
        runtime = memory.runtime
        key = store(runtime.graph, memory, "others", 4 * WAITING)
        runtime.flush(key)
        chroma.kill()
        assert runtime.graph.pending_vectors(1)
        with pytest.raises(StoreUnavailableError, match="check that"):
            runtime.catch_up()
        assert not memory.health()
        chroma.start()
        until(memory.health, 180)  # the background goes on, with no further call
        assert len(runtime.index.ids(key)) == 4 * WAITING
        assert not runtime.graph.pending_vectors(1)


@pytest.mark.slow
def test_a_server_that_lost_its_disk_is_filled_in_pages_in_the_background(
    chroma: Chroma,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(sync, "REQUEUED_AT_ONCE", PAGE)
    settings = Settings(consolidate=False, purge_interval=0)
    with Hindsight(tmp_path / "memory", vectors=chroma.url, settings=settings) as memory:
        keys = [store(memory.runtime.graph, memory, bank, 2 * PAGE) for bank in ("one", "two")]
        memory.runtime.catch_up()
    chroma.kill()
    shutil.rmtree(chroma.folder)
    chroma.folder.mkdir()
    chroma.start()
    asked: list[int] = []
    applied = SqliteGraph.apply

    def apply(graph: SqliteGraph, changes: ChangeSet) -> object:
        asked.append(len(changes.requeue or ()))
        return applied(graph, changes)

    monkeypatch.setattr(SqliteGraph, "apply", apply)
    with (
        caplog.at_level("INFO", "hindsight_integrations"),
        Hindsight(tmp_path / "memory", vectors=chroma.url, settings=settings) as memory,
    ):
        assert asked[0] == PAGE  # a page in the opening
        assert not memory.health()
        until(memory.health, 180)
        until(lambda: not memory.runtime.behind)
        assert [len(memory.runtime.index.ids(key)) for key in keys] == [2 * PAGE] * 2
    assert sorted(asked) == [PAGE] * 4  # nothing is queued twice
    assert f"{2 * PAGE} vectors of bank 'two' are queued for the vector index" in caplog.text


SHARE = 20
"""Retains of each of two processes."""


def _retain(address: Address, url: str, together: Barrier, who: str) -> None:
    """Run by a process: name what the other names too, and take turns in one conversation."""
    with opened(address, url) as memory:
        together.wait(120)
        for n in range(SHARE):
            memory.retain("b", f"{who} met Osprey{n} at pier {n}.", entities=["Ruth Castellane"])
            message = {"speaker": who, "text": f"Heron{n} has left.", "id": f"{who}-{n}"}
            memory.retain_messages("b", [message], session="chat")


@pytest.mark.slow
def test_two_processes_that_retain_at_once_lose_no_update_and_double_no_entity(
    empty_neo4j: Address, chroma: Chroma
) -> None:
    context = starting()
    together = context.Barrier(2)
    names = ("Kestrel", "Puffin")
    processes = [
        context.Process(target=_retain, args=(empty_neo4j, chroma.url, together, who))
        for who in names
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with opened(empty_neo4j, chroma.url) as memory:
        said = Counter(m.text for m in everything(memory))
        assert said == Counter(
            [f"{who} met Osprey{n} at pier {n}." for who in names for n in range(SHARE)]
            + [f"Heron{n} has left." for _ in names for n in range(SHARE)]
        )
        entities = memory.entities.list("b", limit=1000).items
        mentions = {entity.name: entity.mention_count for entity in entities}
        assert len(mentions) == len(entities)
        assert mentions["Ruth Castellane"] == 2 * SHARE
        assert {mentions[f"Osprey{n}"] for n in range(SHARE)} == {2}
        assert memory.maintenance.doctor().findings == ()
