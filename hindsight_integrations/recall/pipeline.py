"""One recall, from request to result: gather a pool, rank it, pack what fits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hindsight_integrations.model import Memory
from hindsight_integrations.recall import render
from hindsight_integrations.recall.gathering import gather_pool
from hindsight_integrations.recall.notes import entity_notes, source_chunks
from hindsight_integrations.recall.pack import pack
from hindsight_integrations.recall.parts import Clock, RecallParts
from hindsight_integrations.recall.pool import Pool
from hindsight_integrations.recall.ports import DEPTHS, Question
from hindsight_integrations.recall.prefer import with_observations
from hindsight_integrations.recall.rank import Ranking, rank, rank_fused, rerank
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.recall.standard import Scores
from hindsight_integrations.results import Recalled, RecallResult
from hindsight_integrations.storage.requests import StoredBank

_READ_AHEAD = 64
"""Memories read from the graph at a time while the budget is filled."""


def recall(parts: RecallParts, banks: Sequence[StoredBank], request: RecallRequest) -> RecallResult:
    """The memories of these banks that answer the request.

    Raises:
        EmbeddingError: the question could not be embedded.
        StoreUnavailableError: every arm failed.
    """
    clock = Clock()
    started = time.perf_counter()
    gathered = gather_pool(parts, banks, request, clock)
    pool, question = gathered.pool, gathered.question
    with clock.timing("rank"):
        ranking = _rank(parts, banks, pool, question, request)
    with clock.timing("pack"):
        scores = ranking.scores
        order = _in_order(pool, ranking, scores, request.min_score)
        if request.prefer_observations:
            order = with_observations(parts.graph, pool, order)
        shelf = _Shelf(parts, banks, pool, ranking, scores, order)
        packed = pack(shelf, request.max_tokens, parts.tokenizer.count, parts.tokenizer.truncate)
        found = tuple(shelf.recalled(place, tokens) for place, tokens in packed.taken)
        if packed.truncated:
            found = (replace(found[0], text=packed.text),)
        left_out = tuple(shelf.recalled(place, 0) for place in packed.left_out)
        chunks = source_chunks(parts.graph, found, request.chunk_tokens, parts.tokenizer)
        notes = entity_notes(parts.graph, found, request.entity_tokens, parts.tokenizer)
    return RecallResult(
        bank_ids=request.bank_ids,
        query=request.query,
        memories=found,
        text=packed.text,
        tokens=packed.tokens,
        max_tokens=request.max_tokens,
        truncated=packed.truncated,
        windows=question.windows,
        entities_named=gathered.named,
        chunks=chunks,
        entity_notes=notes,
        left_out=left_out,
        considered=len(pool),
        failures=(*gathered.failures, *ranking.failures),
        timings={**clock.seconds, "total": time.perf_counter() - started},
        query_time=request.asked_at,
    )


def _rank(
    parts: RecallParts,
    banks: Sequence[StoredBank],
    pool: Pool,
    question: Question,
    request: RecallRequest,
) -> Ranking:
    if not len(pool):
        return Ranking.empty()
    if not parts.reranking:
        return rank_fused(pool, question)
    head = min(DEPTHS[request.budget].head, parts.settings.rerank_candidates)
    ranking = rank(pool, question, head, parts.weights)
    if parts.reranker is not None:
        first = ranking.order[:head].tolist()
        head_memories = _memories(parts, banks, pool, first)
        ranking = rerank(ranking, head_memories, question, parts.reranker)
    return ranking


def _in_order(pool: Pool, ranking: Ranking, scores: Scores, min_score: float | None) -> list[int]:
    """Positions in the pool, best first, without repetitions and what falls short."""
    said: set[tuple[str, str]] = set()
    order: list[int] = []
    for position in ranking.order.tolist():
        memory = pool.memories[position]
        key = (memory.bank_id, memory.fingerprint)
        if key in said or (min_score is not None and scores[position] < min_score):
            continue
        said.add(key)
        order.append(position)
    return order


@dataclass(slots=True)
class _Shelf:
    """The memories of a pool in order, read from the store as far as they are asked for.

    Attributes:
        order: positions in the pool, best first.
        read: position and memory of each that was asked for; its index is its place.
    """

    parts: RecallParts
    banks: Sequence[StoredBank]
    pool: Pool
    ranking: Ranking
    scores: Scores
    order: Sequence[int]
    read: list[tuple[int, Memory]] = field(default_factory=list)

    def __iter__(self) -> Iterator[Memory]:
        for start in range(0, len(self.order), _READ_AHEAD):
            ahead = self.order[start : start + _READ_AHEAD]
            for position, memory in _memories(self.parts, self.banks, self.pool, ahead).items():
                self.read.append((position, memory))
                yield memory

    def recalled(self, place: int, tokens: int) -> Recalled:
        """The memory at a place, with what the pool and the ranking know of it."""
        position, memory = self.read[place]
        return Recalled(
            memory=memory,
            rank=place + 1,
            score=round(float(self.scores[position]), 6),
            total=float(self.ranking.total[position]),
            fused=float(self.pool.fused[position]),
            text=render.line(memory),
            tokens=tokens,
            arms=self.pool.arms[position],
            signals=self.ranking.signals(position),
        )


def _memories(
    parts: RecallParts, banks: Sequence[StoredBank], pool: Pool, positions: Sequence[int]
) -> dict[int, Memory]:
    """The memories at these positions of the pool, in that order, less those gone meanwhile."""
    found: dict[tuple[str, str], Memory] = {}
    for bank in banks:
        id = bank.bank.id
        wanted = [m.id for m in map(pool.memories.__getitem__, positions) if m.bank_id == id]
        load = partial(parts.graph.get_memories, id)
        for memory in parts.memories.read(bank, wanted, load).values():
            found[id, memory.id] = _to_give(memory)
    keys = {p: (pool.memories[p].bank_id, pool.memories[p].id) for p in positions}
    return {p: found[key] for p, key in keys.items() if key in found}


def _to_give(memory: Memory) -> Memory:
    """The memory, for somebody who may change what can be changed of it."""
    return replace(memory, metadata=dict(memory.metadata)) if memory.metadata else memory
