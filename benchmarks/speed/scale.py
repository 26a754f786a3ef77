"""`python -m benchmarks.speed.scale`: many banks, or one big one, filled and used in new processes.

Banks are prepared (see `prepared`): what is measured is the stores, not the models that retaining
runs before them. Each shape, such as 1000x1000 for a thousand banks of a thousand memories, is
filled by one process and used by another, so that their memory is told apart.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rich.console import Console
from rich.markdown import Markdown

from benchmarks.page import write_section
from benchmarks.speed import machine
from benchmarks.speed.corpus import questions
from benchmarks.speed.place import Place
from benchmarks.speed.prepared import mixed_vectors, prepare
from benchmarks.speed.recalling import ASKED_AT, WARM_UP
from benchmarks.speed.timing import Latency, timed
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.report import markdown_table

SHAPES = ("1x100000", "100x1000")
QUESTIONS, RETAINED = 100, 20
SERVED_WRITERS = 2
"""Banks filled at once on servers, which write each transaction with one core. In one process two
writers are slower than one."""

SECTION, SERVED_SECTION = "scale", "scale-served"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape:
    """So many banks of so many memories each."""

    banks: int
    memories: int

    @classmethod
    def parse(cls, text: str) -> Shape:
        """Read a shape such as "100x1000".

        Raises:
            ValueError: it is none.
        """
        banks, memories = map(int, text.split("x"))
        if min(banks, memories) < 1:
            raise ValueError(text)
        return cls(banks, memories)

    def bank(self, number: int) -> str:
        """Return the id of a bank."""
        return f"bank-{number}"

    def __str__(self) -> str:
        return f"{self.banks:,} x {self.memories:,}"


@dataclass(frozen=True, slots=True)
class Filled:
    """Cost of filling: memories a second, peak memory and disk in bytes (None on servers)."""

    rate: float
    memory: int
    disk: int | None


@dataclass(frozen=True, slots=True)
class Used:
    """Cost of use by a new process.

    Attributes:
        opening: seconds to open all.
        first_answer: seconds from the start of opening to the first answer.
        listing: seconds to list all banks.
        first: latency of the first recall from a bank, after the models are loaded; None for one.
        recall: latency of recalls from banks chosen at random.
        retain: latency of retaining a sentence in banks chosen at random, models included.
        memory: peak memory in bytes.
    """

    opening: float
    first_answer: float
    listing: float
    first: Latency | None
    recall: Latency
    retain: Latency
    memory: int


def fill(place: Place, shape: Shape) -> Filled:
    """Fill empty stores."""
    with place.open() as memory:
        mixed_vectors(1)  # encodes what all vectors are mixed from
        started = time.perf_counter()
        with ThreadPoolExecutor(1 if place.folder else SERVED_WRITERS) as writers:
            ids = map(shape.bank, range(shape.banks))
            list(writers.map(lambda bank: prepare(memory, bank, shape.memories), ids))
        memory.runtime.catch_up()
        seconds = time.perf_counter() - started
    return Filled(shape.banks * shape.memories / seconds, machine.peak_memory(), place.disk())


def use(place: Place, shape: Shape) -> Used:
    """Open filled stores, recall and retain."""
    asked = questions(QUESTIONS)
    banks = [shape.bank(n) for n in random.Random(3).choices(range(shape.banks), k=QUESTIONS)]
    started = time.perf_counter()
    with place.open() as memory:
        opening = time.perf_counter() - started
        _recall(memory, shape.bank(0), asked[0])
        first_answer = time.perf_counter() - started
        started = time.perf_counter()
        memory.banks.list()
        listing = time.perf_counter() - started

        def recall(index: int) -> None:
            _recall(memory, banks[index], asked[index])

        def retain(index: int) -> None:
            memory.retain(banks[index], f"Visitor {index} left a note about the kiosk in Walford.")

        for question in asked[:WARM_UP]:
            _recall(memory, shape.bank(0), question)
        new = [banks.index(bank) for bank in dict.fromkeys(banks) if bank != shape.bank(0)]
        first = timed(recall, new) if new else None
        recalled = timed(recall, range(QUESTIONS))
        retained = timed(retain, range(RETAINED))
    return Used(opening, first_answer, listing, first, recalled, retained, machine.peak_memory())


def _recall(memory: Hindsight, bank_id: str, question: str) -> None:
    for failure in memory.recall(bank_id, question, query_time=ASKED_AT).failures:
        raise failure.error


def _apart(work: Callable[[Place, Shape], T], place: Place, shape: Shape) -> T:
    """Do the work in a new process."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(work, place, shape).result()


def table(measured: dict[Shape, tuple[Filled, Used]]) -> str:
    """Return the figures as a table, a column for each shape."""
    rows: dict[str, Callable[[Filled, Used], str]] = {
        "filled, memories/s": lambda filled, _: f"{filled.rate:,.0f}",
        "peak memory while filled, MB": lambda filled, _: _mb(filled.memory),
        "disk, MB": lambda filled, _: _mb(filled.disk),
        "open, s": lambda _, used: f"{used.opening:.1f}",
        "first answer of a new process, s": lambda _, used: f"{used.first_answer:.1f}",
        "`banks.list`, ms": lambda _, used: f"{1000 * used.listing:.0f}",
        "first recall from a bank, ms": lambda _, used: str(used.first or "-"),
        "recall, ms": lambda _, used: str(used.recall),
        "`retain` of a sentence, ms": lambda _, used: str(used.retain),
        "peak memory in use, MB": lambda _, used: _mb(used.memory),
    }
    figures = [[name, *(cell(*each) for each in measured.values())] for name, cell in rows.items()]
    return markdown_table(["banks x memories", *map(str, measured)], figures)


def _mb(size: int | None) -> str:
    return "-" if size is None else f"{size / 1e6:,.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit code."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    called = " ".join(arguments if arguments is not None else sys.argv[1:])
    command = f"python -m benchmarks.speed.scale {called}".strip()
    heading = f"`{command}` on {machine.description()}"
    section = SERVED_SECTION if given.servers else SECTION
    measured: dict[Shape, tuple[Filled, Used]] = {}
    for shape in given.shapes:
        with TemporaryDirectory(prefix="hindsight-scale-", dir=given.folder) as folder:
            place = Place() if given.servers else Place(Path(folder, "memory"))
            with place.lent():
                console.print(f"{shape} ...")
                filled = _apart(fill, place, shape)
                console.print(f"{filled.rate:,.0f} memories/s")
                measured[shape] = (filled, _apart(use, place, shape))
        # After each shape: a big one may take hours, and be interrupted.
        text = f"{heading}\n\n{table(measured)}"
        if given.page:
            write_section(given.page, section, text)
        Console().print(Markdown(text))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.scale",
        description="Measure many banks, or a big one: filling, opening, recall, retain.",
    )
    parser.add_argument(
        "--shapes", type=Shape.parse, nargs="+", metavar="BANKSxMEMORIES",
        default=[Shape.parse(each) for each in SHAPES], help=f"(default {' '.join(SHAPES)})",
    )  # fmt: skip
    parser.add_argument(
        "--servers", action="store_true", help="on those of HINDSIGHT_GRAPH and HINDSIGHT_VECTORS"
    )
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="where the disk has room")
    parser.add_argument("--page", type=Path, metavar="FILE", help="page to write the table into")
    return parser


if __name__ == "__main__":
    sys.exit(main())
