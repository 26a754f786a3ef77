"""Servers that do not answer, answer late, or break off: calls end in time, and health tells."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.speed.latency import Proxy, proxied
from hindsight_integrations import Arm, ChromaVectors, Hindsight, Settings, StoreUnavailableError
from hindsight_integrations.namespaces import maintenance
from hindsight_integrations.stores import deadline

from .stores.chroma_server import served
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address
from .waiting import until

__all__ = ["empty_neo4j", "neo4j_address"]

ASKED = "Who sings?"
OF_THE_INDEX = [Arm.SEMANTIC, Arm.KEYWORD]  # else the vectors of a small bank are not asked of it
BUSY = 3.0
"""Seconds that a busy machine may add."""


@contextmanager
def taking(most: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < most


def health(memory: Hindsight) -> dict[str, bool]:
    with taking(maintenance.HEALTH_SECONDS + BUSY):
        return {part.part: part.ok for part in memory.health().parts}


def opened(to_graph: Proxy, to_vectors: Proxy, recall_timeout: float) -> Hindsight:
    return Hindsight(
        graph=f"bolt://{to_graph.address}",
        vectors=f"http://{to_vectors.address}",
        settings=Settings(
            consolidate=False,
            purge_interval=0,
            arm_timeout=recall_timeout,
            recall_timeout=recall_timeout,
        ),
    )


def seconds_here(to_graph: Proxy, to_vectors: Proxy) -> float:
    """Return the deadline to test with: the default one, or more on a very busy machine."""
    with opened(to_graph, to_vectors, 300) as memory:
        memory.retain("b", "Alice sings in Bergen.")
        for _ in range(2):  # the servers plan each query once
            started = time.monotonic()
            assert memory.recall("b", ASKED).failures == ()
        return max(Settings().recall_timeout, 15 * (time.monotonic() - started))


@pytest.mark.slow
def test_silent_and_slow_servers_cost_no_call_more_than_its_deadline(
    empty_neo4j: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        served(tmp_path / "chroma") as url,
        proxied(empty_neo4j.uri, url) as (to_graph, to_vectors),
    ):
        seconds = seconds_here(to_graph, to_vectors)
        monkeypatch.setattr(maintenance, "HEALTH_SECONDS", seconds / 2)
        with opened(to_graph, to_vectors, seconds) as memory:
            _far_away(memory, to_graph, to_vectors)
            _many_at_once(memory, to_graph, to_vectors)
            _half_an_answer(memory, to_graph, to_vectors)
            _no_vectors(memory, to_vectors, seconds)
            _no_graph(memory, to_graph, seconds)


def _far_away(memory: Hindsight, to_graph: Proxy, to_vectors: Proxy) -> None:
    """200 ms each way."""
    to_graph.seconds = to_vectors.seconds = 0.4
    assert memory.recall("b", ASKED).failures == ()
    assert health(memory)["graph"]


def _many_at_once(memory: Hindsight, to_graph: Proxy, to_vectors: Proxy) -> None:
    """64 threads share the connections and the threads of the arms."""
    to_graph.seconds = to_vectors.seconds = 0.02
    with ThreadPoolExecutor(64) as pool:
        found = list(pool.map(lambda _: memory.recall("b", ASKED), range(128)))
    assert {each.failures for each in found} == {()}
    assert all("sings" in each.text for each in found)
    to_graph.seconds = to_vectors.seconds = 0.0


def _half_an_answer(memory: Hindsight, to_graph: Proxy, to_vectors: Proxy) -> None:
    to_graph.cut = True
    assert memory.recall("b", ASKED).failures == ()  # it is asked again
    assert not to_graph.cut
    to_vectors.cut = True
    found = memory.recall("b", ASKED, arms=OF_THE_INDEX)
    assert [each.part for each in found.failures] == ["arm semantic"]
    assert not to_vectors.cut
    assert memory.recall("b", ASKED).failures == ()


def _no_vectors(memory: Hindsight, to_vectors: Proxy, seconds: float) -> None:
    to_vectors.silent = True
    small = memory.recall("b", ASKED)  # the vectors of so small a bank are read from the graph
    assert small.failures == ()
    assert "sings" in small.text
    with taking(seconds):
        found = memory.recall("b", ASKED, arms=OF_THE_INDEX)
    assert [each.part for each in found.failures] == ["arm semantic"]
    assert "sings" in found.text
    started = time.monotonic()
    with taking(seconds), ThreadPoolExecutor(12) as pool:
        many = list(pool.map(lambda _: memory.recall("b", ASKED, arms=OF_THE_INDEX), range(12)))
    asking = 1 + (time.monotonic() - started) // deadline.LEAST_SECONDS  # more if it takes longer
    assert all("sings" in each.text for each in many)
    assert sum("is retried in" in str(each.failures) for each in many) >= 12 - asking
    with taking(seconds + BUSY), pytest.raises(StoreUnavailableError, match="did not answer"):
        memory.retain("b", "Bo paints in Oslo.")
    forgotten = found[0].memory.id
    with taking(seconds + BUSY):
        memory.forget("b", forgotten)
    seen = health(memory)
    assert (seen["graph"], seen["vectors"], seen["in step"]) == (True, False, False)
    to_vectors.silent = False
    until(memory.health)  # what waited is written with no further call
    runtime = memory.runtime
    assert forgotten not in runtime.index.ids(runtime.bank("b").key)


def _no_graph(memory: Hindsight, to_graph: Proxy, seconds: float) -> None:
    to_graph.silent = True
    with taking(seconds), pytest.raises(StoreUnavailableError, match="not answer"):
        memory.recall("b", ASKED)
    with taking(BUSY), pytest.raises(StoreUnavailableError, match="is retried in"):
        memory.recall("b", ASKED)
    seen = health(memory)
    assert (seen["graph"], seen["vectors"], seen["in step"]) == (False, True, False)
    driver = memory.runtime.graph._database._driver  # type: ignore[attr-defined]
    until(lambda: not any(c.in_use for pool in driver._pool.connections.values() for c in pool))
    to_graph.silent = False
    assert health(memory)["graph"]
    assert memory.recall("b", ASKED).failures == ()


def never() -> None:
    """Probe a server that leaves this question unanswered too."""
    raise StoreUnavailableError("no answer")


def test_a_silent_server_is_not_asked_until_it_answers() -> None:
    server = deadline.ServerAvailability("the server", never)
    server.silent(deadline.LEAST_SECONDS / 2)
    server.check()
    with deadline.limited(8), deadline.limited(6, each=1):
        assert deadline.seconds_left() == 1
    with deadline.limited(8), deadline.limited(6):
        assert 2 < deadline.seconds_left() <= 3
    server.silent(deadline.SILENT_SECONDS)
    with pytest.raises(StoreUnavailableError, match=r"the server did not answer .* retried in 4 s"):
        server.check()
    with deadline.limited(asking=True):
        server.check()
    server.answered()
    server.check()
    server.silent(deadline.SILENT_SECONDS)  # to one caller, while it answered another
    server.check()


def test_what_is_left_of_one_deadline_condemns_no_server_but_some_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now)
    server = deadline.ServerAvailability("the server", never)
    server.silent(1.5)  # since 98.5
    server.check()
    now = 101.4
    server.silent(1.5)
    server.check()
    now = 101.5
    server.silent(1.5)
    with pytest.raises(StoreUnavailableError, match="is retried"):
        server.check()
    server.answered()
    now = 110.0
    server.silent(2.9)
    server.check()


def test_a_server_that_was_slow_with_one_request_is_asked_on() -> None:
    asked = threading.Event()

    def answer() -> None:
        server.check()  # it may be asked while it is taken for silent
        assert deadline.seconds_left() == deadline.PROBE_SECONDS  # whatever the caller has left
        asked.set()
        server.answered()

    server = deadline.ServerAvailability("the server", answer)
    with deadline.limited(0.1):
        server.silent(deadline.SILENT_SECONDS)
    server.check()
    assert asked.is_set()


def test_after_each_pause_a_silent_server_is_asked_beside_the_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deadline, "PAUSE_SECONDS", 0.0)
    unanswered = threading.Event()

    def answer_the_second() -> None:
        if not unanswered.is_set():
            unanswered.set()
            raise StoreUnavailableError("no answer")
        server.answered()

    server = deadline.ServerAvailability("the server", answer_the_second)
    server.silent(deadline.SILENT_SECONDS)
    unanswered.wait(60)
    until(lambda: not server._probing)
    with deadline.limited(0.2):  # what the caller has left is not what the question has
        server.check()


def test_a_slow_statement_of_neo4j_is_no_silence(empty_neo4j: Address) -> None:
    with Hindsight(graph=empty_neo4j.graph(), vectors=ChromaVectors.in_memory()) as memory:
        memory.retain("b", "Alice sings in Bergen.")
        database = memory.runtime.graph._database  # type: ignore[attr-defined]
        slow = "UNWIND range(1, 1000000000) AS n RETURN count(n % 7)"
        with (
            deadline.limited(each=deadline.SILENT_SECONDS + 0.5),
            pytest.raises(StoreUnavailableError, match=r"did not answer within 3\.5 s"),
        ):
            database.query(slow, {})
        assert memory.recall("b", ASKED).failures == ()
