"""`hindsight-memory sync`, `search` and `watch`: a folder of notes as memory."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from hindsight_integrations.cli.job import Job, on_memory
from hindsight_integrations.cli.screen import Output
from hindsight_integrations.cli.tables import simple_table

if TYPE_CHECKING:
    from hindsight_integrations.workspace import SearchHit, SyncEvent, Workspace

FOUND_NOTHING = 3

Root = Annotated[
    Path, typer.Option("--root", "-r", exists=True, file_okay=False, help="Folder of the notes.")
]
Include = Annotated[
    list[str] | None,
    typer.Option(help="Pattern of notes; repeatable. (default *.md, *.txt)"),
]
Exclude = Annotated[
    list[str] | None, typer.Option(help="Pattern of files that are no notes; repeatable.")
]
MaxBytes = Annotated[int, typer.Option(min=1, help="Largest size of a note.")]

MAX_BYTES = 1_000_000


def _workspace(
    job: Job,
    root: Path,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    max_bytes: int = MAX_BYTES,
    debounce_ms: int = 30_000,
) -> Workspace:
    from hindsight_integrations.workspace import NoteRules, Workspace  # takes a second to load

    default = NoteRules()
    rules = NoteRules(include or default.include, exclude or default.exclude, max_bytes)
    return Workspace(job.memory, job.bank, root, rules=rules, retain_debounce_ms=debounce_ms)


@on_memory(create=True)
def sync(
    job: Job,
    root: Root = Path(),
    include: Include = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
) -> Output:
    """Make a bank hold what a folder of notes says: new, changed, renamed and deleted ones.

    Files of session context (SOUL.md, AGENTS.md and their like) and hidden files are no notes.
    """
    result = _workspace(job, root, include, exclude, max_bytes).sync()
    data = {"counts": result.counts, "events": [_data(event) for event in result.events]}
    changed = [event for event in result.events if event.action != "unchanged"]
    lines = [_line(event) for event in changed]
    unchanged = f"{len(result.events) - len(changed)} unchanged"
    return Output(data, "\n".join([*lines, unchanged]), code=0 if result.ok else 1)


@on_memory()
def search(
    job: Job,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, or any text.")],
    root: Root = Path(),
    max_results: Annotated[int, typer.Option("--top", "-n", min=1, help="Hits at most.")] = 6,
    min_score: Annotated[float, typer.Option(min=0, max=1, help="Least score of a hit.")] = 0.0,
) -> Output:
    """Search the memories of a folder of notes; shows the lines that hold each."""
    hits = _workspace(job, root).search(query, max_results, min_score)
    return Output(hits, _table(hits), code=0 if hits else FOUND_NOTHING)


@on_memory(create=True)
def watch(
    job: Job,
    root: Root = Path(),
    include: Include = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = MAX_BYTES,
    debounce_ms: Annotated[
        int, typer.Option(min=0, help="Milliseconds without a write before a note is retained.")
    ] = 30_000,
) -> Output:
    """Keep a bank in step with a folder of notes until Ctrl-C or SIGTERM.

    Each note that is retained, deleted or refused is written as a line; with --json, as a line of
    JSON, the last of which has the counts.
    """
    workspace = _workspace(job, root, include, exclude, max_bytes, debounce_ms)
    stop = threading.Event()

    def show(event: SyncEvent) -> None:
        job.screen.line(_data(event), _line(event))

    before = signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    try:
        counts = workspace.watch(stop, show)
    finally:
        signal.signal(signal.SIGTERM, before)
    drawing = ", ".join(f"{count} {name}" for name, count in counts.items())
    return Output({"counts": counts}, drawing, as_line=True)


def _data(event: SyncEvent) -> dict[str, object]:
    return {
        "at": event.at,
        "action": event.action,
        "path": event.path,
        "stored": event.stored,
        "removed": event.removed,
        "detail": event.detail,
    }


def _line(event: SyncEvent) -> str:
    figures = f"{event.stored} stored, {event.removed} removed"
    return f"{event.action} {event.path}: {event.detail or figures}"


def _table(hits: list[SearchHit]) -> RenderableType:
    if not hits:
        return "Found nothing"
    table = simple_table("score", "place", "memory")
    for hit in hits:
        lines = f":{hit.start_line}-{hit.end_line}" if hit.start_line else ""
        table.add_row(f"{hit.score:.2f}", Text(f"{hit.path}{lines}"), Text(hit.text))
    return table
