"""Files that hold a bank: one JSON object a line, named by its kind, and a checksum at the end.

    {"hindsight-bank": {"schema": 5, ...}}
    {"document": {"id": "handbook", ...}}
    {"memory": {"memory": {"id": "m-1", ...}, "vector": "...", ...}}
    {"end": {"counts": {"document": 1, "memory": 1}, "sha256": "..."}}

A file depends neither on the time of the export nor on the store: equal banks make equal files.
"""

from __future__ import annotations

import gzip
import json
import logging
import math
import os
import shutil
import sys
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from types import NoneType, UnionType
from typing import IO, Any, NoReturn, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np

from hindsight_integrations import validation
from hindsight_integrations.display import counted
from hindsight_integrations.errors import (
    InvalidInputError,
    SchemaVersionError,
    StoreCorruptError,
)
from hindsight_integrations.export_import.atomic_file import PIPE
from hindsight_integrations.export_import.ranges import check_ranges
from hindsight_integrations.history import AuditEntry, Change
from hindsight_integrations.models import (
    Bank,
    BankStats,
    Chunk,
    Document,
    Entity,
    Link,
    MentalModel,
    Source,
)
from hindsight_integrations.stores.base import EmbedderIdentity, EntityNames, MemoryRecord, Vector
from hindsight_integrations.timespan import with_offset
from hindsight_integrations.validation import shown

log = logging.getLogger("hindsight_integrations")

FORMAT = "hindsight-bank"
"""Name of the format, and of its first line."""

SCHEMA = 5
"""Version of the lines: raised whenever a field of any of them is added, removed or changed."""

BATCH = 500
"""Memories read, or parts stored, at a time: a few MB."""

MAX_LINE = 64 * 1024 * 1024
"""Most bytes read as one line: a file of another kind may have no line breaks."""

T = TypeVar("T")


