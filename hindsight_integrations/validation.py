"""Validate arguments: return the normalised value or raise InvalidInputError."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from hindsight_integrations.errors import ContentTooLargeError, InvalidInputError
from hindsight_integrations.json_form import JsonForm
from hindsight_integrations.models import MemoryType, Metadata, MetadataValue, TimeSpan, utc_now

MAX_ID = 256
"""Longest id, tag, scope or name, in characters."""

MAX_QUERY = 20_000
"""Longest query, in characters."""

MAX_CONTEXT = 2_000_000
"""Longest context of a text, in characters."""

MAX_ENTITIES = 100
"""Most entities given for a memory: each pair of them is counted as mentioned together."""

MAX_METADATA = 200
"""Most metadata fields of a memory."""

MAX_METADATA_TEXT = 10_000
"""Longest metadata value, in characters."""

MAX_PAGE = 1000
"""Most items of a page."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[\w.-]+:\d+/?$", re.IGNORECASE)
"""A URL, or a host with a port."""

C = TypeVar("C", bound=str)
T = TypeVar("T")
P = TypeVar("P")
M = TypeVar("M")
D = TypeVar("D", datetime, datetime | None)

When: TypeAlias = datetime | date | str
"""A time as callers may give it; text is ISO 8601."""


@runtime_checkable
class MemoryLike(Protocol):
    """A memory that is given in place of its id.

    It is a `Memory`, or a value that shows one: `Recalled`, `Observation`, `Opinion`.
    """

    @property
    def id(self) -> str:
        """Id of the memory."""
        ...

    @property
    def bank_id(self) -> str:
        """The bank that has the memory."""
        ...

    @property
    def proof_count(self) -> int:
        """Number of sources that support it."""
        ...


def shown(value: object) -> str:
    """Return a value for an error message: its repr, shortened."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _own(value: object) -> object:
    """Return a scalar of numpy as Python's own: a row of a table has such numbers and flags."""
    numpy = sys.modules.get("numpy")  # takes a while to load; without it no value is one
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def is_missing(value: object) -> bool:
    """Return True for None, and for an empty cell of a table: NaN, NaT or NA."""
    own = _own(value)
    if isinstance(own, float | datetime):
        return own != own  # NaN and NaT alone do not equal themselves
    return own is None or type(own).__name__ == "NAType"  # of pandas, which need not be loaded


