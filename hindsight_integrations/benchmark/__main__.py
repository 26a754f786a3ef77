"""`python -m hindsight_integrations.benchmark`: measure, and write docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markdown import Markdown

from hindsight_integrations.benchmark import machine
from hindsight_integrations.benchmark.recalling import RecallFigures, measure_recall
from hindsight_integrations.benchmark.report import markdown
from hindsight_integrations.benchmark.retaining import FilledBank, fill, measure_retain
from hindsight_integrations.evaluate.sections import write_section

SIZES = (1_000, 10_000, 100_000)
"""Memories of the banks that are asked."""

IMPORTS = ("import hindsight_integrations", "from hindsight_integrations import Hindsight")

QUESTIONS, QUICK_QUESTIONS = 100, 8
RETAINED, QUICK_RETAINED = 1_000, 60

SECTION = "speed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code."""
    given = _parser().parse_args(arguments)
    sizes = given.sizes or (SIZES[:1] if given.quick else SIZES)
    console = Console(stderr=True)
    console.print("import and retain ...")
    imports = {statement: machine.import_seconds(statement) for statement in IMPORTS}
    retained = measure_retain(QUICK_RETAINED if given.quick else RETAINED)
    banks: dict[FilledBank, RecallFigures] = {}
    with TemporaryDirectory(prefix="hindsight-bench-") as folder:
        for size in sizes:
            console.print(f"a bank of {size:,} ...")
            bank = fill(Path(folder) / str(size), size)
            banks[bank] = measure_recall(bank, QUICK_QUESTIONS if given.quick else QUESTIONS)
    command = " ".join(["python -m hindsight_integrations.benchmark", *(arguments or sys.argv[1:])])
    text = markdown(machine.description(), command, imports, retained, banks)
    write_section(given.page, SECTION, text)
    Console().print(Markdown(text))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hindsight_integrations.benchmark",
        description="Measure speed, memory and disk on this machine. Full: half an hour.",
    )
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="memories of a bank")
    parser.add_argument("--quick", action="store_true", help="one small bank, few questions")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"), metavar="FILE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
