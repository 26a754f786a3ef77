"""numpy's matrix library on one core, where more would take them from what comes next.

After a product its other threads spin for some 50 ms. Retaining multiplies many small matrices
between runs of the embedder, which needs every core: held to one, it is 5 to 8 % faster on two
cores, and takes 30 % less of the processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


_taken = Lock()


@contextmanager
def one_core() -> Iterator[None]:
    """While the block runs, no product of numpy's in this process uses several cores.

    Of blocks that overlap in several threads only the first has an effect, which ends with it.
    Keep them short: others multiply matrices too.
    """
    if not _taken.acquire(blocking=False):  # who ends later would put back what it found: one core
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _taken.release()


@cache
def _libraries() -> ThreadpoolController:
    """Found once: looking through what the process has loaded takes milliseconds."""
    import numpy as np  # noqa: F401  # it has to be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
