"""Round trips to the servers, counted by a proxy that delays them: few, whatever is retained."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import accumulate

import pytest

from benchmarks.speed.corpus import questions, sessions
from benchmarks.speed.latency import PATIENT, Proxy, Trip, in_sequence, measured, proxied
from hindsight_integrations import Hindsight

from .stores.chroma_server import served
from .stores.neo4j_server import Address, empty_neo4j, neo4j_address

__all__ = ["empty_neo4j", "neo4j_address"]

LATENCY = 0.1
"""Seconds: longer than what else happens between two trips that are made at once."""


@pytest.fixture
def chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server")) as url:
        yield url


def test_trips_count_as_one_where_they_overlap() -> None:
    assert in_sequence([]) == 0
    trips = [Trip(0, 2), Trip(1, 3), Trip(2, 4), Trip(2.5, 3.5), Trip(4, 5)]
    assert in_sequence(trips) == 3


@pytest.mark.slow
def test_a_recall_and_a_retain_take_few_round_trips_however_much_is_told(
    empty_neo4j: Address, chroma: str
) -> None:
    with proxied(empty_neo4j.uri, chroma) as proxies:
        urls = (f"bolt://{proxies[0].address}", f"http://{proxies[1].address}")
        with Hindsight(graph=urls[0], vectors=urls[1], settings=PATIENT) as memory:
            _count(memory, *proxies)
            asyncio.run(_ask_many(memory, *proxies))


def _count(memory: Hindsight, to_graph: Proxy, to_vectors: Proxy) -> None:
    *told, last = sessions(160)
    for session in told:
        memory.retain_messages("b", session.messages, session=session.id)
    to_graph.seconds = to_vectors.seconds = LATENCY
    asked = questions(4)
    # "low" takes this bank for a big one; of a small one the vectors are read with the rest.
    for budget in ("mid", "low"):
        calls = [partial(memory.recall, "b", question, budget=budget) for question in asked]
        measured(calls, to_graph, to_vectors)
        again = measured(calls, to_graph, to_vectors)
        assert 0 < again.graph <= (2 if budget == "mid" else 3)
        assert again.vectors == (0 if budget == "mid" else 1)
    sentence = measured(
        [partial(memory.retain, "b", "Ines met Bruno at the harbour.")], to_graph, to_vectors
    )
    long = measured(
        [partial(memory.retain_messages, "b", last.messages, session=last.id)],
        to_graph,
        to_vectors,
    )
    assert 0 < sentence.graph <= 15
    assert 0 < long.graph <= 17
    assert sentence.vectors == long.vectors == 3  # the third looks whether a small bank has moved


MANY = 48


async def _ask_many(memory: Hindsight, to_graph: Proxy, to_vectors: Proxy) -> None:
    """Many wait at once, none loses an arm, threads of others are free, cancelling ends them."""
    to_graph.clear()
    asked = questions(MANY)
    recalls = [asyncio.create_task(memory.arecall("b", question)) for question in asked]
    await asyncio.to_thread(time.sleep, 0)
    assert not any(recall.done() for recall in recalls)
    answers = await asyncio.gather(*recalls)
    assert [answer.failures for answer in answers] == [()] * MANY
    assert at_once(to_graph.trips) > 16
    waiting = [asyncio.create_task(memory.arecall("b", question)) for question in asked]
    await asyncio.sleep(LATENCY)
    for recall in waiting:
        recall.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert all(recall.cancelled() for recall in waiting)
    assert (await memory.arecall("b", asked[0])).failures == ()
    driver = memory.runtime.graph._database._driver  # type: ignore[attr-defined]
    while any(c.in_use for pool in driver._pool.connections.values() for c in pool):
        await asyncio.sleep(LATENCY)  # ends when the threads that had begun have ended
    assert memory.health()


def at_once(trips: Iterable[Trip]) -> int:
    """Return the most trips that were under way at one time."""
    changes = sorted([(t.start, 1) for t in trips] + [(t.end, -1) for t in trips])
    return max(accumulate(step for _, step in changes))
