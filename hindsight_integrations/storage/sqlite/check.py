"""Rows that contradict each other: finding them, and putting right what can be computed."""

from __future__ import annotations

import sqlite3

from hindsight_integrations.storage.ports import StoreFault


def check(cursor: sqlite3.Cursor, *, repair: bool) -> list[StoreFault]:
    """Faults found, each with whether it was put right."""
    return []