def present(fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that are given: an empty cell of a table counts as not given."""
    return {name: value for name, value in fields.items() if not is_missing(value)}


def not_a_table(what: str, value: object) -> None:
    """Refuse a table, which would be read as the names of its columns."""
    if hasattr(value, "columns"):
        raise InvalidInputError(
            f"{what} is a table, a {type(value).__name__}; give its rows as mappings, such as "
            "table.to_dict('records') of pandas"
        )


_NUMBERS = ("k", "top_k", "topk", "n", "limit", "n_results", "num_results", "max_results")
"""Names under which other libraries take a number of results."""

_ELSEWHERE = {
    "filter": "where",
    "filters": "where",
    "threshold": "min_score",
    "score_threshold": "min_score",
    "similarity_threshold": "min_score",
    "since": "window",
    "until": "window",
    "after": "window",
    "before": "window",
    "user_id": "bank_id",
}
"""Names of arguments in other libraries, with those that they have here."""


def meant(name: str, known: Iterable[str]) -> str:
    """Return the end of the error for an unknown argument: what may have been meant, or "".

    Args:
        name: the unknown argument.
        known: the names of the arguments that there are.
    """
    names = set(known)
    if name in _NUMBERS and not names.isdisjoint(own := ("k", "similarity_top_k", "limit")):
        return f"; did you mean {next(each for each in own if each in names)!r}?"
    if name in _NUMBERS and "max_tokens" in names:
        return (
            "; a recall has a token budget, max_tokens: for a number of memories, take result[:3]"
        )
    near = [_ELSEWHERE[name]] if name in _ELSEWHERE else get_close_matches(name, names, n=1)
    return f"; did you mean {near[0]!r}?" if near and near[0] in names else ""


def text(value: object, what: str, *, most: int | None = None) -> str:
    """Return valid unicode of at most `most` characters: surrogates joined, NUL bytes dropped."""
    if not isinstance(value, str):
        id = getattr(value, "id", None)
        wanted = f"its id, {shown(id)}" if isinstance(id, str) and id else "text"
        raise InvalidInputError(f"{what} is {shown(value)}; give {wanted}")
    if "\0" in value:
        value = value.replace("\0", "")
    value = well_formed(value)
    if most is not None and len(value) > most:
        raise InvalidInputError(f"{what} has {len(value):,} characters; give at most {most:,}")
    return value


def well_formed(text: str) -> str:
    """Join halves of surrogate pairs, and replace a lone half by U+FFFD.

    Tokenizers and HTTP clients refuse surrogates, which come from broken JSON escapes.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def from_json(text: str | bytes, what: str) -> Any:
    """Return the value of JSON text; `what` names the text in the error message."""
    try:
        return json.loads(text)
    except ValueError as error:  # a number of thousands of digits, too
        raise InvalidInputError(f"{what} is not JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{what} is nested too deeply; flatten it") from error


def content(value: object, limit: int) -> str:
    """Return text to retain: not blank, within `limit` characters."""
    clean = text(value, "content")
    if len(clean) > limit:
        raise ContentTooLargeError(
            f"content has {len(clean):,} characters, but one retain takes at most "
            f"{limit:,}; split it into parts (one document_id each), or raise "
            "settings.max_content_chars"
        )
    if is_blank(clean):
        raise InvalidInputError("content is blank; give text with at least one visible character")
    return clean


def is_blank(text: str) -> bool:
    """Return True if the text has no visible character."""
    return all(unicodedata.category(character)[0] in "ZC" for character in text)


def query(value: object) -> str:
    """Return a question: not blank, at most `MAX_QUERY` characters."""
    clean = text(value, "query").strip()
    if is_blank(clean):
        raise InvalidInputError("query is blank; give a question")
    if len(clean) > MAX_QUERY:
        raise InvalidInputError(f"query has {len(clean):,} characters; give at most {MAX_QUERY:,}")
    return clean


def label(what: str, value: object) -> str:
    """Return an id, name, tag or scope: not blank, no control characters, at most `MAX_ID` long.

    Anything else is allowed, quotes and slashes included: ids are only passed as parameters.
    """
    clean = text(value, what, most=MAX_ID)
    if clean != value or any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in clean):
        raise InvalidInputError(
            f"{what} {shown(value)} contains control characters or broken unicode; give "
            "printable text"
        )
    if not clean.strip():
        raise InvalidInputError(f"{what} is blank; give at least one visible character")
    return clean


def label_or_none(what: str, value: object) -> str | None:
    """Return what `label` returns, or None if the value is None."""
    return None if value is None else label(what, value)


def memory_id(what: str, value: object, bank_id: str) -> str:
    """Return the id of a memory of a bank, given as the id or as the memory itself.

    Raises:
        InvalidInputError: it is neither, or a memory of another bank.
    """
    if isinstance(value, str):
        return label(what, value)
    if not isinstance(value, MemoryLike) or isinstance(value, type):
        raise InvalidInputError(
            f"{what} is {shown(value)}; give the id of a memory, or a memory itself, such as one "
            "that recall returned"
        )
    if value.bank_id != bank_id:
        raise InvalidInputError(
            f"{what} is a memory of bank {value.bank_id!r}, but the bank given is {bank_id!r}: "
            f"{shown(value)}"
        )
    return label(what, value.id)


def memory_ids(what: str, values: object, bank_id: str) -> list[str]:
    """Return the ids of memories of a bank, given one or several as in `memory_id`.

    A whole result is refused: what a recall finds near a question is seldom all meant.
    """
    if isinstance(values, str | MemoryLike):
        return [memory_id(what, values, bank_id)]
    if isinstance(values, JsonForm):
        raise InvalidInputError(
            f"{what} is {shown(values)}; give the memories that are meant, or their ids, in a list"
        )
    given = items(what, cast("Iterable[object]", values), "memories, or their ids")
    return [memory_id(f"one of {what}", value, bank_id) for value in given]


