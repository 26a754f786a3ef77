"""Checks of values read from a store: a damaged value is found, logged, and reported or skipped."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

from hindsight_integrations.errors import HindsightError, StoreCorruptError
from hindsight_integrations.models import Disposition, Memory
from hindsight_integrations.nlp.late_interaction import is_whole
from hindsight_integrations.stores.base import StoreFault, Vector
from hindsight_integrations.stores.encoding import vector_of

T = TypeVar("T")

log = logging.getLogger("hindsight_integrations")

DECODING_ERRORS = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors of decoding a value that is not what was stored."""


class Decoder(NamedTuple):
    """The function that decodes a stored field, and the stored value for a damaged one."""

    decode: Callable[[Any], Any]
    default: Any

    def is_damaged(self, stored: object) -> bool:
        """Return True if a value is not what was stored."""
        try:
            self.decode(stored)
        except DECODING_ERRORS:
            return True
        return False


Decoders: TypeAlias = Mapping[str, Decoder]
"""Field of a bank or mental model to its decoder."""


def decoded_fields(owner: str, decoders: Decoders, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Decode all fields; log each that cannot be read, and use the default of its decoder."""
    found: dict[str, Any] = {}
    for field, (decode, default) in decoders.items():
        try:
            found[field] = decode(stored.get(field))
        except DECODING_ERRORS as error:
            found[field] = decode(default)
            log.warning(
                "%s of %s cannot be read and is ignored: %s; run the doctor, and set it again",
                field,
                owner,
                error,
            )
    return found


def checked_string(value: Any) -> str:
    """Return a stored text. Raises `ValueError` if it is no text."""
    if not isinstance(value, str):
        raise ValueError("it is not text")
    return value


def checked_trait(value: Any) -> int:
    """Return a disposition trait of a bank. Raises `InvalidInputError` if it is no such number."""
    return Disposition(value).skepticism


def checked_count(value: Any) -> int:
    """Return a stored count. Raises `ValueError` if it is no whole number of at least 0."""
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


def check_row(row: Sequence[object]) -> None:
    """Check that no text of a row is damaged. Raises `ValueError` if one is."""
    if DamagedText in map(type, row):
        raise ValueError("it contains text that is not UTF-8")


def log_unreadable(bank_id: str, memory_id: str, error: Exception) -> None:
    """Log that a memory cannot be read, and is left out."""
    log.warning(
        "memory %r of bank %r cannot be read and is left out: %s; run the doctor, or forget it",
        memory_id,
        bank_id,
        error,
    )


def unreadable_error(bank_id: str, memory_id: str) -> StoreCorruptError:
    """Return the error for a memory that exists and cannot be read."""
    return StoreCorruptError(
        f"memory {memory_id!r} of bank {bank_id!r} is damaged and was left out; run the doctor, "
        "which repairs what it can, or forget it"
    )


@contextmanager
def decoding_errors(bank_id: str) -> Iterator[None]:
    """Raise `StoreCorruptError` in place of the errors of decoding a value."""
    try:
        yield
    except HindsightError:
        raise
    except DECODING_ERRORS as error:
        raise StoreCorruptError(
            f"a value of bank {bank_id!r} cannot be read: {type(error).__name__}: {error}; run the "
            "doctor, or restore a backup"
        ) from error


def checked_vector(data: bytes, dimension: int) -> Vector:
    """Return the vector that `vector_bytes` was given.

    Raises:
        ValueError: it is not one of this dimension, or not finite.
    """
    if not isinstance(data, bytes) or len(data) != 4 * dimension:
        raise ValueError(f"its vector does not have {dimension} numbers")
    vector = vector_of(data)
    if not math.isfinite(vector.dot(vector)):  # several times faster than to test each number
        raise ValueError("its vector has a number that is not finite")
    return vector


def checked_interaction(data: bytes | None) -> bytes | None:
    """Return compressed token vectors. Raises `ValueError` if they are truncated."""
    if data is not None and not is_whole(data):
        raise ValueError("its token vectors are truncated")
    return data


def checked_text(text: str) -> str:
    """Return a memory's text. Raises `ValueError` if it is blank or no text."""
    if not isinstance(text, str) or not text or text.isspace():
        raise ValueError("its text is blank or not text")
    return text


def checked_optional_text(value: str | None) -> str | None:
    """Return an optional text field. Raises `ValueError` if it is neither text nor None."""
    if value is not None and not isinstance(value, str):
        raise ValueError("one of its fields is not text")
    return value


def expiry_or_none(read: Callable[[T], datetime | None], stored: T) -> datetime | None:
    """Return when a memory expires; None if that cannot be read, so that the memory is kept."""
    try:
        return read(stored)
    except DECODING_ERRORS:
        return None


def checked_memory(memory: Memory) -> Memory:
    """Return a memory whose fields were checked.

    Raises:
        ValueError: a field has a value that no memory has.
    """
    checked_text(memory.text)
    for value in (memory.speaker, memory.context, memory.scope, memory.kind, memory.reasoning):
        checked_optional_text(value)
    if not all(isinstance(tag, str) for tag in memory.tags):
        raise ValueError("a tag is not text")
    metadata = memory.metadata
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str | int | float) for value in metadata.values()
    ):
        raise ValueError("its metadata are not fields with plain values")
    confidence = memory.confidence
    if confidence is not None and not (
        isinstance(confidence, int | float) and 0 <= confidence <= 1
    ):
        raise ValueError(f"its confidence is {confidence!r}")
    return memory


def merge_faults(faults: Iterable[StoreFault]) -> list[StoreFault]:
    """Return the faults with those of one kind added up."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    for fault in faults:
        counts[fault.table, fault.problem, fault.repaired] += fault.count
    return [
        StoreFault(table, problem, count, repaired)
        for (table, problem, repaired), count in counts.items()
    ]
