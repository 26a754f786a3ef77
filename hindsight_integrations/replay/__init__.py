"""Retains on disk before they are sent, and sent again until their store has them.

`DurableRetain` is what a caller uses; `ReplayQueue` is the file beneath it.
"""

from hindsight_integrations.replay.backoff import Backoff
from hindsight_integrations.replay.durable import DurableRetain, Receipt
from hindsight_integrations.replay.operation import Operation, SetAside
from hindsight_integrations.replay.queue import ReplayQueue
from hindsight_integrations.replay.replayer import ReplayState

__all__ = [
    "Backoff",
    "DurableRetain",
    "Operation",
    "Receipt",
    "ReplayQueue",
    "ReplayState",
    "SetAside",
]
