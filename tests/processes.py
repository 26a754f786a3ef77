"""Processes that tests start with a function, forked from one that has loaded everything.

A process of its own takes four seconds to load libraries and models. What these are forked from
has no threads, no connections and no open memory, so they share nothing that could hide a fault.
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.context import ForkServerContext, SpawnContext

Context = ForkServerContext | SpawnContext


def starting() -> Context:
    """Return multiprocessing's context for such processes."""
    if not hasattr(os, "fork"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.preloaded"])
    return context
