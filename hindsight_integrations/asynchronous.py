"""Asynchronous twins of synchronous methods, with the same signature and one body."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def twin(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The method as a coroutine: the same work, in a worker thread.

    Everything below is computation or local I/O, so a thread is what keeps an event loop free.
    """

    async def asynchronous(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    functools.update_wrapper(asynchronous, method)
    asynchronous.__name__ = f"a{method.__name__}"
    asynchronous.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.a{method.__name__}"
    asynchronous.__doc__ = f"`{method.__name__}`, without blocking the event loop."
    return asynchronous
