"""Options that select memories, shared by the commands that search, list and forget them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any, Literal

import typer

from hindsight_integrations.cli import inputs
from hindsight_integrations.cli.job import TimeOption, time_option
from hindsight_integrations.models import MemoryState, MemoryType

Filters = Mapping[str, Any]
"""Keyword arguments of a verb that selects memories."""


def common_filters(
    type: Annotated[
        list[MemoryType] | None, typer.Option(help="Only memories of this type; repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only memories with this tag; repeatable.")
    ] = None,
    all_tags: Annotated[
        bool, typer.Option("--all-tags", help="Require all given tags, not just one of them.")
    ] = False,
    where: Annotated[
        Mapping[str, object] | None,
        typer.Option(
            parser=inputs.read_mapping,
            metavar=inputs.JSON,
            help='Metadata conditions, such as {"year": {"$gte": 2024}}.',
        ),
    ] = None,
    scope: Annotated[str | None, typer.Option(help="Only this partition of the bank.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="Only memories that mention this name; repeatable.")
    ] = None,
    since: Annotated[TimeOption, time_option("Only memories from this time on.")] = None,
    until: Annotated[TimeOption, time_option("Only memories before this time.")] = None,
    as_of: Annotated[TimeOption, time_option("Only what was known at this time.")] = None,
) -> Filters:
    """Return the filters that every verb which selects memories has."""
    return {
        "types": type or None,
        "tags": tag or (),
        "tags_match": "all" if all_tags else "any",
        "where": where,
        "scope": scope,
        "entities": entity or (),
        "window": (since, until) if since or until else None,
        "as_of": as_of,
    }


def stored_filters(
    text: Annotated[
        str | None, typer.Option(help="Only texts that contain this, ignoring case.")
    ] = None,
    speaker: Annotated[str | None, typer.Option(help="Only what this person said.")] = None,
    document: Annotated[
        str | None, typer.Option(help="Only what came from this document or session.")
    ] = None,
    changed_since: Annotated[
        TimeOption, time_option("Only memories stored or changed since this time.")
    ] = None,
    state: Annotated[
        MemoryState | None,
        typer.Option(help="Only this state. (default valid; for forget, any)"),
    ] = None,
) -> Filters:
    """Return the filters of the verbs that select stored memories without a question."""
    return {
        "text": text,
        "speaker": speaker,
        "document_id": document,
        "changed_since": changed_since,
        "state": state,
    }


def search_options(
    max_tokens: Annotated[
        int | None, typer.Option(help="Token budget of the text. (default 4096)")
    ] = None,
    budget: Annotated[
        Literal["low", "mid", "high"], typer.Option(help="Search effort; higher is slower.")
    ] = "mid",
    query_time: Annotated[
        TimeOption, time_option("Time of the question, for words like yesterday. (default now)")
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Minimum relevance, 0 to 1; leave out the others."),
    ] = None,
    fill: Annotated[
        bool, typer.Option("--fill", help="Use the whole token budget, even if hardly relevant.")
    ] = False,
) -> Filters:
    """Return the options of the verbs that answer a question."""
    return {
        "max_tokens": max_tokens,
        "budget": budget,
        "query_time": query_time,
        "min_score": min_score,
        "fill": fill,
    }


def filtered_by(
    *readers: Callable[..., Filters],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of the readers in place of its parameter `filters`.

    The command is called with what the readers make of their options, merged.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        own = [signature(reader, eval_str=True).parameters for reader in readers]
        options = [option for parameters in own for option in parameters.values()]

        @wraps(function)
        def command(*given: Any, **arguments: Any) -> Any:
            filters: dict[str, Any] = {}
            for reader, names in zip(readers, own, strict=True):
                filters |= reader(**{name: arguments.pop(name) for name in names})
            return function(*given, filters=filters, **arguments)

        stated = signature(function, eval_str=True).parameters.values()
        parameters = [
            each
            for parameter in stated
            for each in (options if parameter.name == "filters" else [parameter])
        ]
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return command

    return decorate
