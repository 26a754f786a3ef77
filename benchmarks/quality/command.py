"""Command line of a study over several datasets."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.page import write_section
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import HindsightError


def study_parser(study: str, description: str, section: str) -> argparse.ArgumentParser:
    """Return the parser for `run_study`; a study may add arguments of its own."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.quality.{study}", description=description
    )
    parser.add_argument("files", type=Path, nargs="+", help="datasets, JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the stores, and reuse them")
    parser.add_argument("--embedder", metavar="MODEL", help="a model known by name")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="ask every K-th question")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the tables there")
    parser.add_argument("--section", default=section, metavar="NAME", help="section of the page")
    return parser


def run_study(given: argparse.Namespace, study: Callable[[Mapping[Path, Hindsight]], str]) -> int:
    """Run a study on a memory for each file and print it; return the exit code, 2 for bad input."""

    def on_memories() -> str:
        with ExitStack() as stack:
            keep = given.keep or Path(stack.enter_context(TemporaryDirectory(prefix="study-")))
            return study(
                {
                    file: stack.enter_context(
                        Hindsight(keep / f"{file.stem}_store", embedder=given.embedder)
                    )
                    for file in given.files
                }
            )

    return show_table(given, on_memories)


def show_table(given: argparse.Namespace, make: Callable[[], str]) -> int:
    """Make a table, print it and write it into the page; return the exit code, 2 for bad input."""
    try:
        found = make()
        if given.markdown:
            write_section(given.markdown, given.section, found)
    except HindsightError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, soft_wrap=True)
        return 2
    Console().print(found, markup=False, soft_wrap=True)
    return 0
