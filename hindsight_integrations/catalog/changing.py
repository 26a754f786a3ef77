"""Changes made from what a bank holds, which another thread or process may change meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from hindsight_integrations.core import Core
from hindsight_integrations.errors import StoreError
from hindsight_integrations.storage.attempts import attempts
from hindsight_integrations.storage.conditions import OvertakenError
from hindsight_integrations.storage.requests import ChangeSet, StoredBank

T = TypeVar("T")


def change(
    core: Core, bank_id: str, make: Callable[[StoredBank], tuple[ChangeSet, T]]
) -> tuple[T, tuple[str, ...]]:
    """Apply a change set, made anew as often as what it was made from has changed by then.

    Args:
        core: the engine's parts.
        bank_id: which bank.
        make: reads what there is, under the bank's lock, and gives the change set with whatever
            else comes of it.

    Returns:
        What `make` gave besides the change set applied, and the ids of the memories that went.

    Raises:
        StoreError: other processes never left it alone; nothing was changed.
    """
    overtaken: OvertakenError | None = None
    for _ in attempts():
        with core.lock(core.bank(bank_id).key):
            bank = core.bank(bank_id)  # read before all that is read of it
            changes, made = make(bank)
            try:
                gone = core.graph.apply(replace(changes, edition=bank.edition))
                break
            except OvertakenError as error:
                overtaken = error
    else:
        raise StoreError(
            f"other processes kept changing memories of bank {bank_id!r}; nothing was done, "
            "try it again"
        ) from overtaken
    core.flush()
    return made, gone
