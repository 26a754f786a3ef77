"""Read the text to retain (files, folders, JSON Lines, standard input) and values of options."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeAlias

import typer
import yaml

from hindsight_integrations import validation
from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.models import Expiry, MetadataValue, TimeSpan
from hindsight_integrations.settings import variable

NOTES = (".md", ".txt")
"""Endings of the files of a folder that are read."""

JSON = "JSON"
"""Placeholder in help for the value of an option that is JSON (`read_mapping`)."""

Record: TypeAlias = Mapping[str, object]
"""A line of JSON Lines: an item or a message, by the names of its fields."""

_TIME_FIELDS = ("timestamp", "time", "expires_at", "modified")


def read_text(path: Path) -> str:
    """Return a file's text; `-` is standard input.

    Raises:
        InvalidInputError: the file cannot be read, or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is not UTF-8 text (byte {error.start}); convert it, or leave it out"
        ) from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error


def read_file(path: Path, document: str, *, dated: bool) -> Record:
    """Return a file as an item.

    Args:
        path: where it lies.
        document: id of the document.
        dated: give what its date can be taken from.
    """
    record: dict[str, object] = {"document_id": document, "content": read_text(path)}
    if dated:
        record["file"] = document if path.name in document else path.name
        record["modified"] = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return record


def read_folder(folder: Path, *, dated: bool) -> Iterator[Record]:
    """Yield each note below a folder as an item, in order of path; the ids are relative paths.

    Blank notes are left out, and so are hidden files and the contents of hidden folders.
    """
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix.lower() in NOTES and path.is_file() and not hidden:
            record = read_file(path, relative.as_posix(), dated=dated)
            if str(record["content"]).strip():
                yield record


def read_records(path: Path) -> list[Record]:
    """Return the objects of a JSON Lines file, with their times as datetimes.

    Raises:
        InvalidInputError: a line is not a JSON object, or a time in it is not ISO 8601; the
            message names the line.
    """
    lines = enumerate(read_text(path).split("\n"), start=1)
    return [_record(line, f"{path}, line {number}") for number, line in lines if line.strip()]


def sessions(messages: Sequence[Record], default: str | None) -> dict[str | None, list[Record]]:
    """Group messages by their own "session", or the default one, in order of first appearance."""
    groups: dict[str | None, list[Record]] = {}
    for message in messages:
        own = message.get("session", default)
        bare = {name: value for name, value in message.items() if name != "session"}
        groups.setdefault(None if own is None else str(own), []).append(bare)
    return groups


def _record(line: str, where: str) -> Record:
    record = validation.from_json(line, where)
    if not isinstance(record, dict):
        raise InvalidInputError(f"{where} is not a JSON object; give one object per line")
    return {name: _field(name, value, where) for name, value in record.items()}


def _field(name: str, value: object, where: str) -> object:
    if name not in _TIME_FIELDS or not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(
            f"{where}: {name} is {value!r}; give ISO 8601, such as 2025-05-07T13:56"
        ) from error


def read_mapping(text: str) -> Mapping[str, object]:
    """Return the JSON object given to an option.

    Raises:
        typer.BadParameter: the text is not a JSON object.
    """
    shown = validation.shown(text)
    example = """give a JSON object, such as '{"year": 2025}'"""
    try:
        value = validation.from_json(text, shown)
    except InvalidInputError as error:
        raise typer.BadParameter(f"{error}; {example}") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{shown} is not a JSON object; {example}")
    return value


@contextmanager
def editing(text: str, suffix: str) -> Iterator[str]:
    """Yield a text as the user leaves it in `$VISUAL` or `$EDITOR`.

    Raises:
        InvalidInputError: there is no such editor, it failed, or what it left cannot be used, by
            this function or in the block; its file is then kept, and named in the message.
    """
    usual = "notepad" if sys.platform == "win32" else "vi"
    editor = variable("VISUAL") or variable("EDITOR") or usual
    folder = Path(mkdtemp(prefix="hindsight-"))
    file = folder / f"memory{suffix}"
    file.write_text(text, encoding="utf-8")
    try:
        subprocess.run([*shlex.split(editor), str(file)], check=True)
        yield read_text(file)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        if isinstance(error, InvalidInputError):
            message = str(error)
        else:
            message = (
                f"the editor {editor!r} failed: {error}; set $EDITOR to one that waits until the "
                "file is closed"
            )
        if file.is_file() and file.read_bytes() != text.encode():
            raise InvalidInputError(f"{message}; what you wrote is kept in {file}") from error
        rmtree(folder)
        raise InvalidInputError(message) from error
    except BaseException:
        rmtree(folder)
        raise
    rmtree(folder)


def read_yaml(text: str, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields that were written in an editor.

    Raises:
        InvalidInputError: the text is not YAML, or names another field.
    """
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInputError(f"the saved text is not YAML: {error}") from error
    if not isinstance(value, dict) or (unknown := value.keys() - set(names)):
        what = f"has the field {min(unknown, key=str)!r}" if isinstance(value, dict) else "has none"
        raise InvalidInputError(f"the saved text {what}; the fields are {', '.join(names)}")
    return {name: "" if field is None else field for name, field in value.items()}


def read_pair(text: str) -> tuple[str, MetadataValue]:
    """Return the name and value of NAME=VALUE, the value read by `scalar`.

    Raises:
        typer.BadParameter: there is no name or no equals sign.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"--meta is {text!r}; give NAME=VALUE")
    return name, scalar(value)


def scalar(text: str) -> MetadataValue:
    """Return the number or boolean that the text is in JSON, else the text."""
    try:
        value = validation.from_json(text, "the value")
    except InvalidInputError:
        return text
    return value if isinstance(value, bool | int | float) else text


def read_span(text: str) -> TimeSpan:
    """Return the stretch of time of START/END.

    Raises:
        typer.BadParameter: there are not two times in ISO 8601, the earlier first.
    """
    start, _, end = text.partition("/")
    try:
        return TimeSpan(datetime.fromisoformat(start), datetime.fromisoformat(end))
    except (ValueError, InvalidInputError) as error:
        raise typer.BadParameter(
            f"{text!r} is not a period; give START/END, the earlier first, such as "
            "2025-05-07/2025-05-08"
        ) from error


def read_expiry(rules: Sequence[str]) -> Expiry:
    """Return the rules of [NAME=]DAYS, NAME being type:T or tag:T and DAYS a number or "never".

    Raises:
        typer.BadParameter: a rule has another form.
    """
    default: timedelta | None = None
    named: dict[str, dict[str, timedelta | None]] = {"type": {}, "tag": {}}
    for rule in rules:
        name, equals, days = rule.rpartition("=")
        kind, _, value = name.partition(":")
        try:
            after = None if days == "never" else _days(days)
            if equals:
                named[kind][value] = after
            else:
                default = after
        except (ValueError, OverflowError, KeyError) as error:
            raise typer.BadParameter(
                f"--expire is {rule!r}; give days above 0 or 'never', such as 30, type:opinion=7 "
                "or tag:law=never"
            ) from error
    return Expiry(default, named["type"], named["tag"])


def _days(text: str) -> timedelta:
    """Return a number of days above zero."""
    after = timedelta(days=float(text))
    if after <= timedelta(0):
        raise ValueError(text)
    return after
