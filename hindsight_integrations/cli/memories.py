"""`hindsight-memory memories`: look at, correct and forget single memories."""

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
from hindsight_integrations.model import MemoryType

app: typer.Typer = typer.Typer(
    no_args_is_help=True, help="Look at, correct and forget single memories."
)

MemoryArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of the memory.")]
Reason = Annotated[str | None, typer.Option(help="Why; kept in its history.")]


@app.command("list")
def list_memories(
    type: Annotated[list[MemoryType] | None, typer.Option(help="Only such; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="With any of these tags.")] = None,
    entity: Annotated[str | None, typer.Option(help="That mention this name.")] = None,
    document: Annotated[str | None, typer.Option(help="Of this document.")] = None,
    include_invalid: Annotated[
        bool, typer.Option("--include-invalid", help="Also those invalidated.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """List memories in the order they were stored."""
    with opened(path) as memory:
        page = memory.memories.list(
            bank,
            types=type or None,
            tags=tag or (),
            entity=entity,
            document_id=document,
            include_invalid=include_invalid,
            limit=limit,
            cursor=cursor,
        )
    Screen(as_json).show(page, tables.memories(page))


@app.command()
def show(
    memory_id: MemoryArgument,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Show all of one memory."""
    with opened(path) as memory:
        found = memory.memories.get(bank, memory_id)
    Screen(as_json).show(found, tables.memory(found))


@app.command()
def forget(
    memory_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of memories.")
    ] = None,
    document: Annotated[str | None, typer.Option(help="All that came from this document.")] = None,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Delete memories for good, by id or with their document."""
    with opened(path) as memory:
        gone = memory.forget(bank, memory_ids or (), document_id=document)
    Screen(as_json).show({"forgotten": gone}, f"Forgot {tables.count(len(gone), 'memory')}")


@app.command()
def history(
    memory_id: MemoryArgument,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Show what was changed of a memory; also of one that was deleted."""
    with opened(path) as memory:
        changes = memory.memories.history(bank, memory_id)
    Screen(as_json).show(changes, tables.history(changes))


@app.command()
def invalidate(
    memory_id: MemoryArgument,
    reason: Reason = None,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Hold a memory to be wrong: kept, but never recalled."""
    with opened(path) as memory:
        changed = memory.memories.invalidate(bank, memory_id, reason)
    Screen(as_json).show(changed, tables.memory(changed))


@app.command()
def restore(
    memory_id: MemoryArgument,
    reason: Reason = None,
    bank: BankOption = DEFAULT_BANK,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Take an invalidation back."""
    with opened(path) as memory:
        changed = memory.memories.restore(bank, memory_id, reason)
    Screen(as_json).show(changed, tables.memory(changed))
