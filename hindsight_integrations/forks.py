"""Keep native objects of a parent process from being freed in a forked child.

Their threads exist in the parent alone: a destructor that waits for them never ends. So the child
frees none of them.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """An object with native parts."""

    def after_fork(self) -> None:
        """Let go of the native parts, in a process that was forked."""


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(holder: Forkable) -> None:
    """Call `after_fork` of an object, as long as it exists, in each forked process."""
    _watched.add(holder)


def never_free(native: object) -> None:
    """Keep an object until the process ends, and beyond the clearing of modules."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(native))


def _in_child() -> None:
    for holder in list(_watched):
        holder.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
