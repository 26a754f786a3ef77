"""Restrict numpy's matrix library to one core.

After a product its other threads spin for some 50 ms. Retaining and recall multiply many small
matrices beside work that needs every core, such as the embedder's. Restricted to one, retaining is
5 to 8 % faster on two cores and uses 30 % less processor time.
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
    """Run a block in which numpy's matrix products use one core, in all threads.

    Of overlapping blocks in several threads only the first has an effect, which ends with it.
    Keep blocks short: other threads multiply matrices too.
    """
    if not _taken.acquire(blocking=False):  # the last to end would restore "one core"
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _taken.release()


@cache
def _libraries() -> ThreadpoolController:
    """Return the controller of the loaded libraries; finding them takes milliseconds."""
    import numpy as np  # noqa: F401  # it has to be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
