"""Frozen values to the terms of JSON and back, field by field, by their declared types.

Nothing is left out and nothing is guessed: when read, every field must be there, of its type, and
no other. Only `bank_id` is not written; it is that of the bank the values are read into.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from hindsight_integrations.checks import shown
from hindsight_integrations.timespan import as_utc

_BANK = "bank_id"
_PLAIN = (str, int, float, bool)


def encoded(value: object) -> object:
    """A value in the terms of JSON: moments as ISO 8601 in UTC, bytes and vectors in base64."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, datetime):
        return as_utc(value).isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, np.ndarray):
        return encoded(value.astype("<f4").tobytes())
    if isinstance(value, Mapping):
        return {name: encoded(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [encoded(item) for item in value]
    if is_dataclass(value):
        names = (field.name for field in fields(value))
        return {name: encoded(getattr(value, name)) for name in names if name != _BANK}
    raise TypeError(f"a {type(value).__name__} has no form in an exported bank")


def decoded(kind: Any, value: Any, bank_id: str) -> Any:
    """The value of type `kind` that was encoded.

    Raises:
        ValueError: it is none; the message names the field and what is wrong.
        OverflowError: a number is too large.
    """
    if kind in _PLAIN:
        return _plain(kind, value)
    origin = get_origin(kind)
    if origin is UnionType:
        return _one_of(get_args(kind), value, bank_id)
    if origin is tuple:
        item, _ = get_args(kind)
        return tuple(decoded(item, each, bank_id) for each in _plain(list, value))
    if origin is Mapping:
        _, item = get_args(kind)
        named = _plain(dict, value).items()
        return {_plain(str, name): decoded(item, each, bank_id) for name, each in named}
    if origin is np.ndarray:
        return np.frombuffer(_bytes(value), dtype="<f4")
    if kind is bytes:
        return _bytes(value)
    if kind is datetime:
        return _moment(value)
    if is_dataclass(kind):
        return _fields(kind, value, bank_id)
    if issubclass(kind, Enum):
        return kind(_plain(str, value))
    raise TypeError(f"a {kind} has no form in an exported bank")


def _one_of(kinds: tuple[Any, ...], value: Any, bank_id: str) -> Any:
    """Of a plain type, or of the only other one, or None."""
    if type(value) in kinds:
        return _plain(type(value), value)
    return decoded(next(kind for kind in kinds if kind is not NoneType), value, bank_id)


def _fields(kind: Any, value: Any, bank_id: str) -> Any:
    given, types = _plain(dict, value), _types(kind)
    if wrong := given.keys() ^ (types.keys() - {_BANK}):
        lacks = min(wrong) not in given
        raise ValueError(f"it {'lacks' if lacks else 'has an unknown'} field {shown(min(wrong))}")
    found = {_BANK: bank_id} if _BANK in types else {}
    for name, each in given.items():
        try:
            found[name] = decoded(types[name], each, bank_id)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return kind(**found)


@cache
def _types(kind: type) -> dict[str, Any]:
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


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_plain(str, value))
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} names no timezone")
    return as_utc(moment)
