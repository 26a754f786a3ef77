"""Open runtimes: one for each folder in a process, and none of the parent's after a fork.

Chroma, the models and the locks of a runtime do not outlive `os.fork`: a call would hang. So a
forked process opens what is on servers again when it is first used, and refuses the rest at once.
What was pickled and cannot be opened where it is unpickled is opened, or refused, when it is first
used, too.
"""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from hindsight_integrations.assembly import Arguments, assemble, embedder_identity
from hindsight_integrations.errors import ForkedError, HindsightError, InvalidInputError
from hindsight_integrations.forks import unpickling
from hindsight_integrations.namespaces.purging import purge_in_background
from hindsight_integrations.runtime import UNCHANGED, Runtime
from hindsight_integrations.settings import Settings, variable


def from_environment() -> dict[str, object]:
    """Return the arguments that environment variables give; `Hindsight.from_env` lists these."""
    return {
        "path": variable("HINDSIGHT_PATH") or "./hindsight-memory",
        "graph": variable("HINDSIGHT_GRAPH"),
        "vectors": variable("HINDSIGHT_VECTORS"),
        "embedder": variable("HINDSIGHT_EMBEDDER"),
        "settings": Settings.from_env(),
    }


_guard = threading.Lock()
_folders: weakref.WeakValueDictionary[Path, Runtime] = weakref.WeakValueDictionary()
_opened_with: weakref.WeakKeyDictionary[Runtime, tuple[str, Arguments]] = (
    weakref.WeakKeyDictionary()
)
_holders: weakref.WeakKeyDictionary[Runtime, weakref.WeakSet[object]] = weakref.WeakKeyDictionary()


def open_runtime(holder: object, arguments: Arguments) -> tuple[str, Runtime]:
    """Return where the memory is, and its runtime: that of the folder, if it is open here already.

    Raises:
        InvalidInputError: the parts given do not make a memory, or the folder is open with another
            embedder or other settings.
        StoreError: a store cannot be opened.
    """
    try:
        return _open_now(holder, arguments)
    except HindsightError:
        if not unpickling.get():
            raise
    pending: Runtime = object.__new__(_PendingRuntime)
    where = repr(arguments.path if arguments.path is not None else arguments.graph)
    _opened_with[pending] = (where, arguments)
    _holders[pending] = weakref.WeakSet([holder])
    return where, pending


def _open_now(holder: object, arguments: Arguments) -> tuple[str, Runtime]:
    if not arguments.is_embedded:
        return _hold(holder, arguments, *assemble(arguments))
    folder = _folder(arguments)
    with _guard:
        shared = _folders.get(folder)
        if shared is not None and not shared.is_closed:
            where, before = _opened_with[shared]
            _opened_with[shared] = (where, _adapt(shared, before, arguments))
            _holders[shared].add(holder)
            return where, shared
        where, runtime = _hold(holder, arguments, *assemble(arguments))
        _folders[_folder(arguments)] = runtime
        return where, runtime


def _folder(arguments: Arguments) -> Path:
    folder = Path(os.fspath(arguments.path or "")).expanduser().absolute()
    return folder.resolve() if folder.exists() else folder


def release(holder: object, runtime: Runtime, *, finish: bool = True) -> None:
    """Close the runtime, unless others hold it."""
    with _guard:
        holders = _holders.get(runtime)
        if holders is not None:
            holders.discard(holder)
        if holders:
            return
        for folder in [path for path, known in _folders.items() if known is runtime]:
            del _folders[folder]
    runtime.close(finish=finish)


def _hold(
    holder: object, arguments: Arguments, where: str, runtime: Runtime
) -> tuple[str, Runtime]:
    _opened_with[runtime] = (where, arguments)
    _holders[runtime] = weakref.WeakSet([holder])
    _work_in_background(runtime)
    return where, runtime


def _work_in_background(runtime: Runtime) -> None:
    purge_in_background(runtime)
    if pause := runtime.index_lease.renewal_seconds:
        renewing = partial(_keep_renewing, weakref.ref(runtime), runtime.closing, pause)
        runtime.in_background(renewing, "hindsight-index-lease")


