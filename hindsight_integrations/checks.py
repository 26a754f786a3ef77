"""Checks at the door: an argument comes out usable, or is refused with what to give instead."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from hindsight_integrations.errors import ContentTooLargeError, InvalidInputError
from hindsight_integrations.model import MemoryType, Metadata, MetadataValue

MAX_ID = 256
"""Longest id, tag, scope or name, in characters."""

MAX_QUERY = 20_000
"""Longest query, in characters."""

MAX_METADATA = 200
"""Most metadata fields of a memory."""

MAX_METADATA_TEXT = 10_000
"""Longest metadata value, in characters."""

MAX_PAGE = 1000
"""Most items of a page."""

C = TypeVar("C", bound=str)
D = TypeVar("D", datetime, datetime | None)


def shown(value: object) -> str:
    """A value as it goes into an error message: its repr, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def text(value: object, what: str, *, most: int | None = None) -> str:
    """Valid unicode, `most` characters at most: surrogates are mended, NUL bytes dropped."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} is a {type(value).__name__}; give text (str)")
    if "\0" in value:
        value = value.replace("\0", "")
    value = well_formed(value)
    if most is not None and len(value) > most:
        raise InvalidInputError(f"{what} has {len(value):,} characters; give at most {most:,}")
    return value


def well_formed(text: str) -> str:
    """The text with halves of surrogate pairs joined, and a lone half made U+FFFD.

    Tokenizers and HTTP clients refuse surrogates, which broken JSON escapes bring in.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def content(value: object, limit: int) -> str:
    """Text to retain: not blank, within `limit` characters."""
    clean = text(value, "content")
    if len(clean) > limit:
        raise ContentTooLargeError(
            f"content has {len(clean):,} characters, and one retain takes {limit:,}; "
            "retain it in parts (one document_id each), or raise settings.max_content_chars"
        )
    if is_blank(clean):
        raise InvalidInputError("content is blank; give text with at least one visible character")
    return clean


def is_blank(text: str) -> bool:
    """Whether no character leaves ink: all are blank, control or format characters."""
    return all(unicodedata.category(character)[0] in "ZC" for character in text)


def query(value: object) -> str:
    """A question: not blank, and not a whole book."""
    clean = text(value, "query").strip()
    if is_blank(clean):
        raise InvalidInputError("query is blank; ask something")
    if len(clean) > MAX_QUERY:
        raise InvalidInputError(
            f"query has {len(clean):,} characters; ask in at most {MAX_QUERY:,}"
        )
    return clean


def label(what: str, value: object) -> str:
    """An id, name, tag or scope: not blank, no control characters, at most `MAX_ID` characters.

    Anything else goes, quotes and slashes included: ids are only ever passed as parameters.
    """
    clean = text(value, what, most=MAX_ID)
    if clean != value or any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in clean):
        raise InvalidInputError(
            f"{what} {shown(value)} holds control characters or broken unicode; give printable text"
        )
    if not clean.strip():
        raise InvalidInputError(f"{what} is blank; give at least one visible character")
    return clean


def choice(what: str, value: object, allowed: Iterable[C]) -> C:
    """One of some texts."""
    for each in allowed:
        if each == value:
            return each
    raise InvalidInputError(f"{what} is {shown(value)}; choose from {', '.join(allowed)}")


def bank_id(value: object) -> str:
    """A bank's id."""
    return label("bank_id", value)


def positive(what: str, value: object) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInputError(f"{what} is {shown(value)}; give a whole number of at least 1")
    return value


def not_negative(what: str, value: object) -> int:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInputError(f"{what} is {shown(value)}; give a whole number of at least 0")
    return value


def page_limit(value: object) -> int:
    """How many items a page takes: from 1 to `MAX_PAGE`."""
    limit = positive("limit", value)
    if limit > MAX_PAGE:
        raise InvalidInputError(f"limit is {limit}; give at most {MAX_PAGE}")
    return limit


def share(what: str, value: object, scale: str = "0 to 1") -> float:
    """A number from 0 to 1; `scale` tells what the ends mean."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"{what} is {shown(value)}; give a number from {scale}")
    return float(value)


def confidence(value: object) -> float | None:
    """A number from 0 to 1, or None."""
    return None if value is None else share("confidence", value, "0 (doubtful) to 1 (certain)")


def seconds(what: str, value: object, *, zero: bool = False) -> float:
    """A finite time: more than 0 seconds, or none at all if `zero` will do."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 < value < math.inf or (zero and value == 0))
    ):
        least = "0 or more" if zero else "more than 0"
        raise InvalidInputError(f"{what} is {shown(value)}; give a number of seconds, {least}")
    return float(value)


def moment(what: str, value: D) -> D:
    """A datetime, naive or not."""
    if value is not None and not isinstance(value, datetime):
        raise InvalidInputError(
            f"{what} is {shown(value)}; give a datetime "
            "(datetime.fromisoformat reads ISO 8601 text)"
        )
    return value


def memory_type(value: object) -> MemoryType:
    """A memory type, by member or name."""
    try:
        return MemoryType(value)  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidInputError(
            f"type is {shown(value)}; choose from {', '.join(MemoryType)} (or 'bank', which "
            "means 'experience')"
        ) from error


def memory_types(values: Iterable[MemoryType | str]) -> frozenset[MemoryType]:
    """Several memory types, at least one."""
    found = frozenset(map(memory_type, [values] if isinstance(values, str) else values))
    if not found:
        raise InvalidInputError(
            f"types is empty; choose from {', '.join(MemoryType)}, or leave it out for all"
        )
    return found


def tags(values: Sequence[str]) -> tuple[str, ...]:
    """Tags, each once, in order."""
    if isinstance(values, str):
        raise InvalidInputError(f"tags is the text {shown(values)}; give a list of texts")
    return tuple(dict.fromkeys(label("a tag", value) for value in values))


def metadata(values: Mapping[str, object] | None) -> Metadata:
    """Typed metadata: names to text, whole numbers, numbers or booleans."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"metadata is {shown(values)}; give a mapping of names to values")
    if len(values) > MAX_METADATA:
        raise InvalidInputError(
            f"metadata has {len(values):,} fields; give at most {MAX_METADATA}, and put longer "
            "material into the content"
        )
    return {
        label("a metadata name", key): metadata_value(key, item) for key, item in values.items()
    }


def metadata_value(name: str, value: object) -> MetadataValue:
    """One metadata value."""
    if isinstance(value, str):
        clean = text(value, f"metadata[{name!r}]")
        if len(clean) > MAX_METADATA_TEXT:
            raise InvalidInputError(
                f"metadata[{name!r}] has {len(clean):,} characters; give at most "
                f"{MAX_METADATA_TEXT:,}, and put longer material into the content"
            )
        return clean
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"metadata[{name!r}] is {value}; give a finite number")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise InvalidInputError(f"metadata[{name!r}] is beyond 64 bits; give it as text")
    if isinstance(value, bool | int | float):
        return value
    raise InvalidInputError(
        f"metadata[{name!r}] is {shown(value)}, a {type(value).__name__}; give text, a number "
        "or a boolean (leave a field out instead of None; flatten nested values)"
    )
