"""`hindsight-memory entities`: the people, places and things a bank knows."""

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

app: typer.Typer = typer.Typer(
    no_args_is_help=True, help="The people, places and things a bank knows."
)

EntityArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name, alias or id.")]

SHOWN = 10
"""Memories shown with an entity."""


@app.command("list")
def list_entities(
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """List entities, most mentioned first."""
    with opened(path) as memory:
        page = memory.entities.list(bank, limit=limit, cursor=cursor)
    Screen(as_json).show(page, tables.entities(page))


@app.command()
def show(
    entity: EntityArgument,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Show an entity and memories that mention it."""
    with opened(path) as memory:
        found = memory.entities.get(bank, entity)
        mentions = memory.memories.list(bank, entity=found.id, limit=SHOWN)
    data = {"entity": found, "memories": mentions.items}
    Screen(as_json).show(data, tables.entity(found, mentions))


@app.command()
def merge(
    source: EntityArgument,
    target: Annotated[str, typer.Argument(metavar="INTO", help="The name that stays.")],
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Make two names one entity: the first becomes an alias of the second."""
    with opened(path) as memory:
        merged = memory.entities.merge(bank, source, target)
    Screen(as_json).show(merged, tables.entity(merged))


@app.command()
def rename(
    entity: EntityArgument,
    name: Annotated[str, typer.Argument(metavar="NEW", help="Its name from now on.")],
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Give an entity another name; the old one becomes an alias."""
    with opened(path) as memory:
        renamed = memory.entities.rename(bank, entity, name)
    Screen(as_json).show(renamed, tables.entity(renamed))


@app.command()
def alias(
    entity: EntityArgument,
    aliases: Annotated[list[str], typer.Argument(metavar="ALIAS...", help="More names for it.")],
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Give an entity more names it is found by."""
    with opened(path) as memory:
        named = memory.entities.alias(bank, entity, *aliases)
    Screen(as_json).show(named, tables.entity(named))
