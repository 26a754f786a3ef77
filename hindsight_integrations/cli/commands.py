"""The commands put together, and what becomes of an error."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hindsight_integrations._version import __version__
from hindsight_integrations.cli import (
    banks,
    demonstrate,
    entities,
    evaluation,
    memories,
    moving,
    recall,
    retain,
    upkeep,
)
from hindsight_integrations.cli.options import JSON_KEY, JsonOption
from hindsight_integrations.cli.screen import Screen
from hindsight_integrations.errors import HindsightError

FAILED = 1
INTERRUPTED = 130


class _Commands(TyperGroup):
    """Every command, with errors reported in one line instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HindsightError as error:
            Screen(ctx.meta.get(JSON_KEY, False)).fail(error, " ".join(str(error).split()))
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            screen = Screen(ctx.meta.get(JSON_KEY, False))
            screen.fail(error, "interrupted; what was stored is whole")
            raise typer.Exit(INTERRUPTED) from error


app: typer.Typer = typer.Typer(
    name="hindsight-memory",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Long-term memory: retain text, recall what answers a question, see why.",
    epilog="Exit codes: 0 done, 1 failed, 2 used wrongly, 3 recall found nothing, 130 interrupted.",
)

_FIRST, _THEN, _KEEP = "Start here", "Use a memory", "Look after it"

app.command("demo", rich_help_panel=_FIRST)(demonstrate.demo)
app.command("retain", rich_help_panel=_THEN)(retain.retain)
app.command("recall", rich_help_panel=_THEN)(recall.recall)
app.add_typer(banks.app, name="banks", rich_help_panel=_KEEP)
app.add_typer(memories.app, name="memories", rich_help_panel=_KEEP)
app.add_typer(entities.app, name="entities", rich_help_panel=_KEEP)
app.command("doctor", rich_help_panel=_KEEP)(upkeep.doctor)
app.command("reindex", rich_help_panel=_KEEP)(upkeep.reindex)
app.command("export", rich_help_panel=_KEEP)(moving.export)
app.command("import", rich_help_panel=_KEEP)(moving.import_)
app.command("evaluate", rich_help_panel=_KEEP)(evaluation.evaluate)


@app.command("version", rich_help_panel=_FIRST)
def version(as_json: JsonOption = False) -> None:
    """Show which release this is."""
    found = {"name": "hindsight-integrations", "version": __version__}
    Screen(as_json).show(found, f"hindsight-integrations {__version__}")


def _show_version(value: bool) -> None:
    if value:
        version(as_json=False)
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show release.")
    ] = False,
) -> None:
    """Options before a command."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal of another encoding lacks some characters
            stream.reconfigure(errors="replace")
    app()
