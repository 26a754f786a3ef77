"""What every graph store asks of a change set, in the same words, so that callers find no other.

Pure checks: the stores read what there is, and pass it in.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from hindsight_integrations.errors import (
    ConflictError,
    EntityNotFoundError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.model import Metadata
from hindsight_integrations.storage.requests import MemoryRecord

K = TypeVar("K")


class OvertakenError(ConflictError):
    """Another writer was quicker: what a change set was made from has changed. Make it anew."""


def check_new(bank_id: str, ids: Sequence[str], taken: Collection[str]) -> None:
    """Raise `ConflictError` if a new memory is there already, or twice in the change set."""
    for id in taken:
        raise ConflictError(f"memory {id!r} exists already in bank {bank_id!r}; replace it")
    if len(set(ids)) < len(ids):
        raise ConflictError(f"a change set for bank {bank_id!r} holds a new memory twice")


def check_unchanged(
    bank_id: str, expected: Sequence[tuple[str, str | None]], there: Mapping[str, str]
) -> None:
    """Raise `OvertakenError` if a document has not the fingerprint that is expected of it."""
    for id, fingerprint in expected:
        if there.get(id) != fingerprint:
            raise OvertakenError(
                f"document {id!r} of bank {bank_id!r} was changed meanwhile; read it again"
            )


def check_edition(bank_id: str, expected: int, there: int) -> None:
    """Raise `OvertakenError` if the bank is of another edition than is expected of it."""
    if there != expected:
        raise OvertakenError(
            f"memories of bank {bank_id!r} were changed meanwhile; read them again"
        )


def check_there(bank_id: str, ids: Sequence[str], there: Collection[str]) -> None:
    """Raise `MemoryNotFoundError` if a memory that the change set names is not there."""
    if missing := [id for id in ids if id not in there]:
        raise MemoryNotFoundError(
            f"bank {bank_id!r} has no memory {missing[0]!r}; it was deleted, or never stored"
        )


def check_entities(bank_id: str, used: set[str], there: Collection[str]) -> None:
    """Raise `EntityNotFoundError` if the change set uses an entity that is not there."""
    if missing := used - set(there):
        raise EntityNotFoundError(
            f"bank {bank_id!r} has no entity {min(missing)!r}; put it into the change set"
        )


def check_free(names: Mapping[str, str], taken: Collection[str]) -> None:
    """Raise `ConflictError` if a name, by its normalised form, is another entity's."""
    for norm in taken:
        raise ConflictError(
            f"the name {names[norm]!r} is another entity's; choose another, or merge the two"
        )


def mentioned(record: MemoryRecord, entity_keys: Mapping[str, K]) -> list[K]:
    """Keys of the entities that a memory mentions, each once, in order.

    Raises:
        InvalidInputError: it does not give an id for each of its entities' names.
    """
    if len(record.entity_ids) != len(record.memory.entities):
        raise InvalidInputError(
            f"memory {record.memory.id!r} names {len(record.memory.entities)} entities but gives "
            f"{len(record.entity_ids)} ids; give one id a name"
        )
    return list(dict.fromkeys(entity_keys[id] for id in record.entity_ids))


def unsupported(bank_id: str, conclusion_id: str) -> ConflictError:
    """What to raise for a conclusion none of whose evidence is there."""
    return ConflictError(
        f"conclusion {conclusion_id!r} rests on no memory that bank {bank_id!r} still has; draw it "
        "anew from what is there"
    )


def metadata_text(metadata: Metadata) -> str:
    """Metadata as JSON. Raises `InvalidInputError` for a number that is not finite."""
    try:
        return json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInputError(
            f"metadata {dict(metadata)!r} holds a number that is not finite; leave it out"
        ) from error


@contextmanager
def storable() -> Iterator[None]:
    """Map what a driver raises for values that no store can hold to `InvalidInputError`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"a text holds half a character (a lone surrogate): {error}; replace it first"
        ) from error
    except OverflowError as error:
        raise InvalidInputError(
            f"a number is too large to store: {error}; give at most 64 bits"
        ) from error
