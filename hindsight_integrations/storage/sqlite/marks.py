"""How far queues outside the store have come with a bank."""

from __future__ import annotations

import sqlite3

from hindsight_integrations.storage.requests import Mark
from hindsight_integrations.storage.sqlite.keys import BankRange


def read(cursor: sqlite3.Cursor, bank: BankRange, queue: str) -> int:
    """Number of the last operation of the queue that was applied; 0 if none was."""
    row = cursor.execute(
        "SELECT number FROM marks WHERE bank = ? AND queue = ?", (bank.no, queue)
    ).fetchone()
    return 0 if row is None else int(row[0])


def store(cursor: sqlite3.Cursor, bank: BankRange, mark: Mark) -> None:
    """Note that an operation was applied."""
    cursor.execute(
        "INSERT INTO marks (bank, queue, number) VALUES (?, ?, ?) "
        "ON CONFLICT (bank, queue) DO UPDATE SET number = excluded.number",
        (bank.no, mark.queue, mark.number),
    )
