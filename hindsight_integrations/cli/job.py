"""Decorators that make a command of a function, and the options that commands share.

A decorated function is given a `Screen` or a `Job`, takes what the command takes beside the
shared options, and returns an `Output`, which is shown once the memory is closed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import cached_property, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hindsight_integrations.cli.screen import Output, Screen
from hindsight_integrations.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from hindsight_integrations.client import Hindsight

JSON_KEY = "hindsight_integrations.json"
"""Key of the context's note that `--json` was given, for the report of an error."""

DEFAULT_PATH = Path("hindsight-memory")
DEFAULT_BANK = "default"


class Namespace(TyperGroup):
    """The commands of a namespace. `show` also goes by the name of its method, `get`."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, or None."""
        known = "show" if cmd_name == "get" and "get" not in self.commands else cmd_name
        return super().get_command(ctx, known)


def namespace(help: str) -> typer.Typer:
    """Return the group of the commands of a namespace."""
    return typer.Typer(cls=Namespace, no_args_is_help=True, help=help)


def _note_json(context: typer.Context, value: bool) -> bool:
    context.meta[JSON_KEY] = value
    return value


def _option(name: str, default: object, annotation: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


_BANK = _option(
    "bank",
    None,
    Annotated[
        str | None,
        typer.Option("--bank", "-b", show_default=DEFAULT_BANK, help="Id of the bank."),
    ],
)
_PATH = _option(
    "path",
    None,
    Annotated[
        str | None,  # a Path would drop a slash of a service's address
        typer.Option(
            "--path",
            "-p",
            metavar="PATH",
            envvar="HINDSIGHT_PATH",
            show_default=str(DEFAULT_PATH),
            help="Folder of the memory; most commands also take the address of a service.",
        ),
    ],
)
_JSON = _option(
    "as_json",
    False,
    Annotated[bool, typer.Option("--json", callback=_note_json, help="Write JSON for scripts.")],
)

TimeOption = datetime | None


def time_option(help: str) -> Any:
    """Return an option that takes an ISO 8601 date or time."""
    return typer.Option(parser=_read_time, metavar="TIME", help=help)


def _read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is not a date; give ISO 8601, such as 2025-05-07 or 2025-05-07T13:56"
        ) from error


def _is_url(place: str) -> bool:
    from hindsight_integrations.remote.connection import is_url  # takes a while to load

    return is_url(place)


def check_bank(bank: str) -> None:
    """Refuse an id that no bank can have, before a folder is made for it."""
    from hindsight_integrations import validation  # takes a while to load

    validation.bank_id(bank)


class Job:
    """One run of a command: its screen, its bank, and the memory, opened at first use.

    Attributes:
        screen: where the command writes.
        bank: the bank.
        location: arguments of `Hindsight.from_env` that say where the memory is.

    Raises:
        InvalidInputError: the id of the bank cannot be used.
    """

    def __init__(self, screen: Screen, path: str | None, bank: str | None, create: bool) -> None:
        if bank is not None:
            check_bank(bank)
        self.screen = screen
        self.bank = DEFAULT_BANK if bank is None else bank
        self.location: dict[str, Any] = {"path": os.path.expanduser(path or DEFAULT_PATH)}
        self._given = (path, bank)
        self._create = create
        self._exits = ExitStack()

    @cached_property
    def memory(self) -> Hindsight:
        """The memory at the location, with the other settings of the environment (`HINDSIGHT_*`).

        If a service has the folder open, or the location is the address of one, it is that
        service's.

        Raises:
            InvalidInputError: the location is an address, but not that of a service.
            NotFoundError: there is no such folder, and the command does not create one.
        """
        is_service = _is_url(self.place)
        if not (is_service or self._create or self.path.exists() or self._is_served()):
            from hindsight_integrations import validation  # takes a while to load

            validation.folder_path("path", self.place)
            raise NotFoundError(
                f"there is no memory at {self.path}; retain something first, or give its folder "
                "with --path"
            )
        from hindsight_integrations.client import Hindsight  # takes a second to load
        from hindsight_integrations.service.discovery import find_service

        # A command itself says which items were not stored, and why.
        logging.getLogger("hindsight_integrations.retain").setLevel(logging.ERROR)

        if not is_service and (running := find_service(self.path)) is not None:
            return self._exits.enter_context(Hindsight(running.address))
        return self._exits.enter_context(Hindsight.from_env(**self.location))

    def _is_served(self) -> bool:
        """Return True if nothing of the memory is in a folder."""
        from hindsight_integrations.opening import from_environment  # takes a second to load

        given = from_environment() | self.location
        return bool(given["graph"] and given["vectors"])

    @property
    def place(self) -> str:
        """The folder of the memory, or the address of a service."""
        return str(self.location["path"])

    @property
    def path(self) -> Path:
        """The folder of the memory.

        Raises:
            InvalidInputError: the location is the address of a service.
        """
        if _is_url(self.place):
            raise InvalidInputError(
                "this command needs the folder of a memory, but the path is the URL of a service; "
                "give a folder with --path"
            )
        return Path(self.place)

    def default_to(self, bank: str, location: Mapping[str, str]) -> None:
        """Set the bank and the location where the command was given none."""
        path, given = self._given
        if given is None:
            self.bank = bank
        if path is None:
            self.location |= location

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *error: Any) -> None:
        self._exits.__exit__(*error)


def on_screen(function: Callable[..., Output]) -> Callable[..., None]:
    """Make a command of a function of a `Screen`; the command takes `--json`."""
    return _command(function, function)


def on_memory(
    *, create: bool = False, one_bank: bool = True
) -> Callable[[Callable[..., Output]], Callable[..., None]]:
    """Make a command of a function of a `Job`; the memory is closed before the output is shown.

    Args:
        create: True to create a memory that does not exist. Commands that only read leave no
            folder behind.
        one_bank: True if the command has `--bank` for one bank, given as `Job.bank`.
    """

    def decorate(function: Callable[..., Output]) -> Callable[..., None]:
        def run(screen: Screen, path: str | None, **arguments: Any) -> Output:
            bank = arguments.pop("bank") if one_bank else None
            with Job(screen, path, bank, create) as job:
                return function(job, **arguments)

        return _command(function, run, *((_BANK, _PATH) if one_bank else (_PATH,)))

    return decorate


def _command(
    function: Callable[..., Output], run: Callable[..., Output], *options: Parameter
) -> Callable[..., None]:
    """Return a command with the parameters of `function` after its first, and the options."""

    @wraps(function)
    def command(*, as_json: bool, **arguments: Any) -> None:
        screen = Screen(as_json)
        screen.show(run(screen, **arguments))

    _, *own = signature(function, eval_str=True).parameters.values()
    parameters = [*own, *options, _JSON]
    # Typer reads both to learn what a command takes.
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in parameters}
    return command
