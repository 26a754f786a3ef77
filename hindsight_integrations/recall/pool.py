"""The pool: the memories that are scored, with the aligned arrays that scoring needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hindsight_integrations.errors import StoreUnavailableError
from hindsight_integrations.models import Arm
from hindsight_integrations.recall.base import ArmHit, BankSearch
from hindsight_integrations.recall.cache import CandidateCache, Candidates
from hindsight_integrations.recall.scaling import reciprocal_rank_fusion
from hindsight_integrations.results import ArmScore, Failure
from hindsight_integrations.stores.base import (
    CANDIDATE,
    EVERYTHING,
    NO_LIMIT,
    Candidate,
    GraphStore,
    LexemeStats,
    Neighbour,
)

SURROUNDINGS = 40
"""Best fused memories whose neighbours in the conversation join the pool: an answer often stands
beside the turn that shares words with the question."""

LOOKUP_HITS = 100
"""Best fused memories whose neighbours are looked up: two further down that stand side by side say
little of each other."""

TEMPORAL_SHARE = 0.25
"""Share of `Depth.hits` that the temporal arm may fill beside other arms: most memories in a wide
window have nothing to do with the question, and the other arms find those that have."""


OFFSETS = (-2, -1, 1, 2)
"""Positions of the neighbours looked at, in turns from the memory."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates of one bank or several.

    Attributes:
        memories: the memories scored: a small bank in the order of storing; else the best fused
            score first, then neighbours that no arm found.
        fused: reciprocal rank fusion score of each; 0 for a neighbour.
        arms: rank, score and reason in the arms of each that an arm found, by position.
        around: positions in the pool of the neighbours at `OFFSETS` of each, -1 where there is
            none; shape (memories, offsets).
        stats: term statistics of the banks searched, added up, for BM25.
        named: ids of the entities that the question names.
        entity_words: words of all that these entities are called, normalised.
        unreadable: bank and id of memories that exist and could not be read.
        pinned: bank and id of the pinned memories, if they are to come first.
    """

    memories: Candidates
    fused: NDArray[np.float64]
    arms: Mapping[int, tuple[ArmScore, ...]]
    around: NDArray[np.intp]
    stats: LexemeStats
    named: frozenset[str]
    entity_words: frozenset[str] = frozenset()
    unreadable: tuple[tuple[str, str], ...] = ()
    pinned: frozenset[tuple[str, str]] = frozenset()

    def __len__(self) -> int:
        return len(self.memories)


@dataclass(frozen=True, slots=True)
class WholeBank:
    """All memories of a bank that pass a filter: their ids, and those of them that can be read."""

    ids: Sequence[str]
    memories: Candidates


def read_whole_bank(
    request: BankSearch, everything: Callable[[], list[str] | None] | None, kept: CandidateCache
) -> WholeBank | None:
    """Return all memories that pass, or None if `everything` is None or returns None."""
    ids = None if everything is None else everything()
    if ids is None:
        return None
    return WholeBank(ids, kept.all_of(request.bank, ids, partial(_load, request)))


def gather(
    request: BankSearch,
    rankings: Mapping[Arm, Sequence[ArmHit]],
    named: Sequence[str],
    rrf_k: int,
    kept: CandidateCache,
    whole: WholeBank | None,
    failures: list[Failure],
    *,
    pinned: bool = False,
) -> Pool:
    """Fuse the arms' rankings, and load the best and what else may hold the answer.

    Args:
        request: the question and the bank.
        rankings: hits of each arm, best first.
        named: ids of the entities that the question names.
        rrf_k: constant of reciprocal rank fusion.
        kept: cache of candidates.
        whole: all memories that pass; if it is None, as for a bank of more than `Depth.whole`,
            the best and their neighbours are loaded.
        failures: gets the reason if the neighbours cannot be read in time; the pool has none then.
        pinned: load the pinned memories that pass the filter too.
    """
    fused = reciprocal_rank_fusion(_joining(request.depth.hits, rankings), rrf_k)
    chosen = list(fused)[: request.depth.pool]
    beside = _neighbours(request, chosen[:LOOKUP_HITS], failures)
    only_pinned = replace(request.filter, pinned=True)
    first = request.graph.find_ids(request.bank_id, only_pinned, NO_LIMIT) if pinned else ()
    first = first or ()
    if whole is None:
        ids: Sequence[str] = list(dict.fromkeys([*chosen, *_beside(chosen, beside), *first]))
        load = partial(_load, request)
        memories = Candidates(kept.single.read(request.bank, ids, load).values())
    else:
        ids, memories = whole.ids, whole.memories
    lost = {*ids}.difference(memory.id for memory in memories) if len(memories) < len(ids) else ()
    return Pool(
        memories=memories,
        fused=_aligned(memories, fused),
        arms=_arm_scores(memories, rankings),
        around=_around(memories, beside),
        stats=request.stats,
        named=frozenset(named),
        unreadable=existing(request.graph, request.bank_id, lost),
        pinned=frozenset((request.bank_id, id) for id in first),
    )


def _neighbours(
    request: BankSearch, ids: Sequence[str], failures: list[Failure]
) -> list[Neighbour]:
    """Return the neighbours of memories; in a small bank they are known already."""
    distance, filter = max(OFFSETS), request.filter
    try:
        layout = None if request.layout is None else request.layout()
        if layout is not None:
            return layout.neighbours(ids, distance, filter.now)
        return request.graph.neighbours(request.bank_id, ids, distance, filter)
    except StoreUnavailableError as error:
        failures.append(Failure("turns beside", error))
        return []


def existing(graph: GraphStore, bank_id: str, ids: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return bank and id of those of the memories that exist; the others were deleted meanwhile."""
    held = graph.filter_ids(bank_id, sorted(ids), EVERYTHING) if ids else ()
    return tuple((bank_id, id) for id in sorted(held))


