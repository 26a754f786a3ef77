"""`hindsight-memory evaluate`: figures for a user's own questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Group

from hindsight_integrations.cli.options import JsonOption
from hindsight_integrations.cli.screen import Screen


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", exists=True, dir_okay=False, help="Datasets, JSON."),
    ],
    tokens: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Token budget; repeatable. (default 1024, 2048, 4096)"),
    ] = None,
    budget: Annotated[Literal["low", "mid", "high"], typer.Option(help="How far to look.")] = "mid",
    baseline: Annotated[
        list[str] | None, typer.Option(help="Also a plain search: chroma, bm25; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask at most so many questions of each bank.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Ask only every so many questions.")] = 1,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep the memory in, for the next evaluation.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well recall finds the evidence for your own questions.

    A dataset is JSON: banks with items, and questions with the ids of the items that answer them.
    """
    from hindsight_integrations import evaluate as measuring

    screen = Screen(as_json)
    budgets = tuple(tokens or measuring.run.BUDGETS)
    found: list[measuring.Evaluation] = []
    with screen.progress("evaluate") as report:

        def moved(stage: str, done: int, total: int) -> None:
            report(done, total, f"{dataset.name}: {stage}")

        for file in files:
            dataset = measuring.load_dataset(file)
            found.append(
                measuring.evaluate(
                    dataset,
                    path=keep,
                    max_tokens=budgets,
                    budget=budget,
                    limit_questions=limit,
                    every=every,
                    progress=moved,
                )
            )
            for name in baseline or ():
                plain = measuring.evaluate_baseline(
                    dataset,
                    name,
                    max_tokens=budgets,
                    limit_questions=limit,
                    every=every,
                    progress=moved,
                )
                found.append(plain)
    screen.show([evaluation.content() for evaluation in found], Group(*found))
    for evaluation in found:
        for failure, times in evaluation.failures.items():
            screen.warn(f"failed {times} times: {failure}")
