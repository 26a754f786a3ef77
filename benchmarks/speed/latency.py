"""Round trips to the servers: a proxy that delays and counts them, and the cost of latency.

    HINDSIGHT_GRAPH=bolt://... HINDSIGHT_VECTORS=http://... python -m benchmarks.speed.latency

The servers are asked through proxies on the loopback device, so any latency can be had without the
right to change the network's.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

from rich.console import Console

from benchmarks.speed.corpus import Session, questions, sessions
from benchmarks.speed.place import PATIENT, SERVERS
from hindsight_integrations import Hindsight

MILLISECONDS = (0, 1, 20, 100)
"""Round trip times measured."""

MEMORIES = 1_000
ASKED, REPEATED = 12, 4
"""Questions a latency, asked twice, of which the second time counts; and retains of each kind."""

TOGETHER = 200
"""Questions asked at once by `arecall`."""


@dataclass(frozen=True, slots=True)
class Trip:
    """A request and its answer: seconds on the clock of `time.monotonic`."""

    start: float
    end: float


@dataclass(slots=True)
class Proxy:
    """A TCP proxy on the loopback device that delays what passes, and notes every round trip.

    Attributes:
        host, port: the server.
        seconds: round trip time that it adds; may be changed at any time.
        silent: True to let nothing through, as a network does that drops packets.
        cut: True to break the next answer off in its middle, with its connection.
        trips: those since the start or the last `clear`.
    """

    host: str
    port: int
    seconds: float = 0.0
    silent: bool = False
    cut: bool = False
    trips: list[Trip] = field(default_factory=list)
    address: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        """Serve in a thread until the block ends."""
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256)
        )
        host, port = server.sockets[0].getsockname()[:2]
        self.address = f"{host}:{port}"
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._end(server), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    async def _end(self, server: asyncio.Server) -> None:
        server.close()
        open_still = asyncio.all_tasks(self._loop) - {asyncio.current_task(self._loop)}
        for task in open_still:
            task.cancel()
        await asyncio.gather(*open_still, return_exceptions=True)

    def clear(self) -> None:
        """Forget the trips noted."""
        self.trips.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(self.host, self.port)
        asked: list[float] = []  # when the request was sent that has no answer yet

        def note_request() -> None:
            if not asked:
                asked.append(time.monotonic())

        def note_answer() -> None:
            if asked:
                self.trips.append(Trip(asked.pop(), time.monotonic() + self.seconds / 2))

        try:
            await asyncio.gather(
                self._carry(reader, to_server, note_request),
                self._carry(server, writer, note_answer, answers=True),
            )
        except (ConnectionError, asyncio.CancelledError):
            pass  # an end of the connection, or of the proxy
        finally:
            to_server.close()
            writer.close()

    async def _carry(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        note: Callable[[], None],
        *,
        answers: bool = False,
    ) -> None:
        while chunk := await source.read(1 << 16):
            if self.silent:
                continue
            if answers and self.cut:
                self.cut = False
                _write(target, chunk[: len(chunk) // 2])
                raise ConnectionResetError("the proxy was told to")
            note()
            self._loop.call_later(self.seconds / 2, _write, target, chunk)
        self._loop.call_later(self.seconds / 2, target.close)


def _write(target: asyncio.StreamWriter, chunk: bytes) -> None:
    if not target.is_closing():
        target.write(chunk)


def in_sequence(trips: Sequence[Trip]) -> int:
    """Return the number of trips of which none began before the one before it ended, at most."""
    count, end = 0, float("-inf")
    for trip in sorted(trips, key=lambda trip: trip.end):
        if trip.start >= end:
            count, end = count + 1, trip.end
    return count


def server_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 0


@contextmanager
def proxied(graph: str, vectors: str) -> Iterator[tuple[Proxy, Proxy]]:
    """Run a proxy for each of both servers."""
    with (
        Proxy(*server_of(graph)).running() as to_graph,
        Proxy(*server_of(vectors)).running() as to_vectors,
    ):
        yield to_graph, to_vectors


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one kind of call at one latency: medians.

    Attributes:
        seconds: wall time.
        graph, vectors: trips to each server that wait for the one before.
    """

    seconds: float
    graph: int
    vectors: int


