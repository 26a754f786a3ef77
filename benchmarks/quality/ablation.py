"""`python -m benchmarks.quality.ablation FILES`: the contribution of each part of recall.

One part is left out at a time. With `--fit`, weights are also fitted on all files but one, and
that one is measured with them: how far the weights in use depend on the data they were fitted on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.quality.command import run_study, study_parser
from benchmarks.quality.fitting import fit
from benchmarks.quality.study import Study
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.models import Arm
from hindsight_integrations.recall.ranking import DEFAULT_WEIGHTS, Weights

SIGNALS: Mapping[str, tuple[str, ...]] = {
    "late interaction": ("interaction", "residual"),
    "embeddings": ("meaning",),
    "BM25": ("terms",),
    "dates": ("date",),
    "turns beside it": ("neighbours", "further"),
    "the whole session": ("session",),
    "the speaker named": ("speaker",),
    "questions and their replies": ("asks", "answers"),
    "what a turn says by itself": ("substance",),
    "the agent's own words": ("own_words",),
    "shared entities": ("pagerank", "shared_name", "residual"),
}
"""Parts of the ranking, and the weights that stand for them."""

BUDGETS = (1024, 2048, 4096)
SHOWN = ("R@5", "R@10", "All@1024t", "All@2048t", "All@4096t")
BRIEF = ("R@10", "All@4096t")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; returns the exit code, 2 for bad input."""
    parser = study_parser(
        "ablation", "Measure what each part of recall gives on datasets of questions.", "parts"
    )
    parser.add_argument("--fit", action="store_true", help="also fit weights on all files but one")
    given = parser.parse_args(arguments)
    return run_study(given, partial(_report, every=given.every, fitted=given.fit))


def without(names: Sequence[str]) -> Weights:
    """Return the weights in use, with these set to zero."""
    return replace(DEFAULT_WEIGHTS, **dict.fromkeys(names, 0.0))


def _report(memories: Mapping[Path, Hindsight], *, every: int, fitted: bool) -> str:
    if fitted and len(memories) < 2:
        raise InvalidInputError("--fit fits on all files but one; give at least two files")
    console = Console(stderr=True)

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
    """Yield figures with the weights in use, those fitted on the other files, and those on all."""
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
    fitted = (DEFAULT_WEIGHTS, *others, together)
    yield markdown_table(
        ["weight", "in use", *names, "on all"],
        [
            [each.name.replace("_", " "), *(f"{getattr(w, each.name):g}" for w in fitted)]
            for each in fields(Weights)
        ],
    )


def _figures(
    studies: Sequence[Study], weights: Sequence[Weights], shown: Sequence[str]
) -> list[list[float]]:
    found = [s.figures(w, BUDGETS) for s, w in zip(studies, weights, strict=True)]
    return [[figures[name] for name in shown] for figures in found]


def _table(
    names: Sequence[str], shown: Sequence[str], rows: Sequence[tuple[str, list[list[float]]]]
) -> str:
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
