"""Output of a command: JSON or a drawing on stdout, progress and warnings on stderr."""

from __future__ import annotations

import os
import pydoc
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from types import FrameType, NoneType
from typing import NamedTuple, Protocol, TypeAlias, cast

import typer
from rich.console import Console, ConsoleOptions, OverflowMethod, RenderableType, RenderResult
from rich.text import Text

from hindsight_integrations.errors import error_content
from hindsight_integrations.json_form import JsonForm, json_value
from hindsight_integrations.rendering import Visible, as_json, visible

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


FAILED, WRONG_USAGE, FOUND_NOTHING, INTERRUPTED = 1, 2, 3, 130
"""Exit codes; the last is that after Ctrl-C."""


class Output(NamedTuple):
    """The result of a command.

    Attributes:
        data: the result for a program, written as JSON with `--json`.
        drawing: the result for a person; text is written as it is, None writes nothing.
        warnings: lines for stderr.
        code: the exit code.
        as_line: with `--json`, write the data as the last of the lines that the command wrote.
    """

    data: object
    drawing: RenderableType | None
    warnings: Sequence[str] = ()
    code: int = 0
    as_line: bool = False


class Lines(NamedTuple):
    """Text whose lines are not wrapped: a terminal shows as much of each as it has room for.

    Attributes:
        text: the lines.
        whole: True if a terminal wraps what is longer than it is wide, such as an address.
    """

    text: str
    whole: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        overflow: OverflowMethod = "ignore"
        if console.is_terminal:
            overflow = "fold" if self.whole else "ellipsis"
        yield Text(self.text, no_wrap=overflow != "fold", overflow=overflow)


class Report(Protocol):
    """Moves a progress bar."""

    def __call__(self, done: int, total: int | None, label: str | None = None) -> None:
        """Set the steps done, the total if it is known, and the label if it changed."""
        ...


PIPE_WIDTH = 160
"""Least width of the output in characters, where it is no terminal."""


class Screen:
    """The output streams of one command.

    Args:
        as_json: True if stdout carries JSON, for a program.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._out = Console(highlight=False)
        if not self._out.is_terminal:
            # A pipe or a file has no width of its own: figures are not cut to that of a terminal.
            self._out.width = max(self._out.width, PIPE_WIDTH)
        self._err = Console(stderr=True, highlight=False)

    def show(self, output: Output) -> None:
        """Write the result and its warnings.

        Raises:
            typer.Exit: the output has an exit code other than 0.
        """
        if self.as_json:
            typer.echo(as_json(jsonable(output.data), indent=None if output.as_line else 2))
        elif output.drawing is not None:
            self._page(output.drawing)
        for warning in output.warnings:
            self._complain(f"warning: {warning}", "yellow")
        if output.code:
            raise typer.Exit(output.code)

    def line(self, data: object, text: str) -> None:
        """Write one of several results as a line: the data as JSON, or the text for a person."""
        typer.echo(as_json(jsonable(data)) if self.as_json else visible(text))

    def draw(self, drawing: RenderableType) -> None:
        """Write to stdout, unless it carries JSON."""
        if self.as_json:
            return
        if isinstance(drawing, str):
            typer.echo(visible(drawing))  # names that users gave are not read as markup
        else:
            self._out.print(Visible(drawing), crop=self._out.is_terminal)

    def _page(self, drawing: RenderableType) -> None:
        """Write to stdout, through `$PAGER` if it is a terminal that the drawing does not fit."""
        if not self._out.is_terminal:
            self.draw(drawing)
            return
        if isinstance(drawing, str):
            text = f"{visible(drawing)}\n"
        else:
            with self._out.capture() as capture:
                self._out.print(Visible(drawing))
            text = capture.get()
        if text.count("\n") < self._out.height:
            typer.echo(text, nl=False, color=True)
        else:
            os.environ.setdefault("LESS", "FRX")  # colours stay, and so does the screen
            pydoc.pager(text)

    def fail(self, error: BaseException, message: str) -> None:
        """Report that the command failed."""
        if self.as_json:
            content = {"type": type(error).__name__, "message": message}
            with suppress(OSError):  # which may be what failed
                typer.echo(as_json({"error": content}))
        self._complain(f"error: {message}", "red")

    def _complain(self, line: str, style: str) -> None:
        self._err.print(visible(line), style=style, markup=False, soft_wrap=True)

    @contextmanager
    def progress(self, label: str) -> Iterator[Report]:
        """Show a progress bar on a terminal; each report raises if Ctrl-C was pressed."""
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
                bar.update(task, completed=done, total=total, description=label and visible(label))

            yield report


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Yield a check that raises `KeyboardInterrupt` if Ctrl-C was pressed inside the block.

    It is called at the end of the block, too.

    Python raises it wherever the main thread happens to be. In one of fifty long retains that was
    inside a library which swallowed it, and the command went on as if nobody had pressed.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None  # only the main thread is interrupted, and only if Python handles it
        return
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()
        before(number, frame)

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
        check()
    finally:
        signal.signal(signal.SIGINT, before)


def jsonable(value: object) -> Json:
    """Return a value as JSON types: what has a JSON form in it, by its `to_dict`.

    Other dataclasses and named tuples become objects of their fields, and exceptions
    `{"type", "message"}`. Times become ISO 8601 text, durations that stand alone seconds.

    Raises:
        TypeError: the value is of a kind that no result holds.
    """
    if type(value) in (NoneType, bool, int, float, str):
        return cast("Json", value)
    if isinstance(value, JsonForm):
        return value.to_dict()
    if isinstance(value, BaseException):
        return jsonable(error_content(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return jsonable(value._asdict())
    if is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [jsonable(item) for item in value]
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if isinstance(value, date) else cast("Json", json_value(value))
