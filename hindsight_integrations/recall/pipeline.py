"""One recall from request to result: gather a pool, rank it, pack what fits the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile

import numpy as np

from hindsight_integrations.explain import deciding
from hindsight_integrations.models import Entity, Memory
from hindsight_integrations.nlp.blas import one_core
from hindsight_integrations.recall import packing
from hindsight_integrations.recall.base import (
    DEPTHS,
    Question,
    Reranker,
)
from hindsight_integrations.recall.dependencies import Clock, RecallDependencies
from hindsight_integrations.recall.entity_notes import (
    entity_notes,
    mentions_in_scope,
    with_observations,
)
from hindsight_integrations.recall.gathering import Gathered, gather_pool
from hindsight_integrations.recall.pool import Pool, existing
from hindsight_integrations.recall.ranking import Ranking, rank, rank_fused, rerank
from hindsight_integrations.recall.request import RecallRequest
from hindsight_integrations.recall.scaling import Scores
from hindsight_integrations.recall.unknown_fields import notes_on_entities, notes_on_fields
from hindsight_integrations.results import (
    ArmScore,
    EntityNote,
    Failure,
    Recalled,
    RecallResult,
)
from hindsight_integrations.stores.base import MEMORY, StoredBank
from hindsight_integrations.stores.deadline import limited
from hindsight_integrations.stores.integrity import (
    unreadable_error,
)

LEAST_RELEVANCE = 0.0002
"""Relevance at which packing stops. On the bench's development sets 95 to 100 % of the evidence
that fits 4,096 tokens stands above it (docs/benchmarks.md)."""


def recall(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    current: Callable[[str], StoredBank] | None = None,
) -> RecallResult:
    """Return the memories of these banks that answer the request.

    Args:
        deps: stores, models and settings.
        banks: the banks.
        request: the question.
        current: reads a bank as it is now, if `banks` are as they were read some time ago; so
            that what else is read need not wait for it.

    Raises:
        EmbeddingError: the question could not be embedded, and no arm asked for does without.
        StoreUnavailableError: every arm failed.
    """
    clock = Clock(limit=deps.settings.recall_timeout, turns=deps.turns)
    with clock.working(), limited(clock.left, each=deps.settings.arm_timeout):
        return _recall(deps, gather_pool(deps, banks, request, clock, current), request, clock)


def _recall(
    deps: RecallDependencies, gathered: Gathered, request: RecallRequest, clock: Clock
) -> RecallResult:
    pool, question, banks = gathered.pool, gathered.question, gathered.banks
    with clock.timing("rank"):
        ranking = _rank(deps, banks, pool, question, request, clock)
        off_topic = _is_off_topic(deps, request, ranking)
        if off_topic:
            ranking = replace(ranking, relevance=np.zeros(len(pool)))
    with clock.timing("pack"):
        # A question that names a time may ask for all that happened then.
        asks_for_time = any(window.firm for window in question.windows) or bool(question.events)
        whole = request.fill or (asks_for_time and not off_topic)
        least = max(request.min_score or 0.0, 0.0 if whole else LEAST_RELEVANCE)
        order = _in_order(pool, ranking, least)
        tokenizer = deps.tokenizer
        read = partial(_memories, deps, banks, pool)
        prefetch = packing.expected_to_fit(pool, order, request.max_tokens)
        order = packing.substitute_observations(
            pool, order, read, tokenizer.count, prefetch, prefer=request.prefer_observations
        )
        reader = _LazyMemoryReader(deps, banks, pool, ranking, order, prefetch)
        packed = packing.pack(reader, request.max_tokens, tokenizer.count, tokenizer.truncate)
        memories = tuple(
            reader.recalled(index, packed.lines[index], tokens) for index, tokens in packed.taken
        )
        if packed.truncated:
            memories = (replace(memories[0], line=packed.text),)
        left_out = tuple(
            reader.recalled(index, packed.lines[index], 0) for index in packed.left_out
        )
        chunks = packing.source_chunks(deps.graph, memories, request.chunk_tokens, tokenizer)
        notes = _entity_notes(deps, banks, request, gathered, memories)
    return RecallResult(
        bank_ids=request.bank_ids,
        query=request.query,
        memories=memories,
        text=packed.text,
        tokens=packed.tokens,
        max_tokens=request.max_tokens,
        truncated=packed.truncated,
        windows=question.windows,
        entities_named=_names(deps, gathered.named, request.filter.scope),
        chunks=chunks,
        entity_notes=notes,
        left_out=left_out,
        considered=len(pool),
        failures=(*gathered.failures, *ranking.failures, *_unreadable(deps, pool, reader)),
        timings={**clock.seconds, "total": clock.elapsed + clock.seconds.get("turn", 0.0)},
        query_time=request.asked_at,
        notes=(
            *notes_on_entities(deps.graph, request.bank_ids, request.entities, gathered.named),
            *notes_on_fields(
                deps.graph, request.bank_ids, request.filter, (each.memory for each in memories)
            ),
        ),
    )


def _names(deps: RecallDependencies, named: Sequence[Entity], scope: str | None) -> tuple[str, ...]:
    """Return the names of entities; in a scope, of those that it mentions."""
    if scope is not None:
        named = [
            each for each in named if mentions_in_scope(deps.graph, each.bank_id, [each.id], scope)
        ]
    return tuple(dict.fromkeys(entity.name for entity in named))


def _entity_notes(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    request: RecallRequest,
    gathered: Gathered,
    memories: Sequence[Recalled],
) -> tuple[EntityNote, ...]:
    if not request.entity_tokens:
        return ()
    question, named = gathered.question, gathered.named
    vector = question.vector if question.embedded else None
    asked = deps.alongside(
        lambda: with_observations(deps.graph, deps.index, banks, named, vector, request.filter)
    )
    budget, scope = request.entity_tokens, request.filter.scope
    return entity_notes(deps.graph, memories, budget, deps.tokenizer, asked, scope)


# Ranking


def _rank(
    deps: RecallDependencies,
    banks: Sequence[StoredBank],
    pool: Pool,
    question: Question,
    request: RecallRequest,
    clock: Clock,
) -> Ranking:
    if not len(pool):
        return Ranking.empty()
    if not deps.reranking:
        return rank_fused(pool, question)
    head = min(DEPTHS[request.budget].head, deps.settings.rerank_candidates)
    with one_core():
        ranking = rank(pool, question, head, deps.weights, deps.calibration)
    if deps.reranker is not None and question.text:
        stating = ranking.order[~pool.memories.context[ranking.order]]
        memories = _memories(deps, banks, pool, stating[:head].tolist())
        ranking = rerank(ranking, memories, question, _TimedReranker(deps.reranker, clock))
    return ranking


@dataclass(frozen=True, slots=True)
class _TimedReranker:
    """A reranker that is given up when the recall's time is."""

    reranker: Reranker
    clock: Clock

    @property
    def id(self) -> str:
        return self.reranker.id

    def score(self, query: str, memories: Sequence[Memory]) -> Scores:
        return self.clock.outside(lambda: self.reranker.score(query, memories))


