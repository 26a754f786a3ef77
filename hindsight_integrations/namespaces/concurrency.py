"""Optimistic concurrency: changes computed from a bank that other writers may be changing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from hindsight_integrations.errors import StoreError
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.attempts import attempts
from hindsight_integrations.stores.base import ChangeSet, OvertakenError, StoredBank

T = TypeVar("T")


def change(
    runtime: Runtime,
    bank_id: str,
    make: Callable[[StoredBank], tuple[ChangeSet, T]],
    *,
    any_embedder: bool = False,
) -> tuple[T, tuple[str, ...]]:
    """Compute and apply a change set; retry if the bank changed in between.

    Args:
        runtime: the parts of the client.
        bank_id: the bank to change.
        make: reads the bank under its lock, and returns the change set and another value.
        any_embedder: change it even if its vectors come from another embedder.

    Returns:
        The other value of `make`, and the ids of the memories deleted.

    Raises:
        StoreError: other processes kept changing the bank; nothing was changed.
    """
    read = runtime.stored_bank if any_embedder else runtime.bank
    overtaken: OvertakenError | None = None
    for _ in attempts():
        with runtime.lock(read(bank_id).key):
            bank = read(bank_id)  # read before all that is read of it
            changes, made = make(bank)
            try:
                gone = runtime.graph.apply(replace(changes, version=bank.version))
                break
            except OvertakenError as error:
                overtaken = error
    else:
        raise StoreError(
            f"other processes kept changing memories of bank {bank_id!r}; nothing was changed, "
            "try again"
        ) from overtaken
    runtime.flush(bank.key)
    return made, gone