def _keep_renewing(reference: weakref.ref[Runtime], closing: threading.Event, pause: float) -> None:
    """Renew the lease of the index until another index has replaced it, or until `close`.

    The thread keeps no runtime alive that nobody closed.
    """
    while not closing.wait(pause):
        runtime = reference()
        if runtime is None or runtime.index_lease.is_released:
            return
        runtime.renew_index_lease()
        del runtime


def _adapt(runtime: Runtime, before: Arguments, given: Arguments) -> Arguments:
    """Give an open runtime the models of another opening, if it has the same settings.

    Returns:
        The arguments that the runtime has now: those that were left at their defaults stay as they
        were.
    """
    differs = None
    if given.settings != before.settings:
        changed = ", ".join(
            f"{each.name}={getattr(before.settings, each.name)!r}"
            for each in fields(Settings)
            if getattr(before.settings, each.name) != getattr(given.settings, each.name)
        )
        differs = f"other settings ({changed})"
    elif (
        given.embedder is not before.embedder
        and embedder_identity(given.embedder, given.settings) != runtime.embedder_identity
    ):
        differs = "another embedder"
    elif given.before_retain is not None and given.before_retain != before.before_retain:
        differs = "another before_retain"
    if differs:
        raise InvalidInputError(
            f"the folder {os.fspath(given.path or '')!r} is already open in this process "
            f"with {differs}; use the same, or close it first"
        )
    new = {
        name: getattr(given, name)
        for name, default in (("llm", None), ("reranker", "local"), ("extractor", None))
        if getattr(given, name) != default
    }
    if new:
        runtime.configure(**{"llm": UNCHANGED, "reranker": UNCHANGED, "extractor": UNCHANGED} | new)
    return replace(before, **new)


# What is not open in this process

_reviving = threading.Lock()
_abandoned: list[object] = []
"""Native parts of the parent process: kept alive in the child, never used or closed there."""


class _PendingRuntime(Runtime):
    """A runtime that is opened when it is first used."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        if name == "close":
            return _close_nothing
        _revive(self)
        return getattr(self, name)


class _ForkedRuntime(_PendingRuntime):
    """A runtime of the parent process, as a forked one finds it."""


def _close_nothing(*, finish: bool = True) -> None:
    """Close nothing: what is open is open in another process."""


def _revive(pending: _PendingRuntime) -> None:
    """Open what is not open in this process.

    Raises:
        ForkedError: the parent process has opened it, and it is not on servers.
        HindsightError: it cannot be opened.
    """
    with _reviving:
        if type(pending) is Runtime:  # another thread was quicker
            return
        where, arguments = _opened_with[pending]
        if isinstance(pending, _ForkedRuntime) and not arguments.outlives_fork:
            raise ForkedError(
                f"this Hindsight({where}) was opened before its process was forked into process "
                f"{os.getpid()}, and an embedded memory cannot be used after a fork; open it after "
                "forking (gunicorn without preload_app, a multiprocessing initializer, or the "
                "start method 'spawn'). To share it between processes, run `hindsight-memory "
                "serve` and connect to it over HTTP, or start a Chroma server and pass "
                'vectors="http://localhost:8000" in each process'
            )
        _abandoned.append(pending.__dict__)
        _, fresh = assemble(arguments)
        pending.__dict__ = fresh.__dict__
        pending.__class__ = Runtime  # type: ignore[assignment]
        if arguments.is_embedded:
            _folders[_folder(arguments)] = pending
        _work_in_background(pending)


def _after_fork() -> None:
    """Mark the parent's runtimes, and take new locks in place of some that may be held for ever."""
    global _guard, _reviving
    _guard, _reviving = threading.Lock(), threading.Lock()
    _folders.clear()
    for runtime in list(_opened_with):
        _abandoned.append(runtime)
        runtime.__class__ = _ForkedRuntime


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
