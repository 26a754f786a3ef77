"""`hindsight-memory graph` and `timeline`: pictures of a bank."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hindsight_integrations.cli.filters import Filters, common_filters, filtered_by
from hindsight_integrations.cli.job import Job, on_memory
from hindsight_integrations.cli.screen import Lines, Output

if TYPE_CHECKING:
    from hindsight_integrations.pictures.picture import Picture


@on_memory()
@filtered_by(common_filters)
def graph(
    job: Job,
    filters: Filters,
    center: Annotated[
        str | None, typer.Option(help="Show only what is connected with this entity.")
    ] = None,
    hops: Annotated[
        int, typer.Option(min=1, max=100, help="Maximum number of connections from --center.")
    ] = 2,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of entities.")
    ] = 60,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output file: .html, .svg, .png, .graphml or .json."),
    ] = None,
) -> Output:
    """Show the people, places and things of a bank, and which memories connect them."""
    shown = job.memory.graph(job.bank, center=center, hops=hops, limit=limit, **filters)
    data = {"entities": shown.entities, "connections": shown.connections, "note": shown.note}
    return _shown(shown, data, output)


@on_memory()
@filtered_by(common_filters)
def timeline(
    job: Job,
    filters: Filters,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of memories.")
    ] = 500,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output file: .html, .svg, .png or .json."),
    ] = None,
) -> Output:
    """Show the memories of a bank at the times that they name."""
    shown = job.memory.timeline(job.bank, limit=limit, **filters)
    return _shown(shown, {"events": shown.events, "note": shown.note}, output)


def _shown(picture: Picture, data: Mapping[str, object], file: Path | None) -> Output:
    if file is None:
        return Output(data, Lines(str(picture)))
    return Output({"file": picture.save(file)}, f"Wrote {file}")
