"""The sample workspace of 30 files, and what a text search and a workspace find in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from hindsight_integrations.workspace import SearchHit, SyncResult, Workspace

TOP = 3
"""Hits of a search that are looked at."""


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question on the sample workspace, and the note that answers it."""

    question: str
    path: str


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """First hits of both searches for a question."""

    asked: SampleQuestion
    files: tuple[SearchHit, ...]
    memory: tuple[SearchHit, ...]

    def found(self, hits: Sequence[SearchHit]) -> bool:
        """Return True if the note that answers is among the hits."""
        return self.asked.path in [hit.path for hit in hits]


def copy_sample(folder: Path) -> Path:
    """Copy the sample workspace into a folder, and return its root."""
    root = folder / "notes"
    with as_file(files("hindsight_integrations.demo") / "sample_workspace") as source:
        shutil.copytree(source, root, dirs_exist_ok=True)
    return root


def load_questions() -> list[SampleQuestion]:
    """Return the questions on the sample workspace."""
    text = (files("hindsight_integrations.demo") / "note_questions.json").read_text("utf-8")
    return [SampleQuestion(**each) for each in json.loads(text)]


def answer(workspace: Workspace, asked: SampleQuestion) -> SampleAnswer:
    """Return what both searches find."""
    return SampleAnswer(
        asked,
        tuple(workspace.search_files(asked.question, TOP)),
        tuple(workspace.search_memory(asked.question, TOP)),
    )


def opening(root: Path, synced: SyncResult) -> RenderableType:
    """Return the panel that introduces the workspace."""
    kept = ("retained", "unchanged")  # unchanged: in a folder of an earlier run
    notes = sum(len(synced.paths(action)) for action in kept)
    others = sum(1 for path in root.rglob("*.md")) - notes
    text = (
        f"{notes} notes of Ines: curated ones, daily notes, summaries of sessions. {others} files "
        "are instructions of her agent, and no memory. Each question goes to a text search of the "
        f"files and to the memory: the first {TOP} hits of each."
    )
    return Panel(text, title="hindsight-memory demo --workspace", title_align="left")


def comparison(one: SampleAnswer) -> RenderableType:
    """Return one question with the hits of both searches."""
    table = Table.grid(padding=(0, 1))
    for name, hits in (("files ", one.files), ("memory", one.memory)):
        mark = "✓" if one.found(hits) else "✗"
        for hit in hits[:1] or (None,):
            shown = (
                f"{hit.path}:{hit.start_line} {' '.join(hit.text.split())}" if hit else "nothing"
            )
            table.add_row(mark, name, Text(shown, overflow="ellipsis", no_wrap=True))
    return Group(Text(f"\n{one.asked.question}", style="bold"), table)


def tally(answers: Sequence[SampleAnswer], seconds: float) -> RenderableType:
    """Return how many questions each search found the note for."""
    by_files = sum(one.found(one.files) for one in answers)
    by_memory = sum(one.found(one.memory) for one in answers)
    return Text(
        f"\nThe note that answers is among the first {TOP}: text search {by_files}, "
        f"memory {by_memory} of {len(answers)}. {seconds:.1f} s."
    )
