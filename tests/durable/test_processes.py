"""Processes that share a queue, and processes that are killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.durable import DurableRetain
from tests.stores.chroma_server import free_port, serve

from .memories import everything, opened, texts

# Several who share a queue


@pytest.mark.slow
def test_one_sends_for_all_and_another_takes_over(folder: Path, queue: Path) -> None:
    names: list[str] = []

    def opening(name: str) -> Callable[[], Hindsight]:
        def open_folder() -> Hindsight:
            names.append(name)
            return opened(folder)

        return open_folder

    first = DurableRetain(opening("first"), queue)
    with first, DurableRetain(opening("second"), queue) as second:
        assert second.retain("b", "Boat 0 is red.").queued
        assert not second.state().sending
        assert "another process sends" in str(second.state())
        assert second.drain()
        assert texts(first.memory) == ["Boat 0 is red."]
        assert names == ["first"]
        first.close()
        second.retain("b", "Boat 1 is red.")
        assert second.drain()
        assert names == ["first", "second"]
        assert texts(second.memory) == ["Boat 0 is red.", "Boat 1 is red."]


# Kills

WRITER = """
import sys, time
from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.durable import Backoff, DurableRetain

folder, queue, url, first = *sys.argv[1:4], int(sys.argv[4])
opening = lambda: Hindsight(folder, vectors=url, settings=Settings(consolidate=False))
with DurableRetain(opening, queue, backoff=Backoff(0.05, 0.5)) as durable:
    for n in range(first, first + 100_000):
        receipt = durable.retain("b", f"Kestrel{n} met Osprey{n} at pier {n}.")
        print(n, "queued" if receipt.queued else "stored", flush=True)
        time.sleep(0.02)
        if n == first:
            durable.drain(60)  # so that the next finds no queue, however slow the machine is
"""

KILLED_BEFORE_ACKNOWLEDGING = """
import os, signal, sys
from hindsight_integrations import Hindsight, Settings
from hindsight_integrations.durable import DurableRetain, ReplayQueue

ReplayQueue.acknowledge = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
memory = Hindsight(sys.argv[1], settings=Settings(consolidate=False))
with DurableRetain(memory, sys.argv[2]) as durable:
    durable.retain_many("b", [{"content": f"Boat {n} is red.", "document_id": f"d{n}"}
                              for n in range(3)])
"""


@pytest.mark.slow
def test_a_process_killed_between_the_commit_and_the_striking_doubles_nothing(
    folder: Path, queue: Path
) -> None:
    script = [sys.executable, "-c", KILLED_BEFORE_ACKNOWLEDGING, str(folder), str(queue)]
    assert subprocess.run(script, check=False).returncode == -signal.SIGKILL
    with opened(folder) as memory:
        stored = everything(memory)
        assert [m.text for m in stored] == [f"Boat {n} is red." for n in range(3)]
        memory.forget("b", document_id="d1")
        with DurableRetain(memory, queue) as durable:
            assert durable.drain()
            assert durable.set_aside() == []
        assert everything(memory) == [stored[0], stored[2]]


@pytest.mark.slow
def test_kills_of_the_process_and_of_the_server_lose_nothing_and_double_nothing(
    folder: Path, queue: Path, tmp_path: Path
) -> None:
    chance = random.Random(11)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    (served := tmp_path / "served").mkdir()
    folder.mkdir()
    acknowledged: dict[int, str] = {}
    server = _Server(served, port)
    try:
        for _ in range(3):
            first = max(acknowledged, default=-2) + 2
            arguments = [str(folder), str(queue), url, str(first)]
            acknowledged |= _written_until_killed(arguments, server, chance)
        assert set(acknowledged.values()) == {"queued", "stored"}
        with DurableRetain(lambda: opened(folder, vectors=url), queue) as durable:
            assert durable.drain(120)
            assert durable.set_aside() == []
            stored = everything(durable.memory)
            numbers = [int(m.text.split()[-1][:-1]) for m in stored]
            assert numbers == sorted(set(numbers)), "something doubled, or came out of order"
            assert set(acknowledged) <= set(numbers), "something acknowledged was lost"
            unheard = set(numbers) - set(acknowledged)  # on disk, killed before it was printed
            assert all(n - 1 in acknowledged for n in unheard)
            assert {m.proof_count for m in stored} == {1}
            said = [m.mentioned_at for m in stored]
            assert said == sorted(said)
            assert durable.memory.maintenance.doctor().findings == ()
    finally:
        server.kill()


class _Server:
    """A Chroma server that can be killed, and started again where it was."""

    def __init__(self, folder: Path, port: int) -> None:
        self._place = folder, port
        self.start()

    def start(self) -> None:
        self._process = serve(*self._place)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def _written_until_killed(
    arguments: list[str], server: _Server, chance: random.Random
) -> dict[int, str]:
    """Kill the server while a process writes, start it again, and kill the writer soon after.

    Returns:
        How each memory was acknowledged that the writer told of, by its number.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(chance.randrange(5, 30))]
    server.kill()
    lines += [process.stdout.readline() for _ in range(chance.randrange(20, 60))]
    server.start()
    time.sleep(chance.uniform(0.05, 1.0))
    process.send_signal(signal.SIGKILL)
    lines += process.stdout.read().splitlines()
    process.wait()
    process.stdout.close()
    return {int(n): how for n, how in (line.split() for line in lines)}