def contents(counts: Mapping[str, int]) -> str:
    """Return how much of the main kinds of lines there is, for a person."""
    kinds = ("memory", "document", "entity")
    return ", ".join(counted(counts.get(kind, 0), kind) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Header:
    """First line: the bank itself, and what wrote the file.

    Attributes:
        schema: version of the lines, see `SCHEMA`.
        package: release that wrote the file.
        embedder: made the vectors.
        bank: its id and profile.
    """

    schema: int
    package: str
    embedder: EmbedderIdentity
    bank: Bank


@dataclass(frozen=True, slots=True)
class Evidence:
    """All sources of a conclusion. Its own line has none: they may be memories after it."""

    memory_id: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that waits to be consolidated."""

    memory_id: str


@dataclass(frozen=True, slots=True)
class End:
    """Last line: number of lines of each kind, and the SHA-256 of all lines before this one."""

    counts: Mapping[str, int]
    sha256: str


Part: TypeAlias = (
    Document
    | Chunk
    | Entity
    | EntityNames
    | MemoryRecord
    | Evidence
    | Waiting
    | Link
    | Change
    | AuditEntry
    | MentalModel
)

LINES: Mapping[str, type] = {
    FORMAT: Header,
    "document": Document,
    "chunk": Chunk,
    "entity": Entity,
    "edited": EntityNames,  # entities that stay even if nothing mentions them
    "memory": MemoryRecord,
    "evidence": Evidence,
    "waiting": Waiting,
    "link": Link,
    "change": Change,
    "audit": AuditEntry,
    "model": MentalModel,
    "end": End,
}
"""Type of each line by its name. A part only refers to parts that come before it."""

_NAMES: Mapping[type, str] = {kind: name for name, kind in LINES.items()}


def stored_counts(stats: BankStats) -> dict[str, int]:
    """Return the number of parts by name, for those that a store counts."""
    return {
        "document": stats.documents,
        "chunk": stats.chunks,
        "entity": stats.entities,
        "memory": stats.memories,
        "link": sum(stats.links.values()),
    }


def batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Split the items into lists of `BATCH`."""
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def parts_of(batch: Iterable[object], kind: type[T]) -> tuple[T, ...]:
    """Return the parts of one type."""
    return tuple(part for part in batch if isinstance(part, kind))


# Writing and reading


class BankWriter:
    """Writes lines, counting and hashing them; a file without `End` is never read as whole."""

    def __init__(self, out: IO[bytes], header: Header) -> None:
        self.counts: Counter[str] = Counter()
        self._out = out
        self._digest = sha256()
        self._write(header)

    def add(self, part: Part) -> None:
        """Write the next part."""
        self.counts[_NAMES[type(part)]] += 1
        self._write(part)

    def end(self) -> End:
        """Write and return the last line."""
        end = End(dict(self.counts), self._digest.hexdigest())
        self._write(end)
        return end

    def _write(self, value: Header | Part | End) -> None:
        line = json.dumps(
            {_NAMES[type(value)]: value},
            default=_encoded,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
        data = f"{line}\n".encode()
        self._digest.update(data)
        self._out.write(data)


def read_lines(file: BankFile, bank_id: str = "") -> Iterator[Header | Part | End]:
    """Read a file in order, for a bank of this id: the header, the parts, the end.

    The end is yielded only if it is true of all lines before it; until then none is trusted.

    Raises:
        InvalidInputError: the file cannot be read.
        StoreCorruptError: it is no exported bank, or truncated or altered; names the line.
        SchemaVersionError: another release wrote it.
    """
    lines = enumerate(file.lines(), start=1)
    number, line = next(lines, (1, b""))
    header: Header = _value(file, number, line, bank_id)
    _check_part(file, number, header.bank, header.embedder.dimension)
    yield header
    digest, counts, end = sha256(line), Counter[str](), None
    without_evidence: dict[str, int] = {}
    for number, line in lines:
        if end is not None:
            raise file.damaged(number, "there are lines after its end")
        value = _value(file, number, line, bank_id)
        if isinstance(value, End):
            if value != End(dict(counts), digest.hexdigest()):
                raise file.damaged(
                    number, "the counts or the checksum do not match, so the file was altered"
                )
            end = value
            continue
        _check_part(file, number, value, header.embedder.dimension)
        if isinstance(value, MemoryRecord) and value.memory.derived and not value.memory.sources:
            without_evidence[value.memory.id] = number
        elif isinstance(value, Evidence) and any(source.supports for source in value.sources):
            without_evidence.pop(value.memory_id, None)
        digest.update(line)
        counts[_NAMES[type(value)]] += 1
        yield value
    if end is None:
        raise file.damaged(number + 1, "the end is missing, so the file is truncated")
    for id, number in without_evidence.items():
        raise file.damaged(number, f"the conclusion {id!r} has no evidence")
    yield end


def _check_part(file: BankFile, number: int, value: object, dimension: int) -> None:
    if isinstance(value, MemoryRecord) and value.vector.shape != (dimension,):
        raise file.damaged(
            number, f"a vector has {value.vector.size} dimensions instead of {dimension}"
        )
    try:
        check_ranges(value)
    except ValueError as error:
        raise file.damaged(number, f"its content is invalid: {error}") from error


def _value(file: BankFile, number: int, line: bytes, bank_id: str) -> Any:
    try:
        name, content = _named(line)
        if (name == FORMAT) != (number == 1):
            raise ValueError("the header must be the first line, and only there")
        if name == FORMAT:
            _check_schema(file, content)
        return _decoded(LINES[name], content, bank_id)
    except (ValueError, OverflowError, RecursionError) as error:
        what = "this is not an exported bank" if number == 1 else "the line cannot be read"
        raise file.damaged(number, f"{what}: {error}") from error


def _named(line: bytes) -> tuple[str, object]:
    if not line.endswith(b"\n"):
        raise ValueError("the line is truncated")
    value = json.loads(line, parse_constant=_no_number)
    if not isinstance(value, dict) or len(value) != 1 or not value.keys() <= LINES.keys():
        raise ValueError(f"it contains none of {', '.join(LINES)}")
    ((name, content),) = value.items()
    return name, content


def _check_schema(file: BankFile, header: object) -> None:
    schema = header.get("schema") if isinstance(header, dict) else None
    if isinstance(schema, int) and schema != SCHEMA:
        raise SchemaVersionError(
            f"{file.name}, line 1: the format version is {schema}, but this release reads "
            f"version {SCHEMA}. Nothing was imported; upgrade hindsight-integrations, or "
            "export the bank again"
        )


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


# Values as JSON. Strict where pydantic is not: every field must be there even if it has a default,
# no unknown one may be, and timestamps carry a timezone. Only `bank_id` is not written: values are
# read into any bank.

_BANK = "bank_id"
_PLAIN = (str, int, float, bool)


def _encoded(value: object) -> object:
    """Encode timestamps as ISO 8601 with offset, durations in seconds, bytes in base64."""
    if isinstance(value, datetime):
        return with_offset(value).isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.ndarray):
        value = value.astype("<f4").tobytes()
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value):
        names = (field.name for field in fields(value))
        return {name: getattr(value, name) for name in names if name != _BANK}
    raise TypeError(f"{type(value).__name__} cannot be written to an exported bank")


