"""Memories for reflection: what recall brings, and how its conclusions stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hindsight_integrations.conclusions import Trend, moments
from hindsight_integrations.model import Memory, MemoryType, MentalModel
from hindsight_integrations.recall.parts import RecallParts
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.reflect.trend import trend
from hindsight_integrations.results import Failure
from hindsight_integrations.storage.ports import GraphStore
from hindsight_integrations.storage.requests import StoredBank
from hindsight_integrations.storage.values import is_conclusion

WAITING = 1000
"""Memories that wait to be reflected on, looked through at most for what is stale."""


class Found(NamedTuple):
    """A memory or mental model.

    Attributes:
        waits: what it says may be out of date: newer memories are not in it yet.
        trend: of an observation, how its evidence comes in.
    """

    source: Memory | MentalModel
    waits: bool = False
    trend: Trend | None = None

    @property
    def stale(self) -> bool:
        """Whether to hold it against the facts."""
        return self.waits or self.trend is Trend.STALE


def find_memories(
    parts: RecallParts, bank: StoredBank, request: RecallRequest
) -> tuple[list[Found], tuple[Failure, ...]]:
    """What recall brings, in its order, and how its conclusions stand.

    One waits if it waits to be reflected on itself, or if a memory that does speaks of the same.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm failed.
    """
    result = recall(parts, [bank], request)
    memories = [item.memory for item in result.memories]
    waiting = _waiting(parts.graph, bank.bank.id, [m.id for m in memories if is_conclusion(m)])

    def found(memory: Memory) -> Found:
        if not is_conclusion(memory):
            return Found(memory)
        return Found(memory, memory.id in waiting, trend(moments(memory), request.asked_at))

    return [found(memory) for memory in memories], result.failures


def _waiting(graph: GraphStore, bank_id: str, conclusions: Sequence[str]) -> set[str]:
    """Those of the conclusions that wait, or speak of what a waiting memory speaks of."""
    if not conclusions:
        return set()
    waiting = graph.unreflected(bank_id, WAITING)
    fresh = {entity for ids in graph.mentions(bank_id, waiting).values() for entity in ids}
    about = graph.mentions(bank_id, conclusions)
    touched = {each for each in conclusions if not fresh.isdisjoint(about.get(each, ()))}
    return touched.union(waiting)


def types_of(wanted: frozenset[MemoryType], request: RecallRequest) -> frozenset[MemoryType]:
    """Those of the wanted types that the request admits."""
    return wanted if request.filter.types is None else wanted & request.filter.types
