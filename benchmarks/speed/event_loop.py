"""`python -m benchmarks.speed.event_loop`: how long async calls hold up an event loop.

A task sleeps for a few milliseconds again and again, and notes how late it wakes, while calls run
beside it. Of a lateness counts what the process itself computed meanwhile: the rest is that of a
machine busy with other work. Processor time of garbage collections is noted too: they hold the
interpreter's lock from beginning to end.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.markdown import Markdown

from benchmarks.speed import machine
from benchmarks.speed.corpus import questions, sessions
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.settings import Settings

BANK = "bench"
TURNS = 600
"""Memories of the bank: as many as a conversation of the LoCoMo data set has."""

TICK = 0.005
"""Seconds that the task sleeps."""

RECALLS = 50
MESSAGES = 300


@dataclass(frozen=True, slots=True)
class Stall:
    """Lateness of a ticking task while something ran, in milliseconds.

    Attributes:
        worst: of all wakings.
        p99: the 99th percentile.
        collection: processor time of the longest garbage collection.
        seconds: until all was done.
    """

    worst: float
    p99: float
    collection: float
    seconds: float


def measure(
    recalls: int = RECALLS,
    messages: int = MESSAGES,
    turns: int = TURNS,
    *,
    frozen: bool = False,
) -> dict[str, Stall]:
    """Measure nothing, concurrent recalls, and retaining, in turn, models loaded.

    With `frozen`, garbage collections pass over all objects made before.
    """
    said = [message for session in sessions(turns) for message in session.messages]
    new = [message for session in sessions(messages, seed=9) for message in session.messages]
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        memory.retain_messages(BANK, said, session="s")
        memory.recall(BANK, "Who works on Larkspur?")
        if frozen:
            gc.collect()
            gc.freeze()

        async def idle() -> None:
            await asyncio.sleep(1.0)

        async def recall() -> None:
            await asyncio.gather(*(memory.arecall(BANK, each) for each in questions(recalls)))

        async def retain() -> None:
            await memory.aretain_messages("new", new, session="s")

        cases: dict[str, Callable[[], Awaitable[None]]] = {
            "nothing": idle,
            f"{recalls} recalls at once": recall,
            f"{messages} messages retained": retain,
        }
        return {name: asyncio.run(_stalled(work)) for name, work in cases.items()}


async def _stalled(work: Callable[[], Awaitable[None]]) -> Stall:
    late: list[float] = []

    async def tick() -> None:
        while True:
            due, computed = time.perf_counter() + TICK, time.process_time()
            await asyncio.sleep(TICK)
            seconds = min(time.perf_counter() - due, time.process_time() - computed)
            late.append(1000 * seconds)

    with _collections() as spent:
        ticking = asyncio.create_task(tick())
        started = time.perf_counter()
        await work()
        seconds = time.perf_counter() - started
        await asyncio.sleep(2 * TICK)
        ticking.cancel()
    return Stall(max(late), float(np.percentile(late, 99)), max(spent, default=0.0), seconds)


@contextmanager
def _collections() -> Iterator[list[float]]:
    """Collect the milliseconds of processor time of each garbage collection in the block."""
    spent: list[float] = []
    began = 0.0

    def note(phase: str, info: dict[str, Any]) -> None:
        nonlocal began
        if phase == "start":
            began = time.thread_time()
        else:
            spent.append(1000 * (time.thread_time() - began))

    gc.callbacks.append(note)
    try:
        yield spent
    finally:
        gc.callbacks.remove(note)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.event_loop",
        description="Measure how late a task of an event loop wakes while async calls run.",
    )
    parser.add_argument("--recalls", type=int, default=RECALLS, metavar="N")
    parser.add_argument("--messages", type=int, default=MESSAGES, metavar="N")
    parser.add_argument("--frozen", action="store_true", help="call gc.freeze() when all is loaded")
    given = parser.parse_args(arguments)
    rows = [
        (name, *(f"{value:.0f}" for value in (stall.worst, stall.p99, stall.collection)),
         f"{stall.seconds:.1f}")
        for name, stall in measure(given.recalls, given.messages, frozen=given.frozen).items()
    ]  # fmt: skip
    Console().print(machine.description())
    head = ("beside it", "worst stall, ms", "p99, ms", "longest collection, ms CPU", "done in, s")
    Console().print(Markdown(markdown_table(head, rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
