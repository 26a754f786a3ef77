"""Vectors as bytes, and the metadata and rules of a bank as JSON, as the stores write them."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
from pydantic import TypeAdapter

from hindsight_integrations.errors import EmbedderMismatchError, InvalidInputError
from hindsight_integrations.models import Directive, Expiry, Metadata
from hindsight_integrations.stores.base import Vector


def vector_bytes(vector: Vector, dimension: int) -> bytes:
    """Return little-endian float32. Raises `EmbedderMismatchError` on another shape."""
    if vector.shape != (dimension,):
        raise EmbedderMismatchError(
            f"a vector has shape {vector.shape}, but the bank's embedder makes "
            f"({dimension},); use that embedder, or reindex the bank"
        )
    return vector.astype("<f4", copy=False).tobytes()


def vector_of(data: bytes) -> Vector:
    """Return the vector that `vector_bytes` was given; read-only."""
    return np.frombuffer(data, dtype="<f4")


def metadata_text(metadata: Metadata) -> str:
    """Return metadata as JSON. Raises `InvalidInputError` for a number that is not finite."""
    try:
        return json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInputError(
            f"metadata {dict(metadata)!r} contains a number that is not finite; leave it out"
        ) from error


def expiry_text(expiry: Expiry) -> str:
    """Return the rules of a bank as JSON, times in seconds."""
    default = expiry.default and expiry.default.total_seconds()
    rules = {
        name: {key: after and after.total_seconds() for key, after in getattr(expiry, name).items()}
        for name in ("types", "tags")
    }
    return json.dumps({"default": default, **rules}, ensure_ascii=False)


def expiry_of(text: str) -> Expiry:
    """Return the rules that `expiry_text` was given; none for an empty object."""

    def time(seconds: float | None) -> timedelta | None:
        return None if seconds is None else timedelta(seconds=seconds)

    stored = json.loads(text)
    rules = {
        name: {key: time(after) for key, after in stored.get(name, {}).items()}
        for name in ("types", "tags")
    }
    return Expiry(time(stored.get("default")), **rules)


_DIRECTIVES = TypeAdapter(tuple[Directive, ...])


def directives_text(directives: tuple[Directive, ...]) -> str:
    """Return the named directives of a bank as JSON."""
    return _DIRECTIVES.dump_json(directives).decode()


def directives_of(text: str) -> tuple[Directive, ...]:
    """Return the directives that `directives_text` was given."""
    return _DIRECTIVES.validate_json(text)
