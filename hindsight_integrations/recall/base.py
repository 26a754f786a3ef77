"""Types shared by the arms of recall: the question, the search of one bank, and a hit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.models import Memory
from hindsight_integrations.nlp.late_interaction import TokenMatrix
from hindsight_integrations.recall.cache import Candidates
from hindsight_integrations.recall.layout import Layout
from hindsight_integrations.results import PathStep, Window
from hindsight_integrations.stores.base import (
    GraphStore,
    LexemeStats,
    MemoryFilter,
    StoredBank,
    Surroundings,
    Vector,
    VectorIndex,
)

Budget: TypeAlias = Literal["low", "mid", "high"]


@dataclass(frozen=True, slots=True)
class Depth:
    """Limits of a search, all in numbers of memories unless said otherwise.

    Attributes:
        hits: most that an arm returns.
        nodes: most memories and entities that spreading activation visits.
        pool: most hits of the arms that are scored.
        whole_bank: size up to which a bank is scored whole: a memory that no arm found may stand
            beside one, or in one session with one, that they did.
        head: memories at the top that late interaction (or another reranker) reads.
    """

    hits: int
    nodes: int
    pool: int
    whole_bank: int
    head: int

    def tracing(self) -> Depth:
        """Return the depth for a bank that is scored whole: arms only explain the best."""
        low = DEPTHS["low"]
        return replace(self, hits=low.hits, nodes=low.nodes)


DEPTHS: dict[Budget, Depth] = {
    "low": Depth(hits=60, nodes=100, pool=120, whole_bank=120, head=40),
    "mid": Depth(hits=150, nodes=300, pool=350, whole_bank=2000, head=200),
    "high": Depth(hits=250, nodes=600, pool=600, whole_bank=3000, head=300),
}
"""Depth of each budget, chosen by the figures in docs/benchmarks.md."""


@dataclass(frozen=True, slots=True)
class Question:
    """A query, encoded once for all arms.

    Attributes:
        vector: its embedding; all zero if the embedder failed.
        tokens: its token vectors, for late interaction; None if there are none.
        lexemes: its terms, for BM25.
        windows: the times it asks for.
        events: ids of the memories that tell the events it counts from ("before Alice joined").
        two_models: True if another model than the one of its vector made its token vectors.
        asked_at: the time that "last week" is counted from.
    """

    text: str
    asked_at: datetime
    vector: Vector
    tokens: TokenMatrix | None
    lexemes: tuple[str, ...]
    windows: tuple[Window, ...] = ()
    events: frozenset[str] = frozenset()
    two_models: bool = False

    @property
    def embedded(self) -> bool:
        """True if it has a vector to search with."""
        return bool(self.vector.any())


@dataclass(frozen=True, slots=True)
class BankSearch:
    """The input of an arm: a question to one bank.

    Attributes:
        stats: term statistics of the bank, for the question's lexemes.
        bank_candidates: all memories that pass the filter, if they are at most `Depth.whole_bank`
            and were read: arms then need not query the stores for them.
        layout: waits for the layout of the bank, which is None above `Depth.whole_bank` memories;
            None if it is not read, as for a filter that admits more than valid memories.
        index_hits: waits for the index's nearest memories, before filtering; None if the index was
            not queried.
        surroundings: waits for the mentions and links that the entity arm starts with; None if
            they are not being read.
    """

    graph: GraphStore
    index: VectorIndex
    bank: StoredBank
    question: Question
    filter: MemoryFilter
    depth: Depth
    stats: LexemeStats
    bank_candidates: Candidates | None = None
    layout: Callable[[], Layout | None] | None = None
    index_hits: Callable[[], list[tuple[str, float]]] | None = None
    surroundings: Callable[[], Surroundings] | None = None

    def asking(self, question: Question) -> BankSearch:
        """Return the same search for another question."""
        stats = self.stats
        if question.lexemes != self.question.lexemes:
            stats = self.graph.lexeme_stats(self.bank_id, question.lexemes)
        index_hits = self.index_hits if question.vector is self.question.vector else None
        return replace(self, question=question, stats=stats, index_hits=index_hits)

    @property
    def bank_id(self) -> str:
        """Id of the bank searched."""
        return self.bank.bank.id


class ArmHit(NamedTuple):
    """A memory that an arm found, with the arm's own score (higher is better) and its reason."""

    memory_id: str
    score: float
    reason: str
    path: tuple[PathStep, ...] = ()


class Reranker(Protocol):
    """Scores how well each text answers a query. Plug in any object with these members."""

    @property
    def id(self) -> str:
        """Name of the model, for `explain()`."""
        ...

    def score(self, query: str, memories: Sequence[Memory]) -> NDArray[np.float64]:
        """Return one finite number a memory, higher is better.

        Raises:
            RerankError: it failed; recall then keeps the order it had and reports the failure.
        """
        ...