def flag(what: str, value: object) -> bool:
    """Return True or False."""
    given = _own(value)
    if not isinstance(given, bool):
        raise InvalidInputError(f"{what} is {shown(value)}; give True or False")
    return given


def progress(value: P | None, *, or_flag: bool = False) -> P | None:
    """Return a function that is told how far the work is, or None; with `or_flag`, or a flag."""
    if value is None or callable(value) or (or_flag and isinstance(value, bool)):
        return value
    either = ", True for a progress bar," if or_flag else ""
    raise InvalidInputError(
        f"progress is {shown(value)}; give a function of (done, total){either} or None"
    )


def choice(what: str, value: object, allowed: Iterable[C]) -> C:
    """Return the allowed text that equals `value`."""
    for text in allowed if isinstance(value, str) else ():
        if text == value:
            return text
    raise InvalidInputError(f"{what} is {shown(value)}; choose from {', '.join(allowed)}")


def reason(value: object) -> str | None:
    """Return the reason of a change, or None."""
    return None if value is None else text(value, "reason", most=MAX_METADATA_TEXT)


def bank_id(value: object) -> str:
    """Return a bank's id."""
    if isinstance(value, list | tuple):
        raise InvalidInputError(
            f"bank_id is {shown(value)}; give the id of one bank: only recall takes several"
        )
    return label("bank_id", value)


def new_bank_id(value: object) -> str:
    """Return the id of a bank to be created: one that has white space around it is a slip.

    A bank that an earlier release created under such an id can be used, and exported to another.
    """
    id = bank_id(value)
    if id != id.strip():
        raise InvalidInputError(
            f"bank_id is {shown(id)}, with white space around it; give {shown(id.strip())} for a "
            "new bank"
        )
    return id


def positive(what: str, value: object) -> int:
    """Return a whole number of at least 1."""
    return _at_least(1, what, value)


def not_negative(what: str, value: object) -> int:
    """Return a whole number of at least 0."""
    return _at_least(0, what, value)


