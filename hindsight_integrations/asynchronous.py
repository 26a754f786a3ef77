"""Asynchronous variants of methods, and context managers for `with` and `async with`."""

from __future__ import annotations

import asyncio
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def async_variant(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the method as a coroutine function that runs it in a worker thread.

    Everything below is computation or local I/O, so a thread is what keeps an event loop free.
    """

    async def asynchronous(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    functools.update_wrapper(asynchronous, method)
    asynchronous.__name__ = f"a{method.__name__}"
    asynchronous.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.a{method.__name__}"
    asynchronous.__doc__ = f"`{method.__name__}`, without blocking the event loop."
    return asynchronous


class ContextManaged(ABC):
    """Base of objects that are closed at the end of a `with` or `async with` block."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)
