"""`hindsight-memory shell`: commands and questions, one per line, on a memory that stays open."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from typing import Any

import typer

from hindsight_integrations.cli.config import defaults_of
from hindsight_integrations.cli.job import Job, on_memory
from hindsight_integrations.cli.screen import WRONG_USAGE, Output

LEAVE = ("exit", "quit")
NOT_HERE = ("shell", "mcp", "serve")
"""Commands that need a terminal or process of their own."""

HELP = """\
Enter a command without "hindsight-memory" (`memories list --limit 5`); any other line is a
question to recall. `use BANK` changes the bank, `help` lists the commands, `exit` leaves."""


@on_memory(create=True)
def shell(job: Job, context: typer.Context) -> Output:
    """Enter commands and questions, one per line, on a memory that stays open.

    Where the lines come from a file or a pipe, the exit code is that of the last command that
    failed. With --json each command writes a JSON document, and the shell one at the end.
    """
    memory = job.memory  # held open: the commands below share it
    root = context.find_root()
    commands: Any = root.command
    _complete(_words(commands))
    interactive = sys.stdin.isatty()
    if interactive:
        job.screen.draw(HELP)
    file = root.params.get("file")
    options = ["--config", str(file)] if file else []
    code = 0
    for line in _lines(lambda: f"{job.bank}> " if interactive else ""):
        words = _split(line)
        if words is None and line.split()[0] in commands.commands:
            typer.echo(
                "error: a quotation mark is not closed; put the text in double quotes, or write "
                "\\' for an apostrophe",
                err=True,
            )
            code = WRONG_USAGE
            continue
        words = words or [line]
        if words[0] == "use" and len(words) == 2:
            job.bank = words[1]
        elif words[0] in NOT_HERE:
            typer.echo(f"{words[0]} does not run in the shell; type exit first", err=True)
            code = WRONG_USAGE
        else:
            given = {"path": job.place, "bank": job.bank, "json": job.screen.as_json}
            shared = defaults_of(root.command, given)
            command = [*options, *_command(root.command, words, line)]
            try:
                root.command.main(command, prog_name="", default_map=shared)
            except SystemExit as ended:  # the command has said what was wrong
                if isinstance(ended.code, int) and ended.code:
                    code = ended.code
    data = {"banks": [bank.id for bank in memory.banks.list()]}
    return Output(data, None, code=0 if interactive else code)


def _command(root: Any, words: list[str], line: str) -> list[str]:
    """Return the command that a line means."""
    if words == ["help"]:
        return ["--help"]
    return words if words[0] in root.commands else ["recall", "--", line]


def _lines(prompt: Callable[[], str]) -> Iterator[str]:
    """Yield lines that are not blank until the end, or one that leaves; Ctrl-C drops a line."""
    while True:
        try:
            line = input(prompt()).strip()
        except EOFError:
            return
        except KeyboardInterrupt:
            typer.echo()
            continue
        if line in LEAVE:
            return
        if line:
            yield line


def _split(line: str) -> list[str] | None:
    """Return the words of a line; None if a quotation mark is not closed: an apostrophe."""
    try:
        return shlex.split(line)
    except ValueError:
        return None


def _words(root: Any) -> list[str]:
    groups = [(name, getattr(command, "commands", {})) for name, command in root.commands.items()]
    return [*root.commands, *(f"{name} {verb}" for name, verbs in groups for verb in verbs)]


def _complete(words: list[str]) -> None:
    """Complete commands by the Tab key, where the platform has readline."""
    try:
        import readline
    except ImportError:
        return

    def complete(text: str, state: int) -> str | None:
        typed = readline.get_line_buffer()
        skipped = len(typed) - len(text)
        found = [word[skipped:] for word in words if word.startswith(typed)]
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
