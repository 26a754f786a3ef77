"""`python -m benchmarks.quality.ablation FILES`: the contribution of each part of recall.

One part is left out at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.quality.command import run_study, study_parser
from benchmarks.quality.study import Study
from hindsight_integrations.client import Hindsight
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.models import Arm
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS, Weights

SIGNALS: Mapping[str, tuple[str, ...]] = {
    "late interaction": ("interaction", "residual"),
    "embeddings": ("meaning",),
    "BM25": ("terms",),
    "length": ("length",),
    "dates": ("date",),
    "turns beside it": ("neighbours", "second_neighbours"),
    "the whole session": ("session",),
    "the speaker named": ("speaker",),
    "questions and their replies": ("asks", "answers"),
    "what a turn says by itself": ("information",),
    "the agent's own words": ("own_words",),
    "shared entities": ("pagerank", "shared_name", "residual"),
    "the theme of the best hits": ("feedback",),
    "what is always so of somebody": ("lasting_fact",),
}
"""Parts of the ranking, and the weights that stand for them."""

BUDGETS = (1024, 2048, 4096)
BRIEF = ("R@10", "All@4096t")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code, 2 for bad input."""
    parser = study_parser(
        "ablation", "Measure what each part of recall gives on datasets of questions.", "parts"
    )
    given = parser.parse_args(arguments)
    return run_study(given, partial(_report, every=given.every))


def without(names: Sequence[str]) -> Weights:
    """Return the weights in use, with these set to zero."""
    return replace(DEFAULT_WEIGHTS, **dict.fromkeys(names, 0.0))


def _report(memories: Mapping[Path, Hindsight], *, every: int) -> str:
    console = Console(stderr=True)

    def gathered(arms: Sequence[Arm] | None = None) -> list[Study]:
        return [
            Study(memory, load_dataset(file), arms=arms, every=every)
            for file, memory in memories.items()
        ]

    studies = gathered()
    rows = [("everything", cells(studies, [DEFAULT_WEIGHTS] * len(studies), BRIEF))]
    for part, names in SIGNALS.items():
        console.print(f"without {part} ...")
        weights = [without(names)] * len(studies)
        rows.append((f"without {part}", cells(studies, weights, BRIEF)))
    for arm in Arm:
        console.print(f"without the {arm} arm ...")
        left = gathered([other for other in Arm if other is not arm])
        weights = [DEFAULT_WEIGHTS] * len(left)
        rows.append((f"without the {arm} arm", cells(left, weights, BRIEF)))
    return figures_table([study.name for study in studies], BRIEF, rows)


def cells(
    studies: Sequence[Study], weights: Sequence[Weights], shown: Sequence[str]
) -> list[list[float]]:
    """Return the figures shown, a list for each study, ranked with its weights."""
    found = [s.figures(w, BUDGETS) for s, w in zip(studies, weights, strict=True)]
    return [[figures[name] for name in shown] for figures in found]


def figures_table(
    names: Sequence[str], shown: Sequence[str], rows: Sequence[tuple[str, list[list[float]]]]
) -> str:
    """Return a table of labelled rows, a column for each dataset, in percent."""
    head = ["", *(f"{name} {' / '.join(shown)}" for name in names)]
    return markdown_table(
        head,
        [
            [label, *(" / ".join(f"{100 * v:.1f}" for v in cell) for cell in figures)]
            for label, figures in rows
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
