"""Durable retains: written to disk first, then sent until the store has them.

`DurableRetain` is the caller's interface; `ReplayQueue` is the file beneath it.
"""

from hindsight_integrations.durable.durable_retain import DurableRetain, Receipt
from hindsight_integrations.durable.queue import DeadLetter, Operation, ReplayQueue
from hindsight_integrations.durable.replayer import Backoff, ReplayState

__all__ = [
    "Backoff",
    "DeadLetter",
    "DurableRetain",
    "Operation",
    "Receipt",
    "ReplayQueue",
    "ReplayState",
]
