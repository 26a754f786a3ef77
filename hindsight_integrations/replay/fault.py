"""Whose fault a failure is: it decides whether a retain is sent again or set aside."""

from __future__ import annotations

from enum import Enum

from hindsight_integrations.errors import (
    ClosedError,
    ConflictError,
    EmbedderMismatchError,
    InvalidInputError,
    NotFoundError,
    SchemaVersionError,
    StoreCorruptError,
    StoreLockedError,
    StoreUnavailableError,
)


class Fault(Enum):
    """What a failure tells about the retain that met it."""

    AWAY = "away"
    """Nothing: the store can take none at all. Sent again until it can."""
    OWN = "own"
    """It will fail each time, until someone corrects it or the bank."""
    UNCLEAR = "unclear"
    """A model, another writer or a bug: sent again a few times, then held to be its own."""


_AWAY = (
    StoreUnavailableError,
    StoreLockedError,
    StoreCorruptError,
    SchemaVersionError,
    ClosedError,
)
_OWN = (InvalidInputError, NotFoundError, ConflictError, EmbedderMismatchError)


def fault_of(error: Exception) -> Fault:
    """Whose fault `error`, raised by a retain, is."""
    if isinstance(error, _AWAY):
        return Fault.AWAY
    return Fault.OWN if isinstance(error, _OWN) else Fault.UNCLEAR
