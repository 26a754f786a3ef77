"""What the four arms share: what each is given, and what each gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.language.interaction import TokenMatrix
from hindsight_integrations.model import Memory
from hindsight_integrations.results import Window
from hindsight_integrations.storage.ports import GraphStore, VectorIndex
from hindsight_integrations.storage.requests import (
    LexemeStats,
    MemoryFilter,
    StoredBank,
    Vector,
)

Budget: TypeAlias = Literal["low", "mid", "high"]


@dataclass(frozen=True, slots=True)
class Depth:
    """How far a recall looks.

    Attributes:
        hits: memories that an arm returns at most.
        nodes: memories and entities that spreading activation visits at most.
        pool: memories that are scored at most, of those that the arms found.
        whole: a bank of no more is scored whole, since what no arm found may stand beside, or in
            one session with, what they did.
        head: of these, the ones that late interaction (or another reranker) reads.
    """

    hits: int
    nodes: int
    pool: int
    whole: int
    head: int

    def tracing(self) -> Depth:
        """The same where everything is ranked: the arms only tell how the best were found."""
        least = DEPTHS["low"]
        return replace(self, hits=least.hits, nodes=least.nodes)


DEPTHS: dict[Budget, Depth] = {
    "low": Depth(hits=60, nodes=100, pool=120, whole=120, head=40),
    "mid": Depth(hits=150, nodes=300, pool=350, whole=800, head=200),
    "high": Depth(hits=250, nodes=500, pool=600, whole=1200, head=300),
}
"""Chosen by the figures in docs/benchmarks.md."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read once for all arms.

    Attributes:
        vector: its embedding.
        tokens: its token vectors, for late interaction; None if the encoder has none.
        lexemes: its terms for BM25.
        windows: the times it asks for.
        events: ids of the memories that tell the events it counts from ("before Alice joined").
        asked_at: the moment that "last week" is counted from.
    """

    text: str
    asked_at: datetime
    vector: Vector
    tokens: TokenMatrix | None
    lexemes: tuple[str, ...]
    windows: tuple[Window, ...] = ()
    events: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BankSearch:
    """What an arm is given: a question to one bank.

    Attributes:
        stats: of the bank, and of the question's lexemes in it.
    """

    graph: GraphStore
    index: VectorIndex
    bank: StoredBank
    question: Question
    filter: MemoryFilter
    depth: Depth
    stats: LexemeStats

    def asking(self, question: Question) -> BankSearch:
        """The same for another question."""
        stats = self.graph.lexeme_stats(self.bank_id, question.lexemes)
        return replace(self, question=question, stats=stats)

    @property
    def bank_id(self) -> str:
        """Id of the bank searched."""
        return self.bank.bank.id


class ArmHit(NamedTuple):
    """A memory that an arm found: the arm's own score, higher is better, and why."""

    memory_id: str
    score: float
    reason: str


class Reranker(Protocol):
    """Scores how well each text answers a query. Plug in any object with these members."""

    @property
    def id(self) -> str:
        """Name of the model, for `explain()`."""
        ...

    def score(self, query: str, memories: Sequence[Memory]) -> NDArray[np.float64]:
        """One finite number a memory, higher is better.

        Raises:
            RerankError: it failed; recall then keeps the order it had, and says so.
        """
        ...