def _is_off_topic(deps: RecallDependencies, request: RecallRequest, ranking: Ranking) -> bool:
    """Return True for a courtesy, and for a question that nothing in the pool is like."""
    chosen = request.entities or request.filter.window is not None
    return not (ranking.known or chosen) or deps.is_courtesy(request.query)


def _in_order(pool: Pool, ranking: Ranking, least: float) -> list[int]:
    """Return positions in the pool, best first, without repetitions and the less relevant.

    The pinned memories that were asked for stand first.
    """
    seen: set[tuple[str, str]] = set()
    order: list[int] = []
    positions: list[int] = ranking.order.tolist()
    relevance: list[float] = ranking.relevance.tolist()
    first = [p for p in positions if (pool.memories[p].bank_id, pool.memories[p].id) in pool.pinned]
    relevant = takewhile(lambda position: relevance[position] >= least, positions)
    for position in chain(first, relevant):
        memory = pool.memories[position]
        key = (memory.bank_id, memory.fingerprint)
        if key not in seen:
            seen.add(key)
            order.append(position)
    return order


# Reading


@dataclass(slots=True)
class _LazyMemoryReader:
    """Iterates over the memories of a pool in order, reading the store as far as it is used.

    Attributes:
        order: positions in the pool, best first.
        ahead: number of the best that are read at once.
        read: position and memory of each one read, in order.
        lost: bank to ids of those that could not be read.
    """

    deps: RecallDependencies
    banks: Sequence[StoredBank]
    pool: Pool
    ranking: Ranking
    order: Sequence[int]
    prefetch: int
    read: list[tuple[int, Memory]] = field(default_factory=list)
    lost: dict[str, list[str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Memory]:
        further = range(self.prefetch, len(self.order), packing.READ_AHEAD)
        for start, size in ((0, self.prefetch), *((each, packing.READ_AHEAD) for each in further)):
            prefetch = self.order[start : start + size]
            found = _memories(self.deps, self.banks, self.pool, prefetch)
            for candidate in (self.pool.memories[p] for p in prefetch if p not in found):
                self.lost.setdefault(candidate.bank_id, []).append(candidate.id)
            for position, memory in found.items():
                self.read.append((position, memory))
                yield memory

    def recalled(self, index: int, line: str, tokens: int) -> Recalled:
        """Return the memory read at `index`, with its scores in the pool and the ranking."""
        position, memory = self.read[index]
        found = self.pool.arms.get(position, ())
        arms = tuple(self._with_texts(score, memory.bank_id) for score in found)
        shared_name = self.ranking.shared_names.get(position)
        decided = deciding(self.ranking.lifts(position), shared_name, index + 1)
        return Recalled(
            memory=memory,
            rank=index + 1,
            relevance=float(self.ranking.relevance[position]),
            total=float(self.ranking.total[position]),
            fused=float(self.pool.fused[position]),
            line=line,
            tokens=tokens,
            arms=arms,
            signals=self.ranking.signals(position),
            reasons=(*decided, *(arm.reason for arm in arms)),
        )

    def _with_texts(self, score: ArmScore, bank_id: str) -> ArmScore:
        """Return an arm's score with the texts of the memories on its path, if they were ranked."""
        if not score.path:
            return score
        memories, steps = self.pool.memories, []
        for step in score.path:
            position = memories.positions.get(step.id, -1) if step.kind == "memory" else -1
            # Of several banks' memories, two may have one id.
            known = position >= 0 and memories[position].bank_id == bank_id
            steps.append(step._replace(text=memories[position].text) if known else step)
        return score._replace(path=tuple(steps))


def _unreadable(
    deps: RecallDependencies, pool: Pool, reader: _LazyMemoryReader
) -> Iterator[Failure]:
    """Yield a failure for each memory that could not be read, and still exists."""
    lost = dict.fromkeys(pool.unreadable)
    for bank_id, ids in reader.lost.items():
        lost |= dict.fromkeys(existing(deps.graph, bank_id, ids))
    for bank_id, id in lost:
        yield Failure(f"memory {id}", unreadable_error(bank_id, id))


def _memories(
    deps: RecallDependencies, banks: Sequence[StoredBank], pool: Pool, positions: Sequence[int]
) -> dict[int, Memory]:
    """Read the memories at these positions of the pool, in that order, less those deleted since."""
    read: dict[tuple[str, str], Memory] = {}
    for bank in banks:
        id = bank.bank.id
        wanted = [m.id for m in map(pool.memories.__getitem__, positions) if m.bank_id == id]
        load = partial(deps.graph.read, id, MEMORY)
        for memory in deps.memories.read(bank, wanted, load).values():
            # The cached memory's metadata may be changed by whoever gets it: give out a copy.
            own = replace(memory, metadata=dict(memory.metadata)) if memory.metadata else memory
            read[id, memory.id] = own
    keys = {p: (pool.memories[p].bank_id, pool.memories[p].id) for p in positions}
    return {p: read[key] for p, key in keys.items() if key in read}
