"""Banks that an import is filling."""

from __future__ import annotations

from hindsight_integrations.stores.base import StoredBank

UNFINISHED = "import-"
"""Begins the id of a bank that an import fills, until it is complete."""


def is_unfinished(bank: StoredBank) -> bool:
    """Return True if an import is filling the bank, or ended before the bank was complete."""
    return bank.importing is not None and bank.bank.id.startswith(UNFINISHED)
