"""`hindsight-memory recall`: the memories that answer a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hindsight_integrations.cli import tables
from hindsight_integrations.cli.opening import opened
from hindsight_integrations.cli.options import (
    DEFAULT_BANK,
    DEFAULT_PATH,
    JsonOption,
    MomentOption,
    PathOption,
    moment,
    read_mapping,
)
from hindsight_integrations.cli.screen import Screen
from hindsight_integrations.model import MemoryType
from hindsight_integrations.results import Arm

if TYPE_CHECKING:
    from hindsight_integrations.recall.request import Where

FOUND_NOTHING = 3
TOP = 10


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, or any text.")],
    explain: Annotated[
        bool, typer.Option("--explain", "-x", help="Show why each memory is there.")
    ] = False,
    top: Annotated[int, typer.Option("--top", "-n", min=1, help="Memories drawn at most.")] = TOP,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Write the text for a prompt, and nothing else.")
    ] = False,
    max_tokens: Annotated[
        int | None, typer.Option(help="Token budget of that text. (default 4096)")
    ] = None,
    budget: Annotated[Literal["low", "mid", "high"], typer.Option(help="How far to look.")] = "mid",
    type: Annotated[
        list[MemoryType] | None, typer.Option(help="Only such memories; repeatable.")
    ] = None,
    arm: Annotated[list[Arm] | None, typer.Option(help="Only these searches; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeatable.")] = None,
    all_tags: Annotated[bool, typer.Option("--all-tags", help="With all tags, not any.")] = False,
    where: Annotated[
        Mapping[str, object] | None,
        typer.Option(
            parser=read_mapping, metavar="JSON", help='Metadata: {"year": {"$gte": 2024}}.'
        ),
    ] = None,
    scope: Annotated[str | None, typer.Option(help="Only this partition of the bank.")] = None,
    since: Annotated[MomentOption, moment("Only from then on; needs --until.")] = None,
    until: Annotated[MomentOption, moment("Only before then; needs --since.")] = None,
    query_time: Annotated[MomentOption, moment("When it is asked; now by default.")] = None,
    as_of: Annotated[MomentOption, moment("Only what was known then.")] = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out what scores less.")
    ] = None,
    chunk_tokens: Annotated[int, typer.Option(min=0, help="Extra budget for source text.")] = 0,
    entity_tokens: Annotated[int, typer.Option(min=0, help="Extra budget for notes on names.")] = 0,
    bank: Annotated[
        list[str] | None, typer.Option("--bank", "-b", help="Bank; repeatable.")
    ] = None,
    path: PathOption = DEFAULT_PATH,
    as_json: JsonOption = False,
) -> None:
    """Find the memories that answer a question, best first.

    Exits with 3 if it finds none. --json holds all of them, explained in full.
    """
    screen = Screen(as_json)
    if (since is None) != (until is None):
        raise typer.BadParameter("--since and --until go together")
    with opened(path) as memory:
        result = memory.recall(
            bank or [DEFAULT_BANK],
            query,
            max_tokens=max_tokens,
            budget=budget,
            types=type or None,
            arms=arm or None,
            tags=tag or (),
            tags_match="all" if all_tags else "any",
            where=cast("Where | None", where),
            scope=scope,
            window=(since, until) if since and until else None,
            query_time=query_time,
            as_of=as_of,
            min_score=min_score,
            chunk_tokens=chunk_tokens,
            entity_tokens=entity_tokens,
        )
    if prompt and not as_json:
        typer.echo(result.text)
    elif explain:
        screen.show(result, result.explain(detailed=top))
    else:
        screen.show(result, tables.recalled(result, top))
    for failure in result.failures:
        screen.warn(f"{failure}; the answer was made without it")
    if not result:
        raise typer.Exit(FOUND_NOTHING)
