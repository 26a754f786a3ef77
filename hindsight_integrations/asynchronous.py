"""Asynchronous variants of methods, work with a deadline, and context managers of both kinds."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Event, Thread
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

THREADS = 32
"""Calls of one event loop that run at once. Calls that wait for servers need many threads; the
loop's own, six on two cores, are left to its other users."""

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


_executors: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Executor] = (
    weakref.WeakKeyDictionary()
)
"""One for each event loop: a call that runs a loop of its own within never waits for its caller."""


async def in_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run the work in a thread and wait for it without blocking the event loop.

    Context variables are those of the caller. Cancelled before its thread began, it is not run;
    else the thread runs on to its end, and gives back the connections it uses.
    """
    loop = asyncio.get_running_loop()
    executor = _executors.get(loop)
    if executor is None:
        executor = _executors[loop] = _started_executor()
    here = contextvars.copy_context()
    return await loop.run_in_executor(executor, lambda: here.run(work, *args, **kwargs))


def _started_executor() -> Executor:
    """Return an executor whose threads run already.

    Whoever starts a thread waits until it runs: an event loop that did so while others compute
    would wait for each of them, up to 5 ms a thread.
    """
    executor = ThreadPoolExecutor(THREADS, "hindsight-async")
    go_on = Event()
    for _ in range(THREADS):
        executor.submit(go_on.wait)
    go_on.set()
    return executor


def in_own_thread(work: Callable[[], T]) -> Future[T]:
    """Run the work in a thread that the end of the process does not wait for.

    Context variables are those of the caller.
    """
    outcome: Future[T] = Future()
    here = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(here.run(work))
        except BaseException as error:  # noqa: BLE001 - raised where the outcome is waited for
            outcome.set_exception(error)

    Thread(target=run, name="hindsight-within", daemon=True).start()
    return outcome


def within(seconds: float, work: Callable[[], T]) -> T:
    """Run the work in a thread, and return its result or raise its error.

    A thread cannot be stopped: late work runs on to its end, and its result is dropped.

    Raises:
        TimeoutError: it took longer.
    """
    return in_own_thread(work).result(timeout=max(0.0, seconds))


def async_variant(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the method as a coroutine function that runs it in a worker thread.

    Everything below is computation or local I/O, so a thread is what keeps an event loop free.
    """

    async def asynchronous(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await in_thread(method, self, *args, **kwargs)

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
        await in_thread(self.close)
