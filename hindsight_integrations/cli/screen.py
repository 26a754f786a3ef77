"""Where a command writes: JSON or a drawing on stdout, progress and complaints on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.console import Console, RenderableType

from hindsight_integrations.cli.interrupt import interruptible
from hindsight_integrations.cli.jsonable import jsonable


class Report(Protocol):
    """Moves a progress bar."""

    def __call__(self, done: int, total: int | None, label: str | None = None) -> None:
        """So much is done, of how much if that is known; and what is going on, if that changed."""
        ...


class Screen:
    """One command's output.

    Args:
        as_json: whether a machine reads it.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def show(self, data: object, human: RenderableType) -> None:
        """The result: `data` for a machine, `human` for a person."""
        self.data(data)
        self.draw(human)

    def data(self, data: object) -> None:
        """For a machine."""
        if self.as_json:
            typer.echo(json.dumps(jsonable(data), ensure_ascii=False, indent=2))

    def draw(self, human: RenderableType) -> None:
        """For a person."""
        if not self.as_json:
            self._out.print(human)

    def warn(self, text: str) -> None:
        """A line that a person should see whatever becomes of the result."""
        self._err.print(f"warning: {text}", style="yellow", markup=False, soft_wrap=True)

    def fail(self, error: BaseException, message: str) -> None:
        """Say that the command failed."""
        if self.as_json:
            found = {"type": type(error).__name__, "message": message}
            typer.echo(json.dumps({"error": found}, ensure_ascii=False))
        self._err.print(f"error: {message}", style="red", markup=False, soft_wrap=True)

    @contextmanager
    def progress(self, label: str) -> Iterator[Report]:
        """A progress bar, if a terminal shows it. Moving it ends a command that was interrupted."""
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TimeRemainingColumn,
        )

        columns = (
            SpinnerColumn(),
            "{task.description}",
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        hidden = not self._err.is_terminal
        with (
            interruptible() as check,
            Progress(*columns, console=self._err, transient=True, disable=hidden) as bar,
        ):
            task = bar.add_task(label, total=None)

            def report(done: int, total: int | None, label: str | None = None) -> None:
                check()
                bar.update(task, completed=done, total=total, description=label)

            yield report
