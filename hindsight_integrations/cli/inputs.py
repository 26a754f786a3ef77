"""Reading what is to be retained: files, folders, JSON Lines, standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from hindsight_integrations.errors import InvalidInputError

NOTES = (".md", ".txt")
"""Files of a folder that are read."""

Record: TypeAlias = Mapping[str, object]
"""A line of JSON Lines: an item or a message, by the names of its fields."""

_MOMENTS = ("timestamp", "time", "expires_at")


def read_text(path: Path) -> str:
    """A file's text; `-` is standard input.

    Raises:
        InvalidInputError: it cannot be read, or is not UTF-8.
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


def read_folder(folder: Path) -> Iterator[tuple[str, str]]:
    """The notes below a folder that are not blank: relative path and text, in order of path.

    Whatever is hidden, below a folder that is hidden too, is left alone.
    """
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix.lower() in NOTES and path.is_file() and not hidden:
            text = read_text(path)
            if text.strip():
                yield relative.as_posix(), text


def read_records(path: Path) -> list[Record]:
    """The objects of a JSON Lines file, their times read.

    Raises:
        InvalidInputError: a line is no JSON object, or a time in it no ISO 8601; it says which.
    """
    lines = enumerate(read_text(path).splitlines(), start=1)
    return [_record(line, f"{path}, line {number}") for number, line in lines if line.strip()]


def sessions(messages: Sequence[Record], default: str | None) -> dict[str | None, list[Record]]:
    """Messages by their own "session", or the default one, in order of first appearance."""
    found: dict[str | None, list[Record]] = {}
    for message in messages:
        own = message.get("session", default)
        bare = {name: value for name, value in message.items() if name != "session"}
        found.setdefault(None if own is None else str(own), []).append(bare)
    return found


def _record(line: str, where: str) -> Record:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{where} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"{where} is no JSON object; give one object a line")
    return {name: _moment(name, value, where) for name, value in found.items()}


def _moment(name: str, value: object, where: str) -> object:
    if name not in _MOMENTS or not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise InvalidInputError(
            f"{where}: {name} is {value!r}; give ISO 8601, such as 2025-05-07T13:56"
        ) from error


def scalar(text: str) -> str | int | float | bool:
    """A number or a boolean where the text is one in JSON's writing, else the text."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return text
    return found if isinstance(found, bool | int | float) else text