def join(pools: Sequence[Pool]) -> Pool:
    """Join the pools of several banks."""
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
        arms={
            start + position: arms
            for pool, start in zip(pools, starts.tolist(), strict=True)
            for position, arms in pool.arms.items()
        },
        around=np.concatenate(
            [
                np.where(pool.around < 0, -1, pool.around + start)
                for pool, start in zip(pools, starts, strict=True)
            ]
        ),
        stats=LexemeStats(documents, length / documents if documents else 0.0, frequency),
        named=frozenset().union(*(pool.named for pool in pools)),
        entity_words=frozenset().union(*(pool.entity_words for pool in pools)),
        unreadable=tuple(chain.from_iterable(pool.unreadable for pool in pools)),
        pinned=frozenset().union(*(pool.pinned for pool in pools)),
    )


def _beside(chosen: Sequence[str], beside: Sequence[Neighbour]) -> list[str]:
    """Return the neighbours of the best that are not chosen yet."""
    known, first = set(chosen), set(chosen[:SURROUNDINGS])
    joining = (n.neighbour_id for n in beside if n.memory_id in first)
    return [memory_id for memory_id in dict.fromkeys(joining) if memory_id not in known]


def _load(request: BankSearch, ids: Sequence[str]) -> dict[str, Candidate]:
    return request.graph.read(request.bank_id, CANDIDATE, ids)


def _joining(hits: int, rankings: Mapping[Arm, Sequence[ArmHit]]) -> list[list[str]]:
    """Return the ids of the hits of each arm that may join the pool."""
    most = {Arm.TEMPORAL: round(hits * TEMPORAL_SHARE)} if len(rankings) > 1 else {}
    return [[hit.memory_id for hit in ranked[: most.get(arm)]] for arm, ranked in rankings.items()]


def _aligned(memories: Candidates, fused: Mapping[str, float]) -> NDArray[np.float64]:
    position = memories.positions
    scores = np.zeros(len(memories))
    for memory_id, score in fused.items():
        if memory_id in position:
            scores[position[memory_id]] = score
    return scores


def _around(memories: Candidates, beside: Sequence[Neighbour]) -> NDArray[np.intp]:
    position = memories.positions
    column = {offset: index for index, offset in enumerate(OFFSETS)}
    around = np.full((len(memories), len(OFFSETS)), -1, dtype=np.intp)
    for memory_id, neighbour_id, offset in beside:
        if neighbour_id in position and memory_id in position:
            here, there = position[memory_id], position[neighbour_id]
            around[here, column[offset]], around[there, column[-offset]] = there, here
    return around


def _arm_scores(
    memories: Candidates, rankings: Mapping[Arm, Sequence[ArmHit]]
) -> dict[int, tuple[ArmScore, ...]]:
    position = memories.positions
    scores: defaultdict[int, list[ArmScore]] = defaultdict(list)
    for arm, hits in rankings.items():
        for rank, (memory_id, score, reason, path) in enumerate(hits, start=1):
            if memory_id in position:
                scores[position[memory_id]].append(ArmScore(arm, rank, score, reason, path))
    return {index: tuple(found) for index, found in scores.items()}
