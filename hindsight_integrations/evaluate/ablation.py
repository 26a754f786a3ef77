"""`python -m hindsight_integrations.evaluate.ablation FILES`: what each part of recall gives.

One part is left out at a time. With `--fit`, weights are also fitted on all files but one, and
that one is measured with them: what the weights in use owe to the data they were chosen on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from hindsight_integrations.engine import Hindsight
from hindsight_integrations.errors import HindsightError, InvalidInputError
from hindsight_integrations.evaluate.dataset import load_dataset
from hindsight_integrations.evaluate.fitting import fit
from hindsight_integrations.evaluate.sections import write_section
from hindsight_integrations.evaluate.study import Study
from hindsight_integrations.recall.rank import DEFAULT_WEIGHTS, Weights
from hindsight_integrations.results import Arm

SIGNALS: Mapping[str, tuple[str, ...]] = {
    "late interaction": ("interaction", "residual"),
    "embeddings": ("meaning",),
    "BM25": ("terms",),
    "dates": ("date",),
    "turns beside it": ("neighbours", "further"),
    "the whole session": ("session",),
    "the speaker named": ("speaker",),
    "questions and their replies": ("asks", "answers"),
    "shared entities": ("pagerank", "shared_name", "residual"),
}
"""Parts of the ranking, and the weights that stand for them."""

BUDGETS = (1024, 4096)
SHOWN = ("R@5", "R@10", "All@1024t", "All@4096t")
BRIEF = ("R@10", "All@4096t")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code, 2 for bad input."""
    given = _parser().parse_args(arguments)
    console = Console(stderr=True)
    try:
        if given.fit and len(given.files) < 2:
            raise InvalidInputError("--fit fits on all files but one; give at least two files")
        with ExitStack() as stack:
            keep = given.keep or Path(stack.enter_context(TemporaryDirectory(prefix="ablation-")))
            memories = {
                file: stack.enter_context(Hindsight(keep / f"{file.stem}_store"))
                for file in given.files
            }
            text = _report(memories, given.every, fitted=given.fit, console=console)
        if given.markdown:
            write_section(given.markdown, given.section, text)
    except HindsightError as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 2
    Console().print(text, markup=False, soft_wrap=True)
    return 0


def without(names: Sequence[str]) -> Weights:
    """The weights in use, less these."""
    return replace(DEFAULT_WEIGHTS, **dict.fromkeys(names, 0.0))


def _report(
    memories: Mapping[Path, Hindsight], every: int, *, fitted: bool, console: Console
) -> str:
    def gathered(arms: Sequence[Arm] | None = None) -> list[Study]:
        return [
            Study(memory, load_dataset(file), arms=arms, every=every)
            for file, memory in memories.items()
        ]

    studies = gathered()
    rows = [("everything", _figures(studies, [DEFAULT_WEIGHTS] * len(studies), BRIEF))]
    for part, names in SIGNALS.items():
        console.print(f"without {part} ...")
        weights = [without(names)] * len(studies)
        rows.append((f"without {part}", _figures(studies, weights, BRIEF)))
    for arm in Arm:
        console.print(f"without the {arm} arm ...")
        left = gathered([other for other in Arm if other is not arm])
        weights = [DEFAULT_WEIGHTS] * len(left)
        rows.append((f"without the {arm} arm", _figures(left, weights, BRIEF)))
    parts = [_table([study.name for study in studies], BRIEF, rows)]
    if fitted:
        parts += list(_fitted(studies, console))
    return "\n\n".join(parts)


def _fitted(studies: Sequence[Study], console: Console) -> Iterator[str]:
    """Figures with the weights in use, with those fitted on the other files, and those on all."""
    console.print("fitting on all but one ...")
    others = [fit([s for s in studies if s is not study]) for study in studies]
    together = fit(studies)
    yield _table(
        [study.name for study in studies],
        SHOWN,
        [
            ("weights in use", _figures(studies, [DEFAULT_WEIGHTS] * len(studies), SHOWN)),
            ("fitted on the other files", _figures(studies, others, SHOWN)),
            ("fitted on all files", _figures(studies, [together] * len(studies), SHOWN)),
        ],
    )
    names = [f"without {study.name}" for study in studies]
    lines = [["weight", "in use", *names, "on all"], ["---", *["---:"] * (len(names) + 2)]]
    for each in fields(Weights):
        values = [getattr(w, each.name) for w in (DEFAULT_WEIGHTS, *others, together)]
        lines.append([each.name.replace("_", " "), *(f"{value:g}" for value in values)])
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _figures(
    studies: Sequence[Study], weights: Sequence[Weights], shown: Sequence[str]
) -> list[list[float]]:
    found = [s.figures(w, BUDGETS) for s, w in zip(studies, weights, strict=True)]
    return [[figures[name] for name in shown] for figures in found]


def _table(
    names: Sequence[str], shown: Sequence[str], rows: Sequence[tuple[str, list[list[float]]]]
) -> str:
    head = ["", *(f"{name} {' / '.join(shown)}" for name in names)]
    lines = [head, ["---", *["---:"] * len(names)]]
    for label, figures in rows:
        lines.append([label, *(" / ".join(f"{100 * v:.1f}" for v in cell) for cell in figures)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hindsight_integrations.evaluate.ablation",
        description="Measure what each part of recall gives on datasets of questions.",
    )
    parser.add_argument("files", type=Path, nargs="+", help="datasets, JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the stores, and reuse them")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="ask every K-th question")
    parser.add_argument("--fit", action="store_true", help="also fit weights on all files but one")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the tables there")
    parser.add_argument("--section", default="parts", metavar="NAME", help="section of the page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
