"""`python -m benchmarks.quality.grid FILES`: recall beside the simplest searches, in every cell.

A cell is a figure of one dataset: evidence among the first k, or inside a token budget. Each
shows recall with its defaults and, behind a slash, the best of BM25 and of plain vector search in
Chroma, with the model that Chroma itself has and with that of recall. Where passages of documents
are asked for, the simple searches have the paragraphs, and in token budgets the whole documents
too: ten documents hold more than ten paragraphs do. A cell in which a simple search is ahead is
marked with an exclamation mark, and counted below the table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.page import write_section
from hindsight_integrations.errors import HindsightError
from hindsight_integrations.evaluate.dataset import Dataset, by_paragraph
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.metrics import columns
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.evaluate.run import BUDGETS, evaluate, evaluate_baseline
from hindsight_integrations.evaluate.systems import BASELINES
from hindsight_integrations.nlp.model_registry import MEMORY_MINILM

TOLERANCE = 0.0005
"""Shortfall, as a share, that rounding to a tenth of a percent hides."""


@dataclass(frozen=True, slots=True)
class Row:
    """Overall figures of one dataset, by name: of recall, and the best simple search's."""

    dataset: str
    recall: Mapping[str, float]
    simple: Mapping[str, float]
    p50_ms: float

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the figures in which a simple search is ahead of recall."""
        return tuple(
            name for name, value in self.recall.items() if value < self.simple[name] - TOLERANCE
        )

    def cells(self) -> list[str]:
        """Return the cells of the table, in percent."""
        return [
            f"{100 * value:.1f} / {100 * self.simple[name]:.1f}"
            + (" !" if name in self.behind else "")
            for name, value in self.recall.items()
        ]


def measure(file: Path, keep: Path | None, every: int, embedder: str | None = None) -> Row:
    """Return the row of one dataset; the store is kept in `keep`, if given.

    The model named as embedder serves recall and plain Chroma; without one, Chroma is searched with
    its own model and with recall's.

    Raises:
        HindsightError: the file cannot be used, or a system failed.
    """
    dataset = load_dataset(file)
    path = None
    if keep is not None:
        folder = keep / embedder if embedder else keep
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file.stem
    ours = evaluate(dataset, path=path, every=every, embedder=embedder)
    same_model = ("chroma", embedder or MEMORY_MINILM.name)
    searches = {same_model, *((name, embedder) for name in BASELINES)}

    def simple(items: Dataset) -> list[Mapping[str, float]]:
        return [
            evaluate_baseline(items, name, every=every, embedder=model).overall
            for name, model in searches
        ]

    whole = simple(dataset)
    paragraphs = by_paragraph(dataset)
    cut = simple(paragraphs) if any(bank.questions for bank in paragraphs.banks) else whole
    best = {
        name: max(one[name] for one in ([*whole, *cut] if name.endswith("t") else cut))
        for name in columns(BUDGETS)
    }
    return Row(dataset.name, ours.overall, best, ours.latency(50))


def table(rows: Sequence[Row]) -> str:
    """Return the grid as a Markdown table, and a line that counts what is behind."""
    grid = markdown_table(
        ["", *columns(BUDGETS), "p50 ms"],
        [[row.dataset, *row.cells(), f"{row.p50_ms:.0f}"] for row in rows],
    )
    behind = [f"{row.dataset} {name}" for row in rows for name in row.behind]
    cells = sum(len(row.recall) for row in rows)
    said = f"behind in {len(behind)}: {', '.join(behind)}" if behind else "behind in none"
    return f"{grid}\n\nOf {cells} cells, recall is {said}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return 0, 1 if a cell is behind, 2 for bad input."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality.grid",
        description="Compare recall with plain vector search and BM25 on datasets of questions.",
    )
    parser.add_argument("files", type=Path, nargs="+", help="datasets, JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the stores, and reuse them")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="ask every K-th question")
    parser.add_argument("--embedder", metavar="MODEL", help="an installed model, by name")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the grid there")
    parser.add_argument("--section", default="grid", metavar="NAME", help="section of the page")
    given = parser.parse_args(arguments)
    console = Console(stderr=True)
    rows: list[Row] = []
    try:
        for file in given.files:
            console.print(f"{file.stem} ...", highlight=False)
            rows.append(measure(file, given.keep, given.every, given.embedder))
        if given.markdown:
            write_section(given.markdown, given.section, table(rows))
    except HindsightError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 2
    Console().print(table(rows), markup=False, soft_wrap=True)
    return int(any(row.behind for row in rows))


if __name__ == "__main__":
    sys.exit(main())
