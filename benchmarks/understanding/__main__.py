"""`python -m benchmarks.understanding [SUBJECT ...]`: print precision and recall of each set."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import benchmarks.understanding as package
from benchmarks.understanding import DATA, HALVES, Score, load, reading_from, table


def measure(subject: str, half: str) -> list[Score]:
    """Return the scores of one half of a subject; none if it has no cases there."""
    if not load(subject, half):
        return []
    module = importlib.import_module(f"benchmarks.understanding.{subject}")
    scores: list[Score] = module.measure(half)
    return scores


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the subjects named, or all of them, on all parts; return the exit code."""
    subjects = sorted(
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    )
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.understanding",
        description="Measure what the engine understands of labelled text without an LLM.",
    )
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(subjects))
    parser.add_argument("--errors", action="store_true", help="also list what was wrong or missed")
    parser.add_argument(
        "--data", type=Path, default=DATA, metavar="FOLDER", help="sets to measure instead of ours"
    )
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        parser.error(f"--data: no such folder: {given.data}")
    if unknown := set(given.subjects).difference(subjects):
        parser.error(f"no such subject: {', '.join(sorted(unknown))}; one of {', '.join(subjects)}")
    with reading_from(given.data):
        scores = [
            score
            for subject in given.subjects or subjects
            for half in HALVES
            for score in measure(subject, half)
        ]
    lines = [table(scores)]
    if given.errors:
        for score in scores:
            lines += [f"{score.name}: wrong: {line}" for line in score.wrong]
            lines += [f"{score.name}: missed: {line}" for line in score.missed]
    Console().print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
