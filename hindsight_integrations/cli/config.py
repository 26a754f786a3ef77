"""The configuration file: defaults of options for every command, and variables of the environment.

```toml
path = "~/memory"      # every command that has --path
bank = "me"

[recall]
max-tokens = 2048      # this command alone

[environment]
HINDSIGHT_EMBEDDER = "e5-small-v2"
```
The command line and the environment precede it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import date, time
from pathlib import Path
from typing import Any, TypeAlias

import typer

from hindsight_integrations.cli.inputs import JSON
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.settings import PARTS, PREFIX, Settings, nearest, variable

DEFAULT = Path(typer.get_app_dir("hindsight-memory")) / "config.toml"
"""The file that is read if no other is named."""

VARIABLES = (PREFIX, "NEO4J_", "CHROMA_")
"""Beginnings of the variables that the table `environment` sets."""

Defaults: TypeAlias = dict[str, Any]
"""Defaults of options by parameter name; of a group, those of its commands by name."""


def read_config(file: Path, commands: Any) -> Defaults:
    """Return the defaults of a file, and set the variables that it names and nobody else set.

    Args:
        file: the file, in TOML.
        commands: the root group.

    Raises:
        InvalidInputError: it cannot be read, or names an option, command or variable that there
            is not.
    """
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(f"the configuration {file} cannot be read: {error}") from error
    environment = values.pop("environment", {})
    try:
        defaults = defaults_of(commands, values)
        _set_variables(environment)
    except InvalidInputError as error:
        raise InvalidInputError(f"the configuration {file}: {error}") from error
    return defaults


def _set_variables(table: Any) -> None:
    """Set the variables of the table `environment` that nobody else set."""
    if not isinstance(table, dict):
        raise InvalidInputError("environment must be a table of variables: [environment]")
    for name, value in table.items():
        if not name.startswith(VARIABLES):
            raise InvalidInputError(
                f"{name} cannot be set here; use variables that begin with {', '.join(VARIABLES)}"
            )
        if isinstance(value, dict | list):
            raise InvalidInputError(f"{name} must be a single value")
        if name.startswith(PREFIX) and name not in (known := _variables()):
            near = nearest(name, known)
            meant = f"; did you mean {near}?" if near else "; see docs/settings.md"
            raise InvalidInputError(f"{name} is not a variable of hindsight-memory{meant}")
    for name, value in table.items():
        if variable(name) is None:
            os.environ[name] = str(value)


def _variables() -> list[str]:
    """Return the variables of this package that are read."""
    from hindsight_integrations.service.settings import ServiceSettings

    settings = (each.name for each in fields(Settings))
    of_service = (f"service_{each.name}" for each in fields(ServiceSettings))
    return [f"{PREFIX}{name.upper()}" for name in (*PARTS, *settings, *of_service)]


def defaults_of(group: Any, values: Mapping[str, Any]) -> Defaults:
    """Return the defaults of all commands of a group.

    Args:
        group: a group of commands.
        values: values by name of the option, for all commands that have it, and tables of the
            same by name of the command.

    Raises:
        InvalidInputError: a name is that of nothing.
    """
    shared = {name: value for name, value in values.items() if not isinstance(value, dict)}
    if unknown := sorted(shared.keys() - set(_names(group))):
        raise InvalidInputError(f"no command has an option --{unknown[0]}")
    tables = {name: value for name, value in values.items() if isinstance(value, dict)}
    if unknown := sorted(tables.keys() - group.commands.keys()):
        raise InvalidInputError(
            f"unknown command {unknown[0]!r}; the commands are {', '.join(group.commands)}"
        )
    return {
        name: _of_command(command, shared, tables.get(name, {}))
        for name, command in group.commands.items()
    }


def merged(one: Defaults, other: Defaults) -> Defaults:
    """Return the defaults of both; the other's precede, in each command of a group."""
    both = dict(one) | dict(other)
    for name in one.keys() & other.keys():
        if isinstance(one[name], dict) and isinstance(other[name], dict):
            both[name] = merged(one[name], other[name])
    return both


def _of_command(command: Any, shared: Mapping[str, Any], own: Mapping[str, Any]) -> Defaults:
    if hasattr(command, "commands"):
        known = set(_names(command))
        return defaults_of(command, {k: v for k, v in shared.items() if k in known} | dict(own))
    options = dict(_options(command))
    if unknown := sorted(own.keys() - options.keys()):
        raise InvalidInputError(f"{command.name} has no option --{unknown[0]}")
    given = {name: value for name, value in shared.items() if name in options} | dict(own)
    return {options[name].name: _value(options[name], value) for name, value in given.items()}


def _names(group: Any) -> Iterator[str]:
    for command in group.commands.values():
        yield from _names(command) if hasattr(command, "commands") else dict(_options(command))


def _options(command: Any) -> Iterator[tuple[str, Any]]:
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            if option.startswith("--"):
                yield option.removeprefix("--"), parameter


def _value(parameter: Any, value: Any) -> Any:
    """Return a value as it would be written behind the option."""
    if isinstance(value, list):
        return [_value(parameter, one) for one in value] if parameter.multiple else value
    if isinstance(value, dict):
        if parameter.metavar != JSON:
            raise InvalidInputError(f"{parameter.name} must be a single value")
        value = json.dumps(value, default=_time)
    elif not isinstance(value, bool | int | float | str):
        value = _time(value)
    if parameter.name == "path":
        value = os.path.expanduser(str(value))  # a Path would drop a slash of a service's address
    return [value] if parameter.multiple else value


def _time(value: date | time) -> str:
    """Return a time of TOML, which has times of its own, as text."""
    return value.isoformat()
