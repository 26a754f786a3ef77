"""Ctrl-C that is not lost on the way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Gives a check that raises `KeyboardInterrupt` if Ctrl-C was pressed inside the block.

    Python raises it wherever the main thread happens to be. In one of fifty long retains that was
    inside a library which let nothing out, and the command went on as if nobody had pressed.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None  # only the main thread is interrupted, and only where Python is told
        return
    pressed = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()
        before(number, frame)

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
