"""`hindsight-memory export` and `import`: a bank as a file, to keep it or to move it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
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
from hindsight_integrations.moving.files import PIPE


def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="To be written; .gz compresses it, - is standard output."
        ),
    ],
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Write a bank with all it holds into one file.

    A file that was there is replaced when the new one is whole.
    """
    piped = str(file) == PIPE
    if piped and as_json:
        raise typer.BadParameter("standard output cannot carry both the bank and --json")
    screen = Screen(as_json)
    with opened(path) as memory, screen.progress("Exporting") as report:
        result = memory.banks.export(bank, file, progress=report)
    if not piped:
        screen.show(result, f"Wrote bank {bank} to {file}: {_counted(result.counts)}")


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What export wrote; - is standard input.")
    ],
    bank: Annotated[
        str | None, typer.Option("--bank", "-b", help="Id for the bank, if not its own.")
    ] = None,
    reembed: Annotated[
        bool, typer.Option("--reembed", help="Make the vectors anew, with this embedder.")
    ] = False,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Make a bank of an exported file, all of it or nothing.

    The file is checked first: one that is truncated or altered is refused.
    """
    if str(file) != PIPE and not file.is_file():
        raise typer.BadParameter(f"there is no file {file}")
    screen = Screen(as_json)
    with opened(path, create=True) as memory, screen.progress("Importing") as report:
        result = memory.banks.import_(file, bank, reembed=reembed, progress=report)
    screen.show(result, f"Made bank {result.bank_id} of {file}: {_counted(result.counts)}")


def _counted(counts: Mapping[str, int]) -> str:
    shown = ("memory", "document", "entity", "link")
    return ", ".join(tables.count(counts.get(name, 0), name) for name in shown)
