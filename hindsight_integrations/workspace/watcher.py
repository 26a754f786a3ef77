"""Wait for changes below a folder, and pass each on once nothing more is written to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hindsight_integrations.errors import MissingExtraError

LOOK_MS = 200
"""Milliseconds between two checks for due paths."""

AGAIN = 1.0
"""Least seconds after which a path that failed or waits is tried again."""


class Debouncer:
    """Paths that were written to, each due once it has not been written to for `delay` seconds.

    Args:
        delay: seconds.
        clock: returns seconds that only grow.
    """

    def __init__(self, delay: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._delay = delay
        self._clock = clock
        self._due: dict[str, float] = {}

    def note(self, paths: Iterable[str], at_least: float = 0.0) -> None:
        """Start, or restart, the wait of these paths."""
        due = self._clock() + max(self._delay, at_least)
        self._due.update(dict.fromkeys(paths, due))

    def take_due(self) -> list[str]:
        """Return and forget the paths that are due, in order."""
        now = self._clock()
        paths = sorted(path for path, due in self._due.items() if due <= now)
        for path in paths:
            del self._due[path]
        return paths


def watching() -> Callable[..., Iterator[Any]]:
    """Return the function of `watchfiles` that yields changes.

    Raises:
        MissingExtraError: the package `watchfiles` is not installed.
    """
    try:
        from watchfiles import watch
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "watching a folder needs watchfiles, which is not installed; run: "
            'pip install "hindsight-integrations[workspace]"'
        ) from error
    return watch


def watch_folder(
    root: Path,
    waiting: Debouncer,
    retain: Callable[[Sequence[str] | None], Iterable[str]],
    stop: threading.Event,
) -> None:
    """Call `retain` with the paths that are due until `stop` is set or Ctrl-C is pressed.

    It returns the paths that failed or wait, which become due again. It is called with None, for
    all paths, at the start, and at the end: a write just before it may not have been reported yet.

    Raises:
        MissingExtraError: the package `watchfiles` is not installed.
    """
    batches = watching()(
        root,
        watch_filter=None,
        debounce=LOOK_MS,
        step=LOOK_MS // 4,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=True,
    )
    try:
        # The watch begins with the first batch: what is written before it is found by the sync.
        next(batches, None)
        waiting.note(retain(None), AGAIN)
        for changes in batches:
            paths = (_relative(root, path) for _, path in changes)
            waiting.note(path for path in paths if path is not None)
            if due := waiting.take_due():
                waiting.note(retain(due), AGAIN)
    except KeyboardInterrupt:
        stop.set()
    retain(None)


def _relative(root: Path, path: str) -> str | None:
    """Return a path relative to the root, or None for hidden files and the root itself."""
    relative = Path(path).relative_to(root)
    if not relative.parts or any(part.startswith(".") for part in relative.parts):
        return None
    return relative.as_posix()
