"""`hindsight-memory sync`, `search`, `watch`, `health`, `migrate`: a folder of notes as memory."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from hindsight_integrations.cli.inputs import read_text
from hindsight_integrations.cli.job import Job, on_memory, on_screen
from hindsight_integrations.cli.screen import FAILED, FOUND_NOTHING, Output, Screen
from hindsight_integrations.cli.tables import simple_table

if TYPE_CHECKING:
    from hindsight_integrations.workspace import NoteRules, SearchHit, SyncEvent, Workspace

Root = Annotated[
    Path, typer.Option("--root", "-r", exists=True, file_okay=False, help="Folder of notes.")
]
Include = Annotated[
    list[str] | None,
    typer.Option(help="Pattern of files to include; repeatable. (default *.md, *.txt)"),
]
Exclude = Annotated[
    list[str] | None, typer.Option(help="Pattern of files to leave out; repeatable.")
]
MaxBytes = Annotated[
    int | None, typer.Option(min=1, help="Maximum size of a note, in bytes. (default 1,000,000)")
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        exists=True,
        dir_okay=False,
        help="JSON5 file with the settings of a host: baseUrl, bankId, ... Options override it.",
    ),
]


def _workspace(
    job: Job,
    root: Path,
    file: Path | None,
    *,
    rules: NoteRules | None = None,
    debounce_ms: int | None = None,
    shadow: bool = False,
) -> Workspace:
    """Return the workspace of a root; options given go before the keys of a configuration."""
    from hindsight_integrations.workspace import WorkspaceConfig  # takes a second to load

    config = WorkspaceConfig()
    if file is not None:
        config = WorkspaceConfig.load(file)
        job.default_to(config.bank_id, config.location)
    config = replace(config, bank_id=job.bank, retain_on_write=False)
    if debounce_ms is not None:
        config = replace(config, retain_debounce_ms=debounce_ms)
    return config.open(root, memory=lambda: job.memory, rules=rules, shadow=shadow)


def _rules(
    include: list[str] | None, exclude: list[str] | None, max_bytes: int | None
) -> NoteRules:
    from hindsight_integrations.workspace import NoteRules

    default = NoteRules()
    return NoteRules(
        include or default.include, exclude or default.exclude, max_bytes or default.max_bytes
    )


@on_memory(create=True)
def sync(
    job: Job,
    root: Root = Path(),
    include: Include = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = None,
    config: Config = None,
) -> Output:
    """Bring a bank up to date with a folder of notes: new, changed, renamed and deleted ones.

    Hidden files and session context files (such as SOUL.md and AGENTS.md) are left out.
    """
    with _workspace(job, root, config, rules=_rules(include, exclude, max_bytes)) as workspace:
        result = workspace.sync()
    data = {"counts": result.counts, "events": [_data(event) for event in result.events]}
    changed = [event for event in result.events if event.action != "unchanged"]
    lines = [_line(event) for event in changed]
    unchanged = f"{len(result.events) - len(changed)} unchanged"
    return Output(data, "\n".join([*lines, unchanged]), code=0 if result.ok else FAILED)


@on_memory()
def search(
    job: Job,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question, or any text.")],
    root: Root = Path(),
    max_results: Annotated[
        int, typer.Option("--top", "-n", min=1, help="Maximum number of hits.")
    ] = 6,
    min_score: Annotated[float, typer.Option(min=0, max=1, help="Minimum score of a hit.")] = 0.0,
    log: Annotated[
        bool, typer.Option("--shadow", help="Log the hits of both searches for 'shadow report'.")
    ] = False,
    config: Config = None,
) -> Output:
    """Search the memories of a folder of notes, and show the lines that contain each.

    If the memory is not available or in use, the words are searched in the notes themselves.
    """
    with _workspace(job, root, config, shadow=log) as workspace:
        hits = workspace.search(query, max_results, min_score)
    away = ["the memory is not available; the words were searched in the notes themselves"]
    warnings = away if any(hit.source == "files" for hit in hits) else []
    return Output(hits, _table(hits), warnings, code=0 if hits else FOUND_NOTHING)


@on_memory()
def health(
    job: Job,
    root: Annotated[
        Path | None,
        typer.Option(
            "--root", "-r", exists=True, file_okay=False, help="Folder of notes to check."
        ),
    ] = None,
    config: Config = None,
) -> Output:
    """Check that each part of a memory answers; with --root, also which notes are still pending.

    Exits with 1 if a part does not answer, or if anything is pending.
    """
    if root is None and config is None:
        found = job.memory.health()
    else:
        with _workspace(job, root or Path(), config) as workspace:
            found = workspace.health()
    lines = [f"{'ok' if part.ok else 'NOT ok'}  {part.part}: {part.detail}" for part in found.parts]
    code = 0 if found else FAILED
    return Output({"ok": found.ok, "parts": found.parts}, "\n".join(lines), code=code)


@on_memory(create=True)
def watch(
    job: Job,
    root: Root = Path(),
    include: Include = None,
    exclude: Exclude = None,
    max_bytes: MaxBytes = None,
    config: Config = None,
    debounce_ms: Annotated[
        int | None,
        typer.Option(
            min=0, help="Milliseconds without a write before a note is retained. (default 30,000)"
        ),
    ] = None,
) -> Output:
    """Keep a bank up to date with a folder of notes until Ctrl-C or SIGTERM.

    Writes one line for each note retained, deleted or refused; with --json a line of JSON. The last
    line has the counts.
    """
    rules = _rules(include, exclude, max_bytes)
    workspace = _workspace(job, root, config, rules=rules, debounce_ms=debounce_ms)
    stop = threading.Event()

    def show(event: SyncEvent) -> None:
        job.screen.line(_data(event), _line(event))

    before = signal.signal(signal.SIGTERM, lambda number, frame: stop.set())
    try:
        with workspace:
            counts = workspace.watch(stop, show)
    finally:
        signal.signal(signal.SIGTERM, before)
    drawing = ", ".join(f"{count} {name}" for name, count in counts.items())
    return Output({"counts": counts}, drawing, as_line=True)


@on_memory(create=True)
def migrate(
    job: Job,
    root: Root = Path(),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show counts and estimates; retain nothing.")
    ] = False,
    until: Annotated[
        Literal["curated", "recent", "older"],
        typer.Option(help="Last stage to run: the curated notes, recent notes, all others."),
    ] = "curated",
    days: Annotated[int, typer.Option(min=1, help="Days that count as recent.")] = 7,
    queries: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="File with your test queries, one per line."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Files of the report, to which .md and .html are added. "
            "(default ROOT/.hindsight/migration)"
        ),
    ] = None,
    config: Config = None,
) -> Output:
    """Move a folder of notes into the memory, in stages; run it again to continue.

    The curated notes come first. Check the result, then continue with --until recent and, if you
    like, --until older. The report compares searches in the files with searches in the memory.
    """
    from hindsight_integrations.workspace import Migration, MigrationReport, Stage
    from hindsight_integrations.workspace.report import plan_lines

    asked = read_text(queries).splitlines() if queries else []
    with _workspace(job, root, config) as workspace:
        migration = Migration(workspace, days=days)
        plan = migration.plan()
        counts = {str(stage): len(plan.of(stage)) for stage in Stage}
        if dry_run:
            data = {"notes": counts, "seconds": plan.seconds, "refused": len(plan.refused)}
            return Output(data, Markdown("\n".join(plan_lines(plan))))
        events: list[SyncEvent] = []
        stages = list(Stage)
        reached = stages.index(Stage(until)) + 1
        for stage in stages[:reached]:
            events += migration.run(stage).events
        written = MigrationReport(
            plan,
            migration.review(),
            migration.compare([line.strip() for line in asked if line.strip()]),
            migration.answers(),
        )
        place = report or workspace.folder.root / ".hindsight" / "migration"
        files = written.write(place)
    data = {"notes": counts, "events": [_data(event) for event in events], "report": files}
    left = [stage for stage in stages[reached:] if plan.of(stage)]
    ahead = f". To continue: --until {left[0]}" if left else ""
    drawing = Group(Markdown(written.markdown), Text(f"Report: {files[0]}, {files[1]}{ahead}"))
    failed = [_line(event) for event in events if event.action == "failed"]
    return Output(data, drawing, failed, code=FAILED if failed else 0)


shadow = typer.Typer(
    no_args_is_help=True, help="Compare searches in the files with searches in the memory."
)


@shadow.command("report")
@on_screen
def shadow_report(screen: Screen, root: Root = Path()) -> Output:
    """Compare the hits of all searches made with --shadow."""
    from hindsight_integrations.workspace.shadow import FILE, ShadowLog, ShadowReport

    report = ShadowReport(ShadowLog(root / ".hindsight" / FILE).read())
    return Output(report.figures, Markdown(report.markdown))


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
        return "Nothing found."
    table = simple_table("score", "place", "memory")
    for hit in hits:
        lines = f":{hit.start_line}-{hit.end_line}" if hit.start_line else ""
        table.add_row(f"{hit.score:.2f}", Text(f"{hit.path}{lines}"), Text(hit.text))
    return table
