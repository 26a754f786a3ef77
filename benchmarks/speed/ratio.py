"""Servers beside a folder, in one run: `python -m benchmarks.speed.ratio`.

    HINDSIGHT_GRAPH=bolt://... HINDSIGHT_VECTORS=http://... python -m benchmarks.speed.ratio

Both hold the same bank, and the same calls alternate between them, so what else the machine does
slows both alike: times depend on the machine, ratios hardly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from rich.console import Console
from rich.markdown import Markdown

from benchmarks.page import write_section
from benchmarks.speed import machine
from benchmarks.speed.corpus import Session, questions, sessions
from benchmarks.speed.place import Place
from benchmarks.speed.recalling import ASKED_AT
from benchmarks.speed.retaining import BANK, fill
from benchmarks.speed.timing import Latency, spent
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.report import markdown_table

SIZES = (1_000, 10_000)
SECTION = "ratio"
WARM_UP = 60
"""Questions, and turns retained, before timing starts: a server compiles frequent queries."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Extent:
    """Amounts measured at each size: questions, turns retained by session, and sentences."""

    questions: int
    turns: int
    sentences: int


FULL = Extent(questions=120, turns=800, sentences=40)


@dataclass(frozen=True, slots=True)
class Pair:
    """Latencies of the same calls embedded and served, and the seconds of all of them."""

    embedded: Latency
    served: Latency
    seconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """Costs at one size: of a recall, of telling sessions of so many turns, and of a sentence."""

    recall: Pair
    session: Pair
    turns: int
    sentence: Pair


def in_turns(
    embedded: Callable[[T], object], served: Callable[[T], object], cases: Iterable[T]
) -> Pair:
    """Time both on each case, one right after the other; who begins alternates."""
    milliseconds: tuple[list[float], list[float]] = ([], [])
    for number, case in enumerate(cases):
        for side in (0, 1) if number % 2 else (1, 0):
            milliseconds[side].append(spent((embedded, served)[side], case))
    one, other = milliseconds
    return Pair(Latency.of(one), Latency.of(other), (sum(one) / 1000, sum(other) / 1000))


def measure(embedded: Place, served: Place, size: int, extent: Extent) -> Figures:
    """Fill both with the same bank, and alternate the same recalls and retains between them."""
    for place in (embedded, served):
        fill(place, size)
    asked = questions(extent.questions) + questions(extent.questions // 4, dated=True)
    timed_sessions = [
        replace(each, id=f"told {each.id}") for each in sessions(extent.turns, seed=3)
    ]
    warm_up_sessions = [
        replace(each, id=f"before {each.id}") for each in sessions(2 * WARM_UP, seed=4)
    ]
    texts = [
        f"Visitor {n} left a note about the kiosk in Walford." for n in range(extent.sentences)
    ]
    with embedded.open() as one, served.open() as other:
        recall, retain_session, retain_text = (
            (partial(call, one), partial(call, other))
            for call in (_recall, _retain_session, _retain_text)
        )
        in_turns(*recall, questions(WARM_UP, seed=4))
        recalled = in_turns(*recall, asked)
        in_turns(*retain_session, warm_up_sessions)
        return Figures(
            recall=recalled,
            session=in_turns(*retain_session, timed_sessions),
            turns=sum(len(each.turns) for each in timed_sessions),
            sentence=in_turns(*retain_text, texts),
        )


def _recall(memory: Hindsight, question: str) -> None:
    for failure in memory.recall(BANK, question, query_time=ASKED_AT).failures:
        raise failure.error


def _retain_session(memory: Hindsight, session: Session) -> None:
    memory.retain_messages(BANK, session.messages, session=session.id)


def _retain_text(memory: Hindsight, text: str) -> None:
    memory.retain(BANK, text)


def table(figures: dict[int, Figures]) -> str:
    """Return the figures as a table, a column for each size."""
    rows: dict[str, Callable[[Figures], str]] = {
        "recall embedded, ms": lambda f: str(f.recall.embedded),
        "recall served, ms": lambda f: str(f.recall.served),
        "**ratio of the p50s**": lambda f: f"{f.recall.served.p50 / f.recall.embedded.p50:.2f}",
        "sessions told embedded, turns/s": lambda f: f"{f.turns / f.session.seconds[0]:.0f}",
        "sessions told served, turns/s": lambda f: f"{f.turns / f.session.seconds[1]:.0f}",
        "**served, % of embedded**": lambda f: (
            f"{100 * f.session.seconds[0] / f.session.seconds[1]:.0f}"
        ),
        "a sentence embedded, ms": lambda f: str(f.sentence.embedded),
        "a sentence served, ms": lambda f: str(f.sentence.served),
    }
    cells = [[name, *(cell(each) for each in figures.values())] for name, cell in rows.items()]
    return markdown_table(["memories", *(f"{size:,}" for size in figures)], cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.ratio",
        description="Measure the servers that the environment names beside a folder, in turns.",
    )
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", default=list(SIZES))
    parser.add_argument("--quick", action="store_true", help="few questions and turns")
    parser.add_argument("--page", type=Path, metavar="FILE", help="page to write the table into")
    given = parser.parse_args(arguments)
    extent = Extent(questions=8, turns=40, sentences=4) if given.quick else FULL
    figures: dict[int, Figures] = {}
    for size in given.sizes:
        served = Place()
        with TemporaryDirectory(prefix="hindsight-ratio-") as folder, served.lent():
            Console(stderr=True).print(f"{size:,} memories ...")
            figures[size] = measure(Place(Path(folder, "memory")), served, size, extent)
    called = " ".join(arguments if arguments is not None else sys.argv[1:])
    command = f"python -m benchmarks.speed.ratio {called}".strip()
    text = f"`{command}` on {machine.description()}\n\n{table(figures)}"
    if given.page:
        write_section(given.page, SECTION, text)
    Console().print(Markdown(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
