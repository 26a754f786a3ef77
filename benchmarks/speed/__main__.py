"""`python -m benchmarks.speed`: measure, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markdown import Markdown

from benchmarks.page import write_section
from benchmarks.speed import machine
from benchmarks.speed.place import Place
from benchmarks.speed.recalling import RecallFigures, measure_recall
from benchmarks.speed.report import markdown
from benchmarks.speed.retaining import FilledBank, Retained, fill, measure_retain

SIZES = (1_000, 10_000, 100_000)
"""Memories of the banks that are asked."""

IMPORTS = ("import hindsight_integrations", "from hindsight_integrations import Hindsight")


@dataclass(frozen=True, slots=True)
class Extent:
    """Amounts that a run measures: new processes of an import, retains, and questions."""

    imports: int
    retained: Retained
    questions: int


FULL = Extent(imports=5, retained=Retained(turns=1_000, sessions=None, singles=50), questions=100)
QUICK = Extent(imports=1, retained=Retained(turns=20, sessions=2, singles=10), questions=4)

SECTION, SERVERS_SECTION = "speed", "servers"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code."""
    given = _parser().parse_args(arguments)
    extent = QUICK if given.quick else FULL
    sizes = given.sizes or (SIZES[:1] if given.quick else SIZES)
    console = Console(stderr=True)
    description = machine.description()
    console.print("import and retain ...")
    imports = {
        each: machine.import_seconds(each, extent.imports)
        for each in (() if given.servers else IMPORTS)
    }
    banks: dict[FilledBank, RecallFigures] = {}
    with TemporaryDirectory(prefix="hindsight-bench-") as folder:
        place = Place() if given.servers else Place(Path(folder, "retained"))
        with place.lent():
            retained = measure_retain(place, extent.retained)
        for size in sizes:
            console.print(f"a bank of {size:,} ...")
            place = Place() if given.servers else Place(Path(folder, str(size)))
            with place.lent():
                bank = fill(place, size)
                banks[bank] = measure_recall(bank, extent.questions)
    called = arguments if arguments is not None else sys.argv[1:]
    command = " ".join(["python -m benchmarks.speed", *called])
    where = "into Neo4j and a Chroma server" if given.servers else "embedded"
    text = markdown(description, command, where, imports, retained, banks)
    write_section(given.page, SERVERS_SECTION if given.servers else SECTION, text)
    Console().print(Markdown(text))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description="Measure speed, memory and disk on this machine. Full: half an hour.",
    )
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="memories of a bank")
    parser.add_argument("--quick", action="store_true", help="one small bank, few questions")
    parser.add_argument(
        "--servers", action="store_true", help="on those of HINDSIGHT_GRAPH and HINDSIGHT_VECTORS"
    )
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"), metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
