"""`python -m benchmarks.quality FILE`: measure, keep the store, measure again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from rich import progress as bars
from rich.console import Console

from benchmarks.page import write_section
from hindsight_integrations._version import __version__
from hindsight_integrations.errors import HindsightError
from hindsight_integrations.evaluate.formats import FORMATS, OWN_FORMAT, load_dataset
from hindsight_integrations.evaluate.report import Evaluation, comparison
from hindsight_integrations.evaluate.run import BUDGETS, Progress, evaluate, evaluate_baseline
from hindsight_integrations.evaluate.systems import BASELINES

WIDTH = 160
"""Characters a line that hold every column of a table, where the output is no terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate as the command line says; return the exit code, 2 for bad input."""
    given = _parser().parse_args(arguments)
    try:
        evaluations = _evaluations(given)
        if given.markdown:
            write_section(
                given.markdown, given.section or evaluations[0].dataset, _section(evaluations)
            )
    except HindsightError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, soft_wrap=True)
        return 2
    if given.rows:
        given.rows.write_text(evaluations[0].to_json(), encoding="utf-8")
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    console.print(*evaluations, sep="\n")
    return 0


def _evaluations(given: argparse.Namespace) -> list[Evaluation]:
    """Evaluate this package, and the baselines if they are asked for."""
    dataset = load_dataset(given.file, given.format)
    asked = {
        "max_tokens": given.tokens,
        "limit_questions": given.limit,
        "every": given.every,
        "embedder": given.embedder,
    }
    with _progress() as progress:
        ours = evaluate(dataset, path=given.keep, budget=given.budget, progress=progress, **asked)
        names = BASELINES if given.baselines else ()
        return [ours, *(evaluate_baseline(dataset, n, progress=progress, **asked) for n in names)]


def _section(evaluations: Sequence[Evaluation]) -> str:
    ours = evaluations[0]
    parts = [comparison(evaluations)] if len(evaluations) > 1 else []
    parts += [
        ours.table(),
        f"hindsight-integrations {__version__}, {date.today():%d %B %Y}. Figures in percent.",
    ]
    return "\n\n".join(parts)


@contextmanager
def _progress() -> Iterator[Progress]:
    bar = bars.Progress(
        "{task.description}",
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("retain", "recall")}
        yield lambda stage, done, total: bar.update(tasks[stage], completed=done, total=total)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description="Measure how well recall finds the evidence for the questions of a JSON file.",
    )
    parser.add_argument("file", type=Path, help="the dataset, JSON")
    parser.add_argument("--format", default=OWN_FORMAT, choices=FORMATS, help="of the file")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the store, and reuse it")
    parser.add_argument("--rows", type=Path, metavar="JSON", help="write a row for each question")
    parser.add_argument("--embedder", metavar="MODEL", help="an installed model, by name")
    parser.add_argument("--baselines", action="store_true", help="also plain Chroma and BM25")
    parser.add_argument("--budget", default="mid", help="how far to look: low, mid or high")
    parser.add_argument("--tokens", type=int, nargs="+", default=BUDGETS, metavar="N")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="ask every K-th question")
    parser.add_argument("--limit", type=int, metavar="N", help="ask at most N of each bank")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the tables there")
    parser.add_argument("--section", metavar="NAME", help="section of the page; the dataset's name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
