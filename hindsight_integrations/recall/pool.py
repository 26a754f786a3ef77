"""The pool: the memories that are scored, with what scoring needs of them, as aligned arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.recall.fuse import reciprocal_rank_fusion
from hindsight_integrations.recall.ports import ArmHit, BankSearch
from hindsight_integrations.results import Arm, ArmScore
from hindsight_integrations.storage.requests import (
    LexemeStats,
    MemoryRecord,
)

SURROUNDINGS = 40
"""Best fused memories of which the neighbours in the conversation join the pool: an answer
often stands beside the turn that shares words with the question."""

OFFSETS = (-2, -1, 1, 2)
"""Places of the neighbours that are looked at."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one bank or several.

    Attributes:
        records: the memories, best fused score first, then neighbours that no arm found.
        fused: reciprocal rank fusion score of each; 0 for a neighbour.
        arms: which arms found each, and how.
        around: positions in the pool of the neighbours at `OFFSETS` of each, -1 where there is
            none; shape (len(records), len(OFFSETS)).
        stats: of the banks searched, added up, for BM25.
        named: ids of the entities that the question names.
    """

    records: tuple[MemoryRecord, ...]
    fused: NDArray[np.float64]
    arms: tuple[tuple[ArmScore, ...], ...]
    around: NDArray[np.intp]
    stats: LexemeStats
    named: frozenset[str]

    def __len__(self) -> int:
        return len(self.records)


def gather(
    request: BankSearch,
    rankings: Mapping[Arm, Sequence[ArmHit]],
    named: Sequence[str],
    rrf_k: int,
) -> Pool:
    """Fuse the arms' rankings and load the best of them, and the neighbours of the very best."""
    fused = reciprocal_rank_fusion(
        ([hit.memory_id for hit in hits] for hits in rankings.values()), rrf_k
    )
    chosen = list(fused)[: request.depth.pool]
    beside = request.graph.neighbours(request.bank_id, chosen[:SURROUNDINGS], max(OFFSETS))
    known = set(chosen)
    extra = list(dict.fromkeys(n.neighbour_id for n in beside if n.neighbour_id not in known))
    allowed = request.graph.admitted(request.bank_id, extra, request.filter)
    ids = chosen + [memory_id for memory_id in extra if memory_id in allowed]
    records = request.graph.get_records(request.bank_id, ids)

    position = {memory_id: i for i, memory_id in enumerate(records)}
    around = np.full((len(records), len(OFFSETS)), -1, dtype=np.intp)
    for n in request.graph.neighbours(request.bank_id, list(records), max(OFFSETS)):
        if n.neighbour_id in position:
            around[position[n.memory_id], OFFSETS.index(n.offset)] = position[n.neighbour_id]
    scores = _arm_scores(rankings)
    return Pool(
        records=tuple(records.values()),
        fused=np.array([fused.get(memory_id, 0.0) for memory_id in records]),
        arms=tuple(tuple(scores.get(memory_id, ())) for memory_id in records),
        around=around,
        stats=request.graph.lexeme_stats(request.bank_id, request.question.lexemes),
        named=frozenset(named),
    )


def join(pools: Sequence[Pool]) -> Pool:
    """One pool out of several banks' pools."""
    if len(pools) == 1:
        return pools[0]
    starts = np.cumsum([0] + [len(pool) for pool in pools[:-1]])
    documents = sum(pool.stats.documents for pool in pools)
    length = sum(pool.stats.mean_length * pool.stats.documents for pool in pools)
    frequency: dict[str, int] = {}
    for pool in pools:
        for lexeme, count in pool.stats.frequency.items():
            frequency[lexeme] = frequency.get(lexeme, 0) + count
    return Pool(
        records=tuple(record for pool in pools for record in pool.records),
        fused=np.concatenate([pool.fused for pool in pools]),
        arms=tuple(arms for pool in pools for arms in pool.arms),
        around=np.concatenate(
            [
                np.where(pool.around < 0, -1, pool.around + start)
                for pool, start in zip(pools, starts, strict=True)
            ]
        ),
        stats=LexemeStats(documents, length / documents if documents else 0.0, frequency),
        named=frozenset().union(*(pool.named for pool in pools)),
    )


def _arm_scores(rankings: Mapping[Arm, Sequence[ArmHit]]) -> dict[str, list[ArmScore]]:
    scores: dict[str, list[ArmScore]] = {}
    for arm, hits in rankings.items():
        for rank, hit in enumerate(hits, start=1):
            scores.setdefault(hit.memory_id, []).append(ArmScore(arm, rank, hit.score, hit.reason))
    return scores
