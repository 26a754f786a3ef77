"""Values that are not what was stored: tell them, and set aside what cannot be read."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

from hindsight_integrations.errors import HindsightError, StoreCorruptError
from hindsight_integrations.models import Disposition, Memory
from hindsight_integrations.nlp.late_interaction import is_whole
from hindsight_integrations.stores.base import Vector
from hindsight_integrations.stores.common import vector_of

T = TypeVar("T")

log = logging.getLogger("hindsight_integrations")

UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors of decoding a value that is not what was stored."""


class Decoding(NamedTuple):
    """The function that reads a stored value, and the stored value that stands for a lost one."""

    decode: Callable[[Any], Any]
    instead: Any

    def is_lost(self, stored: object) -> bool:
        """Return True if a value is not what was stored."""
        try:
            self.decode(stored)
        except UNREADABLE:
            return True
        return False


Decodings: TypeAlias = Mapping[str, Decoding]
"""By field, how the values are read of what stands beside memories."""


def decoded(owner: str, decodings: Decodings, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all fields; one that cannot be read is left out, and logged."""
    found: dict[str, Any] = {}
    for field, (decode, instead) in decodings.items():
        try:
            found[field] = decode(stored.get(field))
        except UNREADABLE as error:
            found[field] = decode(instead)
            log.warning(
                "%s of %s cannot be read and is ignored: %s; run the doctor, and set it again",
                field,
                owner,
                error,
            )
    return found


def a_text(value: Any) -> str:
    """Return a stored text as it is. Raises `ValueError` if it is none."""
    if not isinstance(value, str):
        raise ValueError("it is not text")
    return value


def a_trait(value: Any) -> int:
    """Return a trait of a bank as it is. Raises `InvalidInputError` if it is none."""
    return Disposition(value).skepticism


def a_count(value: Any) -> int:
    """Return a number as it is. Raises `ValueError` if it is none, or below 0."""
    if type(value) is not int or value < 0:
        raise ValueError("it is not a whole number of at least 0")
    return value


class DamagedText(str):
    """Text of a cell that is no UTF-8; U+FFFD stands for what cannot be read."""

    __slots__ = ()


def text_of(data: bytes) -> str:
    """Return the text of a cell, a `DamagedText` if the cell is damaged."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return DamagedText(data.decode(errors="replace"))


def sound_row(row: Sequence[object]) -> None:
    """Check that no text of a row is damaged. Raises `ValueError` if one is."""
    if any(type(value) is DamagedText for value in row):
        raise ValueError("it contains text that is not UTF-8")


def set_aside(bank_id: str, memory_id: str, error: Exception) -> None:
    """Log that a memory cannot be read, and is left out."""
    log.warning(
        "memory %r of bank %r cannot be read and is left out: %s; run the doctor, or forget it",
        memory_id,
        bank_id,
        error,
    )


def unreadable(bank_id: str, memory_id: str) -> StoreCorruptError:
    """Return the error for a memory that exists and cannot be read."""
    return StoreCorruptError(
        f"memory {memory_id!r} of bank {bank_id!r} is damaged and was left out; run the doctor, "
        "which repairs what it can, or forget it"
    )


@contextmanager
def decoding(bank_id: str) -> Iterator[None]:
    """Map errors of decoding to `StoreCorruptError`."""
    try:
        yield
    except HindsightError:
        raise
    except UNREADABLE as error:
        raise StoreCorruptError(
            f"a value of bank {bank_id!r} cannot be read: {type(error).__name__}: {error}; run the "
            "doctor, or restore a backup"
        ) from error


def sound_vector(data: bytes, dimension: int) -> Vector:
    """Return the vector that `vector_bytes` was given.

    Raises:
        ValueError: it is not one of this dimension, or not finite.
    """
    if not isinstance(data, bytes) or len(data) != 4 * dimension:
        raise ValueError(f"its vector does not have {dimension} numbers")
    vector = vector_of(data)
    if not math.isfinite(float(vector.sum())):
        raise ValueError("its vector has a number that is not finite")
    return vector


def sound_interaction(data: bytes | None) -> bytes | None:
    """Return compressed token vectors as they are. Raises `ValueError` if some are cut."""
    if data is not None and not is_whole(data):
        raise ValueError("its token vectors are truncated")
    return data


def sound_text(text: str) -> str:
    """Return a memory's text as it is. Raises `ValueError` if it is none."""
    if not isinstance(text, str) or not text or text.isspace():
        raise ValueError("its text is blank or not text")
    return text


def sound_note(note: str | None) -> str | None:
    """Return a note on a memory as it is. Raises `ValueError` if it is no text."""
    if note is not None and not isinstance(note, str):
        raise ValueError("one of its fields is not text")
    return note


def sound_expiry(read: Callable[[T], datetime | None], stored: T) -> datetime | None:
    """Return when a memory expires, or None if that cannot be read: so the memory is looked at."""
    try:
        return read(stored)
    except UNREADABLE:
        return None


def sound_memory(memory: Memory) -> Memory:
    """Return a memory as it is.

    Raises:
        ValueError: a field has a value that no memory has.
    """
    sound_text(memory.text)
    for note in (memory.speaker, memory.context, memory.scope, memory.kind, memory.reasoning):
        sound_note(note)
    if not all(isinstance(tag, str) for tag in memory.tags):
        raise ValueError("a tag is not text")
    metadata = memory.metadata
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str | int | float) for value in metadata.values()
    ):
        raise ValueError("its metadata are not fields with plain values")
    sure = memory.confidence
    if sure is not None and not (isinstance(sure, int | float) and 0 <= sure <= 1):
        raise ValueError(f"its confidence is {sure!r}")
    return memory
