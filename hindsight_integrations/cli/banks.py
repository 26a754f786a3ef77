"""`hindsight-memory banks`: make, look at, change and delete banks."""

from __future__ import annotations

from typing import Annotated

import typer

from hindsight_integrations.cli import tables
from hindsight_integrations.cli.opening import opened
from hindsight_integrations.cli.options import DEFAULT_PATH, JsonOption, PathOption, confirmed
from hindsight_integrations.cli.screen import Screen
from hindsight_integrations.model import Disposition

app: typer.Typer = typer.Typer(no_args_is_help=True, help="Make, look at, change and delete banks.")

BankArgument = Annotated[str, typer.Argument(metavar="BANK", help="Id of the bank.")]
Name = Annotated[str | None, typer.Option(help="For people to read.")]
Mission = Annotated[str | None, typer.Option(help="What the bank is for.")]
Background = Annotated[str | None, typer.Option(help="What its agent knows of itself.")]
Directives = Annotated[
    list[str] | None, typer.Option("--directive", help="A hard rule; repeatable.")
]
Trait = Annotated[int | None, typer.Option(min=1, max=5, help="Trait, 1 (low) to 5 (high).")]


@app.command("list")
def list_banks(path: PathOption = DEFAULT_PATH, as_json: JsonOption = False) -> None:
    """List the banks of a memory."""
    with opened(path) as memory:
        banks = memory.banks.list()
        stats = [memory.banks.stats(bank.id) for bank in banks]
    Screen(as_json).show(banks, tables.banks(banks, stats))


@app.command()
def show(bank: BankArgument, path: PathOption = DEFAULT_PATH, as_json: JsonOption = False) -> None:
    """Show a bank and how much it holds."""
    with opened(path) as memory:
        found, stats = memory.banks.get(bank), memory.banks.stats(bank)
    Screen(as_json).show({"bank": found, "stats": stats}, tables.bank(found, stats))


@app.command()
def create(
    bank: BankArgument,
    name: Name = None,
    mission: Mission = None,
    background: Background = None,
    directives: Directives = None,
    skepticism: Trait = None,
    literalism: Trait = None,
    empathy: Trait = None,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Make an empty bank."""
    with opened(path, create=True) as memory:
        made = memory.banks.create(
            bank,
            name=name or "",
            mission=mission or "",
            background=background or "",
            disposition=_disposition(Disposition(), skepticism, literalism, empathy),
            directives=directives or (),
        )
    Screen(as_json).show(made, f"Made bank {made.id}")


@app.command()
def update(
    bank: BankArgument,
    name: Name = None,
    mission: Mission = None,
    background: Background = None,
    directives: Directives = None,
    skepticism: Trait = None,
    literalism: Trait = None,
    empathy: Trait = None,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Change what is given, and leave the rest."""
    with opened(path) as memory:
        old = memory.banks.get(bank).disposition
        changed = memory.banks.update(
            bank,
            name=name,
            mission=mission,
            background=background,
            disposition=_disposition(old, skepticism, literalism, empathy),
            directives=directives,
        )
        stats = memory.banks.stats(bank)
    Screen(as_json).show(changed, tables.bank(changed, stats))


@app.command()
def delete(
    bank: BankArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Delete a bank with everything in it, for good."""
    with opened(path) as memory:
        stats = memory.banks.stats(bank)
        confirmed(yes, f"Delete bank {bank!r} and its {stats.memories} memories for good?")
        memory.banks.delete(bank)
    Screen(as_json).show({"deleted": bank, "memories": stats.memories}, f"Deleted bank {bank}")


def _disposition(
    old: Disposition, skepticism: int | None, literalism: int | None, empathy: int | None
) -> Disposition:
    return Disposition(
        skepticism=skepticism or old.skepticism,
        literalism=literalism or old.literalism,
        empathy=empathy or old.empathy,
    )