def _decoded(kind: Any, value: Any, bank_id: str) -> Any:
    """Decode a value of type `kind`.

    Raises:
        ValueError: it is of another type; the message names the field and the fault.
        OverflowError: a number is too large.
    """
    if kind in _PLAIN:
        return _plain(kind, value)
    origin = get_origin(kind)
    if origin is UnionType:
        if type(value) in get_args(kind):
            return _plain(type(value), value)
        other = next(option for option in get_args(kind) if option is not NoneType)
        return _decoded(other, value, bank_id)
    if origin is tuple:
        item_kind, _ = get_args(kind)
        return tuple(_decoded(item_kind, item, bank_id) for item in _plain(list, value))
    if origin is Mapping:
        _, item_kind = get_args(kind)
        named = _plain(dict, value).items()
        return {_plain(str, name): _decoded(item_kind, item, bank_id) for name, item in named}
    if kind == Vector:
        return np.frombuffer(_bytes(value), dtype="<f4")
    if kind in _READ_FROM_PLAIN:
        return _READ_FROM_PLAIN[kind](value)
    if is_dataclass(kind):
        return _decoded_fields(kind, value, bank_id)
    if issubclass(kind, Enum):
        return kind(_plain(str, value))
    raise TypeError(f"{kind} cannot be written to an exported bank")


def _decoded_fields(kind: Any, value: Any, bank_id: str) -> Any:
    given, types = _plain(dict, value), _field_types(kind)
    if wrong := given.keys() ^ (types.keys() - {_BANK}):
        lacks = min(wrong) not in given
        raise ValueError(f"it {'lacks' if lacks else 'has an unknown'} field {shown(min(wrong))}")
    decoded = {_BANK: bank_id} if _BANK in types else {}
    for name, item in given.items():
        try:
            decoded[name] = _decoded(types[name], item, bank_id)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return kind(**decoded)


@cache
def _field_types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _plain(kind: Any, value: Any) -> Any:
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise ValueError(f"{shown(value)} is not a {kind.__name__}")
    if isinstance(value, str):
        value.encode()  # raises on half a character (a lone surrogate)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return value


def _bytes(value: Any) -> bytes:
    return b64decode(_plain(str, value), validate=True)


def _timestamp(value: Any) -> datetime:
    timestamp = datetime.fromisoformat(_plain(str, value))
    if timestamp.tzinfo is None:
        raise ValueError(f"{value!r} has no timezone")
    return with_offset(timestamp)


def _seconds(value: Any) -> timedelta:
    return timedelta(seconds=_plain(float, value))


_READ_FROM_PLAIN: dict[Any, Callable[[Any], Any]] = {
    bytes: _bytes,
    datetime: _timestamp,
    timedelta: _seconds,
}


# Reading files

_GZIP = b"\x1f\x8b"
"""First bytes of a compressed file, whatever its name."""


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[BankFile]:
    """Open the file at `path`, or a copy of standard input, to be read twice.

    It stays the same file for the block, even if another is moved to `path`.

    Raises:
        InvalidInputError: it cannot be read.
    """
    given = validation.file_path("path", path)
    piped = given == PIPE
    name = "standard input" if piped else repr(given)
    with ExitStack() as opened:
        try:
            if piped:
                stream: IO[bytes] = opened.enter_context(TemporaryFile())
                shutil.copyfileobj(sys.stdin.buffer, stream)
            else:
                stream = opened.enter_context(Path(given).open("rb"))
        except OSError as error:
            raise _unreadable(name, error) from error
        yield BankFile(stream, name)


@dataclass(frozen=True, slots=True)
class BankFile:
    """An open file that is read more than once; `name` stands for it in errors."""

    stream: IO[bytes]
    name: str

    def lines(self) -> Iterator[bytes]:
        """Read the lines from the first on, each with its line break.

        Raises:
            InvalidInputError: the file cannot be read.
            StoreCorruptError: it is compressed, and breaks off or was altered.
        """
        number = 1
        try:
            for line in iter(partial(self._from_start().readline, MAX_LINE), b""):
                yield line
                number += 1
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.damaged(number, f"the compressed data are damaged: {error}") from error
        except OSError as error:
            raise _unreadable(self.name, error) from error

    def damaged(self, line: int, why: str) -> StoreCorruptError:
        """Return the error that names the line and the fault."""
        return StoreCorruptError(
            f"{self.name}, line {line}: {why}. Nothing was imported; copy the file again, or "
            "export the bank again"
        )

    def _from_start(self) -> IO[bytes]:
        self.stream.seek(0)
        compressed = self.stream.read(len(_GZIP)) == _GZIP
        self.stream.seek(0)
        return cast(IO[bytes], gzip.GzipFile(fileobj=self.stream)) if compressed else self.stream


def _unreadable(name: str, error: OSError) -> InvalidInputError:
    return InvalidInputError(f"{name} cannot be read: {error.strerror}")
