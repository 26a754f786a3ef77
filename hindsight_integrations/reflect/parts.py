"""What drawing and storing conclusions works with."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from hindsight_integrations.language.encode import TextEncoder
from hindsight_integrations.reflect.ports import Consolidator
from hindsight_integrations.settings import Settings
from hindsight_integrations.storage.ports import GraphStore, VectorIndex


@dataclass(frozen=True, slots=True)
class ReflectParts:
    """What drawing conclusions works with.

    Attributes:
        consolidator: proposes observations.
        opinions: proposes opinions.
        rules: write observations where nothing may wait for a language model.
        opinion_rules: likewise opinions.
        lock: gives the writer's lock of a bank.
        flush: brings the vector index up to date with the graph.
    """

    graph: GraphStore
    index: VectorIndex
    encoder: TextEncoder
    settings: Settings
    consolidator: Consolidator
    opinions: Consolidator
    rules: Consolidator
    opinion_rules: Consolidator
    lock: Callable[[str], AbstractContextManager[object]]
    flush: Callable[[], None]

    def waiting(self, bank_id: str) -> set[str]:
        """Ids of all that waits to be reflected on.

        The text of a conclusion among them may hold words of a memory that is gone.
        """
        return set(self.graph.unreflected(bank_id, sys.maxsize))
