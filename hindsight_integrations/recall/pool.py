"""The pool: the memories that are scored, with what scoring needs of them, as aligned arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.recall.candidates import Candidates
from hindsight_integrations.recall.fuse import reciprocal_rank_fusion
from hindsight_integrations.recall.kept import KeptCandidates
from hindsight_integrations.recall.ports import ArmHit, BankSearch
from hindsight_integrations.results import Arm, ArmScore
from hindsight_integrations.storage.requests import Candidate, LexemeStats, Neighbour

SURROUNDINGS = 40
"""Best fused memories of which the neighbours in the conversation join the pool: an answer
often stands beside the turn that shares words with the question."""

PLACED = 100
"""Best fused memories whose neighbours are looked up. Two further down that stand side by side
say little of each other."""

TEMPORAL_SHARE = 0.25
"""Part of the depth that the temporal arm's hits fill beside others'. What lies in a wide window
is mostly beside the question, and the other arms find what is not."""

OFFSETS = (-2, -1, 1, 2)
"""Places of the neighbours that are looked at."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one bank or several.

    Attributes:
        memories: what is scored: a small bank in the order of storing; or the best fused score
            first, and then neighbours that no arm found.
        fused: reciprocal rank fusion score of each; 0 for a neighbour.
        arms: which arms found each, and how.
        around: positions in the pool of the neighbours at `OFFSETS` of each, -1 where there is
            none; shape (len(memories), len(OFFSETS)).
        stats: of the banks searched, added up, for BM25.
        named: ids of the entities that the question names.
    """

    memories: Candidates
    fused: NDArray[np.float64]
    arms: tuple[tuple[ArmScore, ...], ...]
    around: NDArray[np.intp]
    stats: LexemeStats
    named: frozenset[str]

    def __len__(self) -> int:
        return len(self.memories)


def gather(
    request: BankSearch,
    rankings: Mapping[Arm, Sequence[ArmHit]],
    named: Sequence[str],
    rrf_k: int,
    kept: KeptCandidates,
    *,
    whole: bool,
) -> Pool:
    """Fuse the arms' rankings and load the best of them, and what else may hold the answer.

    That is the whole bank, if it is small and `whole` admits what no arm found, and else the
    neighbours of the very best.
    """
    fused = reciprocal_rank_fusion(_joining(request.depth.hits, rankings), rrf_k)
    chosen = list(fused)[: request.depth.pool]
    beside = request.graph.neighbours(request.bank_id, chosen[:PLACED], max(OFFSETS))
    everything = (
        request.graph.matching(request.bank_id, request.filter, request.depth.whole)
        if whole
        else None
    )
    load = partial(_load, request)
    if everything is None:
        ids = dict.fromkeys([*chosen, *_beside(request, chosen, beside)])
        memories = Candidates(kept.each.read(request.bank, ids, load).values())
    else:
        memories = kept.all_of(request.bank, everything, load)
    scores = _arm_scores(rankings)
    return Pool(
        memories=memories,
        fused=np.array([fused.get(memory.id, 0.0) for memory in memories]),
        arms=tuple(tuple(scores.get(memory.id, ())) for memory in memories),
        around=_around(memories, beside),
        stats=request.stats,
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
        memories=Candidates(memory for pool in pools for memory in pool.memories),
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


def _beside(request: BankSearch, chosen: Sequence[str], beside: Sequence[Neighbour]) -> list[str]:
    """The neighbours of the best that are not among those chosen, and pass the filter."""
    known, first = set(chosen), set(chosen[:SURROUNDINGS])
    joining = (n.neighbour_id for n in beside if n.memory_id in first)
    extra = [memory_id for memory_id in dict.fromkeys(joining) if memory_id not in known]
    allowed = request.graph.admitted(request.bank_id, extra, request.filter)
    return [memory_id for memory_id in extra if memory_id in allowed]


def _load(request: BankSearch, ids: Sequence[str]) -> dict[str, Candidate]:
    return {each.id: each for each in request.graph.candidates(request.bank_id, ids)}


def _joining(hits: int, rankings: Mapping[Arm, Sequence[ArmHit]]) -> list[list[str]]:
    """Ids of the hits of each arm that may join the pool."""
    most = {Arm.TEMPORAL: round(hits * TEMPORAL_SHARE)} if len(rankings) > 1 else {}
    return [[hit.memory_id for hit in found[: most.get(arm)]] for arm, found in rankings.items()]


def _around(memories: Sequence[Candidate], beside: Sequence[Neighbour]) -> NDArray[np.intp]:
    position = {memory.id: i for i, memory in enumerate(memories)}
    column = {offset: i for i, offset in enumerate(OFFSETS)}
    around = np.full((len(memories), len(OFFSETS)), -1, dtype=np.intp)
    for memory_id, neighbour_id, offset in beside:
        if neighbour_id in position and memory_id in position:
            here, there = position[memory_id], position[neighbour_id]
            around[here, column[offset]], around[there, column[-offset]] = there, here
    return around


def _arm_scores(rankings: Mapping[Arm, Sequence[ArmHit]]) -> dict[str, list[ArmScore]]:
    scores: defaultdict[str, list[ArmScore]] = defaultdict(list)
    for arm, hits in rankings.items():
        for rank, (memory_id, score, reason) in enumerate(hits, start=1):
            scores[memory_id].append(ArmScore(arm, rank, score, reason))
    return scores
