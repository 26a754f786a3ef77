"""Optimistic concurrency: changes computed from a bank that other writers may change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from hindsight_integrations.errors import StoreError
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import ChangeSet, OvertakenError, StoredBank
from hindsight_integrations.stores.common import attempts

T = TypeVar("T")


def change(
    runtime: Runtime, bank_id: str, make: Callable[[StoredBank], tuple[ChangeSet, T]]
) -> tuple[T, tuple[str, ...]]:
    """Compute and apply a change set; retry if the bank changed in between.

    Args:
        runtime: the parts of the client.
        bank_id: the bank to change.
        make: reads what there is, under the bank's lock, and gives the change set with whatever
            else comes of it.

    Returns:
        What `make` gave besides the change set applied, and the ids of the memories that went.

    Raises:
        StoreError: other processes never left it alone; nothing was changed.
    """
    overtaken: OvertakenError | None = None
    for _ in attempts():
        with runtime.lock(runtime.bank(bank_id).key):
            bank = runtime.bank(bank_id)  # read before all that is read of it
            changes, made = make(bank)
            try:
                gone = runtime.graph.apply(replace(changes, version=bank.version))
                break
            except OvertakenError as error:
                overtaken = error
    else:
        raise StoreError(
            f"other processes kept changing memories of bank {bank_id!r}; nothing was done, "
            "try it again"
        ) from overtaken
    runtime.flush(bank.key)
    return made, gone
