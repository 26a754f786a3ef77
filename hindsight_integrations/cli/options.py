"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

JSON_KEY = "hindsight_integrations.json"
"""Where the context notes that `--json` was given, for the report of an error."""

DEFAULT_PATH = Path("hindsight-memory")
DEFAULT_BANK = "default"


def _note_json(context: typer.Context, value: bool) -> bool:
    context.meta[JSON_KEY] = value
    return value


def read_moment(text: str) -> datetime:
    """An ISO 8601 date or time; UTC if it names no timezone."""
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is no date; give ISO 8601, such as 2025-05-07 or 2025-05-07T13:56"
        ) from error


def read_mapping(text: str) -> Mapping[str, object]:
    """A JSON object."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise typer.BadParameter(f"{text!r} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise typer.BadParameter(f'{text!r} is no JSON object; give one such as {{"year": 2025}}')
    return found


PathOption = Annotated[
    Path, typer.Option("--path", "-p", envvar="HINDSIGHT_PATH", help="Folder of the memory.")
]
BankOption = Annotated[str, typer.Option("--bank", "-b", help="Bank: a memory space of its own.")]
JsonOption = Annotated[
    bool,
    typer.Option("--json", callback=_note_json, help="Write JSON, for scripts."),
]
MomentOption = datetime | None


def moment(help: str) -> object:
    """An option that takes a date or time."""
    return typer.Option(parser=read_moment, metavar="TIME", help=help)


def confirmed(yes: bool, question: str) -> None:
    """Go on only if the user said yes, on the command line or when asked.

    Raises:
        typer.BadParameter: nobody is there to ask.
        typer.Abort: the answer was no.
    """
    if yes:
        return
    if not typer.get_text_stream("stdin").isatty():
        raise typer.BadParameter(f"{question} Add --yes to do it.")
    typer.confirm(question, abort=True)
