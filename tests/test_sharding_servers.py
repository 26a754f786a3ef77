"""Banks spread over three pairs of servers, moved while two other processes go on writing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from hindsight_integrations import ChromaVectors, ConflictError, Hindsight, Settings
from hindsight_integrations.sharding import Shards

from .embedders import Letters
from .priority import yield_to_other_tests
from .processes import starting
from .stores.chroma_server import served
from .stores.neo4j_server import Address, Server, or_skip

PAIRS = ("north", "east", "south")
BANKS = [f"user-{n}" for n in (1, 2, 3, 4, 7)]
"""Two of them move when `south` comes, two others when `north` leaves, and one never."""

WRITERS = ("Ruth", "Tomas")

Servers = Mapping[str, tuple[Address, str]]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with ExitStack() as running:
        graphs = [Server(tmp_path / f"{name}-graph") for name in PAIRS]
        for graph in graphs:
            running.callback(graph.kill)
        with or_skip(), ThreadPoolExecutor() as starting:
            list(starting.map(Server.start, graphs))
        yield {
            name: (graph.address, running.enter_context(served(tmp_path / f"{name}-vectors")))
            for name, graph in zip(PAIRS, graphs, strict=True)
        }


def opened(servers: Servers, *names: str, leaving: str = "") -> Shards:
    """Open some of the pairs as one memory."""
    with ExitStack() as stack:
        shards = {}
        for name in names:
            address, url = servers[name]
            graph = address.graph()
            stack.callback(graph.close)
            vectors = ChromaVectors.at_server(url, namespace=f"memory-{graph.identity()}")
            stack.callback(vectors.close)
            shards[name] = Hindsight(
                graph=graph,
                vectors=vectors,
                embedder=Letters(),
                settings=Settings(consolidate=False, arm_timeout=60, recall_timeout=120),
            )
        stack.pop_all()
        return Shards(shards, leaving=[leaving] if leaving else [])


def _write(
    servers: Servers, leaving: str, name: str, said: Queue[tuple[str, str, str]], stop: Event
) -> None:
    """Retain one text after the other in all banks; report each that was acknowledged."""
    yield_to_other_tests()
    number = 0
    with opened(servers, *PAIRS, leaving=leaving) as memory:
        while not stop.is_set():
            number += 1
            for bank_id in BANKS:
                text = f"{name} saw buoy {number} of {bank_id} lit at noon."
                try:
                    _patiently(lambda b=bank_id, t=text: memory.retain(b, t))  # type: ignore[misc]
                    found = memory.recall(bank_id, text).text
                except Exception as error:  # noqa: BLE001 - the test names it
                    said.put((bank_id, "", repr(error)))
                    return
                said.put((bank_id, text, "" if text in found else "not recalled"))


def _patiently(call: Callable[[], object]) -> None:
    """Call again what came while the bank left, as `Shards` asks its callers to."""
    for _ in range(20):
        try:
            call()
        except ConflictError:
            continue
        return


def _rebalanced_beside_writers(
    servers: Servers, memory: Shards, leaving: str, acknowledged: Counter[tuple[str, str]]
) -> None:
    """Rebalance while two processes write; note what they were told is stored."""
    context = starting()
    said: Queue[tuple[str, str, str]] = context.Queue()
    stop = context.Event()
    writers = [
        context.Process(
            target=_write, args=(servers, leaving, f"{name} of {leaving}", said, stop), daemon=True
        )
        for name in WRITERS
    ]

    def note(until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 300
        while not until():
            assert time.monotonic() < deadline
            bank_id, text, wrong = said.get(timeout=120)
            assert not wrong, (bank_id, text, wrong)
            acknowledged[bank_id, text] += 1

    def written() -> int:
        return min(
            sum(text.startswith(f"{name} of {leaving}") for _, text in acknowledged)
            for name in WRITERS
        )

    for writer in writers:
        writer.start()
    note(lambda: written() >= 3)
    with ThreadPoolExecutor(1) as mover:
        moving = mover.submit(memory.rebalance)
        note(moving.done)
        moved = moving.result()
    before = written()
    note(lambda: written() > before + len(BANKS))  # they go on where their banks are now
    stop.set()
    while any(writer.is_alive() for writer in writers) or not said.empty():
        if not said.empty():
            note(said.empty)
        time.sleep(0.05)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert moved
    assert {each.error for each in moved} == {None}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rebalancing_three_pairs_of_servers_loses_and_doubles_nothing_while_processes_write(
    servers: Servers,
) -> None:
    acknowledged: Counter[tuple[str, str]] = Counter()
    with opened(servers, "north", "east") as two:
        for bank_id in BANKS:
            text = f"{bank_id} keeps bees in Porto."
            two.retain(bank_id, text)
            acknowledged[bank_id, text] += 1
    with opened(servers, *PAIRS) as three:
        _rebalanced_beside_writers(servers, three, "", acknowledged)
        _check(three, acknowledged)
        assert [bank.id for bank in three.shards["south"].banks.list()] == ["user-3", "user-7"]
    with opened(servers, *PAIRS, leaving="north") as leaving:
        _rebalanced_beside_writers(servers, leaving, "north", acknowledged)
        _check(leaving, acknowledged)
        assert leaving.shards["north"].banks.list() == []


def _check(memory: Shards, acknowledged: Counter[tuple[str, str]]) -> None:
    """Every text is stored once, in its place, and nothing else is."""
    memory.rebalance()  # of what another process wrote at the very moment when a bank left
    assert memory.rebalance() == ()
    stored: Counter[tuple[str, str]] = Counter()
    for name, shard in memory.shards.items():
        for bank in shard.banks.list():
            assert memory.place_of(bank.id) == memory.shard_of(bank.id) == name
            page = shard.memories.list(bank.id, limit=1000)
            assert page.next_cursor is None
            stored.update((bank.id, each.text) for each in page.items)
    assert stored == acknowledged
    assert memory.maintenance.doctor().findings == ()
