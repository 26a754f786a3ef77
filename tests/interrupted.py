"""Ctrl-C at the worst moment: right after SQLite has begun a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest


def interrupt_transactions(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function after which the next `BEGIN` of any new connection ends by Ctrl-C.

    Python raises KeyboardInterrupt when the call returns: the transaction is open by then.
    """
    connect, armed = sqlite3.connect, [False]

    class Interrupted(sqlite3.Connection):
        def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
            cursor = super().execute(sql, *parameters)  # type: ignore[arg-type]
            if armed[0] and sql.startswith("BEGIN"):
                armed[0] = False
                raise KeyboardInterrupt
            return cursor

    def connected(*args: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection
        connection = connect(*args, factory=Interrupted, **options)  # type: ignore[call-overload]
        return connection

    monkeypatch.setattr(sqlite3, "connect", connected)
    return lambda: armed.__setitem__(0, True)
