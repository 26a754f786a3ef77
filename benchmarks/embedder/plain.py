"""`python -m benchmarks.embedder.plain FILES`: vector search with either bundled model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.command import show_table
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.evaluate.run import evaluate_baseline
from hindsight_integrations.nlp.model_registry import MEMORY_MINILM, MINILM

SHOWN = "R@10"


def row(file: Path) -> list[str]:
    """Return the name of a dataset and what either model finds of it, in percent."""
    dataset = load_dataset(file)
    found = [
        evaluate_baseline(dataset, "chroma", embedder=model.name).overall[SHOWN]
        for model in (MINILM, MEMORY_MINILM)
    ]
    return [dataset.name, *(f"{100 * share:.1f}" for share in found)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit code, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.embedder.plain")
    parser.add_argument("files", type=Path, nargs="+", help="datasets, JSON")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the table there")
    parser.add_argument("--section", default="plain", metavar="NAME", help="section of the page")
    given = parser.parse_args(arguments)
    head = ["", MINILM.name, MEMORY_MINILM.name]
    return show_table(given, lambda: markdown_table(head, [row(file) for file in given.files]))


if __name__ == "__main__":
    sys.exit(main())
