"""Have the C library hand out blank memory while Chroma writes its files.

Chroma's index writes the memory that it allocated for vectors to come as it found it (1.5.9): in
there may stand any text that this process has let go of, a forgotten one among them.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_M_PERTURB = -6
"""Option of glibc's `mallopt(3)`: what is allocated is filled with the complement of a byte, what
is freed with the byte itself, unless it is 0."""

_FILLED_WITH_ZEROS = 0xFF

_lock = threading.Lock()
_users = 0


@contextmanager
def blank_memory() -> Iterator[None]:
    """Fill all memory that the process allocates in a `with` block with zeros.

    That costs nothing measurable. Other C libraries than glibc have no such option: on them it
    does nothing.
    """
    global _users
    allocator = _allocator()
    with _lock:
        _users += 1
        if allocator and _users == 1:
            allocator.mallopt(_M_PERTURB, _FILLED_WITH_ZEROS)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if allocator and not _users:
                allocator.mallopt(_M_PERTURB, 0)


@cache
def _allocator() -> ctypes.CDLL | None:
    """Return the C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows has no library of that name
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None
