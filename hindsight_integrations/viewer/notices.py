"""Notices of what was done, each with the way to undo it, kept in this process."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

KEPT = 100
"""Notices kept; older ones can no longer be undone from their page."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Report of an action to the user.

    Attributes:
        text: a sentence for the user.
        undo: takes it back, and returns a sentence that says so; None if that is not possible.
        is_problem: True for what was not done.
        address: page that shows it.
    """

    text: str
    undo: Callable[[], str] | None = None
    is_problem: bool = False
    address: str = ""


class Notices:
    """The last notices by key; any thread may use it."""

    def __init__(self) -> None:
        self._notices: OrderedDict[str, Notice] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, notice: Notice) -> str:
        """Keep a notice; return the key to it."""
        key = secrets.token_urlsafe(12)
        with self._lock:
            self._notices[key] = notice
            while len(self._notices) > KEPT:
                self._notices.popitem(last=False)
        return key

    def get(self, key: str | None) -> Notice | None:
        """Return the notice of a key, if it is still kept."""
        return self._notices.get(key) if key else None

    def take(self, key: str) -> Notice | None:
        """Return the notice of a key and forget it: it is undone once."""
        with self._lock:
            return self._notices.pop(key, None)
