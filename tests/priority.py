"""Work that runs for a set time beside other tests, and leaves the processor to them first."""

from __future__ import annotations

import os
import threading

NICENESS = 5


def yield_to_other_tests() -> None:
    """Lower the priority of this thread until it ends.

    A test that works as much as it can in a set time would take the processor from its neighbours,
    which have a set amount of work. Linux has a priority for each thread; elsewhere it stays.
    """
    if hasattr(os, "sched_getaffinity"):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