def _at_least(least: int, what: str, value: object) -> int:
    value = _own(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInputError(
            f"{what} is {shown(value)}; give a whole number of at least {least}"
        )
    return value


def page_limit(value: object, most: int = MAX_PAGE) -> int:
    """Return the number of items of a page or picture, from 1 to `most`."""
    limit = positive("limit", value)
    if limit > most:
        raise InvalidInputError(f"limit is {limit}; give at most {most}")
    return limit


def share(what: str, value: object, scale: str = "0 to 1") -> float:
    """Return a number from 0 to 1; `scale` names the ends in the error message."""
    value = _own(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError(f"{what} is {shown(value)}; give a number from {scale}")
    return float(value)


def confidence(value: object) -> float | None:
    """Return a number from 0 to 1, or None."""
    return None if value is None else share("confidence", value, "0 (doubtful) to 1 (certain)")


def seconds(what: str, value: object, *, zero: bool = False) -> float:
    """Return a finite time in seconds, more than 0; or 0 too, if `zero`."""
    value = _own(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not (0 < value < math.inf or (zero and value == 0))
    ):
        least = "0 or more" if zero else "more than 0"
        raise InvalidInputError(f"{what} is {shown(value)}; give a number of seconds, {least}")
    return float(value)


def timestamp(what: str, value: D | date | str, zone: tzinfo = UTC) -> D:
    """Return a time in its own zone, given as a datetime, as a date or as ISO 8601 text.

    Args:
        what: name of the argument, for messages.
        value: the time; a date is the beginning of its day.
        zone: that of a time that carries none; see `Settings.timezone`.

    Raises:
        InvalidInputError: it is no time.
    """
    if value is None:
        return value
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        time.utcoffset()  # the NaT of pandas is a datetime that has none, and no year either
    except (TypeError, ValueError) as error:
        hint = "; of seconds since 1970: datetime.fromtimestamp(float(...), UTC)"
        raise InvalidInputError(
            f"{what} is {shown(value)}; give a datetime, or ISO 8601 text such as 2024-05-07T13:56"
            f"{hint if _is_of_seconds(value) else ''}"
        ) from error
    return time.replace(tzinfo=zone) if time.tzinfo is None else time


def _is_of_seconds(value: object) -> bool:
    """Return True for a number that can be no year or day: seconds since 1970, after 1973."""
    try:
        return math.isfinite(seconds := float(value)) and seconds >= 1e8  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def time_or_now(what: str, value: When | None, zone: tzinfo = UTC) -> datetime:
    """Return a time as `timestamp` does; the present in `zone` for None."""
    return utc_now().astimezone(zone) if value is None else timestamp(what, value, zone)


def last_moment(what: str, value: D | date | str, zone: tzinfo = UTC) -> D:
    """Return a time as `timestamp` does; of a date, the last moment of its day."""
    start = timestamp(what, value, zone)
    if start is None or isinstance(value, datetime) or not _is_date(value):
        return start
    return start.replace(hour=23, minute=59, second=59, microsecond=999_999)


def _is_date(value: object) -> bool:
    """Return True for a date, or for ISO 8601 text that names no time of day."""
    try:
        return isinstance(value, date) or bool(date.fromisoformat(str(value)))
    except ValueError:
        return False


def window(
    value: TimeSpan | tuple[When | None, When | None] | None,
    what: str = "window",
    zone: tzinfo = UTC,
) -> TimeSpan | None:
    """Return a stretch of time, given as a span or as a pair of which one end may be None."""
    if value is None or isinstance(value, TimeSpan):
        return value
    try:
        start, end = value
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{what} is {shown(value)}; give a TimeSpan, or a pair of datetimes (start, "
            "end), one of which may be None"
        ) from error
    if start is None and end is None:
        raise InvalidInputError(f"{what} has neither start nor end; give one, or leave it out")
    return TimeSpan.between(timestamp(what, start, zone), timestamp(what, end, zone))


def spans(what: str, values: object, zone: tzinfo = UTC) -> tuple[TimeSpan, ...]:
    """Return a list of time spans, each given as one or as a pair of datetimes."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{what} is {shown(values)}; give a list")
    return tuple(_span(what, value, zone) for value in values)


def _span(what: str, value: object, zone: tzinfo) -> TimeSpan:
    if isinstance(value, TimeSpan):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        start, end = (timestamp(what, each, zone) for each in value)
        if start is not None and end is not None:
            return TimeSpan(start, end)
    raise InvalidInputError(f"a time of {what} is {shown(value)}; give a TimeSpan, or (start, end)")


def memory_type(value: object) -> MemoryType:
    """Return a memory type, given by member or name."""
    try:
        return MemoryType(value)  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidInputError(
            f"type is {shown(value)}; choose from {', '.join(MemoryType)} (or 'bank', which "
            "means 'experience')"
        ) from error


def instances(what: str, values: Iterable[T], kind: type[T]) -> tuple[T, ...]:
    """Return values that are all of one class.

    Raises:
        InvalidInputError: one is not.
    """
    given = items(what, values, f"a list of {kind.__name__}")
    for value in given:
        if not isinstance(value, kind):
            raise InvalidInputError(f"{what} contains {shown(value)}; give a {kind.__name__}")
    return given


def items(what: str, values: Iterable[T], wanted: str = "a list of texts") -> tuple[T, ...]:
    """Return the members of a list or another iterable; a text or a mapping is none."""
    if not isinstance(values, str | bytes | Mapping) and isinstance(values, Iterable):
        try:
            return tuple(values)
        except TypeError:  # an array of no dimension says that it can be iterated over
            pass
    raise InvalidInputError(f"{what} is {shown(values)}; give {wanted}")


def items_or_one(what: str, values: Iterable[T], wanted: str) -> tuple[T, ...]:
    """Return the members of an iterable, or a text as the only one."""
    if isinstance(values, str):
        return (cast(T, values),)
    return items(what, values, wanted)


def instance(what: str, value: object, kind: type[T]) -> T:
    """Return a value of a class."""
    if not isinstance(value, kind):
        raise InvalidInputError(f"{what} is {shown(value)}; give a {kind.__name__}")
    return value


def memory(what: str, value: M) -> M:
    """Return an open memory: a `Hindsight`, or an object with its methods."""
    if isinstance(value, type) or not all(hasattr(value, verb) for verb in ("retain", "recall")):
        raise InvalidInputError(f"{what} is {shown(value)}; give an open memory, a Hindsight")
    return value


def folder_path(what: str, value: object) -> Path:
    """Return the absolute path of a folder, which need not exist; "~" is the home folder."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise InvalidInputError(f"{what} is {shown(value)}; give the path of a folder")
    if _ADDRESS.match(path) and not os.path.exists(path):  # a folder may have such a name
        raise InvalidInputError(
            f"{what} is {shown(value)}, which looks like an address; give the path of a folder, or "
            "the address of a service with http:// or https://. Servers are given as "
            "graph='neo4j://...' and vectors='http://...'"
        )
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInputError(
            f"{what} is {shown(value)}, but there is no such user or home folder; give the whole "
            "path of the folder"
        ) from error


def file_path(what: str, value: str | os.PathLike[str]) -> str:
    """Return a path as text; "~" is the home folder."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    try:
        usable = isinstance(path, str) and b"\0" not in (os.fsencode(path) or b"\0")
    except UnicodeEncodeError:
        usable = False
    if not isinstance(path, str) or not usable:
        raise InvalidInputError(f"{what} is {shown(value)}; give the path of a file")
    return os.path.expanduser(path)


def page_cursor(value: str | None) -> str | None:
    """Return the cursor of a page."""
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"cursor is {shown(value)}; give the next_cursor of a page")
    return value


def memory_types(values: Iterable[MemoryType | str]) -> frozenset[MemoryType]:
    """Return several memory types, at least one."""
    given = items_or_one("types", values, f"some of {', '.join(MemoryType)}")
    types = frozenset(map(memory_type, given))
    if not types:
        raise InvalidInputError(
            f"types is empty; choose from {', '.join(MemoryType)}, or leave it out for all"
        )
    return types


def tags(values: Sequence[str]) -> tuple[str, ...]:
    """Return the tags, each once, in order."""
    return tuple(dict.fromkeys(label("a tag", value) for value in items("tags", values)))


def entities(values: Iterable[str], what: str = "entities") -> tuple[str, ...]:
    """Return the names of the entities of a memory, at most `MAX_ENTITIES`."""
    names = items(what, values, "a list of names")
    if len(names) > MAX_ENTITIES:
        raise InvalidInputError(
            f"{what} has {len(names):,} names; give at most {MAX_ENTITIES} for a memory, and "
            "split what mentions more into several"
        )
    return tuple(label("an entity", name) for name in names)


def metadata(values: Mapping[str, object] | None) -> Metadata:
    """Return metadata: names to text, whole numbers, numbers or booleans."""
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
    """Return one metadata value."""
    value = _own(value)
    if isinstance(value, str):
        clean = text(value, f"metadata[{name!r}]")
        if len(clean) > MAX_METADATA_TEXT:
            raise InvalidInputError(
                f"metadata[{name!r}] has {len(clean):,} characters; give at most "
                f"{MAX_METADATA_TEXT:,}, and put longer material into the content"
            )
        return clean
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(
            f"metadata[{name!r}] is {value}; give a finite number, or leave the field out"
        )
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise InvalidInputError(f"metadata[{name!r}] does not fit into 64 bits; give it as text")
    if isinstance(value, bool | int | float):
        return value
    raise InvalidInputError(
        f"metadata[{name!r}] is {shown(value)}, a {type(value).__name__}; give text, a number "
        "or a boolean (leave a field out instead of None; flatten nested values)"
    )
