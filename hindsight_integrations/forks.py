"""Keep native objects of a parent process from being freed in a forked child.

Their threads exist in the parent alone: a destructor that waits for them never ends. So the child
frees none of them, neither when Python clears its modules nor when the C library runs the
destructors of the libraries themselves, which it would do after all Python code.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

unpickling: ContextVar[bool] = ContextVar("unpickling", default=False)
"""True while a memory is unpickled."""


def unpickled(kind: Callable[..., T], arguments: Mapping[str, Any]) -> T:
    """Return a memory of these arguments; it is opened when it is first used if it cannot be now.

    A worker of a pool that fails to unpickle its task ends, and the pool waits for ever.
    """
    token = unpickling.set(True)
    try:
        return kind(**arguments)
    finally:
        unpickling.reset(token)


class Forkable(Protocol):
    """An object with native parts."""

    def after_fork(self) -> None:
        """Let go of the native parts, in a process that was forked."""


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()
_skipping = False
"""True once this process skips the exit handlers that it was forked with."""


def watch(holder: Forkable) -> None:
    """Call `after_fork` of an object, as long as it exists, in each forked process."""
    _watched.add(holder)


def never_free(native: object) -> None:
    """Keep an object until the process ends, its own destructor and its library's left out."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(native))
    _skip_library_destructors()


def _skip_library_destructors() -> None:
    """End this process, when it exits, before the exit handlers it was forked with; once is enough.

    Handlers run in the reverse order of their registration: those of libraries that the child
    loads itself still run, then the C streams are flushed, and `_exit` gets the exit status. Other
    C libraries than glibc have no `on_exit`: there the inherited handlers run.
    """
    global _skipping
    libc = ctypes.CDLL(None)
    if _skipping or not hasattr(libc, "on_exit"):
        return
    _skipping = True
    libc.on_exit(libc._exit, None)
    libc["__cxa_atexit"](libc.fflush, None, None)


def _in_child() -> None:
    global _skipping
    _skipping = False  # a child of a child has more handlers to skip
    for holder in list(_watched):
        holder.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
