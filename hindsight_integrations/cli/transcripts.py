"""`hindsight-memory import-chats`: conversations and memories that people have elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Group

from hindsight_integrations.cli import tables
from hindsight_integrations.cli.job import Job, on_memory
from hindsight_integrations.cli.screen import Output


@on_memory(create=True)
def import_chats(
    job: Job,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", exists=True, help="An export, or a folder of .jsonl files."),
    ],
    format: Annotated[
        Literal["chatgpt", "claude", "claude-code", "codex", "openclaw", "mem0", "letta"] | None,
        typer.Option(help="Format of the export, if its content does not tell."),
    ] = None,
    user: Annotated[str, typer.Option(help="Name of the person who speaks as the user.")] = "user",
) -> Output:
    """Retain conversations and memories exported elsewhere; again adds only what is new.

    Read are exports of ChatGPT and Claude (conversations.json or the archive with it), session
    files of Claude Code, Codex and OpenClaw, exports of mem0, agent files and passages of Letta.
    """
    from hindsight_integrations.transcripts import import_transcripts

    memory = job.memory
    with job.screen.progress("Importing") as report:
        done = import_transcripts(memory, job.bank, file, format=format, user=user, progress=report)
    line = f"Read {tables.count(done.sessions, 'conversation')}, {tables.count(done.items, 'note')}"
    code = 1 if done.result.failed else 0
    return Output(done, Group(line, tables.retained(done.result)), code=code)
