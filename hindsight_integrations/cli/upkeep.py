"""`hindsight-memory doctor` and `reindex`: keep a memory in good order."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_integrations.cli import tables
from hindsight_integrations.cli.opening import opened
from hindsight_integrations.cli.options import (
    DEFAULT_BANK,
    DEFAULT_PATH,
    BankOption,
    JsonOption,
    PathOption,
)
from hindsight_integrations.cli.screen import Screen


def doctor(
    look: Annotated[bool, typer.Option("--look", help="Only look; repair nothing.")] = False,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Compare the two stores, repair them, and say what was done.

    Exits with 1 if something is wrong still.
    """
    with opened(path) as memory:
        diagnosis = memory.maintenance.doctor(repair=not look)
        health = memory.health()
    data = {"healthy": diagnosis.healthy, "findings": diagnosis.findings, "parts": health.parts}
    Screen(as_json).show(data, tables.diagnosis(diagnosis, health))
    if not (diagnosis.healthy and health.ok):
        raise typer.Exit(1)


def reindex(
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Make all vectors of a bank anew, with the embedder of this installation."""
    screen = Screen(as_json)
    with opened(path) as memory, screen.progress("Reindexing") as report:
        made = memory.maintenance.reindex(bank, progress=report)
    screen.show({"bank": bank, "vectors": made}, f"Made {made} vectors of bank {bank} anew")
