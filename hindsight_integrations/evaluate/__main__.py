"""`python -m hindsight_integrations.evaluate FILE`: measure, keep the store, measure again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from hindsight_integrations._version import __version__
from hindsight_integrations.errors import HindsightError
from hindsight_integrations.evaluate import baselines, run
from hindsight_integrations.evaluate.dataset import load_dataset
from hindsight_integrations.evaluate.report import Evaluation, comparison
from hindsight_integrations.evaluate.sections import write_section


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate as the command line says; returns the exit code, 2 for bad input."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.section and not given.markdown:
        parser.error("--section needs --markdown, the page to write it to")
    console = Console()
    try:
        dataset = load_dataset(given.file)
        asked = _Asked(given.tokens, given.limit, given.every)
        with _progress() as progress:
            found = [
                run.evaluate(dataset, path=given.keep, budget=given.budget, progress=progress, **x)
            ]
    except HindsightError as error:
        Console(stderr=True).print(f"[red]{error}[/red]", highlight=False)
        return 2
    for evaluation in found:
        console.print(evaluation)
    if given.rows:
        given.rows.write_text(found[0].to_json(), encoding="utf-8")
    if given.markdown:
        write_section(given.markdown, given.section or dataset.name.lower(), _section(found))
    return 0


def _section(found: Sequence[Evaluation]) -> str:
    ours = found[0]
    parts = [comparison(found)] if len(found) > 1 else []
    parts += [
        ours.table(),
        f"hindsight-integrations {__version__}, {date.today():%d %B %Y}. Figures in percent.",
    ]
    return "\n\n".join(parts)


@contextmanager
def _progress() -> Iterator[run.Progress]:
    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        tasks = {stage: bar.add_task(stage, total=None) for stage in ("retain", "recall")}
        yield lambda stage, done, total: bar.update(tasks[stage], completed=done, total=total)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hindsight_integrations.evaluate",
        description="Measure how well recall finds the evidence for the questions of a JSON file.",
    )
    parser.add_argument("file", type=Path, help="the dataset, JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the store, and reuse it")
    parser.add_argument("--rows", type=Path, metavar="JSON", help="write a row for each question")
    parser.add_argument("--baselines", action="store_true", help="also plain Chroma and BM25")
    parser.add_argument("--budget", default="mid", help="how far to look: low, mid or high")
    parser.add_argument("--tokens", type=int, nargs="+", default=run.BUDGETS, metavar="N")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="ask every K-th question")
    parser.add_argument("--limit", type=int, metavar="N", help="ask at most N of each bank")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the tables there")
    parser.add_argument("--section", metavar="NAME", help="section of the page; the dataset's name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
