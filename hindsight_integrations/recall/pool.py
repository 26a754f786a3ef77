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
        memories: the memories scored. Of a small bank all, in storing order; else the hits by
            descending fused score, then neighbours that no arm found.
        fused: reciprocal rank fusion score of each; 0 for a neighbour.
        arms: rank, score and reason in the arms of each that an arm found, by position.
        neighbours: positions in the pool of the neighbours at `OFFSETS` of each, -1 where there is
            none; shape (memories, offsets).
        stats: term statistics of the banks searched, added up, for BM25.
        query_entity_ids: ids of the entities that the question names.
        entity_words: normalised words of the names and aliases of these entities.
        unreadable: bank and id of memories that exist and could not be read.
        pinned: bank and id of the pinned memories, if they are to come first.
    """

    memories: Candidates
    fused: NDArray[np.float64]
    arms: Mapping[int, tuple[ArmScore, ...]]
    neighbours: NDArray[np.intp]
    stats: LexemeStats
    query_entity_ids: frozenset[str]
    entity_words: frozenset[str] = frozenset()
    unreadable: tuple[tuple[str, str], ...] = ()
    pinned: frozenset[tuple[str, str]] = frozenset()

    def __len__(self) -> int:
        return len(self.memories)


@dataclass(frozen=True, slots=True)
class WholeBank:
    """All memories of a bank that pass a filter: every id, and the memories that could be read."""

    ids: Sequence[str]
    memories: Candidates


def read_whole_bank(
    request: BankSearch, find_all: Callable[[], list[str] | None] | None, cache: CandidateCache
) -> WholeBank | None:
    """Return all memories that pass the filter, or None if `find_all` is None or returns None."""
    ids = None if find_all is None else find_all()
    if ids is None:
        return None
    return WholeBank(ids, cache.all_of(request.bank, ids, partial(_load, request)))


def gather(
    request: BankSearch,
    rankings: Mapping[Arm, Sequence[ArmHit]],
    query_entity_ids: Sequence[str],
    rrf_k: int,
    cache: CandidateCache,
    whole_bank: WholeBank | None,
    failures: list[Failure],
    *,
    pinned: bool = False,
) -> Pool:
    """Fuse the arms' rankings and load the best memories, their neighbours and pinned ones.

    Args:
        request: the question and the bank.
        rankings: hits of each arm, best first.
        query_entity_ids: ids of the entities that the question names.
        rrf_k: constant of reciprocal rank fusion.
        cache: cache of candidates.
        whole_bank: all memories that pass the filter; None for a bank above `Depth.whole_bank`
            memories, of which only the best and their neighbours are loaded.
        failures: gets the reason if the neighbours cannot be read in time; the pool has none then.
        pinned: load the pinned memories that pass the filter too.
    """
    fused = reciprocal_rank_fusion(_eligible_ids(request.depth.hits, rankings), rrf_k)
    best_ids = list(fused)[: request.depth.pool]
    neighbours = _neighbours(request, best_ids[:LOOKUP_HITS], failures)
    only_pinned = replace(request.filter, pinned=True)
    pinned_ids = request.graph.find_ids(request.bank_id, only_pinned, NO_LIMIT) if pinned else ()
    pinned_ids = pinned_ids or ()
    if whole_bank is None:
        ids: Sequence[str] = list(
            dict.fromkeys([*best_ids, *_new_neighbours(best_ids, neighbours), *pinned_ids])
        )
        load = partial(_load, request)
        memories = Candidates(cache.single.read(request.bank, ids, load).values())
    else:
        ids, memories = whole_bank.ids, whole_bank.memories
    unread = {*ids}.difference(memory.id for memory in memories) if len(memories) < len(ids) else ()
    return Pool(
        memories=memories,
        fused=_fused_scores(memories, fused),
        arms=_arm_scores(memories, rankings),
        neighbours=_neighbour_positions(memories, neighbours),
        stats=request.stats,
        query_entity_ids=frozenset(query_entity_ids),
        unreadable=existing(request.graph, request.bank_id, unread),
        pinned=frozenset((request.bank_id, id) for id in pinned_ids),
    )


def _neighbours(
    request: BankSearch, ids: Sequence[str], failures: list[Failure]
) -> list[Neighbour]:
    """Return the neighbours of memories, from the cached layout if the bank is small.

    A store that is late costs the neighbours and not the recall: `failures` gets the error.
    """
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
    """Return bank and id of the memories that still exist; the others have been deleted."""
    existing_ids = graph.filter_ids(bank_id, sorted(ids), EVERYTHING) if ids else ()
    return tuple((bank_id, id) for id in sorted(existing_ids))


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
        neighbours=np.concatenate(
            [
                np.where(pool.neighbours < 0, -1, pool.neighbours + start)
                for pool, start in zip(pools, starts, strict=True)
            ]
        ),
        stats=LexemeStats(documents, length / documents if documents else 0.0, frequency),
        query_entity_ids=frozenset().union(*(pool.query_entity_ids for pool in pools)),
        entity_words=frozenset().union(*(pool.entity_words for pool in pools)),
        unreadable=tuple(chain.from_iterable(pool.unreadable for pool in pools)),
        pinned=frozenset().union(*(pool.pinned for pool in pools)),
    )


def _new_neighbours(best_ids: Sequence[str], neighbours: Sequence[Neighbour]) -> list[str]:
    """Return the neighbours of the `SURROUNDINGS` best memories that are not among the best."""
    known, head = set(best_ids), set(best_ids[:SURROUNDINGS])
    neighbour_ids = (n.neighbour_id for n in neighbours if n.memory_id in head)
    return [memory_id for memory_id in dict.fromkeys(neighbour_ids) if memory_id not in known]


def _load(request: BankSearch, ids: Sequence[str]) -> dict[str, Candidate]:
    return request.graph.read(request.bank_id, CANDIDATE, ids)


def _eligible_ids(hits: int, rankings: Mapping[Arm, Sequence[ArmHit]]) -> list[list[str]]:
    """Return the ids of each arm's hits that may join the pool; few of the temporal arm's."""
    limits = {Arm.TEMPORAL: round(hits * TEMPORAL_SHARE)} if len(rankings) > 1 else {}
    return [
        [hit.memory_id for hit in ranked[: limits.get(arm)]] for arm, ranked in rankings.items()
    ]


def _fused_scores(memories: Candidates, fused: Mapping[str, float]) -> NDArray[np.float64]:
    position = memories.positions
    scores = np.zeros(len(memories))
    for memory_id, score in fused.items():
        if memory_id in position:
            scores[position[memory_id]] = score
    return scores


def _neighbour_positions(memories: Candidates, neighbours: Sequence[Neighbour]) -> NDArray[np.intp]:
    position = memories.positions
    column = {offset: index for index, offset in enumerate(OFFSETS)}
    positions = np.full((len(memories), len(OFFSETS)), -1, dtype=np.intp)
    for memory_id, neighbour_id, offset in neighbours:
        if neighbour_id in position and memory_id in position:
            row, neighbour_row = position[memory_id], position[neighbour_id]
            positions[row, column[offset]] = neighbour_row
            positions[neighbour_row, column[-offset]] = row
    return positions


def _arm_scores(
    memories: Candidates, rankings: Mapping[Arm, Sequence[ArmHit]]
) -> dict[int, tuple[ArmScore, ...]]:
    position = memories.positions
    scores: defaultdict[int, list[ArmScore]] = defaultdict(list)
    for arm, hits in rankings.items():
        for rank, (memory_id, score, reason, path) in enumerate(hits, start=1):
            if memory_id in position:
                scores[position[memory_id]].append(ArmScore(arm, rank, score, reason, path))
    return {index: tuple(arm_scores) for index, arm_scores in scores.items()}
