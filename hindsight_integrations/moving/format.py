"""The file of a bank: a JSON object a line, named by what it holds, and a checksum at the end.

    {"hindsight-bank": {"schema": 2, ...}}
    {"document": {"id": "handbook", ...}}
    {"memory": {"memory": {"id": "m-1", ...}, "vector": "...", ...}}
    {"end": {"counts": {"document": 1, "memory": 1}, "sha256": "..."}}

Nothing in it depends on the moment or the store it was written from: equal banks make equal files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import IO, Any, NoReturn

from hindsight_integrations.errors import SchemaVersionError
from hindsight_integrations.moving.codec import decoded, encoded
from hindsight_integrations.moving.files import BankFile
from hindsight_integrations.moving.parts import FORMAT, LINES, NAMES, SCHEMA, End, Header, Part
from hindsight_integrations.storage.requests import (
    MemoryRecord,
)

_NEW_IN_MEMORIES = {"kind": None, "reasoning": None}
_NEW_IN_SOURCES = {"memory_id": None, "quote": None, "supports": True}
"""Fields that version 2 brought, as version 1 meant them."""


class Writer:
    """Writes lines, counting and hashing them; a file without its `end` is never read as whole."""

    def __init__(self, out: IO[bytes], header: Header) -> None:
        self.counts: Counter[str] = Counter()
        self._out = out
        self._digest = sha256()
        self._write(header)

    def add(self, part: Part) -> None:
        """The next part."""
        self.counts[NAMES[type(part)]] += 1
        self._write(part)

    def end(self) -> End:
        """The last line."""
        end = End(dict(self.counts), self._digest.hexdigest())
        self._write(end)
        return end

    def _write(self, value: Header | Part | End) -> None:
        line = json.dumps(
            {NAMES[type(value)]: encoded(value)},
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
        data = f"{line}\n".encode()
        self._digest.update(data)
        self._out.write(data)


def read(file: BankFile, bank_id: str = "") -> Iterator[Header | Part | End]:
    """All of a file in order, for a bank of this id: the header, the parts, the end.

    The end is only given if it is true of what came before it. Until then nothing is certain.

    Raises:
        InvalidInputError: the file cannot be read.
        StoreCorruptError: it is no exported bank, or truncated or altered; it says in which line.
        SchemaVersionError: a newer release wrote it.
    """
    lines = enumerate(file.lines(), start=1)
    number, line = next(lines, (1, b""))
    header: Header = _value(file, number, line, bank_id, SCHEMA)
    yield header
    digest, counts, end = sha256(line), Counter[str](), None
    for number, line in lines:
        if end is not None:
            raise file.damaged(number, "something follows its end")
        value = _value(file, number, line, bank_id, header.schema)
        if isinstance(value, End):
            if value != End(dict(counts), digest.hexdigest()):
                raise file.damaged(number, "the counts or the checksum differ: it was altered")
            end = value
            continue
        if isinstance(value, MemoryRecord) and value.vector.shape != (header.embedder.dimension,):
            raise file.damaged(number, f"a vector has {value.vector.size} dimensions")
        digest.update(line)
        counts[NAMES[type(value)]] += 1
        yield value
    if end is None:
        raise file.damaged(number + 1, "its end is missing: it breaks off here")
    yield end


def _value(file: BankFile, number: int, line: bytes, bank_id: str, schema: int) -> Any:
    try:
        name, content = _named(line)
        if (name == FORMAT) != (number == 1):
            raise ValueError("the header belongs into the first line, and only there")
        if name == FORMAT:
            _check_schema(file, content)
        if name == "memory" and schema < 2:
            content = _upgraded(content)
        return decoded(LINES[name], content, bank_id)
    except (ValueError, OverflowError, RecursionError) as error:
        what = "this is no exported bank" if number == 1 else "it cannot be read"
        raise file.damaged(number, f"{what}: {error}") from error


def _named(line: bytes) -> tuple[str, object]:
    if not line.endswith(b"\n"):
        raise ValueError("it breaks off")
    found = json.loads(line, parse_constant=_no_number)
    if not isinstance(found, dict) or len(found) != 1 or not found.keys() <= LINES.keys():
        raise ValueError(f"it holds none of {', '.join(LINES)}")
    ((name, content),) = found.items()
    return name, content


def _upgraded(content: Any) -> Any:
    """A memory of version 1 as version 2 writes it; what is none is for the decoder to refuse."""
    match content:
        case {"memory": {"sources": list(sources), **memory}, **rest}:
            stated = [
                _NEW_IN_SOURCES | each if isinstance(each, dict) else each for each in sources
            ]
            return {**rest, "memory": {**_NEW_IN_MEMORIES, **memory, "sources": stated}}
    return content


def _check_schema(file: BankFile, header: object) -> None:
    schema = header.get("schema") if isinstance(header, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise SchemaVersionError(
            f"{file.name}, line 1: it has format version {schema}, and this release reads "
            f"versions up to {SCHEMA}. Nothing was imported; upgrade hindsight-integrations"
        )


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")