def measured(calls: Iterable[Callable[[], object]], to_graph: Proxy, to_vectors: Proxy) -> Cost:
    """Make the calls one after the other and return what one of them costs."""
    seconds: list[float] = []
    trips: list[tuple[int, int]] = []
    for call in calls:
        to_graph.clear()
        to_vectors.clear()
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
        time.sleep(to_graph.seconds)  # the last answers are on their way back through the proxies
        trips.append((in_sequence(to_graph.trips), in_sequence(to_vectors.trips)))
    graph, vectors = (round(statistics.median(side)) for side in zip(*trips, strict=True))
    return Cost(statistics.median(seconds), graph, vectors)


def main() -> int:
    """Print the cost of a recall and of two retains at each latency, as a table."""
    if missing := [name for name in SERVERS if not os.environ.get(name)]:
        asked = f"set {' and '.join(missing)} to the URLs of servers that run"
        Console(stderr=True).print(asked)
        return 2
    with proxied(*(os.environ[name] for name in SERVERS)) as (to_graph, to_vectors):
        scheme = urlsplit(os.environ[SERVERS[0]]).scheme
        urls = (f"{scheme}://{to_graph.address}", f"http://{to_vectors.address}")
        with Hindsight(graph=urls[0], vectors=urls[1], settings=PATIENT) as memory:
            bank = f"latency-{secrets.token_hex(4)}"
            told = list(sessions(2 * MEMORIES + 20 * len(MILLISECONDS) * (REPEATED + 1)))
            try:
                _measure_each(memory, bank, told, to_graph, to_vectors)
            finally:
                to_graph.seconds = to_vectors.seconds = 0.0
                memory.banks.delete(bank)
    return 0


def _measure_each(
    memory: Hindsight, bank: str, told: list[Session], to_graph: Proxy, to_vectors: Proxy
) -> None:
    while memory_count(memory, bank) < MEMORIES:
        session = told.pop()
        memory.retain_messages(bank, session.messages, session=session.id)
    asked = questions(ASKED)
    console = Console(soft_wrap=True)
    console.print(
        "| round trip | recall | a sentence retained | a session retained "
        f"| {TOGETHER} `arecall` |\n"
        "|---:|---:|---:|---:|---:|"
    )
    for milliseconds in MILLISECONDS:
        to_graph.seconds = to_vectors.seconds = milliseconds / 1000
        for question in asked:
            memory.recall(bank, question)
        texts = [f"Bruno showed harbour {milliseconds}-{n} to Ines." for n in range(REPEATED + 1)]
        sessions_now = [told.pop() for _ in range(REPEATED + 1)]
        kinds = (
            [partial(memory.recall, bank, question) for question in asked],
            [partial(memory.retain, bank, text) for text in texts],
            [
                partial(memory.retain_messages, bank, each.messages, session=each.id)
                for each in sessions_now
            ],
        )
        costs = [measured(calls, to_graph, to_vectors) for calls in kinds]
        cells = (f"{c.seconds:.2f} s, {c.graph} + {c.vectors} trips" for c in costs)
        at_once = asyncio.run(_asked_together(memory, bank))
        console.print(f"| {milliseconds} ms | {' | '.join(cells)} | {at_once} |")


async def _asked_together(memory: Hindsight, bank: str) -> str:
    """Return the seconds for many questions asked at once, and how many lost an arm if any did."""
    started, computed = time.perf_counter(), time.process_time()
    found = await asyncio.gather(*(memory.arecall(bank, each) for each in questions(TOGETHER)))
    seconds, computed = time.perf_counter() - started, time.process_time() - computed
    lost = sum(bool(each.failures) for each in found)
    told = f"{seconds:.1f} s, {computed:.1f} s of it processor time"
    return f"{told}, {lost} without an arm" if lost else told


def memory_count(memory: Hindsight, bank: str) -> int:
    """Return the number of memories in a bank, 0 if there is no such bank."""
    if bank not in {each.id for each in memory.banks.list()}:
        return 0
    return memory.banks.stats(bank).memories


if __name__ == "__main__":
    sys.exit(main())
