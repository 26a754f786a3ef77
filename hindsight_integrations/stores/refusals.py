"""Checks and errors with which every graph store refuses a request, in the same words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from hindsight_integrations.errors import (
    BankExistsError,
    BankNotFoundError,
    ConflictError,
    InvalidInputError,
    MemoryNotFoundError,
)
from hindsight_integrations.stores.base import ChangeSet, OvertakenError, UnstagedError


@contextmanager
def storable() -> Iterator[None]:
    """Map what a driver raises for values that no store can hold to `InvalidInputError`."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"a text contains half a character (a lone surrogate): {error}; replace it first"
        ) from error
    except OverflowError as error:
        raise InvalidInputError(
            f"a number is too large to store: {error}; numbers have at most 64 bits"
        ) from error


def no_bank(bank_id: str) -> BankNotFoundError:
    """Return the error that names a bank which does not exist."""
    return BankNotFoundError(f"no bank {bank_id!r} exists; create it first")


def bank_exists(bank_id: str) -> BankExistsError:
    """Return the error that names a bank which exists already."""
    return BankExistsError(
        f"bank {bank_id!r} exists already; retain into it, call banks.update({bank_id!r}) to "
        "change it, or choose another id"
    )


def check_unchanged(changes: ChangeSet, fingerprints: Mapping[str, str], version: int) -> None:
    """Check that documents and bank are still those a change set was built from.

    `fingerprints` are those of the expected documents that exist, by id.

    Raises:
        OvertakenError: they are not.
    """
    for id, fingerprint in changes.expected:
        if fingerprints.get(id) != fingerprint:
            raise OvertakenError(
                f"document {id!r} of bank {changes.bank_id!r} was changed by another writer; "
                "read it again"
            )
    if changes.version is not None and changes.version != version:
        raise OvertakenError(
            f"memories of bank {changes.bank_id!r} were changed by another writer; read them again"
        )


def check_records(bank_id: str, records: Mapping[str, bool], stored: Mapping[str, bool]) -> None:
    """Check that no retained document would replace the record of a conversation, or the reverse.

    `records` gives `Document.is_record` of the documents to store, by id, and `stored` that of
    those of them that exist.

    Raises:
        ConflictError: one would.
    """
    for id, is_record in records.items():
        if stored.get(id, is_record) == is_record:
            continue
        if is_record:
            raise ConflictError(
                f"bank {bank_id!r} has a retained document {id!r}; give the conversation "
                "another id, or forget that document first"
            )
        raise ConflictError(
            f"document {id!r} of bank {bank_id!r} holds the messages or entries of a "
            "conversation; choose another id, or forget that document first"
        )


def check_new(bank_id: str, ids: Sequence[str], taken: Collection[str]) -> None:
    """Raise `ConflictError` if a new memory exists already, or is twice in the change set."""
    for id in taken:
        raise ConflictError(f"memory {id!r} exists already in bank {bank_id!r}; replace it")
    if len(set(ids)) < len(ids):
        raise ConflictError(f"a change set for bank {bank_id!r} contains a new memory twice")


def check_exists(bank_id: str, ids: Sequence[str], existing: Collection[str]) -> None:
    """Raise `MemoryNotFoundError` if a memory that a change set names does not exist."""
    if missing := [id for id in ids if id not in existing]:
        raise MemoryNotFoundError(
            f"bank {bank_id!r} has no memory {missing[0]!r}; it was deleted, or never stored"
        )


def no_staged_vector(bank_id: str, lacking: Sequence[str], embedder_id: str) -> UnstagedError:
    """Return the error for memories that have no staged vector."""
    return UnstagedError(
        f"{len(lacking)} memories of bank {bank_id!r} have no staged vector of "
        f"{embedder_id!r}; embed and stage them first",
        memory_ids=lacking,
    )


def unsupported(bank_id: str, conclusion_id: str) -> ConflictError:
    """Return the error for a conclusion none of whose evidence exists."""
    return ConflictError(
        f"conclusion {conclusion_id!r} rests on no memory that still exists in bank "
        f"{bank_id!r}; draw it again from existing memories"
    )
