"""`python -m benchmarks.quality.held_out FILES`: what the weights owe to data they were fitted on.

Weights are fitted, from neutral ones, on all kinds of memory but one, and that one is measured with
them. A file is a kind of its own, unless `--kind` names it together with others.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.quality.ablation import cells, figures_table
from benchmarks.quality.command import run_study, study_parser
from benchmarks.quality.fitting import fit
from benchmarks.quality.study import Study
from hindsight_integrations.client import Hindsight
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.evaluate.formats import load_dataset
from hindsight_integrations.evaluate.report import markdown_table
from hindsight_integrations.recall.weights import DEFAULT_WEIGHTS, Weights

SHOWN = ("R@5", "R@10", "All@1024t", "All@2048t", "All@4096t")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure as the command line says; return the exit code, 2 for bad input."""
    parser = study_parser(
        "held_out",
        "Fit the weights of recall without a kind of memory, and measure it.",
        "held-out",
    )
    parser.add_argument(
        "--kind",
        type=lambda names: frozenset(names.split(",")),
        action="append",
        default=[],
        metavar="NAME,NAME",
        help="files of one kind, by name without ending: left out of a fit together",
    )
    given = parser.parse_args(arguments)
    return run_study(given, partial(_report, every=given.every, kinds=given.kind))


def _report(
    memories: Mapping[Path, Hindsight], *, every: int, kinds: Sequence[Collection[str]]
) -> str:
    groups = _grouped([file.stem for file in memories], kinds)
    if len(groups) < 2:
        raise InvalidInputError(
            "all files are of one kind, which leaves nothing to fit on; give files of another"
        )
    studies = {
        file.stem: Study(memory, load_dataset(file), every=every)
        for file, memory in memories.items()
    }
    fitted: dict[str, Weights] = {}
    for group in groups:
        Console(stderr=True).print(f"fitting without {', '.join(group)} ...")
        weights = fit([study for name, study in studies.items() if name not in group])
        fitted |= dict.fromkeys(group, weights)
    return "\n\n".join(
        [
            figures_table(
                list(studies),
                SHOWN,
                [
                    ("weights in use", _cells(studies, dict.fromkeys(studies, DEFAULT_WEIGHTS))),
                    ("fitted without its kind", _cells(studies, fitted)),
                ],
            ),
            _weights_table([(" ".join(group), fitted[group[0]]) for group in groups]),
        ]
    )


def _grouped(names: Sequence[str], kinds: Sequence[Collection[str]]) -> list[tuple[str, ...]]:
    """Return the names by kind, in order.

    Raises:
        InvalidInputError: a kind names a file that was not given, or one of another kind.
    """
    listed = [name for kind in kinds for name in kind]
    for name in listed:
        if name not in names:
            raise InvalidInputError(f"--kind names {name!r}; the files given are {list(names)}")
        if listed.count(name) > 1:
            raise InvalidInputError(f"{name!r} is in two kinds; name it in one")
    kind_of = {name: kind for kind in kinds for name in kind}
    together = (kind_of.get(name, (name,)) for name in names)
    return list(dict.fromkeys(tuple(n for n in names if n in kind) for kind in together))


def _cells(studies: Mapping[str, Study], weights: Mapping[str, Weights]) -> list[list[float]]:
    return cells(list(studies.values()), [weights[name] for name in studies], SHOWN)


def _weights_table(fitted: Sequence[tuple[str, Weights]]) -> str:
    columns = [("in use", DEFAULT_WEIGHTS), *((f"without {name}", w) for name, w in fitted)]
    return markdown_table(
        ["weight", *(label for label, _ in columns)],
        [
            [each.name.replace("_", " "), *(f"{getattr(w, each.name):g}" for _, w in columns)]
            for each in fields(Weights)
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
